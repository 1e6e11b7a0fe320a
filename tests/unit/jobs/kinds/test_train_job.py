"""What is refused of a TrainJob, whose pods are those of a runtime."""

from typing import Any

import pytest
from tests.support.job_looks import KINDS, QUEUE, pods, refusals, sight, thing

from fleetqueue.jobs.infos import PodSetInfo
from fleetqueue.jobs.kind import NotYet
from fleetqueue.jobs.kinds import train_job
from fleetqueue.kube.resources import Object

pytestmark = pytest.mark.rule("jobs A.15", "jobs A.8")

FRAMEWORK = "trainer.kubeflow.org/trainjob"
GROUP = "trainer.kubeflow.org"
K = "kueue.x-k8s.io"
HINT = (
    '. Adjust either the "TrainJob.spec.runtimePatches" or the "TrainingRuntime.Template"'
    " annotations for the corresponding Job"
)


def made(**spec: Any) -> Object:
    reference = {"name": "r", "apiGroup": GROUP, "kind": "TrainingRuntime"}
    said = {"runtimeRef": reference, "suspend": True, **spec}
    return thing(f"{GROUP}/v1alpha1", "TrainJob", "t", labels=QUEUE, spec=said)


def runtime(**annotations: str) -> Object:
    metadata = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    job = {"metadata": metadata, "spec": {"template": pods(annotations=annotations)}}
    template = {"spec": {"replicatedJobs": [{"name": "node", "template": job}]}}
    spec = {"mlPolicy": {"numNodes": 2}, "template": template}
    return thing(f"{GROUP}/v1alpha1", "TrainingRuntime", "r", spec=spec)


def test_a_bad_wish_for_a_topology_names_the_job_and_says_where_to_mend_it() -> None:
    around = runtime(**{f"{K}/podset-unconstrained-topology": "perhaps"})
    assert refusals(made(), around, framework=FRAMEWORK) == [
        f"job[node].metadata.annotations[{K}/podset-unconstrained-topology]: Invalid value: "
        f'"perhaps": must be a boolean value{HINT}'
    ]


def test_what_the_runtime_asks_for_is_fine_otherwise() -> None:
    around = runtime(**{f"{K}/podset-required-topology": "cloud/rack"})
    assert refusals(made(), around, framework=FRAMEWORK) == []


def test_a_job_whose_runtime_is_missing_is_not_refused() -> None:
    assert refusals(made(), framework=FRAMEWORK) == []


def test_without_its_patch_it_does_not_start() -> None:
    look = sight(made(runtimePatches=[{"manager": "somebody"}]), runtime())
    infos = [PodSetInfo(role.name, role.count) for role in KINDS[FRAMEWORK].roles_of(look)]
    with pytest.raises(NotYet, match="kueue runtime patch not found"):
        train_job.start(look, infos)
