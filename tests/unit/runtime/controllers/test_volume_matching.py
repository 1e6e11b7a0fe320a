"""Which volume suits a claim."""

from typing import Any

import pytest

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers.volume_matching import best, mismatch

pytestmark = pytest.mark.rule("jobs C.4")


def claim(size: str = "1Gi", **spec: Any) -> Object:
    asked = {"resources": {"requests": {"storage": size}}, "accessModes": ["ReadWriteOnce"]}
    return {
        "metadata": {"name": "c", "namespace": "x", "uid": "1"},
        "spec": {**asked, "storageClassName": "", **spec},
    }


def volume(name: str = "v", size: str = "1Gi", **spec: Any) -> Object:
    modes = ["ReadWriteOnce", "ReadOnlyMany"]
    return {
        "metadata": {"name": name, "labels": {"disk": "fast"}},
        "spec": {"capacity": {"storage": size}, "accessModes": modes, **spec},
    }


@pytest.mark.parametrize(
    ("asked", "there", "expected"),
    [
        (claim(), volume(), None),
        (claim("2Gi"), volume(), "requested PV is too small"),
        (claim(storageClassName="a"), volume(), "storageClassName does not match"),
        (claim(volumeMode="Block"), volume(), "incompatible volumeMode"),
        (claim(accessModes=["ReadWriteMany"]), volume(), "incompatible accessMode"),
        (claim(accessModes=["ReadOnlyMany"]), volume(), None),
        (claim(selector={"matchLabels": {"disk": "fast"}}), volume(), None),
        (
            claim(selector={"matchLabels": {"disk": "slow"}}),
            volume(),
            "selector does not match",
        ),
    ],
)
def test_why_a_volume_does_not_suit(asked: Object, there: Object, expected: str | None) -> None:
    assert mismatch(there, asked) == expected


def test_one_that_was_meant_for_the_claim_comes_first() -> None:
    meant = volume("z", "9Gi", claimRef={"namespace": "x", "name": "c"})
    taken = volume("b", claimRef={"namespace": "x", "name": "c", "uid": "2"})
    assert best([volume("a"), taken, meant], claim()) is meant
    assert best([taken], claim()) is None
