"""At which addresses our own servers listen."""

import os

POD_ADDRESS = "FLEETQUEUE_POD_IP"
"""Set for pods that are processes: they share the ports of their machine, and listen apart."""
_EVERYWHERE = ("", "0.0.0.0", "::")


def bind_host(host: str) -> str:
    """All addresses of a pod are its own one, where others look for it."""
    return os.environ.get(POD_ADDRESS, host) if host in _EVERYWHERE else host
