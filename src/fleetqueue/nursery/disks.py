"""What is said where a disk takes no more: the system names neither the place nor a way out."""

import errno
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT)


def told(error: OSError, place: Path) -> str:
    """`place`: what was to be written to."""
    if error.errno not in FULL:
        return str(error)
    return f'the disk of "{place}" is full: free space on it, or choose another directory'
