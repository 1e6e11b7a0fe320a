"""KubeFleet's kinds: under which names and in which versions they are served, and how they read."""

from datetime import UTC, datetime

import pytest

from fleetqueue.api import fleet, kinds
from fleetqueue.api.fleet import cluster, placement, v1, work
from fleetqueue.api.model import read, write

BOTH, ALL, BETA = "v1 v1beta1", "v1 v1alpha1 v1beta1", "v1beta1"
LATE = "v1alpha1 v1beta1"

# fmt: off
KINDS = {
    # kind: short name, is cluster-scoped, versions, has a status subresource
    "MemberCluster":                            ("cluster", True,  BOTH, True),
    "InternalMemberCluster":                    ("imc",     False, BOTH, True),
    "ClusterResourcePlacement":                 ("crp",     True,  BOTH, True),
    "ResourcePlacement":                        ("rp",      False, BOTH, True),
    "ClusterResourcePlacementStatus":           ("crps",    False, BOTH, False),
    "ClusterSchedulingPolicySnapshot":          ("csps",    True,  BOTH, True),
    "SchedulingPolicySnapshot":                 ("sps",     False, BETA, True),
    "ClusterResourceSnapshot":                  ("crs",     True,  BOTH, True),
    "ResourceSnapshot":                         ("rs",      False, BETA, True),
    "ClusterResourceBinding":                   ("crb",     True,  BOTH, True),
    "ResourceBinding":                          ("rb",      False, BETA, True),
    "ClusterResourceOverride":                  ("",        True,  ALL,  False),
    "ClusterResourceOverrideSnapshot":          ("",        True,  ALL,  False),
    "ResourceOverride":                         ("",        False, ALL,  False),
    "ResourceOverrideSnapshot":                 ("",        False, ALL,  False),
    "ClusterResourceEnvelope":                  ("",        True,  BETA, False),
    "ResourceEnvelope":                         ("",        False, BETA, False),
    "ClusterResourcePlacementEviction":         ("crpe",    True,  LATE, True),
    "ClusterResourcePlacementDisruptionBudget": ("crpdb",   True,  LATE, False),
    "ClusterStagedUpdateRun":                   ("csur",    True,  ALL,  True),
    "StagedUpdateRun":                          ("sur",     False, BOTH, True),
    "ClusterStagedUpdateStrategy":              ("csus",    True,  ALL,  True),
    "StagedUpdateStrategy":                     ("sus",     False, BOTH, False),
    "ClusterApprovalRequest":                   ("careq",   True,  ALL,  True),
    "ApprovalRequest":                          ("areq",    False, BOTH, True),
    "Work":                                     ("",        False, BOTH, True),
    "AppliedWork":                              ("",        True,  BOTH, True),
}

COLUMNS = {
    "MemberCluster": "Joined Age Member-Agent-Last-Seen Node-Count Available-CPU Available-Memory"
                     " Allocatable-CPU+ Allocatable-Memory+",
    "InternalMemberCluster": "Age",
    "ClusterResourcePlacement": "Gen Type+ Scheduled Scheduled-Gen Work-Synchronized+"
                                " Work-Synchronized-Gen+ Available Available-Gen Age",
    "ClusterResourcePlacementStatus": "Resource-Index Last-Updated Age",
    "ResourceBinding": "WorkSynchronized ResourcesApplied ResourceAvailable+ Age",
    "ResourceSnapshot": "Gen Age",
    "ClusterResourcePlacementEviction": "Valid Executed",
    "StagedUpdateRun": "Placement Resource-Snapshot-Index Policy-Snapshot-Index Initialized"
                       " Progressing Succeeded Age Strategy+",
    "ApprovalRequest": "Update-Run Stage Approved Age",
    "Work": "",
}
# fmt: on


@pytest.fixture(scope="module")
def crds(server):
    groups = ("cluster.kubernetes-fleet.io", "placement.kubernetes-fleet.io")
    ours = [crd for crd in server.crds.values() if crd["spec"]["group"] in groups]
    return {crd["spec"]["names"]["kind"]: crd["spec"] for crd in ours}


def test_every_kind_is_there_and_no_other(crds):
    assert sorted(crds) == sorted(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_served_as_kubefleet_serves_it(kind, crds):
    short, is_cluster_scoped, versions, has_status = KINDS[kind]
    spec = crds[kind]
    assert spec["names"].get("shortNames", []) == short.split()
    assert (spec["scope"] == "Cluster") is is_cluster_scoped
    assert [one["name"] for one in spec["versions"]] == versions.split()
    assert [one["name"] for one in spec["versions"] if one["storage"]] == ["v1beta1"]
    assert "conversion" not in spec
    for version in spec["versions"]:
        assert version["served"]
        assert ("status" in version.get("subresources", {})) is has_status


@pytest.mark.parametrize("kind", KINDS)
def test_categories_name_the_fleet_and_the_side_of_it(kind, crds):
    side = crds[kind]["group"].split(".")[0]
    assert crds[kind]["names"]["categories"] == ["fleet", f"fleet-{side}"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_schema_is_structural(kind, crds, structural_faults):
    for version in crds[kind]["versions"]:
        assert structural_faults(version["schema"]["openAPIV3Schema"]) == []


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_are_those_that_people_know(kind, crds):
    columns = crds[kind]["versions"][-1].get("additionalPrinterColumns", [])
    shown = [column["name"] + "+" * column.get("priority", 0) for column in columns]
    assert shown == COLUMNS[kind].split()


def test_conditions_of_a_namespaced_placement_have_their_own_prefix(crds):
    columns = crds["ResourcePlacement"]["versions"][0]["additionalPrinterColumns"]
    assert columns[2]["jsonPath"] == (
        '.status.conditions[?(@.type=="ResourcePlacementScheduled")].status'
    )


# fmt: off
ONLY_IN_V1BETA1 = [
    ("cluster",   "MemberCluster",            "spec.deleteOptions"),
    ("cluster",   "MemberCluster",            "status.namespaces"),
    ("cluster",   "InternalMemberCluster",    "status.namespaces"),
    ("placement", "ClusterResourcePlacement", "spec.strategy.deleteStrategy"),
    ("placement", "ResourcePlacement",        "spec.strategy.reportBackStrategy"),
    ("placement", "Work",                     "spec.reportBackStrategy"),
    ("placement", "Work",                     "status.manifestConditions.[].backReportedStatus"),
]
# fmt: on


@pytest.mark.parametrize(("side", "kind", "path"), ONLY_IN_V1BETA1)
def test_v1_lacks_what_is_not_settled_yet(server, side, kind, path):
    group = f"{side}.kubernetes-fleet.io"
    server.schema(f"{group}/v1beta1", kind).at(*path.split("."))
    with pytest.raises(KeyError):
        server.schema(f"{group}/v1", kind).at(*path.split("."))


def test_an_envelope_is_a_config_map_by_default_only_in_v1beta1(server):
    path = ["status", "selectedResources", "[]", "envelope", "type"]
    group = "placement.kubernetes-fleet.io"
    beta = server.schema(f"{group}/v1beta1", "ClusterResourcePlacement").at(*path).raw
    stable = server.schema(f"{group}/v1", "ClusterResourcePlacement").at(*path).raw
    assert beta["default"] == "ConfigMap"
    assert "default" not in stable
    assert set(beta["enum"]) - set(stable["enum"]) == {"ConfigMap"}


def test_every_version_has_a_class_that_says_what_it_is():
    found = {
        (kind.version, kind.name)
        for kind in map(kinds.kind_of, kinds.kinds())
        if kind.group.endswith("kubernetes-fleet.io")
    }
    assert found == {(version, name) for name, row in KINDS.items() for version in row[2].split()}
    assert fleet.__doc__


def test_one_shape_serves_both_versions_and_each_object_says_its_own():
    spec = work.AppliedWorkSpec(work_name="w", work_namespace="fleet-member-a")
    assert issubclass(v1.AppliedWork, work.AppliedWork)
    versions = [cls(spec=spec).api_version for cls in (v1.AppliedWork, work.AppliedWork)]
    assert versions == [f"placement.kubernetes-fleet.io/{v}" for v in ("v1", "v1beta1")]


MEMBER = {
    "apiVersion": "cluster.kubernetes-fleet.io/v1beta1",
    "kind": "MemberCluster",
    "metadata": {"name": "east"},
    "spec": {
        "identity": {"kind": "ServiceAccount", "name": "agent", "namespace": "fleet-system"},
        "taints": [{"key": "gpu", "value": "none", "effect": "NoSchedule"}],
        "deleteOptions": {"validationMode": "Skip"},
    },
    "status": {
        "properties": {
            "kubernetes-fleet.io/node-count": {
                "value": "3",
                "observationTime": "2026-01-02T03:04:05Z",
            }
        },
        "resourceUsage": {"available": {"cpu": "3500m", "memory": "8Gi"}},
        "agentStatus": [{"type": "MemberAgent", "lastReceivedHeartbeat": "2026-01-02T03:04:05Z"}],
    },
}


def test_a_member_reads_typed_and_writes_back_the_same():
    member = read(cluster.MemberCluster, MEMBER)
    assert member.spec.taints[0].effect is cluster.TaintEffect.NO_SCHEDULE
    assert member.spec.heartbeat_period_seconds == 60
    assert member.status is not None
    heartbeat = member.status.agent_status[0].last_received_heartbeat
    assert heartbeat == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert write(member) == MEMBER


def test_a_placement_reads_with_its_defaults():
    raw = {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ResourcePlacement",
        "metadata": {"name": "job", "namespace": "team"},
        "spec": {
            "resourceSelectors": [{"group": "batch", "version": "v1", "kind": "Job", "name": "j"}],
            "policy": {"tolerations": [{"key": "gpu"}]},
            "strategy": {"rollingUpdate": {"maxSurge": 2}},
        },
    }
    spec = read(placement.ResourcePlacement, raw).spec
    assert spec.policy is not None
    assert spec.strategy is not None
    assert spec.policy.placement_type == "PickAll"
    assert spec.policy.tolerations[0].operator == "Equal"
    assert spec.strategy.rolling_update is not None
    assert spec.strategy.rolling_update.max_surge == 2
    assert spec.strategy.rolling_update.max_unavailable == "25%"
    assert spec.revision_history_limit == 10
