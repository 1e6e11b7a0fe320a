"""`fleetqueue kueue`: the verbs of kueuectl."""

from fleetqueue.cli.kueuectl.main import kueue

__all__ = ["kueue"]
