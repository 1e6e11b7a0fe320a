"""On which nodes a DaemonSet's pods belong, and how a pod is made for one node alone."""

from collections.abc import Iterable

from fleetqueue.api.pods import taints, terms
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.templates import pod_from_template

REVISION_LABEL = "controller-revision-hash"
GENERATION_LABEL = "pod-template-generation"
GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"
_EXECUTE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SCHEDULE = (
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unschedulable",
)
_NETWORK = "node.kubernetes.io/network-unavailable"


def belongs(node: Object, parent: Object) -> tuple[bool, bool]:
    """Whether a pod should be made there, and whether one that is there may stay."""
    spec = parent["spec"]["template"].get("spec") or {}
    name = node["metadata"]["name"]
    if spec.get("nodeName") not in (None, "", name):
        return False, False
    rule = terms.node_rule(spec)
    if rule is not None and not rule.matches(name, node["metadata"].get("labels") or {}):
        return False, False
    accepted = tolerations(spec)
    untolerated = [
        taint
        for taint in (node.get("spec") or {}).get("taints") or ()
        if taint.get("effect") in taints.KEEPS_OUT and not taints.tolerates(accepted, taint)
    ]
    if not untolerated:
        return True, True
    return False, all(taint["effect"] != "NoExecute" for taint in untolerated)


def tolerations(spec: Object) -> list[Object]:
    """The template's, and those that keep a daemon on a node in trouble."""
    wanted = [(key, "NoExecute") for key in _EXECUTE] + [(key, "NoSchedule") for key in _SCHEDULE]
    if spec.get("hostNetwork"):
        wanted.append((_NETWORK, "NoSchedule"))
    made = list(spec.get("tolerations") or ())
    for key, effect in wanted:
        new = {"key": key, "operator": "Exists", "effect": effect}
        at = [index for index, each in enumerate(made) if _is_same(each, new)]
        if at:
            made[at[0]] = new
        else:
            made.append(new)
    return made


def new_pod(parent: Object, node: str, hashed: str) -> Object:
    """Bound to its node by affinity, so that the scheduler still has its say."""
    template = parent["spec"]["template"]
    spec = template.get("spec") or {}
    labels = {REVISION_LABEL: hashed}
    generation = template_generation(parent)
    if generation:
        labels[GENERATION_LABEL] = generation
    affinity = dict(spec.get("affinity") or {})
    named = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [named]}]}
    affinity["nodeAffinity"] = {**(affinity.get("nodeAffinity") or {}), terms.REQUIRED: required}
    return pod_from_template(
        template,
        parent,
        labels=labels,
        spec={"affinity": affinity, "tolerations": tolerations(spec)},
    )


def template_generation(parent: Object) -> str:
    annotations = parent["metadata"].get("annotations") or {}
    return str(annotations.get(GENERATION_ANNOTATION) or "")


def is_updated(pod: Object, parent: Object, hashed: str) -> bool:
    labels = pod["metadata"].get("labels") or {}
    generation = template_generation(parent)
    is_same_generation = bool(generation) and labels.get(GENERATION_LABEL) == generation
    return is_same_generation or labels.get(REVISION_LABEL) == hashed


def target_node(pod: Object) -> str:
    """The node it is on, or was made for; "" where it says none."""
    if pod_facts.node_name(pod):
        return pod_facts.node_name(pod)
    affinity = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(terms.REQUIRED)
    for term in (affinity or {}).get("nodeSelectorTerms") or ():
        for each in term.get("matchFields") or ():
            values = each.get("values") or []
            if (each.get("key"), each.get("operator")) == ("metadata.name", "In"):
                return str(values[0]) if len(values) == 1 else ""
    return ""


def by_node(pods: Iterable[Object]) -> dict[str, list[Object]]:
    """The pods of each node; those that have ended and are going do not count."""
    found: dict[str, list[Object]] = {}
    for pod in pods:
        if not (pod_facts.is_terminal(pod) and is_deleting(pod)) and target_node(pod):
            found.setdefault(target_node(pod), []).append(pod)
    return {node: sorted(each, key=_seniority) for node, each in found.items()}


def _seniority(pod: Object) -> tuple[bool, str, str]:
    metadata = pod["metadata"]
    return not pod_facts.node_name(pod), metadata.get("creationTimestamp") or "", metadata["name"]


def _is_same(left: Object, right: Object) -> bool:
    names = ("key", "operator", "value", "effect")
    told = [tuple(each.get(name) or "" for name in names) for each in (left, right)]
    return told[0] == told[1]
