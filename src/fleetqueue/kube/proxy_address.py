"""Where a proxy is. Its URL may hold a password, so nothing that goes wrong with it repeats it."""

from urllib.parse import SplitResult, urlsplit

NO_URL = "the proxy's address is no URL"


def parts_of(url: str) -> SplitResult:
    """With a port that is one, or none."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise OSError(NO_URL) from None
    return parts
