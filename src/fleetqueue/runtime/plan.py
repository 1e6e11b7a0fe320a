"""Moved to `kube`; kept while work is under way."""

from fleetqueue.kube.plan import *  # noqa: F403
