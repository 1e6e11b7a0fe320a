"""Keys and certificates in files: private ones readable by their owner alone, all written whole."""

import os
from pathlib import Path

PRIVATE = 0o600
PUBLIC = 0o644


def read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def read_private(path: Path) -> bytes | None:
    """Tightens the mode of a key that others could read."""
    data = read(path)
    if data is not None and path.stat().st_mode & 0o077:
        path.chmod(PRIVATE)
    return data


def write(path: Path, data: bytes, mode: int = PRIVATE) -> None:
    """Replaces the file at once, so a crash leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
