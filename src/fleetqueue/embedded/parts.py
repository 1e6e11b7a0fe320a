"""The parts list of a live cluster: every controller and operator that it runs, every webhook."""

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from fleetqueue.kube.frame import Operator
from fleetqueue.kube.webhook_rules import Webhook
from fleetqueue.runtime.controllers import (
    claims,
    cron_job,
    daemon_set,
    deployment,
    disruption_budget,
    endpoint_slices,
    endpoints,
    job,
    pod_gc,
    replica_set,
    stateful_set,
    ttl_after_finished,
)
from fleetqueue.runtime.images import ImageTable
from fleetqueue.runtime.operators import (
    app_wrapper,
    jax_job,
    job_set,
    job_set_webhook,
    leader_worker_set,
    mpi_job,
    paddle_job,
    pytorch_job,
    ray_cluster,
    ray_job,
    ray_job_draft,
    ray_service,
    tf_job,
    train_job,
    xgboost_job,
)
from fleetqueue.runtime.preparation import NotReady
from fleetqueue.runtime.ray_dashboard import HttpDashboard, Place, head_url


def operators(directory: Path, images: ImageTable, place: Place) -> Iterator[Operator]:
    """`directory` holds the volumes that claims are bound to; `place` says where pods listen."""
    yield from job.OPERATORS
    yield from endpoints.OPERATORS
    yield from disruption_budget.OPERATORS
    yield from claims.operators(str(directory), has_directories=True)
    for controller in (
        cron_job, ttl_after_finished, replica_set, deployment, stateful_set, endpoint_slices,
    ):  # fmt: skip
        yield controller.OPERATOR
    # These remember things, so each cluster has its own.
    yield daemon_set.operator()
    yield pod_gc.operator()
    for operator in (
        job_set, pytorch_job, tf_job, xgboost_job, paddle_job, jax_job, mpi_job, train_job,
        leader_worker_set, app_wrapper,
    ):  # fmt: skip
        yield operator.OPERATOR
    yield from _ray_operators(images, place)


def _ray_operators(images: ImageTable, place: Place) -> Iterator[Operator]:
    known = partial(has_ray, images)
    dashboard = HttpDashboard(partial(head_url, place=place))
    yield ray_cluster.OPERATOR
    yield ray_job.ray_job_operator(dashboard, ray_job_draft.Settings(known))
    yield ray_service.ray_service_operator(dashboard, ray_service.Settings(known))


def has_ray(images: ImageTable, reference: str) -> bool:
    """Whether the environment that stands for an image has Ray to run."""
    try:
        found = images.find(reference)
    except NotReady:
        return False
    return not found.lacks_ray and shutil.which("ray", path=found.env.get("PATH")) is not None


def webhooks() -> Iterator[Webhook]:
    yield job_set_webhook.WEBHOOK
    yield app_wrapper.WEBHOOK
    yield from train_job.WEBHOOKS
    yield from leader_worker_set.WEBHOOKS
    for operator in (pytorch_job, tf_job, xgboost_job, paddle_job, jax_job):
        yield operator.WEBHOOK
