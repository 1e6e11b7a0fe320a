"""Moved to `kube`; kept while work is under way."""

from fleetqueue.kube.frame import *  # noqa: F403
