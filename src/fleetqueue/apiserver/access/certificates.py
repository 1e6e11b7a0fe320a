"""A small certificate authority: the server's own certificate and those that clients log in with.

What it makes is kept in files. A start that finds them sound goes by its notes, and loads no
library to read them.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from fleetqueue.apiserver.access import key_files
from fleetqueue.apiserver.access.key_pairs import About, KeyPair, Notes
from fleetqueue.base.clock import Clock

SERVING_NAMES = (
    "localhost",
    "127.0.0.1",
    "::1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
)

AUTHORITY_LIFE = timedelta(days=3650)
LEAF_LIFE = timedelta(days=365)
_AUTHORITY = "ca"


class Authority:
    """Signs with the key in `directory`; what it makes for a name is kept there and reused."""

    def __init__(self, pair: KeyPair, directory: Path, clock: Clock) -> None:
        self._pair = pair
        self._directory = directory
        self._clock = clock

    @classmethod
    def load_or_create(cls, directory: Path, clock: Clock, name: str = "fleetqueue") -> "Authority":
        kept = _load(directory, _AUTHORITY, clock.now())
        if kept is not None:
            return cls(kept[0], directory, clock)
        # Slow to load, and needed by the first start alone.
        from fleetqueue.apiserver.access import issuing

        pair = issuing.make_authority(clock.now(), AUTHORITY_LIFE, name)
        _save(directory, _AUTHORITY, pair)
        return cls(pair, directory, clock)

    @property
    def certificate(self) -> bytes:
        """PEM, for kubeconfig files and the kube-root-ca.crt ConfigMap."""
        return self._pair.certificate

    @property
    def certificate_path(self) -> Path:
        return self._directory / f"{_AUTHORITY}.crt"

    def serving(self, extra_names: Iterable[str] = ()) -> KeyPair:
        """The server's certificate; made again when it nears its end or lacks a name."""
        names = tuple(dict.fromkeys((*SERVING_NAMES, *extra_names)))
        kept = _load(self._directory, "serving", self._clock.now(), self.certificate)
        if kept is not None and set(names) <= set(kept[1].names):
            return kept[0]
        return self._keep("serving", self.sign("kube-apiserver", names=names))

    def client(self, name: str, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """A client certificate kept as `name`.crt and `name`.key."""
        kept = _load(self._directory, name, self._clock.now(), self.certificate)
        if kept is not None and (kept[1].user, kept[1].groups) == (user, tuple(groups)):
            return kept[0]
        return self._keep(name, self.sign(user, groups))

    def sign(
        self,
        user: str,
        groups: Sequence[str] = (),
        names: Sequence[str] = (),
        life: timedelta = LEAF_LIFE,
    ) -> KeyPair:
        """A new certificate that is written nowhere: for a server if it has names, or a client."""
        from fleetqueue.apiserver.access import issuing

        return issuing.sign(self._pair, user, groups, names, self._clock.now(), life)

    def _keep(self, name: str, pair: KeyPair) -> KeyPair:
        _save(self._directory, name, pair, self.certificate)
        return pair


def _load(
    directory: Path, name: str, now: datetime, issuer: bytes | None = None
) -> tuple[KeyPair, About] | None:
    """The pair on disk and what it is good for; None where it is missing, broken or too old."""
    key = key_files.read_private(directory / f"{name}.key")
    certificate = key_files.read(directory / f"{name}.crt")
    if key is None or certificate is None:
        return None
    pair = KeyPair(certificate, key)
    note = Notes(directory).recall(name, *_parts(pair, issuer))
    about = note.about if note is not None else _inspect(directory, name, pair, issuer)
    return (pair, about) if about is not None and _is_fresh(about, now) else None


def _save(directory: Path, name: str, pair: KeyPair, issuer: bytes | None = None) -> None:
    key_files.write(directory / f"{name}.key", pair.key)
    key_files.write(directory / f"{name}.crt", pair.certificate, key_files.PUBLIC)
    _inspect(directory, name, pair, issuer)


def _inspect(directory: Path, name: str, pair: KeyPair, issuer: bytes | None) -> About | None:
    from fleetqueue.apiserver.access import issuing

    about = issuing.inspect(pair, issuer)
    Notes(directory).keep(name, about, *_parts(pair, issuer))
    return about


def _parts(pair: KeyPair, issuer: bytes | None) -> tuple[bytes, ...]:
    """Whatever the answer depends on."""
    return (pair.certificate, pair.key, issuer or b"")


def _is_fresh(about: About, now: datetime) -> bool:
    """Valid now, and with a fifth of its life still to go."""
    life = about.ends_at - about.starts_at
    return about.starts_at <= now.timestamp() < about.ends_at - life / 5
