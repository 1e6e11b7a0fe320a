"""CEL rules and limits of KubeFleet's kinds, by the answers that people get."""

import pytest

GROUP = "placement.kubernetes-fleet.io"
SCOPED = "NamespaceWithResourceSelectors"
BOTH_VERSIONS = pytest.mark.parametrize("version", ["v1", "v1beta1"])


def placement(spec, kind="ClusterResourcePlacement", version="v1beta1"):
    spec = {"resourceSelectors": [namespace(name="a")]} | spec
    api_version = f"{GROUP}/{version}"
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def namespace(**more):
    return {"group": "", "version": "v1", "kind": "Namespace", **more}


def answers(result):
    """The details of the errors, without path and value."""
    return [error.rsplit('": ', 1)[-1] for error in result.errors]


ONE_ANCHOR = "only one namespace selector with NamespaceWithResourceSelectors mode is allowed"
ANCHOR_NAME = (
    "namespace selector with NamespaceWithResourceSelectors mode must select by name (not by label)"
)
ANCHOR_ALONE = (
    "when using NamespaceWithResourceSelectors mode, only one namespace selector is allowed"
    " (cannot mix with other namespace selectors)"
)
EXCLUSIVE = "name and labelSelector are mutually exclusive in a resource selector"

SELECTORS = [
    ([namespace(name="a", labelSelector={})], [EXCLUSIVE]),
    ([namespace(name="", labelSelector={})], []),
    (
        [namespace(name="a", selectionScope=SCOPED), namespace(name="b", selectionScope=SCOPED)],
        [ONE_ANCHOR, ANCHOR_NAME, ANCHOR_ALONE],
    ),
    ([namespace(labelSelector={}, selectionScope=SCOPED)], [ANCHOR_NAME]),
    ([namespace(name="a", selectionScope=SCOPED), namespace(name="b")], [ANCHOR_ALONE]),
    (
        [
            namespace(name="a", selectionScope=SCOPED),
            {"group": "apps", "version": "v1", "kind": "Deployment"},
        ],
        [],
    ),
]


@BOTH_VERSIONS
@pytest.mark.parametrize("kind", ["ClusterResourcePlacement", "ResourcePlacement"])
@pytest.mark.parametrize(("selectors", "expected"), SELECTORS)
def test_selectors(server, kind, version, selectors, expected):
    given = placement({"resourceSelectors": selectors}, kind, version)
    assert answers(server.write(given)) == expected


FIXED = (
    "affinity, numberOfClusters, topologySpreadConstraints, and tolerations cannot be set"
    " when placementType is PickFixed"
)
ALL = (
    "clusterNames, numberOfClusters, and topologySpreadConstraints cannot be set"
    " when placementType is PickAll"
)
COUNTED = "clusterNames cannot be set and numberOfClusters must be set when placementType is PickN"
NO_VALUE = "value must be empty when operator is Exists"
NEEDS_KEY = "operator must be Exists when key is empty"

POLICIES = [
    ({"placementType": "PickFixed", "clusterNames": ["a"]}, []),
    ({"placementType": "PickFixed", "clusterNames": []}, []),
    ({"placementType": "PickFixed", "numberOfClusters": 1}, [FIXED]),
    ({"placementType": "PickFixed", "affinity": {}}, [FIXED]),
    ({}, []),
    ({"clusterNames": ["a"]}, [ALL]),
    ({"numberOfClusters": 1}, [ALL]),
    ({"placementType": "PickN", "numberOfClusters": 0}, []),
    ({"placementType": "PickN"}, [COUNTED]),
    ({"placementType": "PickN", "numberOfClusters": 1, "clusterNames": ["a"]}, [COUNTED]),
    ({"tolerations": [{"operator": "Exists"}, {"key": "a"}]}, []),
    ({"tolerations": [{"operator": "Exists", "value": "a"}]}, [NO_VALUE]),
    ({"tolerations": [{"value": "a"}]}, [NEEDS_KEY]),
]


@BOTH_VERSIONS
@pytest.mark.parametrize(("policy", "expected"), POLICIES)
def test_policies(server, version, policy, expected):
    assert answers(server.write(placement({"policy": policy}, version=version))) == expected


ACCESSIBLE = {"statusReportingScope": "NamespaceAccessible"}
ONE_NAMESPACE = (
    "when statusReportingScope is NamespaceAccessible,"
    " exactly one resourceSelector with kind 'Namespace' is required"
)


def test_only_a_cluster_placement_must_report_to_one_namespace(server):
    two = {"resourceSelectors": [namespace(name="a"), namespace(name="b")], **ACCESSIBLE}
    assert answers(server.write(placement(two))) == [ONE_NAMESPACE]
    assert answers(server.write(placement(two, "ResourcePlacement"))) == []


PICK_N = {"placementType": "PickN", "numberOfClusters": 1}
EXTERNAL = {"strategy": {"type": "External"}}

CHANGES = [
    ({"policy": PICK_N}, {}, "policy cannot be removed once set"),
    ({}, {"policy": PICK_N}, None),
    ({"policy": PICK_N}, {"policy": {}}, "placement type is immutable"),
    ({"policy": PICK_N}, {"policy": PICK_N | {"numberOfClusters": 2}}, None),
    (ACCESSIBLE, {}, "statusReportingScope is immutable"),
    ({}, EXTERNAL, None),
    (
        EXTERNAL,
        {"strategy": {}},
        "cannot change rollout strategy type from 'External' to other types",
    ),
]


@pytest.mark.parametrize(("before", "after", "message"), CHANGES)
def test_changes_of_a_placement(server, before, after, message):
    result = server.write(placement(after), server.write(placement(before)).obj)
    assert answers(result) == ([message] if message else [])


def test_a_mirror_needs_a_destination(server):
    mirror = {"type": "Mirror"}
    wrong = server.write(placement({"strategy": {"reportBackStrategy": mirror}}))
    assert "a destination must be specified" in wrong.errors[0]
    right = {"strategy": {"reportBackStrategy": mirror | {"destination": "WorkAPI"}}}
    assert server.write(placement(right)).errors == []


def run(version="v1beta1", name="x", **spec):
    spec = {
        "placementName": "p",
        "resourceSnapshotIndex": "0",
        "stagedRolloutStrategyName": "s",
    } | spec
    kind, api_version = "ClusterStagedUpdateRun", f"{GROUP}/{version}"
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


RUNS = [
    ("Initialize", "Run", True),
    ("Run", "Stop", True),
    ("Stop", "Run", True),
    ("Initialize", "Stop", False),
    ("Run", "Initialize", False),
    ("Stop", "Initialize", False),
]


@BOTH_VERSIONS
@pytest.mark.parametrize(("before", "after", "allowed"), RUNS)
def test_a_run_goes_its_way_only_forward(server, version, before, after, allowed):
    result = server.write(run(version, state=after), server.write(run(version, state=before)).obj)
    message = f"invalid state transition: cannot transition from {before} to {after}"
    assert answers(result) == ([] if allowed else [message])


def test_names_of_runs_are_limited_more_since_v1alpha1(server):
    assert answers(server.write(run(name="n" * 64))) == ["metadata.name max length is 63"]
    assert answers(server.write(run("v1alpha1", name="n" * 127))) == []
    longer = server.write(run("v1alpha1", name="n" * 128))
    assert answers(longer) == ["metadata.name max length is 127"]


def test_a_run_of_v1alpha1_never_changes(server):
    before, after = run("v1alpha1"), run("v1alpha1", resourceSnapshotIndex="1")
    result = server.write(after, server.write(before).obj)
    assert answers(result) == ["The spec field is immutable"]


def strategy(stage, version="v1beta1"):
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "ClusterStagedUpdateStrategy",
        "metadata": {"name": "x"},
        "spec": {"stages": [{"name": "canary", **stage}]},
    }


APPROVAL_TIME = "AfterStageTaskType is Approval, waitTime is not allowed"
WAIT_TIME = "AfterStageTaskType is TimedWait, waitTime is required"
AT_LEAST_ONE = "maxConcurrency must be at least 1"

STAGES = [
    ({}, []),
    ({"maxConcurrency": "50%"}, []),
    ({"maxConcurrency": 0}, [AT_LEAST_ONE]),
    ({"afterStageTasks": [{"type": "TimedWait", "waitTime": "1h30m"}]}, []),
    ({"afterStageTasks": [{"type": "TimedWait"}]}, [WAIT_TIME]),
    ({"afterStageTasks": [{"type": "Approval", "waitTime": "1h"}]}, [APPROVAL_TIME]),
    (
        {"beforeStageTasks": [{"type": "TimedWait", "waitTime": "1h"}]},
        ["BeforeStageTaskType cannot be TimedWait"],
    ),
    ({"beforeStageTasks": [{"type": "Approval"}]}, []),
]


@pytest.mark.parametrize(("stage", "expected"), STAGES)
def test_stages(server, stage, expected):
    assert answers(server.write(strategy(stage))) == expected


def test_a_bare_zero_was_a_time_once(server):
    stage = {"afterStageTasks": [{"type": "TimedWait", "waitTime": "0"}]}
    assert server.write(strategy(stage, "v1alpha1")).errors == []
    assert "should match" in server.write(strategy(stage)).errors[0]


def override(version="v1beta1", **spec):
    patch = {"op": "add", "path": "/metadata/labels/a", "value": {"any": ["thing", 1]}}
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "a"}
    whole = {
        "clusterResourceSelectors": [selector],
        "policy": {"overrideRules": [{"jsonPatchOverrides": [patch]}]},
    } | spec
    kind, api_version = "ClusterResourceOverride", f"{GROUP}/{version}"
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": whole}


def test_a_patch_may_carry_any_value(server):
    result = server.write(override())
    assert (result.errors, result.dropped) == ([], [])


@pytest.mark.parametrize("version", ["v1", "v1alpha1", "v1beta1"])
def test_an_override_keeps_its_placement_since_v1alpha1(server, version):
    first, second = {"name": "a"}, {"name": "b"}
    expected = [] if version == "v1alpha1" else ["The placement field is immutable"]
    for before, after in [(first, second), (None, first), (first, None)]:
        old = override(version, **({"placement": before} if before else {}))
        new = override(version, **({"placement": after} if after else {}))
        assert answers(server.write(new, server.write(old).obj)) == expected


@pytest.mark.parametrize("version", ["v1", "v1alpha1", "v1beta1"])
def test_a_cluster_override_is_not_for_a_namespaced_placement(server, version):
    result = server.write(override(version, placement={"name": "a", "scope": "Namespaced"}))
    message = "clusterResourceOverride placement reference cannot be Namespaced scope"
    assert answers(result) == [message]


def budget(**spec):
    kind = "ClusterResourcePlacementDisruptionBudget"
    api_version = f"{GROUP}/v1beta1"
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "is_fine"),
    [
        ({}, True),
        ({"maxUnavailable": 1}, True),
        ({"minAvailable": "10%"}, True),
        ({"minAvailable": "101%"}, False),
        ({"minAvailable": "ten"}, False),
        ({"maxUnavailable": -1}, False),
        ({"maxUnavailable": 1, "minAvailable": 1}, False),
    ],
)
def test_budgets(server, spec, is_fine):
    assert (server.write(budget(**spec)).errors == []) is is_fine


def member(name="x", **spec):
    spec = {"identity": {"kind": "User", "name": "agent"}} | spec
    api_version = "cluster.kubernetes-fleet.io/v1beta1"
    return {
        "apiVersion": api_version,
        "kind": "MemberCluster",
        "metadata": {"name": name},
        "spec": spec,
    }


def test_members(server):
    assert server.write(member()).obj["spec"]["heartbeatPeriodSeconds"] == 60
    assert answers(server.write(member("m" * 64))) == ["metadata.name max length is 63"]
    assert server.write(member(heartbeatPeriodSeconds=601)).errors
    assert server.write(member(taints=[{"key": "a", "effect": "NoExecute"}])).errors


def test_a_work_holds_whole_objects_and_an_envelope_anything(server):
    odd = {"no": "object"}
    work = {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "Work",
        "metadata": {"name": "x", "namespace": "fleet-member-a"},
        "spec": {"workload": {"manifests": [odd]}},
    }
    envelope = {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "ResourceEnvelope",
        "metadata": {"name": "x", "namespace": "a"},
        "data": {"one": odd},
    }
    assert server.write(work).errors
    assert (server.write(envelope).errors, server.write(envelope).dropped) == ([], [])
    assert server.write(envelope | {"data": {}}).errors


@pytest.mark.parametrize(
    ("strategy", "is_fine"),
    [
        ({"rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}}, True),
        ({"rollingUpdate": {"maxSurge": "101%"}}, False),
        ({"rollingUpdate": {"maxUnavailable": "some"}}, False),
        ({"rollingUpdate": {"unavailablePeriodSeconds": -1}}, False),
        ({"applyStrategy": {"whenToTakeOver": "Sometimes"}}, False),
        ({"type": "Manual"}, False),
    ],
)
def test_strategies(server, strategy, is_fine):
    assert (server.write(placement({"strategy": strategy})).errors == []) is is_fine
