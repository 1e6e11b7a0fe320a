"""Where a claim lies: only a volume that was given to this very claim is mounted."""

from pathlib import Path
from typing import Any

import pytest

from fleetqueue.runtime.claimed_volumes import path_of
from fleetqueue.runtime.payloads import Missing

OURS = {"namespace": "a", "name": "data", "uid": "u-1"}


def claim(phase: str = "Bound", volume: str = "disk") -> dict[str, Any]:
    return {"metadata": OURS, "spec": {"volumeName": volume}, "status": {"phase": phase}}


def volume(reference: dict[str, str] | None, **source: Any) -> dict[str, Any]:
    kept = source or {"hostPath": {"path": "/disks/1"}}
    return {"metadata": {"name": "disk"}, "spec": {"claimRef": reference, **kept}}


@pytest.mark.parametrize("reference", [OURS, {"namespace": "a", "name": "data"}])
@pytest.mark.parametrize("source", ["hostPath", "local"])
def test_a_volume_that_names_its_claim_is_mounted(reference: dict[str, str], source: str) -> None:
    disk = volume(reference, **{source: {"path": "/disks/2"}})
    assert path_of(claim(), disk) == Path("/disks/2")


# fmt: off
REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any] | None, str]] = {
    "a claim that only names a volume": (
        claim("Pending"), volume({"namespace": "b", "name": "data", "uid": "u-2"}),
        'persistentvolumeclaim "data" is not bound'),
    "a claim that waits though its volume names it": (
        claim("Pending"), volume(OURS), 'persistentvolumeclaim "data" is not bound'),
    "a claim that names none": (
        claim(volume=""), None, 'persistentvolumeclaim "data" is not bound'),
    "a claim that was lost": (
        claim("Lost"), volume(OURS), 'persistentvolumeclaim "data" is not bound'),
    "a volume that is gone": (
        claim(), None, 'persistentvolume "disk" not found'),
    "a volume of a claim in another namespace": (
        claim(), volume({**OURS, "namespace": "b"}),
        'persistentvolume "disk" is not bound to persistentvolumeclaim "data"'),
    "a volume of another claim": (
        claim(), volume({**OURS, "name": "other"}),
        'persistentvolume "disk" is not bound to persistentvolumeclaim "data"'),
    "a volume of an earlier claim of that name": (
        claim(), volume({**OURS, "uid": "u-0"}),
        'persistentvolume "disk" is not bound to persistentvolumeclaim "data"'),
    "a volume of nobody": (
        claim(), volume(None),
        'persistentvolume "disk" is not bound to persistentvolumeclaim "data"'),
    "a volume that lies elsewhere": (
        claim(), volume(OURS, nfs={"server": "x", "path": "/"}),
        'persistentvolume "disk" is neither a hostPath nor local: no other type is supported here'),
}
# fmt: on


@pytest.mark.parametrize("case", REFUSED)
def test_nothing_else_is_mounted_and_the_text_says_why(case: str) -> None:
    ours, disk, why = REFUSED[case]
    with pytest.raises(Missing) as refusal:
        path_of(ours, disk)
    assert str(refusal.value) == why
