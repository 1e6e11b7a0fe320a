"""Tables of what keeps pods running: deployments and their kin, and disruption budgets."""

from fleetqueue.apiserver.printing import cells
from fleetqueue.apiserver.printing.cells import AGE, NAME, NONE, at, dig, only
from fleetqueue.apiserver.printing.layout import Column, Layout, Object

TEMPLATE = ("spec", "template", "spec")
SELECTOR = Column("Selector", cells.selector_at("spec", "selector"), priority=1)


def _number(name: str, *path: str) -> Column:
    return Column(name, at(*path, default=0), "integer")


def _ready_of_wanted(obj: Object) -> str:
    ready = dig(obj, "status", "readyReplicas") or 0
    return f"{ready}/{dig(obj, 'spec', 'replicas') or 0}"


def _deployment_selector(obj: Object) -> str:
    shown = cells.selector(dig(obj, "spec", "selector"))
    return {NONE: "", "<error>": "<invalid>"}.get(shown, shown)


def _controller(obj: Object) -> str:
    for owner in dig(obj, "metadata", "ownerReferences") or ():
        if owner.get("controller"):
            group = owner["apiVersion"].rpartition("/")[0]
            kind = f"{owner['kind']}.{group}" if group else owner["kind"]
            return f"{kind.lower()}/{owner['name']}"
    return NONE


def _pods(key: str) -> Column:
    name = "Min Available" if key == "minAvailable" else "Max Unavailable"
    cell = at("spec", key, default="N/A")
    return Column(name, lambda obj, now: str(cell(obj, now)))


def _replicas(selector: Column) -> Layout:
    return Layout(
        (
            NAME,
            _number("Desired", "spec", "replicas"),
            _number("Current", "status", "replicas"),
            _number("Ready", "status", "readyReplicas"),
            AGE,
            *cells.containers_at(*TEMPLATE),
            selector,
        )
    )


LAYOUTS = {
    ("", "ReplicationController"): _replicas(
        Column("Selector", cells.labels_at("spec", "selector"), priority=1)
    ),
    ("apps", "ReplicaSet"): _replicas(SELECTOR),
    ("apps", "Deployment"): Layout(
        (
            NAME,
            Column("Ready", only(_ready_of_wanted)),
            Column("Up-to-date", at("status", "updatedReplicas", default=0)),
            Column("Available", at("status", "availableReplicas", default=0)),
            AGE,
            *cells.containers_at(*TEMPLATE),
            Column("Selector", only(_deployment_selector), priority=1),
        )
    ),
    ("apps", "StatefulSet"): Layout(
        (NAME, Column("Ready", only(_ready_of_wanted)), AGE, *cells.containers_at(*TEMPLATE))
    ),
    ("apps", "DaemonSet"): Layout(
        (
            NAME,
            _number("Desired", "status", "desiredNumberScheduled"),
            _number("Current", "status", "currentNumberScheduled"),
            _number("Ready", "status", "numberReady"),
            _number("Up-to-date", "status", "updatedNumberScheduled"),
            _number("Available", "status", "numberAvailable"),
            Column("Node Selector", cells.labels_at(*TEMPLATE, "nodeSelector")),
            AGE,
            *cells.containers_at(*TEMPLATE),
            SELECTOR,
        )
    ),
    ("apps", "ControllerRevision"): Layout(
        (
            NAME,
            Column("Controller", only(_controller)),
            Column("Revision", at("revision", default=0)),
            AGE,
        )
    ),
    ("policy", "PodDisruptionBudget"): Layout(
        (
            NAME,
            _pods("minAvailable"),
            _pods("maxUnavailable"),
            _number("Allowed Disruptions", "status", "disruptionsAllowed"),
            AGE,
        )
    ),
}
