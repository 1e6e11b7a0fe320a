"""Key pairs for pods that reach each other by ssh: Secrets are planned empty and filled when made.

Decisions draw nothing by chance, so the keys come in through the operator's `complete`.
"""

from base64 import b64encode

from fleetqueue.kube.resources import Object

SSH_AUTH = "kubernetes.io/ssh-auth"
PRIVATE_KEY = "ssh-privatekey"
PUBLIC_KEY = "ssh-publickey"


def complete(obj: Object) -> Object:
    """A Secret for ssh without data gets a fresh pair; anything else stays as it is."""
    if obj["kind"] != "Secret" or obj.get("type") != SSH_AUTH or obj.get("data"):
        return obj
    return {**obj, "data": {name: b64encode(key).decode() for name, key in key_pair().items()}}


def key_pair() -> dict[str, bytes]:
    """An EC key on P-521 as PEM, and the line that lets it in."""
    # Few clusters run MPI, and the library takes a while to load.
    from cryptography.hazmat.primitives import serialization as forms
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP521R1())
    private = key.private_bytes(
        forms.Encoding.PEM, forms.PrivateFormat.TraditionalOpenSSL, forms.NoEncryption()
    )
    public = key.public_key().public_bytes(forms.Encoding.OpenSSH, forms.PublicFormat.OpenSSH)
    return {PRIVATE_KEY: private, PUBLIC_KEY: public + b"\n"}


def volume_items(
    *, private_mode: int | None = None, public_mode: int | None = None
) -> list[Object]:
    """The files that ssh looks for, out of such a Secret."""
    files = (
        (PRIVATE_KEY, "id_rsa", private_mode),
        (PUBLIC_KEY, "id_rsa.pub", public_mode),
        (PUBLIC_KEY, "authorized_keys", public_mode),
    )
    return [
        {"key": key, "path": path, **({} if mode is None else {"mode": mode})}
        for key, path, mode in files
    ]
