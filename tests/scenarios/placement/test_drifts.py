"""Objects that somebody changes on the member: found, told, spared or put right."""

from typing import Any

import pytest
from tests.support import delivering
from tests.support.delivering import (
    COMPATIBLE,
    Delivery,
    config_map,
    deployment,
    entry,
    message,
    of_manifest,
    said,
    strategy,
)

from fleetqueue.fleet import kinds
from fleetqueue.kube.resources import CONFIG_MAPS, SECRETS
from fleetqueue.testing import Fleet

SPARING = strategy(whenToApply="IfNotDrifted")
REST: tuple[tuple[str, str, str], ...] = (
    ("placement.kubernetes-fleet.io", "*", "*"),
    ("", "nodes pods namespaces", "get list watch"),
)


async def edit(delivery: Delivery, **data: str | None) -> None:
    await delivery.member.client.patch(
        CONFIG_MAPS, "conf", {"data": data}, "app", field_manager="somebody"
    )
    await delivery.world.passes(seconds=1)


async def data(delivery: Delivery) -> Any:
    return (await delivery.member.get(CONFIG_MAPS, "conf", "app"))["data"]


@pytest.mark.rule("APPLY-15")
@pytest.mark.rule("DRIFT-1")
async def test_a_drifted_object_is_spared_until_the_manifest_changes(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    await delivery.send(config_map(a="1"), **SPARING)
    await edit(delivery, a="9", extra="x")
    work = await delivery.work()
    assert said(work) == [("Applied", "False", "SomeManifestsAreNotApplied")]
    assert of_manifest(work) == [("Applied", "False", "FoundDrifts")]
    assert message(work) == (
        "Failed to apply the manifest (error: cannot apply manifest: drifts are found between the"
        " manifest and the object from the member cluster)"
    )
    details = entry(work)["driftDetails"]
    assert details["observedDrifts"] == [
        {"path": "/data/a", "valueInMember": "9", "valueInHub": "1"}
    ]
    assert (await delivery.member.get(kinds.APPLIED_WORK, "w"))["status"] == {}
    await delivery.passes(60.0)
    assert await data(delivery) == {"a": "9", "extra": "x"}
    work = await delivery.change(config_map(a="2"), **SPARING)
    assert of_manifest(work)[0] == ("Applied", "True", "Applied")
    assert "driftDetails" not in entry(work)
    assert await data(delivery) == {"a": "2", "extra": "x"}


@pytest.mark.rule("DRIFT-1")
async def test_everything_counts_where_everything_is_compared(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    plan = strategy(whenToApply="IfNotDrifted", comparisonOption="FullComparison")
    await delivery.send(config_map(a="1"), **plan)
    await edit(delivery, extra="x")
    work = await delivery.work()
    assert of_manifest(work) == [("Applied", "False", "FoundDrifts")]
    assert entry(work)["driftDetails"]["observedDrifts"] == [
        {"path": "/data/extra", "valueInMember": "x"}
    ]


@pytest.mark.rule("APPLY-17")
async def test_what_nobody_manages_is_told_and_what_is_managed_put_right(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    await delivery.send(config_map(a="1"), **strategy(comparisonOption="FullComparison"))
    await edit(delivery, a="9", extra="x")
    work = await delivery.work()
    assert of_manifest(work)[0] == ("Applied", "True", "Applied")
    assert entry(work)["driftDetails"]["observedDrifts"] == [
        {"path": "/data/extra", "valueInMember": "x"}
    ]
    assert await data(delivery) == {"a": "1", "extra": "x"}
    await edit(delivery, extra=None)
    assert "driftDetails" not in entry(await delivery.work())


@pytest.mark.rule("REQ-1")
async def test_without_a_watch_drifts_are_put_right_by_looking_again(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet, COMPATIBLE)
    await delivery.send(config_map(a="1"))
    await edit(delivery, a="9")
    assert await data(delivery) == {"a": "9"}
    await delivery.passes(5.0)
    assert await data(delivery) == {"a": "1"}
    await delivery.member.client.delete(CONFIG_MAPS, "conf", "app")
    await delivery.passes(10.0)
    assert await data(delivery) == {"a": "1"}


@pytest.mark.rule("REQ-1")
async def test_a_change_on_the_member_is_noticed_at_once(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    await delivery.send(config_map(a="1"), deployment())
    work = await delivery.passes(300.0)
    assert said(work)[1] == ("Available", "False", "SomeManifestsAreNotAvailable")
    await edit(delivery, a="9")
    assert await data(delivery) == {"a": "1"}
    await delivery.member.client.delete(CONFIG_MAPS, "conf", "app")
    await delivery.world.passes(seconds=1)
    assert await data(delivery) == {"a": "1"}
    status = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1,
              "availableReplicas": 1, "readyReplicas": 1}  # fmt: skip
    await delivery.member.client.patch(
        delivering.DEPLOYMENTS, "web", {"status": status}, "app", subresource="status"
    )
    await delivery.world.passes(seconds=1)
    assert said(await delivery.work())[1] == ("Available", "True", "AllManifestsAvailable")


@pytest.mark.rule("DRIFT-3")
async def test_what_secrets_hold_stays_on_the_member(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    secret = {**config_map("key"), "kind": "Secret", "data": {"k": "b25l"}}
    await delivery.send(secret, **SPARING)
    await delivery.member.client.patch(SECRETS, "key", {"data": {"k": "dHdv"}}, "app")
    await delivery.world.passes(seconds=1)
    hidden = "(redacted for security reasons)"
    assert entry(await delivery.work())["driftDetails"]["observedDrifts"] == [
        {"path": "/data/k", "valueInMember": hidden, "valueInHub": hidden}
    ]


@pytest.mark.rule("DRIFT-6")
async def test_a_member_that_does_not_let_the_agent_try_cannot_tell_drifts(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet, rights=[*REST, ("", "configmaps", "get create")])
    work = await delivery.send(config_map(a="1"), **SPARING)
    assert of_manifest(work)[0] == ("Applied", "True", "Applied")
    work = await delivery.passes(10.0)
    assert of_manifest(work) == [("Applied", "False", "FailedToRunDriftDetection")]
    assert "error returned by the API server: " in message(work)


@pytest.mark.rule("APPLY-11")
async def test_an_object_that_the_agent_may_not_see_is_told(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet, rights=REST)
    work = await delivery.send(config_map(a="1"))
    assert of_manifest(work) == [("Applied", "False", "FailedToFindObjInMemberCluster")]
    assert 'User "agent" cannot get resource "configmaps"' in message(work)
