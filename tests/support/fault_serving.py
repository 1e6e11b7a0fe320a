"""Jobs that serve until somebody takes them back, and Ray's, made by chance."""

from random import Random
from typing import Any

from tests.support import apps, leader_workers, ray
from tests.support.fault_jobs import Family, Wish, for_queue, template

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import deployment, replica_set, stateful_set
from fleetqueue.runtime.operators import leader_worker_set, ray_cluster, ray_job, ray_service
from fleetqueue.runtime.operators.ray_job_draft import Settings


def deployed(name: str, random: Random) -> Wish:
    return _of_apps("Deployment", name, random)


def stateful(name: str, random: Random) -> Wish:
    return _of_apps("StatefulSet", name, random)


def _of_apps(kind: str, name: str, random: Random) -> Wish:
    pods, label = random.choice((1, 2, 2)), {"app": name}
    made = apps.workload(
        kind,
        name,
        replicas=pods,
        selector={"matchLabels": label},
        template=_forever(random, labels=label),
    )
    return Wish(name, (for_queue(made),), False, pods, serves=True)


def led(name: str, random: Random) -> Wish:
    replicas, size = random.choice(((1, 2), (2, 1), (2, 2)))
    shape: Object = {"workerTemplate": _forever(random), "size": size}
    if random.random() < 0.5:
        shape["leaderTemplate"] = _forever(random)
    made = leader_workers.lws(replicas, size, name=name, template=shape)
    return Wish(name, (for_queue(made),), False, replicas * size, serves=True)


def ray_job_wish(name: str, random: Random) -> Wish:
    """Nobody has Ray here, so its submitter is the run."""
    fails = random.random() < 0.15
    submitter = template(random, name="ray-job-submitter", fails=fails, restartPolicy="Never")
    made = ray.ray_job_of(
        name=name,
        rayClusterSpec=_ray_spec(random),
        shutdownAfterJobFinishes=True,
        submitterPodTemplate=submitter,
        submitterConfig={"backoffLimit": 0},
    )
    return Wish(name, (for_queue(made),), fails, 1)


def ray_cluster_wish(name: str, random: Random) -> Wish:
    spec = _ray_spec(random)
    made = ray.ray_cluster_of(*spec.pop("workerGroupSpecs"), name=name, **spec)
    return Wish(name, (for_queue(made),), False, 2, serves=True)


def ray_service_wish(name: str, random: Random) -> Wish:
    made = ray.ray_service_of(name=name, rayClusterConfig=_ray_spec(random))
    return Wish(name, (for_queue(made),), False, 2, serves=True)


def _ray_spec(random: Random) -> Object:
    """A head and one worker."""
    group = ray.worker_group(template=_forever(random, name="ray"))
    head = {"rayStartParams": {}, "template": _forever(random, name="ray")}
    return ray.cluster_spec(group, headGroupSpec=head)


def _forever(random: Random, **more: Any) -> Object:
    return template(random, run_seconds="never", **more)


def _has_no_ray(image: str) -> bool:
    return False


DEPLOYMENTS = Family(
    ("deployment",), (), (deployment.OPERATOR, replica_set.OPERATOR), (), (deployed,)
)
STATEFUL_SETS = Family(("statefulset",), (), (stateful_set.OPERATOR,), (), (stateful,))
LEADER_WORKERS = Family(
    ("leaderworkerset.x-k8s.io/leaderworkerset",),
    ("leaderworkersets",),
    (stateful_set.OPERATOR, leader_worker_set.OPERATOR),
    leader_worker_set.WEBHOOKS,
    (led,),
)
RAY_JOBS = Family(
    ("ray.io/rayjob", "ray.io/raycluster"),
    ("rayjobs", "rayclusters"),
    (ray_cluster.OPERATOR, ray_job.ray_job_operator(ray.FakeRay(), Settings(_has_no_ray))),
    (),
    (ray_job_wish,),
)
RAY_SERVING = Family(
    ("ray.io/raycluster", "ray.io/rayservice"),
    ("rayclusters", "rayservices"),
    (
        ray_cluster.OPERATOR,
        ray_service.ray_service_operator(ray.FakeRay(), ray_service.Settings(_has_no_ray)),
    ),
    (),
    (ray_cluster_wish, ray_service_wish),
)
