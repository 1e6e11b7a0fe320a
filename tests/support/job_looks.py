"""Looks at jobs without a cluster: the objects around them are a list."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from fleetqueue.api.field_errors import FieldError
from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.base.leisure import Leisure
from fleetqueue.embedded.job_blueprints import BLUEPRINTS
from fleetqueue.jobs import controller, registry
from fleetqueue.jobs.ancestors import Family
from fleetqueue.jobs.kind import Sight
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.jobs.webhook import webhook
from fleetqueue.kube.plan import Look, Plan, title
from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Listed
from fleetqueue.kube.webhook_rules import Asked

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
KUEUE = "kueue.x-k8s.io/v1beta2"
QUEUE = {"kueue.x-k8s.io/queue-name": "lq"}
KINDS = {kind.framework: kind for kind in registry.all_kinds()}
SETTINGS = JobSettings(frameworks=frozenset(KINDS), blueprints=BLUEPRINTS)
NAMESPACE: Object = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "ns", "labels": {"kubernetes.io/metadata.name": "ns"}},
}


def thing(api_version: str, kind: str, name: str, *, cluster: bool = False, **rest: Any) -> Object:
    metadata: Object = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "generation": 1}
    if not cluster:
        metadata["namespace"] = "ns"
    for part in ("labels", "annotations", "ownerReferences", "deletionTimestamp"):
        if part in rest:
            metadata[part] = rest.pop(part)
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def job(
    name: str = "sample", *, queue: str = "lq", template: Object | None = None, **more: Any
) -> Object:
    labels = {**({"kueue.x-k8s.io/queue-name": queue} if queue else {}), **more.pop("labels", {})}
    spec = {"suspend": True, "template": template or pods(), **more.pop("spec", {})}
    return thing("batch/v1", "Job", name, labels=labels, spec=spec, **more)


def pods(**metadata: Any) -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": metadata, "spec": {"containers": [container], "restartPolicy": "Never"}}


def owned_by(obj: Object, owner: Object) -> Object:
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [reference]}}


def flavor(name: str = "default", **spec: Any) -> Object:
    return thing(KUEUE, "ResourceFlavor", name, cluster=True, spec=spec)


def sight(obj: Object, *around: Object, settings: JobSettings = SETTINGS) -> Sight:
    return Sight(obj, Listed([NAMESPACE, flavor(), *around]), settings)


def decide(
    obj: Object,
    *around: Object,
    framework: str = "batch/job",
    settings: JobSettings = SETTINGS,
    above: Iterable[Object] = (),
    now: datetime = NOW,
    leisure: Leisure | None = None,
) -> Plan:
    """What the controller of a kind does; `above` are the owners that it found."""
    observed = {title(each): each for each in above}
    look = Look(obj, now, Listed([NAMESPACE, flavor(), *around]), observed)
    family = Family.of(KINDS.values(), settings)
    return controller.decide(KINDS[framework], settings, family, look, leisure)


def steps(plan: Plan, kind: type[Any]) -> list[Any]:
    return [step for step in plan.steps if isinstance(step, kind)]


def names(plan: Plan) -> list[str]:
    """The kinds of steps, for a glance."""
    return [type(step).__name__ for step in plan.steps]


def created(obj: Object, *around: Object, framework: str = "batch/job", **more: Any) -> Object:
    """The Workload that the controller makes for a job."""
    plan = decide(obj, *around, framework=framework, **more)
    [made] = [step.obj for step in plan.steps if type(step).__name__ == "Create"]
    uid = {"uid": "uid-w", "resourceVersion": "5", "generation": 1}
    return {**made, "metadata": {**made["metadata"], **uid}}


def admitted(workload: Object, flavors: dict[str, str] | None = None, **counts: int) -> Object:
    assignments = [
        {
            "name": each["name"],
            "count": counts.get(each["name"].replace("-", "_"), each["count"]),
            "flavors": flavors or {"cpu": "default"},
        }
        for each in workload["spec"]["podSets"]
    ]
    admission = {"clusterQueue": "cq", "podSetAssignments": assignments}
    return status_of.reserve(workload, admission, NOW)


def asked(obj: Object, *around: Object, old: Object | None = None) -> Asked:
    return Asked(obj=obj, old=old, now=NOW, source=Listed([NAMESPACE, *around]))


def refusals(
    obj: Object,
    *around: Object,
    old: Object | None = None,
    framework: str = "batch/job",
    settings: JobSettings = SETTINGS,
) -> list[str]:
    """What the webhook of a kind says of a write."""
    hook = webhook(KINDS[framework], settings, Family.of(KINDS.values(), settings))
    assert hook.validate is not None
    found: list[FieldError] = hook.validate(asked(obj, *around, old=old))
    return [str(error) for error in found]


def defaulted(
    obj: Object,
    *around: Object,
    old: Object | None = None,
    framework: str = "batch/job",
    settings: JobSettings = SETTINGS,
) -> Object:
    hook = webhook(KINDS[framework], settings, Family.of(KINDS.values(), settings))
    assert hook.default is not None
    hook.default(asked(obj, *around, old=old))
    return obj


def with_settings(**changes: Any) -> JobSettings:
    """Gates by their names, all else by its own."""
    gates = {name: changes.pop(name) for name in list(changes) if hasattr(SETTINGS.gates, name)}
    return replace(SETTINGS, gates=replace(SETTINGS.gates, **gates), **changes)
