"""Where in an AppWrapper's components the pods are: paths, and what known kinds are made of.

A path starts at the component: `template.spec.replicatedJobs[0].template.spec.template`.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from fleetqueue.kube.resources import Object

POD_INDEX_KEY = "workload.codeflare.dev.appwrapper/tas-pod-index-label"
SUBGROUP_INDEX_KEY = "workload.codeflare.dev.appwrapper/tas-sub-group-index-label"
SUBGROUP_COUNT_KEY = "workload.codeflare.dev.appwrapper/tas-sub-group-count"
_COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
_ROOT = "template"
_STEP = re.compile(r"\.([^.\[]+)|\[([^\]]*)\]", re.ASCII)


class BadPath(ValueError):
    """Nothing, or nothing fitting, is at that path; the text says where it went wrong."""


def value_at(template: Object, path: str) -> Any:
    if not path.startswith(_ROOT):
        raise BadPath("first element of the path must be 'template'")
    value: Any = template
    at = len(_ROOT)
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise BadPath(f"at path position '{path[:at]}' invalid path element '{path[at:]}'")
        name, index = step.groups()
        is_field = name is not None
        value = _field(value, name, path[: at + 1]) if is_field else _item(value, index, path[:at])
        at = step.end()
    return value


def pod_template_at(template: Object, path: str) -> Object:
    """A pod or pod template, whose spec is one of pods."""
    found = value_at(template, path)
    if not isinstance(found, dict):
        raise BadPath(f"at path position '{path}' non-map value")
    spec = found.get("spec")
    if not isinstance(spec, dict):
        raise BadPath(f"content at {path} does not contain a spec")
    if not isinstance(spec.get("containers"), list):
        raise BadPath(f"content at {path}.spec not parseable as a v1.PodSpec: no containers")
    return found


def infer(template: Object) -> list[Object]:
    """The pod sets of a component of a known kind; of others, none."""
    kind = f"{template.get('apiVersion')} {template.get('kind')}"
    found = list(_KINDS[kind](template)) if kind in _KINDS else []
    for pod_set in found:
        try:
            pod_template_at(template, pod_set["path"])
        except BadPath as error:
            why = f"{pod_set['path']} does not refer to a v1.PodSpecTemplate: {error}"
            raise BadPath(why) from None
    return found


def pod_sets_of(component: Object) -> list[Object]:
    """As declared, or else as inferred."""
    return list(component.get("podSets") or ()) or infer(component["template"])


def compare(declared: list[Object], inferred: list[Object]) -> str:
    """What is wrong with the declared ones; "" where nothing is."""
    by_path = {pod_set.get("path"): pod_set for pod_set in declared}
    if len(by_path) < len(declared):
        paths = [pod_set.get("path") for pod_set in declared]
        twice = next(path for path in paths if paths.count(path) > 1)
        return f"multiple DeclaredPodSets with path '{twice}'"
    if not declared or not inferred:
        return ""
    if len(declared) != len(inferred):
        return f"DeclaredPodSet count {len(declared)} differs from inferred count {len(inferred)}"
    for theirs in inferred:
        path, wanted = theirs["path"], replicas_of(theirs)
        if path not in by_path:
            return f"PodSet with path '{path}' is missing"
        said = replicas_of(by_path[path])
        if said != wanted:
            why = f"replica count {said} differs from inferred count {wanted}"
            return f"{why} for PodSet at path position '{path}'"
    return ""


def replicas_of(pod_set: Object) -> int:
    return 1 if pod_set.get("replicas") is None else int(pod_set["replicas"])


def _field(value: Any, name: str, where: str) -> Any:
    if not isinstance(value, dict):
        raise BadPath(f"at path position '{where}' non-map value")
    if name not in value:
        raise BadPath(f"at path position '{where}' missing field '{name}'")
    return value[name]


def _item(value: Any, index: str, where: str) -> Any:
    if not index.isdecimal():
        raise BadPath(f"at path position '{where}' invalid index expression '{index}'")
    if not isinstance(value, list):
        raise BadPath(f"at path position '{where}' found non-array value")
    if int(index) >= len(value):
        raise BadPath(f"at path position '{where}' out of bounds index '{index}'")
    return value[int(index)]


def _pod(template: Object) -> Iterator[Object]:
    yield {"path": _ROOT, "replicas": 1}


def _workload(template: Object) -> Iterator[Object]:
    if _has(template, "template.spec.template"):
        count = _count(template, "template.spec.replicas")
        yield {"path": "template.spec.template", "replicas": count}


def _job(template: Object) -> Iterator[Object]:
    yield {
        "path": "template.spec.template",
        "replicas": _parallel(template, "template.spec"),
        "annotations": {POD_INDEX_KEY: _COMPLETION_INDEX},
    }


def _job_set(template: Object) -> Iterator[Object]:
    for index in range(_length(template, "template.spec.replicatedJobs")):
        job = f"template.spec.replicatedJobs[{index}]"
        if not _has(template, f"{job}.template"):
            continue
        count = _count(template, f"{job}.replicas")
        yield {
            "path": f"{job}.template.spec.template",
            "replicas": count * _parallel(template, f"{job}.template.spec"),
            "annotations": {
                POD_INDEX_KEY: _COMPLETION_INDEX,
                SUBGROUP_INDEX_KEY: "jobset.sigs.k8s.io/job-index",
                SUBGROUP_COUNT_KEY: str(count),
            },
        }


def _pytorch_job(template: Object) -> Iterator[Object]:
    for role in ("Master", "Worker"):
        spec = f"template.spec.pytorchReplicaSpecs.{role}"
        if _has(template, f"{spec}.template"):
            yield {
                "path": f"{spec}.template",
                "replicas": _count(template, f"{spec}.replicas"),
                "annotations": {POD_INDEX_KEY: "training.kubeflow.org/replica-index"},
            }


def _ray(cluster: str) -> Callable[[Object], Iterator[Object]]:
    def infer_ray(template: Object) -> Iterator[Object]:
        yield {"path": f"{cluster}.headGroupSpec.template", "replicas": 1}
        for index in range(_length(template, f"{cluster}.workerGroupSpecs")):
            group = f"{cluster}.workerGroupSpecs[{index}]"
            if _has(template, f"{group}.template"):
                count = _count(template, f"{group}.replicas")
                yield {"path": f"{group}.template", "replicas": count}

    return infer_ray


_KINDS: dict[str, Callable[[Object], Iterator[Object]]] = {
    "v1 Pod": _pod,
    "apps/v1 Deployment": _workload,
    "apps/v1 StatefulSet": _workload,
    "batch/v1 Job": _job,
    "jobset.x-k8s.io/v1alpha2 JobSet": _job_set,
    "kubeflow.org/v1 PyTorchJob": _pytorch_job,
    "ray.io/v1 RayCluster": _ray("template.spec"),
    "ray.io/v1 RayJob": _ray("template.spec.rayClusterSpec"),
}


def _has(template: Object, path: str) -> bool:
    try:
        value_at(template, path)
    except BadPath:
        return False
    return True


def _length(template: Object, path: str) -> int:
    found = value_at(template, path) if _has(template, path) else None
    return len(found) if isinstance(found, list) else 0


def _count(template: Object, path: str) -> int:
    """A number of replicas; one where nothing is said."""
    found = value_at(template, path) if _has(template, path) else None
    if found is None:
        return 1
    if not isinstance(found, int):
        raise BadPath(f"at path position '{path}' non-int value {found}")
    return found


def _parallel(template: Object, job: str) -> int:
    """How many pods of a Job run at once."""
    count = _count(template, f"{job}.parallelism")
    if not _has(template, f"{job}.completions"):
        return count
    return min(count, _count(template, f"{job}.completions"))
