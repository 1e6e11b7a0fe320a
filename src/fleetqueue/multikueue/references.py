"""What the pods of a job name and must find where they run, since nobody copies it there: asked for
by `fleetqueue explain`.
"""

from collections.abc import Iterable, Iterator

from fleetqueue.admission.kinds import DEVICE_CLASS, RESOURCE_CLAIM_TEMPLATE
from fleetqueue.api.meta import Key
from fleetqueue.base import paths
from fleetqueue.jobs.identity import priority_class_of
from fleetqueue.jobs.resources import PRIORITY_CLASS, WORKLOAD_PRIORITY_CLASS
from fleetqueue.kube.resources import CONFIG_MAPS, SECRETS, Object, Resource, key_of
from fleetqueue.kube.subresources import SERVICE_ACCOUNTS
from fleetqueue.multikueue.preflight import Needed

VOLUME_CLAIM = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
RESOURCE_CLAIM = Resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim")
DEVICE_CLAIMS = (RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE)
"""Those that name device classes."""

EVERYWHERE = ((SERVICE_ACCOUNTS, "default"), (CONFIG_MAPS, "kube-root-ca.crt"))
"""Every namespace gets these by itself, and every pod names them."""

PLACES = (
    (CONFIG_MAPS, "volumes[*].configMap", "name"),
    (CONFIG_MAPS, "volumes[*].projected.sources[*].configMap", "name"),
    (CONFIG_MAPS, "initContainers[*].envFrom[*].configMapRef", "name"),
    (CONFIG_MAPS, "initContainers[*].env[*].valueFrom.configMapKeyRef", "name"),
    (CONFIG_MAPS, "containers[*].envFrom[*].configMapRef", "name"),
    (CONFIG_MAPS, "containers[*].env[*].valueFrom.configMapKeyRef", "name"),
    (SECRETS, "volumes[*].secret", "secretName"),
    (SECRETS, "volumes[*].projected.sources[*].secret", "name"),
    (SECRETS, "volumes[*].azureFile", "secretName"),
    (SECRETS, "volumes[*].csi.nodePublishSecretRef", "name"),
    (SECRETS, "volumes[*].*.secretRef", "name"),
    (SECRETS, "initContainers[*].envFrom[*].secretRef", "name"),
    (SECRETS, "initContainers[*].env[*].valueFrom.secretKeyRef", "name"),
    (SECRETS, "containers[*].envFrom[*].secretRef", "name"),
    (SECRETS, "containers[*].env[*].valueFrom.secretKeyRef", "name"),
    (SECRETS, "imagePullSecrets[*]", "name"),
    (VOLUME_CLAIM, "volumes[*].persistentVolumeClaim", "claimName"),
    (SERVICE_ACCOUNTS, "", "serviceAccountName"),
    (PRIORITY_CLASS, "", "priorityClassName"),
    (RESOURCE_CLAIM, "resourceClaims[*]", "resourceClaimName"),
    (RESOURCE_CLAIM_TEMPLATE, "resourceClaims[*]", "resourceClaimTemplateName"),
)
"""Where a pod spec names which kind: the path of the reference, and its field with the name."""

TRAINER_MAKES = (("Secret", "-mpi-ssh-auth"), ("ConfigMap", "-mpi-hostfile"))
"""For the pods of a TrainJob with an MPI runtime, which name them already."""


def references_of(workload: Object, job: Object | None = None) -> list[Needed]:
    """Each once, kind by kind. What a pod can do without is left out, and what comes with the job
    where it runs.
    """
    space = key_of(workload).namespace
    pods = paths.find(workload, "spec.podSets[*].template.spec")
    found = [(kind, name) for place in PLACES for pod in pods for kind, name in _named(pod, *place)]
    classes = [priority_class_of(each) for each in (workload, job) if each is not None]
    named = _each_once([*found, *((WORKLOAD_PRIORITY_CLASS, each) for each in classes)], space)
    brought = set(_brought(job or {}))
    return [each for each in named if (each.kind.kind, each.key.name) not in brought]


def device_classes_of(claims: Iterable[Object]) -> list[Needed]:
    """Of ResourceClaims and templates of these. Of alternatives (`firstAvailable`) one is enough,
    so none of them is needed.
    """
    requests = [
        request
        for claim in claims
        for at in ("spec.devices.requests[*]", "spec.spec.devices.requests[*]")
        for request in paths.find(claim, at)
    ]
    # Before v1beta2 the fields of `exactly` were those of the request itself.
    exact = [request.get("exactly") or request for request in requests]
    return _each_once(((DEVICE_CLASS, each.get("deviceClassName") or "") for each in exact), "")


def _named(pod: Object, kind: Resource, path: str, field: str) -> Iterator[tuple[Resource, str]]:
    for reference in paths.find(pod, path):
        if reference and not reference.get("optional"):
            yield kind, str(reference.get(field) or "")


def _brought(job: Object) -> Iterator[tuple[str, str]]:
    """Kind and name of what is in an AppWrapper, or is made for the job by its operator."""
    if job.get("kind") == "TrainJob":
        yield from ((kind, f"{key_of(job).name}{suffix}") for kind, suffix in TRAINER_MAKES)
    if job.get("kind") == "AppWrapper":
        for part in paths.find(job, "spec.components[*].template"):
            yield str(part.get("kind") or ""), key_of(part).name


def _each_once(named: Iterable[tuple[Resource, str]], space: str) -> list[Needed]:
    found = (
        Needed(kind, Key(space if kind.namespaced else "", name))
        for kind, name in named
        if name and (kind, name) not in EVERYWHERE
    )
    return list(dict.fromkeys(found))
