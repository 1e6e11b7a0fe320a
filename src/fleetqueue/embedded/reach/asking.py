"""Which requests get to see pods of other clusters, and what such answers look like."""

from collections.abc import Iterable, Mapping

from fleetqueue.api import selectors
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.call import Call
from fleetqueue.kube.resources import Object

HEADER = "kubectl-command"
COMMANDS = frozenset(f"kubectl {verb}" for verb in ("logs", "exec", "attach", "cp", "port-forward"))
"""What looks for pods in order to reach into them. For all others there are none."""
VERBS = ("get", "list", "watch")


def shows(call: Call) -> bool:
    route = call.route
    is_pods = not call.resource.group and call.resource.plural == "pods"
    return (
        is_pods
        and not route.subresource
        and route.verb in VERBS
        and bool(route.namespace)
        and call.request.headers.get(HEADER, "") in COMMANDS
    )


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
