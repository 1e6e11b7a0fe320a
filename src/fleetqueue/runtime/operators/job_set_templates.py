"""The pod template of a JobSet's Job: what is added to it, and what it takes over on resumption."""

from typing import Any

from fleetqueue.kube.resources import Object

JOB_NODES_KEY = "alpha.jobset.sigs.k8s.io/namespaced-job"
NO_SCHEDULE_KEY = "alpha.jobset.sigs.k8s.io/no-schedule"


class PodTemplate:
    """A copy of a template whose metadata and spec may be replaced piece by piece."""

    def __init__(self, template: Object) -> None:
        self._rest = template
        self.metadata: Object = dict(template.get("metadata") or {})
        self.spec: Object = dict(template.get("spec") or {})

    @property
    def whole(self) -> Object:
        return {**self._rest, "metadata": self.metadata, "spec": self.spec}

    def keep_to_nodes_of(self, job: str) -> None:
        """Only onto nodes that somebody has labelled and tainted for this Job."""
        self.spec["nodeSelector"] = {**(self.spec.get("nodeSelector") or {}), JOB_NODES_KEY: job}
        taint = {"key": NO_SCHEDULE_KEY, "operator": "Exists", "effect": "NoSchedule"}
        self.spec["tolerations"] = [*(self.spec.get("tolerations") or ()), taint]

    def add_claim(self, volume: str, claim: str) -> None:
        """Every pod has the claim as a volume, whether a container of it mounts that or not."""
        source = {"name": volume, "persistentVolumeClaim": {"claimName": claim}}
        self.spec["volumes"] = [*(self.spec.get("volumes") or ()), source]


def resumed_template(job: Object, replicated: Object) -> Object:
    """A patch of the Job's template with what may have changed while the JobSet was suspended.

    Others have written on the Job too, so their labels and selectors stay.
    """
    old, new = job["spec"]["template"], replicated["template"]["spec"].get("template") or {}
    metadata = {
        part: _merged(_part(old, "metadata", part), _part(new, "metadata", part))
        for part in ("labels", "annotations")
    }
    spec: Object = {
        "nodeSelector": _merged(
            _part(old, "spec", "nodeSelector"), _part(new, "spec", "nodeSelector")
        )
    }
    for part in ("tolerations", "schedulingGates"):
        spec[part] = _joined(_part(old, "spec", part), _part(new, "spec", part))
    return {"metadata": _without_empty(metadata), "spec": _without_empty(spec)}


def _part(template: Object, half: str, name: str) -> Any:
    return (template.get(half) or {}).get(name)


def _merged(old: Object | None, new: Object | None) -> Object:
    return {**(old or {}), **(new or {})}


def _joined(old: list[Object] | None, new: list[Object] | None) -> list[Object]:
    joined = list(old or ())
    return joined + [each for each in new or () if each not in joined]


def _without_empty(parts: Object) -> Object:
    return {name: value for name, value in parts.items() if value}
