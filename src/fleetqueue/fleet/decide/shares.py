"""Numbers that may be given as a percentage of something."""

Share = int | str


def is_percentage(share: Share) -> bool:
    return isinstance(share, str) and share.endswith("%")


def rounded_up(share: Share, whole: int) -> int:
    """The number itself, or so many of the whole that no fraction is missing."""
    if isinstance(share, str) and share.endswith("%"):
        return -(-int(share[:-1]) * whole // 100)
    return int(share)
