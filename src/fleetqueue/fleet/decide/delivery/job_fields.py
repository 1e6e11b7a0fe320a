"""The fields of a job that its member's controllers own: what a queue sets when it starts or stops
the job, and what Kubernetes generates. They are taken from the live object, so that they are no
drift and are never written.
"""

from collections.abc import Callable, Iterator
from typing import Any

from fleetqueue.api.kueue import labels
from fleetqueue.base import codec

Json = dict[str, Any]
Path = tuple[str, ...]

_ANY = "*"
_GENERATED = frozenset(
    f"{prefix}{name}"
    for prefix in ("", "batch.kubernetes.io/")
    for name in ("controller-uid", "job-name")
)
_QUEUED_POD_FIELDS = ("nodeSelector", "tolerations", "schedulingGates")
_PATCH_MANAGER = "kueue.x-k8s.io/manager"
_NAMES = ("name", "groupName")


def _paths(*texts: str) -> tuple[Path, ...]:
    return tuple(tuple(text.split(".")) if text else () for text in texts)


_RAY = ("headGroupSpec.template", "workerGroupSpecs.*.template")
_TEMPLATES: dict[tuple[str, str], tuple[Path, ...]] = {
    ("batch", "Job"): _paths("spec.template"),
    ("jobset.x-k8s.io", "JobSet"): _paths("spec.replicatedJobs.*.template.spec.template"),
    ("trainer.kubeflow.org", "TrainJob"): (),
    ("kubeflow.org", "PyTorchJob"): _paths("spec.pytorchReplicaSpecs.*.template"),
    ("kubeflow.org", "TFJob"): _paths("spec.tfReplicaSpecs.*.template"),
    ("kubeflow.org", "XGBoostJob"): _paths("spec.xgbReplicaSpecs.*.template"),
    ("kubeflow.org", "PaddleJob"): _paths("spec.paddleReplicaSpecs.*.template"),
    ("kubeflow.org", "JAXJob"): _paths("spec.jaxReplicaSpecs.*.template"),
    ("kubeflow.org", "MPIJob"): _paths("spec.mpiReplicaSpecs.*.template"),
    ("ray.io", "RayJob"): _paths(
        *(f"spec.rayClusterSpec.{each}" for each in _RAY), "spec.submitterPodTemplate"
    ),
    ("ray.io", "RayCluster"): _paths(*(f"spec.{each}" for each in _RAY)),
    ("ray.io", "RayService"): _paths(*(f"spec.rayClusterConfig.{each}" for each in _RAY)),
    ("workload.codeflare.dev", "AppWrapper"): (),
    ("apps", "Deployment"): _paths("spec.template"),
    ("apps", "StatefulSet"): _paths("spec.template"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _paths(
        "spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate"
    ),
    ("", "Pod"): _paths(""),
}
"""Where the pod templates of each kind that a queue manages are."""
_SUSPENDED_OTHERWISE = {
    "kubeflow.org": _paths("spec.runPolicy.suspend"),
    "ray.io": _paths("spec.suspend", "spec.rayClusterConfig.suspend"),
    "workload.codeflare.dev": _paths("spec.suspend"),
    "apps": (),
    "leaderworkerset.x-k8s.io": (),
    "": (),
}
_SUSPENDED = _paths("spec.suspend")


def aligned(manifest: Json, live: Json) -> Json:
    """The manifest, with what is not its author's to say as the live object has it."""
    kind = _kind_of(manifest)
    made: Json = codec.copy(manifest)
    if kind == ("batch", "Job"):
        for path in _paths("spec.selector.matchLabels", "spec.template.metadata.labels"):
            _take_keys(made, live, path, lambda key: key in _GENERATED)
    if kind == ("trainer.kubeflow.org", "TrainJob"):
        _take_times(made, live)
    if kind in _TEMPLATES and (has_queue(manifest) or has_queue(live)):
        _take_queued(made, live, kind)
    return made


def has_queue(obj: Json) -> bool:
    """By its label, or in the old way by an annotation."""
    metadata = obj.get("metadata") or {}
    return any(
        labels.QUEUE_NAME in (metadata.get(name) or {}) for name in ("labels", "annotations")
    )


def _take_queued(made: Json, live: Json, kind: tuple[str, str]) -> None:
    for path in _SUSPENDED_OTHERWISE.get(kind[0], _SUSPENDED):
        _take(made, live, path)
    for pattern in _TEMPLATES[kind]:
        for mine, theirs in _pairs(made, live, pattern):
            _take_template(mine, theirs)
    if kind == ("batch", "Job"):
        _take_size(made, live)
    elif kind[1] == "TrainJob":
        _take_patches(made["spec"], live.get("spec") or {})
    elif kind[1] == "AppWrapper":
        for mine, theirs in _pairs(made, live, ("spec", "components", _ANY)):
            _take(mine, theirs, ("podSetInfos",))
    elif kind[1] == "RayJob" and "submitterPodTemplate" not in made["spec"]:
        _take(made, live, ("spec", "submitterPodTemplate"))


def _take_template(mine: Json, theirs: Json) -> None:
    for field in _QUEUED_POD_FIELDS:
        _take(mine, theirs, ("spec", field))
    for name in ("labels", "annotations"):
        _take_keys(mine, theirs, ("metadata", name), lambda key: key.startswith(labels.PREFIX))


def _take_size(made: Json, live: Json) -> None:
    """A job that says how small it may become is started with as much as there is."""
    annotations = (made.get("metadata") or {}).get("annotations") or {}
    if labels.JOB_MIN_PARALLELISM in annotations:
        _take(made, live, ("spec", "parallelism"))
        if labels.JOB_COMPLETIONS_EQUAL_PARALLELISM in annotations:
            _take(made, live, ("spec", "completions"))


def _take_patches(mine: Json, theirs: Json) -> None:
    """Of a TrainJob: the queue has a patch of its own among those of others."""
    own = [each for each in mine.get("runtimePatches") or () if not _is_of_queue(each)]
    patches = own + [each for each in theirs.get("runtimePatches") or () if _is_of_queue(each)]
    if patches:
        mine["runtimePatches"] = patches
    else:
        mine.pop("runtimePatches", None)


def _take_times(made: Json, live: Json) -> None:
    """Of a TrainJob: the member itself notes when a patch came or changed."""
    listed = (live.get("spec") or {}).get("runtimePatches") or ()
    times = {each.get("manager"): each["time"] for each in listed if each.get("time")}
    for patch in (made.get("spec") or {}).get("runtimePatches") or ():
        if patch.get("manager") in times:
            patch["time"] = times[patch["manager"]]


def _is_of_queue(patch: Json) -> bool:
    return bool(patch.get("manager") == _PATCH_MANAGER)


def _take(mine: Json, theirs: Json, path: Path) -> None:
    found: Any = theirs
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    if found is None:
        _remove(mine, path)
        return
    for step in path[:-1]:
        mine = mine.setdefault(step, {})
    mine[path[-1]] = found


def _remove(mine: Json, path: Path) -> None:
    for step in path[:-1]:
        below = mine.get(step)
        if not isinstance(below, dict):
            return
        mine = below
    mine.pop(path[-1], None)


def _take_keys(mine: Json, theirs: Json, path: Path, is_theirs: Callable[[str], bool]) -> None:
    """The entries of a map that are not the author's; a map that nobody fills is not made."""
    found = _map_at(theirs, path)
    taken = {key: value for key, value in found.items() if is_theirs(key)}
    present = _map_at(mine, path)
    kept = {key: value for key, value in present.items() if not is_theirs(key)}
    if not taken and kept == present:
        return
    for step in path[:-1]:
        mine = mine.setdefault(step, {})
    mine[path[-1]] = {**kept, **taken}


def _map_at(obj: Json, path: Path) -> Json:
    found: Any = obj
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _pairs(mine: Any, theirs: Any, pattern: Path) -> Iterator[tuple[Json, Json]]:
    """The places of both objects that the pattern names and that both have."""
    if not pattern:
        if isinstance(mine, dict) and isinstance(theirs, dict):
            yield mine, theirs
        return
    step, rest = pattern[0], pattern[1:]
    if step != _ANY:
        if isinstance(mine, dict) and isinstance(theirs, dict):
            yield from _pairs(mine.get(step), theirs.get(step), rest)
    elif isinstance(mine, list) and isinstance(theirs, list):
        for index, item in enumerate(mine):
            yield from _pairs(item, _counterpart(item, index, theirs), rest)
    elif isinstance(mine, dict) and isinstance(theirs, dict):
        for key, item in mine.items():
            yield from _pairs(item, theirs.get(key), rest)


def _counterpart(item: Any, index: int, items: list[Any]) -> Any:
    """By name where items have names, else by place."""
    name = next((key for key in _NAMES if isinstance(item, dict) and key in item), "")
    if name:
        return next((each for each in items if each.get(name) == item[name]), None)
    return items[index] if index < len(items) else None


def _kind_of(obj: Json) -> tuple[str, str]:
    group = str(obj.get("apiVersion") or "").rpartition("/")[0]
    return group, str(obj.get("kind") or "")
