"""What a pod of a LeaderWorkerSet is given when it is made: its place, and how to find its leader.

The StatefulSets make all their pods alike; only the name of a pod says which one it is.
"""

import hashlib
import re

from fleetqueue.api import field_errors as fields
from fleetqueue.api.field_errors import FieldError
from fleetqueue.kube.resources import Object
from fleetqueue.kube.webhook_rules import Asked, Webhook
from fleetqueue.runtime.kinds import POD
from fleetqueue.runtime.operators import leader_worker_spec as keys
from fleetqueue.runtime.operators.leader_worker_spec import annotation, label
from fleetqueue.runtime.operators.leader_worker_tpus import add_variables, uses_tpus

_STATEFUL_NAME = re.compile(r"(.*)-([0-9]+)", re.ASCII)


def default(asked: Asked) -> None:
    pod = asked.obj
    if not label(pod, keys.NAME_KEY) or not annotation(pod, keys.SIZE_KEY):
        return
    ordinal = _ordinal(pod)
    if ordinal is None:
        return
    size = int(annotation(pod, keys.SIZE_KEY))
    if label(pod, keys.WORKER_KEY) == "0":
        _mark_leader(pod, ordinal)
    else:
        _mark_worker(pod, ordinal, size)
    if uses_tpus(pod["spec"]):
        add_variables(pod, size)
    _tell_leader(pod)


def validate(asked: Asked) -> list[FieldError]:
    pod = asked.obj
    if not asked.is_new or not label(pod, keys.NAME_KEY):
        return []
    name = pod["metadata"].get("name") or ""
    if not annotation(pod, keys.SIZE_KEY):
        why = f"size annotation is unexpectedly missing for pod {name}"
        return [fields.required(f"metadata.annotations[{keys.SIZE_KEY}]", why)]
    if _ordinal(pod) is None:
        return [fields.wrong("metadata.name", name, f"parsing pod ordinal for pod {name}")]
    return []


def _mark_leader(pod: Object, ordinal: int) -> None:
    labels, name = pod["metadata"]["labels"], str(pod["metadata"]["name"])
    labels.setdefault(keys.GROUP_KEY, str(ordinal))
    if annotation(pod, keys.SUBDOMAIN_KEY) == "UniquePerReplica":
        pod["spec"]["subdomain"] = name
    namespace = pod["metadata"].get("namespace") or ""
    labels.setdefault(keys.GROUP_HASH_KEY, _hash(namespace, name))
    _keep_to_itself(pod, keys.GROUP_HASH_KEY, annotation(pod, keys.EXCLUSIVE_KEY))
    excluded = annotation(pod, keys.SUBGROUP_TYPE_KEY) == "LeaderExcluded"
    if annotation(pod, keys.SUBGROUP_SIZE_KEY) and not excluded:
        _mark_subgroup(pod, name, 0)


def _mark_worker(pod: Object, ordinal: int, size: int) -> None:
    pod["metadata"]["labels"][keys.WORKER_KEY] = str(ordinal)
    part = int(annotation(pod, keys.SUBGROUP_SIZE_KEY) or 0)
    if part:
        leader = annotation(pod, keys.LEADER_KEY)
        # Where the leader is one too many it belongs to the first subgroup.
        shift = 1 if size % part and (size - 1) % part == 0 else 0
        _mark_subgroup(pod, leader, (ordinal - shift) // part)


def _mark_subgroup(pod: Object, leader: str, index: int) -> None:
    labels = pod["metadata"]["labels"]
    if labels.get(keys.SUBGROUP_KEY):
        return
    labels[keys.SUBGROUP_KEY] = str(index)
    labels[keys.SUBGROUP_HASH_KEY] = _hash(leader, str(index))
    _keep_to_itself(pod, keys.SUBGROUP_HASH_KEY, annotation(pod, keys.SUBGROUP_EXCLUSIVE_KEY))


def _keep_to_itself(pod: Object, key: str, topology: str) -> None:
    """Together in one domain of the topology, and nobody else of that sort beside them."""
    affinity = dict(pod["spec"].get("affinity") or {})
    parts = ("podAffinity", "podAntiAffinity")
    if not topology or all(_has_term(affinity.get(part), topology) for part in parts):
        return
    values = [pod["metadata"]["labels"][key]]
    with_us = [{"key": key, "operator": "In", "values": values}]
    others = [
        {"key": key, "operator": "Exists"},
        {"key": key, "operator": "NotIn", "values": values},
    ]
    for part, expressions in zip(parts, (with_us, others), strict=True):
        term = {"labelSelector": {"matchExpressions": expressions}, "topologyKey": topology}
        terms = _terms(affinity.get(part))
        made = {**(affinity.get(part) or {}), _REQUIRED: [*terms, term]}
        affinity[part] = made
    pod["spec"]["affinity"] = affinity


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _terms(affinity: Object | None) -> list[Object]:
    return list((affinity or {}).get(_REQUIRED) or ())


def _has_term(affinity: Object | None, topology: str) -> bool:
    return any(term.get("topologyKey") == topology for term in _terms(affinity))


def _tell_leader(pod: Object) -> None:
    """First of all variables, so that those of the user may refer to them."""
    metadata = pod["metadata"]
    leader = f"{label(pod, keys.NAME_KEY)}-{label(pod, keys.GROUP_KEY)}"
    domain = pod["spec"].get("subdomain") or ""
    told = {
        "LWS_LEADER_ADDRESS": f"{leader}.{domain}.{metadata.get('namespace') or ''}",
        "LWS_GROUP_SIZE": annotation(pod, keys.SIZE_KEY),
        "LWS_WORKER_INDEX": label(pod, keys.WORKER_KEY),
    }
    ours = [{"name": name, "value": value} for name, value in told.items()]
    for part in ("containers", "initContainers"):
        for container in pod["spec"].get(part) or ():
            given = [each for each in container.get("env") or () if each["name"] not in told]
            container["env"] = [*ours, *given]


def _ordinal(pod: Object) -> int | None:
    match = _STATEFUL_NAME.fullmatch(str(pod["metadata"].get("name") or ""))
    return int(match[2]) if match else None


def _hash(*parts: str) -> str:
    return hashlib.sha1("/".join(parts).encode(), usedforsecurity=False).hexdigest()


WEBHOOK = Webhook(POD, default=default, validate=validate, name="mpod.kb.io")
