"""The end of a RayCluster whose head kept its state in Redis: a Job cleans up, then it may go."""

from fleetqueue.kube import finalizers
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import Create, Delete, Look, Patch, Plan, child
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions
from fleetqueue.runtime.kinds import JOB, POD
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.operators import ray_pods as made

FINALIZER = "ray.io/gcs-ft-redis-cleanup-finalizer"
CLEANER = "redis-cleanup"
_SECONDS_MAX = 300
_SMALL = {"cpu": "200m", "memory": "256Mi"}
_SCRIPT = (
    "import os, sys; from urllib.parse import urlparse;"
    " from ray._private.gcs_utils import cleanup_redis_storage;"
    " first = os.getenv('RAY_REDIS_ADDRESS', '').split(',')[0];"
    " where = urlparse(first if '://' in first else 'redis://' + first);"
    " who = {{'username': os.getenv('REDIS_USERNAME', where.username)}} if {named} else {{}};"
    " sys.exit(0 if cleanup_redis_storage(host=where.hostname, port=where.port,"
    " password=os.getenv('REDIS_PASSWORD', where.password or ''),"
    " use_ssl=where.scheme == 'rediss',"
    " storage_namespace=os.getenv('RAY_external_storage_namespace'), **who) else 1)"
)


def clean_up(look: Look) -> Plan:
    """First all pods go, then the Job runs; whether it succeeds or not, the cluster goes too."""
    plan = Plan()
    pods = look.owned(POD)
    plan.add(*(Delete(pod) for pod in pods if not is_deleting(pod)))
    if names.of_type(pods, names.HEAD):
        return plan
    jobs = [job for job in look.owned(JOB) if _is_cleaner(job)]
    if not jobs:
        plan.add(Create(_job(look.parent)))
    elif any(map(_has_finished, jobs)):
        patch = finalizers.removed(look.parent, FINALIZER)
        plan.add(*([Patch(look.parent, patch)] if patch else []))
    return plan


def _is_cleaner(job: Object) -> bool:
    return bool(names.labels_of(job).get(names.NODE_TYPE_KEY) == CLEANER)


def _has_finished(job: Object) -> bool:
    listed = (job.get("status") or {}).get("conditions")
    found = [conditions.find(listed, type) for type in ("Complete", "Failed")]
    return any(each is not None and each.get("status") == "True" for each in found)


def _job(cluster: Object) -> Object:
    head = made.make_head(cluster)
    labels = {**head["metadata"]["labels"], names.NODE_TYPE_KEY: CLEANER}
    annotations = head["metadata"].get("annotations") or {}
    ray = {
        key: value
        for key, value in head["spec"]["containers"][0].items()
        if key not in ("livenessProbe", "readinessProbe")
    }
    named = names.has_env(ray, "REDIS_USERNAME")
    ray |= {
        "command": list(made.SHELL),
        "args": [f'python -c "{_SCRIPT.format(named=named)}"'],
        "resources": {"limits": dict(_SMALL), "requests": dict(_SMALL)},
        "env": [
            *(ray.get("env") or ()),
            {"name": "RAY_redis_db_connect_retries", "value": "120"},
            {"name": "RAY_redis_db_connect_wait_milliseconds", "value": "500"},
        ],
    }
    template = {
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {**head["spec"], "containers": [ray], "restartPolicy": "Never"},
    }
    spec = {"backoffLimit": 0, "activeDeadlineSeconds": _SECONDS_MAX, "template": template}
    name = names.label(f"{cluster['metadata']['name']}-{CLEANER}")
    metadata = {"name": name, "labels": labels, "annotations": annotations}
    return child(JOB, cluster, metadata, spec=spec)
