"""Which requests get to see pods of other clusters, and what such answers look like."""

from collections.abc import Iterable, Mapping

from fleetqueue.api import selectors
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.call import Call
from fleetqueue.kube.resources import Object

HEADER = "kubectl-command"
COMMANDS = frozenset(f"kubectl {verb}" for verb in ("logs", "exec", "attach", "cp", "port-forward"))
"""What looks for pods in order to reach into them. For all others there are none, but for those who
ask for the steps of a TrainJob.
"""
VERBS = ("get", "list", "watch")
JOB_SET_LABEL = "jobset.sigs.k8s.io/jobset-name"
REPLICATED_JOB_LABEL = "jobset.sigs.k8s.io/replicatedjob-name"


def shows(call: Call) -> bool:
    route, command = call.route, call.request.headers.get(HEADER, "")
    is_pods = not call.resource.group and call.resource.plural == "pods"
    return (
        is_pods
        and not route.subresource
        and route.verb in VERBS
        and bool(route.namespace)
        and (command in COMMANDS or (not command and _asks_for_steps(call)))
    )


def _asks_for_steps(call: Call) -> bool:
    """As the Kubeflow SDK does, which knows a job by its pods, and finds their logs that way: one
    JobSet, and the names that its parts may have.
    """
    if call.route.verb != "list" or JOB_SET_LABEL not in call.request.first("labelSelector"):
        return False
    wanted = {each.key: each.operator for each in label_selector(call).requirements}
    is_one = wanted.pop(JOB_SET_LABEL, "") in ("=", "==")
    return is_one and wanted == {REPLICATED_JOB_LABEL: "in"}


def label_selector(call: Call) -> selectors.LabelSelector:
    try:
        return selectors.parse_labels(call.request.first("labelSelector"))
    except ValueError as error:
        raise problems.bad_request(str(error)) from error


def runs_here(pod: Object) -> bool:
    """A pod without a node waits for nothing but its mirror."""
    return bool((pod.get("spec") or {}).get("nodeName"))


def completed(answer: Object, pods: Iterable[Object]) -> Object:
    """A list with further pods in it, which take the places of those that wait for them."""
    found = {str(pod["metadata"]["name"]): pod for pod in pods}
    items = []
    for item in answer.get("items") or ():
        there = found.pop(item["metadata"]["name"], None)
        items.append(item if there is None or runs_here(item) else untyped(there))
    return {**answer, "items": [*items, *map(untyped, found.values())]}


def untyped(pod: Object) -> Object:
    """Items of a list do not repeat what they are."""
    return {name: value for name, value in pod.items() if name not in ("kind", "apiVersion")}


def fields_match(pod: Object, text: str) -> bool:
    """For pods that no server selects any more."""
    return selectors.parse_fields(text).matches(_fields(pod)) if text else True


def _fields(pod: Object) -> Mapping[str, str]:
    metadata = pod["metadata"]
    return {
        "metadata.name": str(metadata["name"]),
        "metadata.namespace": str(metadata["namespace"]),
        "spec.nodeName": str(pod["spec"].get("nodeName") or ""),
        "spec.restartPolicy": str(pod["spec"].get("restartPolicy") or ""),
        "status.phase": str((pod.get("status") or {}).get("phase") or ""),
    }
