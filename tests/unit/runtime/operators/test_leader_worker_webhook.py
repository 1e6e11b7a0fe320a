"""What LeaderWorkerSets and their pods are given when they are made, and what is refused."""

from hashlib import sha1
from typing import Any

import pytest
from tests.support.leader_workers import lws
from tests.support.operators import asked, texts

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import leader_worker_pods
from fleetqueue.runtime.operators.leader_worker_webhook import default, validate

pytestmark = [pytest.mark.rule("jobs B.8"), pytest.mark.rule("jobs D.7")]

PREFIX = "leaderworkerset.sigs.k8s.io/"
SUBGROUP = "spec.leaderWorkerTemplate.SubGroupPolicy.subGroupSize"
ROLLING = "spec.rolloutStrategy.rollingUpdateConfiguration"


def test_defaults() -> None:
    made: Object = {"metadata": {}, "spec": {"leaderWorkerTemplate": {"restartPolicy": "Default"}}}
    default(asked(made))
    assert made["spec"] == {
        "leaderWorkerTemplate": {"restartPolicy": "None"},
        "rolloutStrategy": {
            "type": "RollingUpdate",
            "rollingUpdateConfiguration": {"partition": 0, "maxUnavailable": 1, "maxSurge": 0},
        },
        "networkConfig": {"subdomainPolicy": "Shared"},
    }
    assert lws()["spec"]["leaderWorkerTemplate"]["restartPolicy"] == "RecreateGroupOnPodRestart"


def test_an_empty_type_of_rollout_was_never_said() -> None:
    spec = {"leaderWorkerTemplate": {}, "rolloutStrategy": {"type": ""}}
    made: Object = {"metadata": {}, "spec": spec}
    default(asked(made))
    assert made["spec"]["rolloutStrategy"]["type"] == "RollingUpdate"


def split(size: int, part: int, **more: Any) -> Object:
    return lws(1, size, template={"subGroupPolicy": {"subGroupSize": part, **more}})


# fmt: off
BAD: dict[str, tuple[Object, str]] = {
    "fewer than none": (lws(-1),
        "spec.replicas: Invalid value: -1: replicas must be equal or greater than 0"),
    "an empty group": (lws(1, 0),
        "spec.leaderWorkerTemplate.size: Invalid value: 0: size must be equal or greater than 1"),
    "far too many": (lws(1000000, 3000),
        "spec.replicas: Invalid value: 1000000: the product of replicas and worker replicas must "
        "not exceed 2147483647"),
    "nothing may change": (lws(rolling={"maxUnavailable": 0}),
        f"{ROLLING}.maxUnavailable: Invalid value: 0: must not be 0 when `maxSurge` is 0"),
    "no percentage": (lws(rolling={"maxSurge": "few"}),
        f"{ROLLING}.maxSurge: Invalid value: \"few\": a valid percent string must be a numeric "
        "string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is "
        "'[0-9]+%')"),
    "more than all": (lws(rolling={"maxUnavailable": "101%"}),
        f"{ROLLING}.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%"),
    "a negative partition": (lws(rolling={"partition": -1}),
        f"{ROLLING}.partition: Invalid value: -1: must be greater than or equal to 0"),
    "uneven subgroups": (split(8, 3),
        f"{SUBGROUP}: Invalid value: 3: size or size - 1 must be divisible by subGroupSize"),
    "empty subgroups": (split(8, 0),
        f"{SUBGROUP}: Invalid value: 0: subGroupSize must be equal or greater than 1"),
    "no room without the leader": (split(4, 2, subGroupPolicyType="LeaderExcluded"),
        f"{SUBGROUP}: Invalid value: 2: size-1 must be divisible by subGroupSize when using "
        "LeaderExcluded"),
    "exclusive subgroups that are none": (
        lws(annotations={f"{PREFIX}subgroup-exclusive-topology": "rack"}),
        f"metadata.annotations.{PREFIX}subgroup-exclusive-topology: Invalid value: \"rack\": "
        "cannot have subgroup-exclusive-topology without subGroupSize set"),
}
# fmt: on


@pytest.mark.parametrize(("parent", "text"), BAD.values(), ids=BAD)
def test_what_is_refused(parent: Object, text: str) -> None:
    assert texts(validate(asked(parent))) == [text]


def test_a_subgroup_that_is_larger_than_the_group() -> None:
    found = texts(validate(asked(split(3, 5))))
    assert f"{SUBGROUP}: Invalid value: 5: subGroupSize cannot be larger than size" in found


def test_good_sets_and_bad_names() -> None:
    for parent in (lws(), lws(0, rolling={"maxUnavailable": 0}), split(9, 4), split(8, 4)):
        assert validate(asked(parent)) == []
    (error,) = texts(validate(asked(lws(name="1st"))))
    assert error.startswith('metadata.name: Invalid value: "1st": a DNS-1035 label must consist of')


def test_subgroups_cannot_be_changed_later() -> None:
    plain, four, two = lws(1, 8), split(8, 4), split(8, 2)
    assert texts(validate(asked(four, plain))) == [
        f"{SUBGROUP}: Invalid value: 4: cannot enable subGroupSize after the lws is already created"
    ]
    assert texts(validate(asked(plain, four))) == [
        f"{SUBGROUP}: Invalid value: 4: cannot remove subGroupSize after enabled"
    ]
    assert texts(validate(asked(two, four))) == [
        f"{SUBGROUP}: Invalid value: 2: field is immutable"
    ]


def pod(name: str, *, annotations: Object | None = None, **spec: Any) -> Object:
    is_leader = name.count("-") == 1
    labels = {f"{PREFIX}name": "serve"}
    notes = {f"{PREFIX}size": "4", **(annotations or {})}
    if is_leader:
        labels[f"{PREFIX}worker-index"] = "0"
    else:
        labels |= {f"{PREFIX}group-index": name.split("-")[1], f"{PREFIX}group-key": "hash"}
        notes[f"{PREFIX}leader-name"] = name.rpartition("-")[0]
    made: Object = {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "labels": labels,
            "annotations": notes,
        },
        "spec": {
            "subdomain": "serve",
            "containers": [{"name": "main", "env": [{"name": "A", "value": "1"}]}],
            **spec,
        },
    }
    leader_worker_pods.default(asked(made))
    return made


def environment(made: Object, part: str = "containers") -> dict[str, str]:
    return {each["name"]: each["value"] for each in made["spec"][part][0]["env"]}


def test_a_leader_knows_its_group() -> None:
    made = pod("serve-7", initContainers=[{"name": "first"}])
    labels = made["metadata"]["labels"]
    assert labels[f"{PREFIX}group-index"] == "7"
    assert labels[f"{PREFIX}group-key"] == sha1(b"ns/serve-7").hexdigest()
    told = {
        "LWS_LEADER_ADDRESS": "serve-7.serve.ns",
        "LWS_GROUP_SIZE": "4",
        "LWS_WORKER_INDEX": "0",
    }
    assert list(environment(made).items()) == [*told.items(), ("A", "1")]
    assert environment(made, "initContainers") == told


def test_a_worker_knows_its_place_and_its_leader() -> None:
    made = pod("serve-7-2")
    assert made["metadata"]["labels"][f"{PREFIX}worker-index"] == "2"
    assert environment(made)["LWS_LEADER_ADDRESS"] == "serve-7.serve.ns"
    assert environment(made)["LWS_WORKER_INDEX"] == "2"


def test_the_users_own_value_of_such_a_variable_does_not_count() -> None:
    given = [{"name": "main", "env": [{"name": "LWS_GROUP_SIZE", "value": "99"}]}]
    assert environment(pod("serve-0", containers=given))["LWS_GROUP_SIZE"] == "4"


def test_a_leader_with_its_own_subdomain() -> None:
    made = pod("serve-1", annotations={f"{PREFIX}subdomainPolicy": "UniquePerReplica"})
    assert made["spec"]["subdomain"] == "serve-1"
    assert environment(made)["LWS_LEADER_ADDRESS"] == "serve-1.serve-1.ns"


# fmt: off
SUBGROUPS = {  # size, subgroup size, worker, subgroup
    "size divides":                 (4, 2, 1, "0"),
    "size divides, second":         (4, 2, 2, "1"),
    "only size - 1 divides":        (5, 2, 2, "0"),
    "only size - 1 divides, next":  (5, 2, 3, "1"),
    "both divide":                  (4, 1, 1, "1"),
    "both divide, next":            (4, 1, 2, "2"),
}
# fmt: on


@pytest.mark.parametrize(("size", "part", "worker", "index"), SUBGROUPS.values(), ids=SUBGROUPS)
def test_subgroups(size: int, part: int, worker: int, index: str) -> None:
    notes = {f"{PREFIX}size": str(size), f"{PREFIX}subgroup-size": str(part)}
    labels = pod(f"serve-0-{worker}", annotations=notes)["metadata"]["labels"]
    assert labels[f"{PREFIX}subgroup-index"] == index
    leader = pod("serve-0", annotations=notes)["metadata"]["labels"]
    assert leader[f"{PREFIX}subgroup-index"] == "0"
    same = labels[f"{PREFIX}subgroup-key"] == leader[f"{PREFIX}subgroup-key"]
    assert same is (index == "0")


def test_an_excluded_leader_is_in_no_subgroup() -> None:
    notes = {f"{PREFIX}subgroup-size": "3", f"{PREFIX}subgroup-policy-type": "LeaderExcluded"}
    labels = pod("serve-0", annotations=notes)["metadata"]["labels"]
    assert f"{PREFIX}subgroup-index" not in labels


def test_exclusive_groups_keep_to_themselves() -> None:
    made = pod("serve-0", annotations={f"{PREFIX}exclusive-topology": "rack"})
    key = made["metadata"]["labels"][f"{PREFIX}group-key"]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    assert made["spec"]["affinity"] == {
        "podAffinity": {
            required: [
                {
                    "labelSelector": {
                        "matchExpressions": [
                            {"key": f"{PREFIX}group-key", "operator": "In", "values": [key]}
                        ]
                    },
                    "topologyKey": "rack",
                }
            ]
        },
        "podAntiAffinity": {
            required: [
                {
                    "labelSelector": {
                        "matchExpressions": [
                            {"key": f"{PREFIX}group-key", "operator": "Exists"},
                            {"key": f"{PREFIX}group-key", "operator": "NotIn", "values": [key]},
                        ]
                    },
                    "topologyKey": "rack",
                }
            ]
        },
    }


TPU = {"name": "main", "resources": {"limits": {"google.com/tpu": "4"}}}


def test_tpu_programs_are_told_their_slice() -> None:
    uses = {f"{PREFIX}leader-requests-tpus": "true"}
    told = environment(pod("serve-0-1", annotations=uses, containers=[dict(TPU)]))
    assert told["TPU_WORKER_HOSTNAMES"] == (
        "serve-0.serve,serve-0-1.serve,serve-0-2.serve,serve-0-3.serve"
    )
    assert (told["TPU_WORKER_ID"], told["TPU_NAME"]) == ("1", "serve-0")
    assert told["TPU_PROCESS_ADDRESSES"].startswith("serve-0.serve:8476,serve-0-1.serve:8476")
    assert told["TPU_PROCESS_PORT"] == "8476"
    alone = environment(pod("serve-0-1", containers=[dict(TPU)]))
    assert alone["TPU_WORKER_HOSTNAMES"] == "serve-0-1.serve,serve-0-2.serve,serve-0-3.serve"
    assert alone["TPU_WORKER_ID"] == "0"
    leader = environment(pod("serve-0", containers=[dict(TPU)]))
    assert leader["TPU_WORKER_ID"] == "0"
    assert "TPU_NAME" not in environment(pod("serve-0"))


def test_tpu_subgroups_are_slices_of_their_own() -> None:
    notes = {f"{PREFIX}subgroup-size": "2", f"{PREFIX}leader-requests-tpus": "true"}
    first = environment(pod("serve-0-1", annotations=notes, containers=[dict(TPU)]))
    assert first["TPU_WORKER_HOSTNAMES"] == "serve-0.serve,serve-0-1.serve"
    second = environment(pod("serve-0-2", annotations=notes, containers=[dict(TPU)]))
    assert second["TPU_WORKER_HOSTNAMES"] == "serve-0-2.serve,serve-0-3.serve"
    assert second["TPU_WORKER_ID"] == "0"


@pytest.mark.parametrize("leader_uses", ["true", ""])
def test_a_tpu_subgroup_of_one_is_a_pod_by_itself(leader_uses: str) -> None:
    notes = {f"{PREFIX}subgroup-size": "1", f"{PREFIX}leader-requests-tpus": leader_uses}
    told = environment(pod("serve-0-2", annotations=notes, containers=[dict(TPU)]))
    assert (told["TPU_WORKER_HOSTNAMES"], told["TPU_WORKER_ID"]) == ("serve-0-2.serve", "0")


def test_other_pods_are_left_alone_and_broken_ones_refused() -> None:
    other: Object = {"metadata": {"name": "x", "labels": {}}, "spec": {"containers": []}}
    leader_worker_pods.default(asked(other))
    assert other["metadata"]["labels"] == {}
    assert leader_worker_pods.validate(asked(other)) == []
    broken = {"metadata": {"name": "x-0", "labels": {f"{PREFIX}name": "serve"}}, "spec": {}}
    leader_worker_pods.default(asked(broken))
    (error,) = texts(leader_worker_pods.validate(asked(broken)))
    assert error.endswith("size annotation is unexpectedly missing for pod x-0")
    assert leader_worker_pods.validate(asked(broken, broken)) == []
