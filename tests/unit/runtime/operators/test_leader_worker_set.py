"""Decisions about LeaderWorkerSets: groups, updates, restarts, status."""

import pytest
from tests.support import operators
from tests.support.leader_workers import around, course, leaders_of, lws, see
from tests.support.operators import (
    conditions,
    created,
    created_names,
    deleted_names,
    events,
    status,
)

from fleetqueue.kube.errors import Conflict
from fleetqueue.kube.plan import Apply, Create
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import leader_worker_set

pytestmark = [pytest.mark.rule("jobs B.8"), pytest.mark.rule("jobs B.10")]

PREFIX = "leaderworkerset.sigs.k8s.io/"


def test_a_new_set_gets_a_revision_leaders_and_a_service() -> None:
    parent = lws(
        annotations={"note": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    )
    parent["metadata"]["labels"] = {"team": "a"}
    plan = see(parent)
    (revision,) = [obj for obj in created(plan) if obj["kind"] == "ControllerRevision"]
    key = revision["metadata"]["labels"][f"{PREFIX}template-revision-hash"]
    assert revision["metadata"]["name"] == f"serve-{key}-1"
    leaders = leaders_of(plan)
    assert leaders["metadata"]["labels"] == {
        "team": "a",
        f"{PREFIX}name": "serve",
        f"{PREFIX}template-revision-hash": key,
    }
    assert leaders["metadata"]["annotations"] == {"note": "x", f"{PREFIX}replicas": "2"}
    spec = leaders["spec"]
    assert spec["selector"]["matchLabels"] == {
        f"{PREFIX}name": "serve",
        f"{PREFIX}worker-index": "0",
    }
    assert (spec["serviceName"], spec["replicas"]) == ("serve", 2)
    assert spec["podManagementPolicy"] == "Parallel"
    assert spec["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 1, "partition": 0},
    }
    assert spec["template"]["metadata"] == {
        "labels": {
            f"{PREFIX}worker-index": "0",
            f"{PREFIX}name": "serve",
            f"{PREFIX}template-revision-hash": key,
        },
        "annotations": {f"{PREFIX}size": "3"},
    }
    (service,) = [obj for obj in created(plan) if obj["kind"] == "Service"]
    assert service["spec"] == {
        "clusterIP": "None",
        "selector": {f"{PREFIX}name": "serve"},
        "publishNotReadyAddresses": True,
    }
    assert events(plan)[:2] == [
        (
            "Normal",
            "CreatingRevision",
            f"Creating revision with key {key} for a newly created LeaderWorkerSet",
        ),
        ("Normal", "GroupsProgressing", "Created leader statefulset serve"),
    ]


def test_leaders_may_have_a_template_of_their_own() -> None:
    own = {"spec": {"containers": [{"name": "lead", "image": "leader"}]}}
    leaders = leaders_of(see(lws(template={"leaderTemplate": own})))
    assert leaders["spec"]["template"]["spec"] == own["spec"]


def test_each_leader_gets_its_workers() -> None:
    parent = lws(2, 3)
    plan = see(parent, *around(parent, "bare", "bare"))
    first, second = [obj for obj in created(plan) if obj["kind"] == "StatefulSet"]
    assert second["metadata"]["name"] == "serve-1"
    owner = second["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Pod", "serve-1", True)
    spec = second["spec"]
    assert (spec["replicas"], spec["ordinals"]) == (2, {"start": 1})
    assert spec["serviceName"] == "serve"
    labels = second["metadata"]["labels"]
    assert labels[f"{PREFIX}group-index"] == "1"
    assert len(labels[f"{PREFIX}group-key"]) == 40
    assert labels[f"{PREFIX}group-key"] != first["metadata"]["labels"][f"{PREFIX}group-key"]
    selector = dict(labels)
    del selector[f"{PREFIX}template-revision-hash"]
    assert spec["selector"]["matchLabels"] == selector
    assert spec["template"]["metadata"]["annotations"] == {
        f"{PREFIX}size": "3",
        f"{PREFIX}leader-name": "serve-1",
    }
    assert ("Normal", "GroupsProgressing", "Created worker statefulset for leader pod serve-1") in (
        events(plan)
    )


def test_a_group_of_one_has_no_workers() -> None:
    parent = lws(1, 1)
    plan = see(parent, *around(parent, "ready"))
    assert created_names(plan, "StatefulSet") == []
    assert conditions(plan)[0][:3] == ("Available", "True", "AllGroupsReady")


@pytest.mark.parametrize(("state", "made"), [("bare", []), ("bare ready", ["serve-0"])])
def test_workers_may_wait_until_their_leader_is_ready(state: str, made: list[str]) -> None:
    parent = lws(1, startupPolicy="LeaderReady")
    assert created_names(see(parent, *around(parent, state)), "StatefulSet") == made


def test_every_group_may_have_its_own_names() -> None:
    parent = lws(1, networkConfig={"subdomainPolicy": "UniquePerReplica"})
    plan = see(parent, *around(parent, "bare"))
    (service,) = [obj for obj in created(plan) if obj["kind"] == "Service"]
    assert service["metadata"]["name"] == "serve-0"
    assert service["metadata"]["ownerReferences"][0]["kind"] == "Pod"
    assert service["spec"]["selector"] == {f"{PREFIX}name": "serve", f"{PREFIX}group-index": "0"}
    (workers,) = [obj for obj in created(plan) if obj["kind"] == "StatefulSet"]
    assert workers["spec"]["serviceName"] == "serve-0"
    annotations = leaders_of(plan)["spec"]["template"]["metadata"]["annotations"]
    assert annotations[f"{PREFIX}subdomainPolicy"] == "UniquePerReplica"


def test_workers_of_an_exclusive_group_follow_their_leader_to_its_domain() -> None:
    parent = lws(1, annotations={f"{PREFIX}exclusive-topology": "rack"})
    others = around(parent, "bare")
    assert created_names(see(parent, *others), "StatefulSet") == []
    others[-1]["spec"]["nodeName"] = "n1"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"rack": "7"}}}
    (workers,) = [
        obj for obj in created(see(parent, *others, node)) if obj["kind"] == "StatefulSet"
    ]
    assert workers["spec"]["template"]["spec"]["nodeSelector"] == {"rack": "7"}


def test_claims_go_on_to_both_sorts_of_pods() -> None:
    claim = {
        "metadata": {"name": "data", "creationTimestamp": None},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    template = {
        "volumeClaimTemplates": [claim],
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
    }
    parent = lws(1, template=template)
    plan = see(parent, *around(parent, "bare"))
    (workers,) = [obj for obj in created(plan) if obj["kind"] == "StatefulSet"]
    for made in (leaders_of(plan), workers):
        assert made["spec"]["volumeClaimTemplates"] == [
            {"metadata": {"name": "data"}, "spec": claim["spec"]}
        ]
        policy = made["spec"]["persistentVolumeClaimRetentionPolicy"]
        assert policy == {"whenDeleted": "Delete", "whenScaled": "Retain"}


# fmt: off
RESTARTS: dict[str, tuple[str, str, bool]] = {  # policy, state of the second group, given up
    "a container restarted":              ("RecreateGroupOnPodRestart", "restarted", True),
    "a worker is on its way out":         ("RecreateGroupOnPodRestart", "leaving", True),
    "all is well":                        ("RecreateGroupOnPodRestart", "ready", False),
    "single pods restart":                ("None", "restarted", False),
    "the group never started":            ("RecreateGroupAfterStart", "restarted", False),
    "the group had started":              ("RecreateGroupAfterStart", "ready restarted", True),
}
# fmt: on


@pytest.mark.parametrize(("policy", "state", "is_given_up"), RESTARTS.values(), ids=RESTARTS)
def test_a_group_that_loses_a_pod_is_made_anew(policy: str, state: str, is_given_up: bool) -> None:
    parent = lws(2, template={"restartPolicy": policy})
    plan = see(parent, *around(parent, "ready", state))
    assert deleted_names(plan, "Pod") == (["serve-1"] if is_given_up else [])
    text = "Worker pod serve-1-2 failed, deleted leader pod serve-1 to recreate group 1"
    assert (("Normal", "RecreateGroup", text) in events(plan)) is is_given_up


def test_a_leader_that_goes_already_is_not_told_again_and_gets_no_workers() -> None:
    parent = lws(1)
    others = around(parent, "bare")
    others[-1]["metadata"]["deletionTimestamp"] = operators.TIME
    plan = see(parent, *others)
    assert (deleted_names(plan, "Pod"), created_names(plan, "StatefulSet")) == ([], [])


def test_a_leader_that_restarts_is_deleted_with_its_group() -> None:
    parent = lws(1)
    others = around(parent, "ready")
    others[2]["status"]["containerStatuses"] = [{"name": "main", "restartCount": 2}]
    plan = see(parent, *others)
    assert deleted_names(plan, "Pod") == ["serve-0"]
    steps = [step for step in plan.steps if getattr(step, "propagation", "") == "Foreground"]
    assert len(steps) == 1


# fmt: off
NEW, OLD = "ready new", "ready"
COURSES: dict[str, tuple[int, dict[str, object], int, list[str], tuple[int, int]]] = {
    # replicas, rolling update, partition, groups, (partition, replicas)
    "one at a time, from the end":   (4, {}, 4, [OLD, OLD, OLD, OLD], (3, 4)),
    "the last is ready":             (4, {}, 3, [OLD, OLD, OLD, NEW], (2, 4)),
    "the last is not ready yet":     (4, {}, 3, [OLD, OLD, OLD, "new"], (3, 4)),
    "two at a time":                 (4, {"maxUnavailable": 2}, 4, [OLD] * 4, (2, 4)),
    "half of them":                  (4, {"maxUnavailable": "50%"}, 4, [OLD] * 4, (2, 4)),
    "a low one is down":             (4, {}, 4, ["", OLD, OLD, OLD], (4, 4)),
    "never back up":                 (4, {}, 2, ["", OLD, NEW, "new"], (2, 4)),
    "all are down":                  (4, {}, 4, ["", "", "", ""], (3, 4)),
    "one step from the end":         (3, {}, 1, [OLD, NEW, NEW], (0, 3)),
    "all updated":                   (3, {}, 0, [NEW, NEW, NEW], (0, 3)),
    "a partition stops it":          (4, {"partition": 2}, 2, [OLD, OLD, NEW, NEW], (2, 4)),
    "with a surge group":            (2, {"maxSurge": 1}, 2, [OLD, OLD, NEW], (0, 3)),
    "the surge group starts":        (2, {"maxSurge": 1}, 2, [OLD, OLD, "new"], (1, 3)),
    "a surge group is given back":   (2, {"maxSurge": 1}, 0, ["new", NEW, NEW], (0, 2)),
    "surge without unavailability":  (2, {"maxSurge": 1, "maxUnavailable": 0}, 0,
                                      ["new", NEW, NEW], (0, 3)),
    "surge is over":                 (2, {"maxSurge": 1}, 0, [NEW, NEW, NEW], (0, 2)),
}
# fmt: on


@pytest.mark.parametrize(
    ("replicas", "rolling", "partition", "groups", "wanted"), COURSES.values(), ids=COURSES
)
def test_the_course_of_an_update(
    replicas: int,
    rolling: Object,
    partition: int,
    groups: list[str],
    wanted: tuple[int, int],
) -> None:
    parent = lws(replicas, rolling=rolling, image="two")
    others = around(parent, *groups, partition=partition, of=lws(replicas, rolling=rolling))
    assert course(see(parent, *others)) == wanted


def test_a_new_template_starts_an_update_and_is_remembered() -> None:
    parent, old = lws(2, image="two"), lws(2)
    others = around(old, "ready", "ready")
    plan = see(parent, *others)
    assert course(plan) == (2, 2)
    (revision,) = [obj for obj in created(plan) if obj["kind"] == "ControllerRevision"]
    assert revision["revision"] == 2
    key = revision["metadata"]["labels"][f"{PREFIX}template-revision-hash"]
    assert leaders_of(plan)["metadata"]["labels"][f"{PREFIX}template-revision-hash"] == key
    text = f"Creating revision with key {key} for updated LWS"
    assert events(plan)[0] == ("Normal", "CreatingRevision", text)
    assert [each[0] for each in conditions(plan)] == ["UpdateInProgress", "Progressing"]


def test_scaling_up_goes_before_an_update_and_surge_begins_with_it() -> None:
    bigger = lws(3, image="two")
    assert course(see(bigger, *around(lws(2), "ready", "ready"))) == (2, 3)
    surge = lws(2, image="two", rolling={"maxSurge": 1})
    others = around(lws(2, rolling={"maxSurge": 1}), "ready", "ready")
    assert course(see(surge, *others)) == (2, 3)


def test_progress_is_told() -> None:
    parent = lws(4, image="two", rolling={"maxUnavailable": 2})
    others = around(parent, *["ready"] * 4, partition=4, of=lws(4))
    assert ("Normal", "GroupsUpdating", "Updating replicas 2 to 3 (inclusive)") in (
        events(see(parent, *others))
    )
    surge = lws(2, image="two", rolling={"maxSurge": 1})
    others = around(surge, NEW, NEW, NEW, of=lws(2))
    told = ("Normal", "GroupsProgressing", "deleting surge replica serve-2")
    assert told in events(see(surge, *others))


def test_workers_are_made_from_the_revision_of_their_leader() -> None:
    parent = lws(2, image="two")
    others = around(parent, "bare", "bare new", partition=1, of=lws(2))
    made = [obj for obj in created(see(parent, *others)) if obj["kind"] == "StatefulSet"]
    images = [obj["spec"]["template"]["spec"]["containers"][0]["image"] for obj in made]
    assert images == ["one", "two"]


def test_old_revisions_go_once_every_group_is_new() -> None:
    parent = lws(2, image="two")
    busy = around(parent, "ready", NEW, partition=1, of=lws(2))
    assert deleted_names(see(parent, *busy), "ControllerRevision") == []
    done = around(parent, NEW, NEW, of=lws(2))
    assert len(deleted_names(see(parent, *done), "ControllerRevision")) == 1


def test_the_status_counts_groups() -> None:
    parent = lws(3)
    plan = see(parent, *around(parent, "ready", "", "bare"))
    told = status(plan)
    assert {key: value for key, value in told.items() if key != "conditions"} == {
        "replicas": 3,
        "readyReplicas": 1,
        "updatedReplicas": 2,
        "hpaPodSelector": f"{PREFIX}name=serve,{PREFIX}worker-index=0",
        "observedGeneration": 1,
    }
    assert told["conditions"] == [
        {
            "type": "Progressing",
            "status": "True",
            "reason": "GroupsProgressing",
            "message": "Replicas are progressing",
            "lastTransitionTime": operators.TIME,
            "observedGeneration": 1,
        }
    ]
    text = "Replicas are progressing, with 1 groups ready of total 3 groups"
    assert events(plan)[-1] == ("Normal", "GroupsProgressing", text)


def test_available_excludes_the_other_conditions() -> None:
    first = see(lws(1), *around(lws(1), ""))
    ready = lws(1, status=status(first))
    plan = see(ready, *around(ready, "ready"))
    assert [each[:2] for each in conditions(plan)] == [
        ("Progressing", "False"),
        ("Available", "True"),
    ]
    changed = lws(1, image="two", status=status(plan))
    plan = see(changed, *around(changed, "ready", partition=1, of=lws(1)))
    assert dict(each[:2] for each in conditions(plan)) == {
        "Progressing": "True",
        "Available": "False",
        "UpdateInProgress": "True",
    }
    assert conditions(plan)[-1][2:] == ("GroupsUpdating", "Rolling Upgrade is in progress")


def test_a_set_whose_leaders_go_is_looked_at_again() -> None:
    parent = lws(1)
    others = around(parent, "ready")
    others[1]["metadata"]["deletionTimestamp"] = operators.TIME
    plan = see(parent, *others)
    assert (plan.steps, plan.after) == ([], 5)
    strangers = around(parent, "ready")
    strangers[1]["metadata"]["ownerReferences"][0]["uid"] = "earlier"
    assert see(parent, *strangers).steps == []


def test_refusals_are_told() -> None:
    parent = lws(1)
    error = Conflict({"message": "no", "code": 409})
    new, old = operators.look(parent), operators.look(parent, *around(parent, "ready"))
    leaders = Apply({"metadata": {"name": "serve"}}, "lws")
    cases = [
        (new, leaders, "FailedCreate", "Failed to create leader statefulset serve: no"),
        (old, leaders, "FailedUpdate", "Failed to update leader statefulset serve: no"),
        (
            new,
            Create({"kind": "StatefulSet", "metadata": {"name": "serve-0"}}),
            "FailedCreate",
            "Failed to create worker statefulset for leader pod serve-0: no",
        ),
        (
            new,
            Create({"kind": "Service"}),
            "FailedCreate",
            "Failed to create headless service for error: no",
        ),
    ]
    for look, step, reason, text in cases:
        assert events(leader_worker_set.refused(look, step, error)) == [("Warning", reason, text)]
