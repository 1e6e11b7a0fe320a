"""Every feature gate that can be set does something, or is known to do nothing."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from fleetqueue.admission.life_settings import LifeSettings
from fleetqueue.admission.metric_settings import MetricSettings
from fleetqueue.admission.node_health import NodeRules
from fleetqueue.admission.settings import AdmissionSettings
from fleetqueue.api.kueue import gates
from fleetqueue.jobs.settings import Gates, JobSettings
from fleetqueue.multikueue.settings import DispatchGates, DispatchSettings
from fleetqueue.queueing.device_claims import DeviceRules
from fleetqueue.queueing.reading import ReadingRules
from fleetqueue.queueing.settings import FairSharing, Settings, UsageSharing

SOURCE = Path(__file__).resolve().parents[2] / "src" / "fleetqueue"
TABLE = SOURCE / "api" / "kueue" / "gates.py"
WITHOUT_EFFECT = {
    "TASCacheNodeMatchResults": "only how fast it is depends on it",
    "TASCacheTopologyTree": "only how fast it is depends on it",
    "TASCachingRemainingResources": "only how fast it is depends on it",
    "VectorizedResourceRequests": "only how fast it is depends on it",
    "SchedulerLibraryIntegration": "its effect is not specified",
    "KueueDRAIntegrationPartitionableDevices": "sources of device classes are refused",
    "KueueDRAIntegrationConsumableCapacity": "sources of device classes are refused",
    "SparkApplicationIntegration": "the kind is not built",
}
READ_INTO = (
    Gates,
    JobSettings,
    Settings,
    FairSharing,
    UsageSharing,
    ReadingRules,
    DeviceRules,
    AdmissionSettings,
    LifeSettings,
    MetricSettings,
    NodeRules,
    DispatchGates,
    DispatchSettings,
)
"""What the gates are read into."""
TEXTS = {path: path.read_text() for path in SOURCE.rglob("*.py")}
NAMED = {
    name
    for path, text in TEXTS.items()
    if path != TABLE
    for name in re.findall(r'"([A-Z]\w+)"', text)
}
ASKED = {
    name for text in TEXTS.values() for name in re.findall(r"\.([a-z_]\w*)\b(?! ?=[^=])", text)
}


@pytest.mark.parametrize("gate", sorted(gates.DEFAULTS.keys() - gates.LOCKED))
def test_every_gate_is_read(gate: str) -> None:
    assert (gate in NAMED) != (gate in WITHOUT_EFFECT), f"{gate} is accepted, and read by nobody"


@pytest.mark.parametrize("kind", READ_INTO, ids=lambda kind: kind.__name__)
def test_what_was_read_is_asked_for(kind: Any) -> None:
    unasked = {field.name for field in fields(kind)} - ASKED
    assert not unasked, f"of {kind.__name__}, nobody asks for {sorted(unasked)}"
