"""Feature gates: known names, locked ones, and those that need another one."""

import pytest

from fleetqueue.api.kueue.gates import DEFAULTS, NEEDS, OFF, ON, resolve
from fleetqueue.errors import InvalidInput

pytestmark = pytest.mark.rule("kueue 10.3")


def test_every_gate_is_either_on_or_off() -> None:
    assert not ON & OFF
    assert set(NEEDS) < set(DEFAULTS)


def test_gates_that_are_not_named_keep_their_defaults() -> None:
    gates = resolve({"ConcurrentAdmission": True, "PartialAdmission": False})
    assert gates["ConcurrentAdmission"]
    assert not gates["PartialAdmission"]
    assert gates["MultiKueue"]
    assert not gates["PriorityBoost"]


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ({"Unheard": True}, "unrecognized feature gate: Unheard"),
        ({"TLSOptions": False}, "cannot set feature gate TLSOptions to false"),
        (
            {"TASBalancedPlacement": True, "TopologyAwareScheduling": False},
            "TASBalancedPlacement is enabled, but depends on features that are disabled:"
            " [TopologyAwareScheduling]",
        ),
        (
            {"KueueDRAIntegrationConsumableCapacity": True, "KueueDRAIntegration": False},
            "[KueueDRAIntegration]",
        ),
    ],
)
def test_what_cannot_be_is_refused(wanted: dict[str, bool], text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        resolve(wanted)
    assert text in str(caught.value)


def test_files_may_name_what_is_settled_by_now() -> None:
    assert resolve({"ObjectRetentionPolicies": True})["ObjectRetentionPolicies"]
    with pytest.raises(InvalidInput, match="feature is locked to true"):
        resolve({"ObjectRetentionPolicies": False})


def test_a_gate_may_be_switched_off_with_its_base() -> None:
    assert not resolve({"TASBalancedPlacement": False, "TopologyAwareScheduling": False})[
        "TopologyAwareScheduling"
    ]


def test_a_gate_that_nobody_asked_for_is_off_without_its_base() -> None:
    gates = resolve({"KueueDRAIntegration": False})
    assert not gates["KueueDRAIntegrationExtendedResource"]
    assert gates["KueueDRARejectWorkloadsWhenDRADisabled"]
    assert resolve(gates) == gates
