"""What a LeaderWorkerSet makes: leaders, the workers of each, names for them, and its revisions."""

from collections.abc import Sequence

from fleetqueue.kube.plan import child
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.hashing import content_hash
from fleetqueue.runtime.kinds import CONTROLLER_REVISION, SERVICE, STATEFUL_SET
from fleetqueue.runtime.operators import leader_worker_spec as keys
from fleetqueue.runtime.operators.leader_worker_spec import LeaderWorkerSet, annotation, label
from fleetqueue.runtime.operators.leader_worker_tpus import LEADER_USES_KEY, uses_tpus

NAME_PREFIX_MAX = 220
_CLAIM_PARTS = ("accessModes", "storageClassName", "volumeMode", "resources")
_NOT_COPIED = "kubectl.kubernetes.io/last-applied-configuration"


def make_leaders(whole: LeaderWorkerSet, partition: int, replicas: int, revision: str) -> Object:
    """The StatefulSet of all leaders; its partition is how far an update has come."""
    given = whole.template.get("leaderTemplate") or whole.template["workerTemplate"]
    marks = {keys.WORKER_KEY: "0", keys.NAME_KEY: whole.name, keys.REVISION_KEY: revision}
    unavailable = max(whole.unavailable_max + whole.surge_max, 1)
    spec: Object = {
        "serviceName": whole.name,
        "replicas": replicas,
        "podManagementPolicy": "Parallel",
        "template": _template(given, marks, _leader_annotations(whole)),
        "updateStrategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": unavailable, "partition": partition},
        },
        "selector": {"matchLabels": {keys.NAME_KEY: whole.name, keys.WORKER_KEY: "0"}},
        **_claims(whole),
    }
    own = {keys.NAME_KEY: whole.name, keys.REVISION_KEY: revision}
    metadata = _metadata(whole, whole.name, own, {keys.REPLICAS_KEY: str(whole.replicas)})
    return child(STATEFUL_SET, whole.obj, metadata, spec=spec)


def make_workers(
    whole: LeaderWorkerSet, leader: Object, revision: Object, nodes: dict[str, str]
) -> Object:
    """The other pods of a leader's group, from the template that the leader was made from."""
    name = str(leader["metadata"]["name"])
    group = {
        keys.GROUP_KEY: label(leader, keys.GROUP_KEY),
        keys.NAME_KEY: whole.name,
        keys.GROUP_HASH_KEY: label(leader, keys.GROUP_HASH_KEY),
    }
    marks = {**group, keys.REVISION_KEY: label(leader, keys.REVISION_KEY)}
    given = revision["data"]["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    template = _template(given, marks, _worker_annotations(whole, leader))
    if nodes:
        chosen = {**(template["spec"].get("nodeSelector") or {}), **nodes}
        template["spec"] = {**template["spec"], "nodeSelector": chosen}
    spec: Object = {
        "serviceName": name if whole.has_own_subdomains else whole.name,
        "replicas": whole.size - 1,
        "podManagementPolicy": "Parallel",
        "template": template,
        "ordinals": {"start": 1},
        "selector": {"matchLabels": group},
        **_claims(whole),
    }
    return child(STATEFUL_SET, leader, _metadata(whole, name, marks, {}), spec=spec)


def make_service(whole: LeaderWorkerSet, leader: Object | None = None) -> Object:
    """The names of all pods, or those of one group, which then go with their leader."""
    owner = whole.obj if leader is None else leader
    selector = {keys.NAME_KEY: whole.name}
    if leader is not None:
        selector[keys.GROUP_KEY] = label(leader, keys.GROUP_KEY)
    metadata = {"name": owner["metadata"]["name"], "labels": {keys.NAME_KEY: whole.name}}
    spec = {"clusterIP": "None", "selector": selector, "publishNotReadyAddresses": True}
    return child(SERVICE, owner, metadata, spec=spec)


def snapshot(whole: LeaderWorkerSet) -> Object:
    """What makes a group another one, as a patch that brings it back."""
    network = whole.spec.get("networkConfig") or {"subdomainPolicy": "Shared"}
    return {
        "spec": {
            "networkConfig": {**network, "$patch": "replace"},
            "leaderWorkerTemplate": {**whole.template, "$patch": "replace"},
        }
    }


def make_revision(whole: LeaderWorkerSet, history: Sequence[Object], key: str = "") -> Object:
    """The next in the history, under its own hash unless another key is in use for it."""
    data = snapshot(whole)
    hashed = content_hash(data)
    number = max((int(each["revision"]) for each in history), default=0) + 1
    metadata = {
        "name": f"{whole.name[:NAME_PREFIX_MAX]}-{hashed}-{number}",
        "labels": {keys.NAME_KEY: whole.name, keys.REVISION_KEY: key or hashed},
    }
    return child(CONTROLLER_REVISION, whole.obj, metadata, data=data, revision=number)


def find_revision(history: Sequence[Object], key: str) -> Object | None:
    """The newest with that key."""
    found = [each for each in history if key and label(each, keys.REVISION_KEY) == key]
    return max(found, key=lambda each: int(each["revision"]), default=None)


def _template(given: Object, labels: dict[str, str], annotations: dict[str, str]) -> Object:
    metadata = given.get("metadata") or {}
    return {
        "metadata": {
            "labels": {**(metadata.get("labels") or {}), **labels},
            "annotations": {**(metadata.get("annotations") or {}), **annotations},
        },
        "spec": given.get("spec") or {},
    }


def _leader_annotations(whole: LeaderWorkerSet) -> dict[str, str]:
    made = _group_annotations(whole)
    policy = whole.template.get("subGroupPolicy")
    if policy is not None:
        made[keys.SUBGROUP_TYPE_KEY] = policy.get("subGroupPolicyType") or "LeaderWorker"
    if whole.has_own_subdomains:
        made[keys.SUBDOMAIN_KEY] = "UniquePerReplica"
    return made


def _worker_annotations(whole: LeaderWorkerSet, leader: Object) -> dict[str, str]:
    made = _group_annotations(whole)
    made[keys.LEADER_KEY] = str(leader["metadata"]["name"])
    if uses_tpus(leader["spec"]):
        made[LEADER_USES_KEY] = "true"
    return made


def _group_annotations(whole: LeaderWorkerSet) -> dict[str, str]:
    made = {keys.SIZE_KEY: str(whole.size)}
    wanted = [keys.EXCLUSIVE_KEY]
    policy = whole.template.get("subGroupPolicy")
    if policy is not None:
        made[keys.SUBGROUP_SIZE_KEY] = str(policy.get("subGroupSize"))
        wanted.append(keys.SUBGROUP_EXCLUSIVE_KEY)
    return made | {key: annotation(whole.obj, key) for key in wanted if annotation(whole.obj, key)}


def _metadata(
    whole: LeaderWorkerSet, name: str, labels: dict[str, str], annotations: dict[str, str]
) -> Object:
    """Labels and annotations of the set go on to its StatefulSets."""
    given = whole.obj["metadata"]
    passed = {key: text for key, text in whole.annotations.items() if key != _NOT_COPIED}
    metadata: Object = {"name": name, "labels": {**(given.get("labels") or {}), **labels}}
    if passed or annotations:
        metadata["annotations"] = {**passed, **annotations}
    return metadata


def _claims(whole: LeaderWorkerSet) -> Object:
    made: Object = {}
    if whole.template.get("volumeClaimTemplates"):
        made["volumeClaimTemplates"] = [
            {
                "metadata": {"name": each["metadata"]["name"]},
                "spec": {part: each["spec"][part] for part in _CLAIM_PARTS if part in each["spec"]},
            }
            for each in whole.template["volumeClaimTemplates"]
        ]
    if whole.template.get("persistentVolumeClaimRetentionPolicy"):
        policy = whole.template["persistentVolumeClaimRetentionPolicy"]
        made["persistentVolumeClaimRetentionPolicy"] = policy
    return made
