"""A toy operator in the frame, on a whole server in virtual time: what it plans is what happens."""

import itertools
from datetime import timedelta
from typing import Any

import pytest

from fleetqueue.apiserver.request import Request, Response
from fleetqueue.kube.errors import KubeError, NotFound
from fleetqueue.kube.frame import Operator, controller_of
from fleetqueue.kube.informer import Informer
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.plan import (
    Apply,
    Create,
    Delete,
    Look,
    Note,
    Patch,
    Plan,
    Status,
    Step,
    child,
)
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime.kinds import CONFIG_MAP, JOB, SECRET
from fleetqueue.testing import Fleet, namespace

_EVENT = Resource("", "v1", "events", "Event")
_QUOTA = Resource("", "v1", "resourcequotas", "ResourceQuota")


def decide(look: Look) -> Plan:
    """As many Secrets as the ConfigMap says, no more; a refusal is written on the ConfigMap."""
    plan = Plan()
    wanted = int((look.parent.get("data") or {}).get("count", "0"))
    have = look.owned(SECRET)
    for number in range(len(have), wanted):
        plan.add(Create(child(SECRET, look.parent, {"name": f"{look.name}-{number}"})))
    for surplus in have[wanted:]:
        plan.add(Delete(surplus))
    if len(have) != wanted:
        plan.add(Note("Scaled", f"from {len(have)} to {wanted}"))
        plan.add(Patch(look.parent, {"metadata": {"annotations": {"seen": str(wanted)}}}))
    return plan


def refused(look: Look, step: Step, error: KubeError) -> Plan:
    return Plan([Note("FailedCreate", f"Error creating: {error}", "Warning")])


SCALER = Operator("scaler", CONFIG_MAP, decide, owns=(SECRET,), refused=refused)


def config_map(count: int) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "default"},
        "data": {"count": str(count)},
    }


async def test_what_is_planned_is_done_and_done_once(fleet: Fleet) -> None:
    cluster = await fleet.add_cluster("one")
    fleet.run(controller_of(SCALER), on=cluster)
    await cluster.client.create(config_map(5))
    await fleet.settle()
    names = [
        obj["metadata"]["name"] for obj in (await cluster.client.list(SECRET, "default")).items
    ]
    assert names == [f"a-{number}" for number in range(5)]
    await cluster.client.patch(CONFIG_MAP, "a", {"data": {"count": "2"}}, "default")
    await fleet.settle()
    assert len((await cluster.client.list(SECRET, "default")).items) == 2
    made = await cluster.client.get(CONFIG_MAP, "a", "default")
    assert made["metadata"]["annotations"] == {"seen": "2"}
    await fleet.passes(seconds=1)
    events = (await cluster.client.list(_EVENT, "default")).items
    assert [(event["reason"], event["message"]) for event in events] == [
        ("Scaled", "from 0 to 5"),
        ("Scaled", "from 5 to 2"),
    ]
    assert {event["source"]["component"] for event in events} == {"scaler"}
    revision = cluster.instance.core.store.revision
    await fleet.passes(minutes=30)
    assert cluster.instance.core.store.revision == revision


async def test_a_child_that_is_taken_away_wakes_its_parent(fleet: Fleet) -> None:
    cluster = await fleet.add_cluster("one")
    fleet.run(controller_of(SCALER), on=cluster)
    await cluster.client.create(config_map(1))
    await fleet.settle()
    await cluster.client.delete(SECRET, "a-0", "default")
    await fleet.settle()
    assert await cluster.client.get(SECRET, "a-0", "default")


async def test_what_claims_a_parent_of_another_namespace_is_no_child_of_it(fleet: Fleet) -> None:
    cluster = await fleet.add_cluster("one")
    fleet.run(controller_of(SCALER), on=cluster)
    await cluster.client.create(namespace("theirs"))
    parent = await cluster.client.create(config_map(0))
    forged = child(SECRET, parent, {"name": "forged", "finalizers": ["example.com/stays"]})
    forged["metadata"]["namespace"] = "theirs"
    await cluster.client.create(forged)
    await fleet.settle()

    await cluster.client.patch(CONFIG_MAP, "a", {"data": {"count": "1"}}, "default")
    await fleet.settle()

    assert await cluster.client.get(SECRET, "a-0", "default")


async def test_what_says_that_an_odd_uid_controls_it_is_no_orphan(fleet: Fleet) -> None:
    def adopt(look: Look) -> Plan:
        seen = ",".join(obj["metadata"]["name"] for obj in look.orphans(SECRET, {}))
        return Plan([Patch(look.parent, {"metadata": {"annotations": {"seen": seen}}})])

    cluster = await fleet.add_cluster("one")
    fleet.run(controller_of(Operator("adopter", CONFIG_MAP, adopt, owns=(SECRET,))), on=cluster)
    await cluster.client.create(namespace("theirs"))
    odd = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "orphans of default"}
    forged = {"name": "forged", "namespace": "theirs", "finalizers": ["example.com/stays"]}
    forged_by = {**forged, "ownerReferences": [{**odd, "controller": True}]}
    for metadata in (forged_by, {"name": "plain", "namespace": "default"}):
        await cluster.client.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
    await cluster.client.create(config_map(0))
    await fleet.settle()

    made = await cluster.client.get(CONFIG_MAP, "a", "default")
    assert made["metadata"]["annotations"] == {"seen": "plain"}


async def test_nothing_is_made_again_for_a_parent_that_is_gone(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the cache still has it: what is made would be collected, and made, without an end."""
    cluster = await fleet.add_cluster("one")
    caches: list[Informer[Any]] = []

    def install(manager: Manager) -> None:
        manager.add(controller_of(SCALER)(manager.cluster))
        caches.append(manager.cluster.informer(CONFIG_MAP))

    fleet.run_all(install, on=cluster)
    await cluster.client.create(config_map(1))
    await fleet.settle()
    monkeypatch.setattr(caches[0], "handle", lambda event: None)
    asked: list[tuple[str, str]] = []
    handle = cluster.instance.handle

    async def counted(request: Request) -> Response:
        asked.append((request.method, request.path.rpartition("/")[2]))
        return await handle(request)

    monkeypatch.setattr(cluster.instance, "handle", counted)
    await cluster.client.delete(CONFIG_MAP, "a", "default", propagation="Background")
    await fleet.passes(seconds=5)
    assert caches[0].store.all()
    assert ("GET", "a") in asked
    assert ("POST", "secrets") not in asked


async def test_a_refused_creation_is_told_and_tried_again(fleet: Fleet) -> None:
    cluster = await fleet.add_cluster("one")
    fleet.run(controller_of(SCALER), on=cluster)
    await cluster.client.create(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "none", "namespace": "default"},
            "spec": {"hard": {"count/secrets": "0"}},
        }
    )
    await fleet.passes(seconds=1)
    await cluster.client.create(config_map(1))
    await fleet.passes(seconds=2)
    events = (await cluster.client.list(_EVENT, "default")).items
    assert any(event["reason"] == "FailedCreate" for event in events)
    await cluster.client.delete(_QUOTA, "none", "default")
    await fleet.settle()
    assert await cluster.client.get(SECRET, "a-0", "default")


async def test_a_parent_that_names_another_controller_is_not_touched(fleet: Fleet) -> None:
    seen: list[str] = []

    def look_only(look: Look) -> Plan:
        seen.append(look.name)
        return Plan([Status({"startTime": "2026-01-01T00:00:00Z"})])

    operator = Operator(
        "jobs", JOB, look_only, managed_by=("spec", "managedBy"), own_name="example.com/ours"
    )
    cluster = await fleet.add_cluster("one")
    fleet.run(controller_of(operator), on=cluster)
    for name, manager in (("ours", "example.com/ours"), ("theirs", "example.com/theirs")):
        spec = {"managedBy": manager, "template": _template()}
        await cluster.client.create(
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": name, "namespace": "default"},
                "spec": spec,
            }
        )
    await fleet.settle()
    assert set(seen) == {"ours"}
    written = await cluster.client.get(JOB, "ours", "default")
    assert written["status"]["startTime"] == "2026-01-01T00:00:00Z"


async def test_a_plan_may_ask_for_another_look(fleet: Fleet) -> None:
    times = []

    def later(look: Look) -> Plan:
        times.append(look.now)
        return Plan(after=60.0)

    cluster = await fleet.add_cluster("one")
    fleet.run(controller_of(Operator("later", CONFIG_MAP, later)), on=cluster)
    await cluster.client.create(config_map(0))
    await fleet.passes(seconds=150)
    ours = sorted(times)
    assert timedelta(seconds=60) in {b - a for a, b in itertools.pairwise(ours)}


async def test_apply_takes_the_fields_it_names(fleet: Fleet) -> None:
    def label(look: Look) -> Plan:
        applied = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": look.name, "namespace": look.namespace, "labels": {"by": "us"}},
        }
        return Plan([Apply(applied, "labeller")])

    cluster = await fleet.add_cluster("one")
    fleet.run(controller_of(Operator("label", CONFIG_MAP, label, owns=(SECRET,))), on=cluster)
    with pytest.raises(NotFound):
        await cluster.client.get(SECRET, "a", "default")
    await cluster.client.create(config_map(0))
    await fleet.settle()
    made = await cluster.client.get(SECRET, "a", "default")
    assert made["metadata"]["labels"] == {"by": "us"}


def _template() -> Object:
    return {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
