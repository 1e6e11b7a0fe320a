"""Gives each pod a service account, that account's token as a volume, and its pull secrets."""

from collections.abc import Iterator
from typing import Any

from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks import Hook, Operation
from fleetqueue.apiserver.hooks.refusals import refuse

Object = dict[str, Any]

DEFAULT = "default"
VOLUME = "kube-api-access-"
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
MIRROR = "kubernetes.io/config.mirror"
MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
TOKEN_SECONDS = 3607


class ServiceAccounts(Hook):
    """Looks at pods that are created."""

    resources = (("", "pods"),)

    def __init__(self, core: Core) -> None:
        self._core = core

    def mutate(self, operation: Operation) -> None:
        if operation.resource != "pods" or not operation.concerns("", "pods", "CREATE"):
            return
        pod = operation.obj
        assert pod is not None
        if MIRROR in (pod["metadata"].get("annotations") or {}):
            _check_mirror(operation, pod)
            return
        spec = pod["spec"]
        spec["serviceAccountName"] = spec.get("serviceAccountName") or DEFAULT
        spec["serviceAccount"] = spec["serviceAccountName"]
        account = self._account(operation, spec["serviceAccountName"])
        if _mounts(spec, account):
            self._mount(spec)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [
                {"name": secret.get("name", "")} for secret in account["imagePullSecrets"]
            ]
        self._check_secrets(operation, spec, account)

    def _account(self, operation: Operation, name: str) -> Object:
        namespace = operation.namespace
        latest = self._core.store.latest("serviceaccounts", f"{namespace}/{name}")
        if latest is not None:
            return self._core.store.decoded(latest)
        if name == DEFAULT:
            # Every namespace has this one in a moment; a pod that is faster does not suffer for it.
            return {"metadata": {"name": DEFAULT}}
        why = (
            f"error looking up service account {namespace}/{name}: "
            f'serviceaccount "{name}" not found'
        )
        raise refuse(operation, why)

    def _mount(self, spec: Object) -> None:
        names = [volume.get("name", "") for volume in spec.get("volumes") or ()]
        known = next((name for name in names if name.startswith(VOLUME)), "")
        name = known or self._core.generate_name(VOLUME)
        is_needed = False
        for container in _containers(spec):
            mounts = container.get("volumeMounts") or []
            if any(mount.get("mountPath") == MOUNT_PATH for mount in mounts):
                continue
            mount = {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}
            container["volumeMounts"] = [*mounts, mount]
            is_needed = True
        if is_needed and not known:
            spec["volumes"] = [*(spec.get("volumes") or []), _token_volume(name)]

    def _check_secrets(self, operation: Operation, spec: Object, account: Object) -> None:
        annotations = account["metadata"].get("annotations") or {}
        if annotations.get(MOUNTABLE) != "true":
            return
        if why := _stray_secret(spec, account):
            raise refuse(operation, why)


def _check_mirror(operation: Operation, pod: Object) -> None:
    if pod["spec"].get("serviceAccountName"):
        raise refuse(operation, "a mirror pod may not reference service accounts")
    if any(volume.get("secret") for volume in pod["spec"].get("volumes") or ()):
        raise refuse(operation, "a mirror pod may not reference secrets")


def _mounts(spec: Object, account: Object) -> bool:
    for holder in (spec, account):
        if holder.get("automountServiceAccountToken") is not None:
            return bool(holder["automountServiceAccountToken"])
    return True


def _containers(spec: Object) -> Iterator[Object]:
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def _token_volume(name: str) -> Object:
    token = {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}}
    root = {
        "configMap": {
            "name": "kube-root-ca.crt",
            "items": [{"key": "ca.crt", "path": "ca.crt"}],
        }
    }
    reference = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    namespace = {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": reference}]}}
    return {
        "name": name,
        "projected": {"sources": [token, root, namespace], "defaultMode": 420},
    }


def _stray_secret(spec: Object, account: Object) -> str:
    """Why the pod may not use a secret that its account does not list; empty: it uses none."""
    owner = account["metadata"]["name"]
    known = {secret.get("name") for secret in account.get("secrets") or ()}
    ending = f"is not allowed because service account {owner} does not reference that secret"
    for volume in spec.get("volumes") or ():
        name = (volume.get("secret") or {}).get("secretName")
        if volume.get("secret") is not None and name not in known:
            return f'volume with secret.secretName="{name}" {ending}'
    for kind, word in (("initContainers", "init container"), ("containers", "container")):
        for container in spec.get(kind) or ():
            if why := _stray_variable(container, known, f"{word} {container.get('name', '')}"):
                return f"{why} {ending}"
    pulled = {secret.get("name") for secret in account.get("imagePullSecrets") or ()}
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if secret.get("name") not in pulled:
            return (
                f'imagePullSecrets[{index}].name="{secret.get("name", "")}" is not allowed because '
                f"service account {owner} does not reference that imagePullSecret"
            )
    return ""


def _stray_variable(container: Object, known: set[Any], who: str) -> str:
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if reference is not None and reference.get("name") not in known:
            secret = reference.get("name", "")
            return f'{who} with envVar {variable["name"]} referencing secret.secretName="{secret}"'
    for source in container.get("envFrom") or ():
        reference = source.get("secretRef")
        if reference is not None and reference.get("name") not in known:
            return f'{who} with envFrom referencing secret.secretName="{reference.get("name", "")}"'
    return ""
