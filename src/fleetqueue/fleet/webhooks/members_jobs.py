"""New Jobs of a hub that runs none: each names a manager other than Kubernetes' Job controller,
which would otherwise reset the status that a member reports.
"""

from fleetqueue.api.fleet import labels, naming
from fleetqueue.kube.resources import Object

OUTSIDE_THE_SYSTEM = {
    "matchExpressions": [
        {
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": ["fleet-system", "kube-node-lease", "kube-public", "kube-system"],
        }
    ]
}
"""So that the cluster's own Jobs do not wait for us; the name of a namespace says the rest."""


def left_to_members(job: Object) -> Object:
    """The job as it is stored; the field cannot be set later."""
    metadata, spec = job.get("metadata") or {}, job.get("spec") or {}
    is_child = any(each.get("controller") for each in metadata.get("ownerReferences") or ())
    is_systems = naming.is_reserved_namespace(str(metadata.get("namespace") or ""))
    if spec.get("managedBy") or is_child or is_systems:
        return job
    return {**job, "spec": {**spec, "managedBy": labels.JOB_MANAGER}}
