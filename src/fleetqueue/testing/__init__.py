"""Public builders and the in-process Fleet, for tests on top of fleetqueue."""

from fleetqueue.base.virtual_time import VirtualTimeLoop, run
from fleetqueue.testing.builders import (
    config_map,
    crd,
    job,
    named,
    namespace,
    owner_reference,
    pod,
    secret,
)
from fleetqueue.testing.faults import CALM, STORM, CrashingLog, FaultyTransport, Weather
from fleetqueue.testing.fleet import Fleet, FleetCluster, NotSettled
from fleetqueue.testing.quota_pictures import Pictured, quota_tree

__all__ = [
    "CALM",
    "STORM",
    "CrashingLog",
    "FaultyTransport",
    "Fleet",
    "FleetCluster",
    "NotSettled",
    "Pictured",
    "VirtualTimeLoop",
    "Weather",
    "config_map",
    "crd",
    "job",
    "named",
    "namespace",
    "owner_reference",
    "pod",
    "quota_tree",
    "run",
    "secret",
]
