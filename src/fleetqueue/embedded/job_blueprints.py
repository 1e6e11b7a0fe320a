"""What operators would make of jobs whose pods no path leads to, for the queue before them."""

from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import app_wrapper_pod_sets, train_job_children


def train_job_set(train_job: Object, runtime: Object) -> Object:
    made = train_job_children.make_blueprint(train_job, runtime)
    return train_job_children.make_job_set(made)


def app_wrapper_pods(component: Object) -> list[Object]:
    """None where the component cannot be read; the operator's webhook refuses those."""
    try:
        return app_wrapper_pod_sets.pod_sets_of(component)
    except app_wrapper_pod_sets.BadPath:
        return []


BLUEPRINTS: Mapping[str, Callable[..., Any]] = {
    "trainer.kubeflow.org/trainjob": train_job_set,
    "workload.codeflare.dev/appwrapper": app_wrapper_pods,
}
