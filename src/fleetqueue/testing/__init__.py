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

__all__ = [
    "CALM",
    "STORM",
    "CrashingLog",
    "FaultyTransport",
    "Fleet",
    "FleetCluster",
    "NotSettled",
    "VirtualTimeLoop",
    "Weather",
    "config_map",
    "crd",
    "job",
    "named",
    "namespace",
    "owner_reference",
    "pod",
    "run",
    "secret",
]
