"""What writing a TrainJob or a runtime may and may not do."""

import copy
from typing import Any

import pytest
from tests.support import operators, train_jobs
from tests.support.operators import asked, texts
from tests.support.train_jobs import runtime

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators.train_job_webhook import (
    POLICY_URL,
    default,
    validate,
    validate_runtime,
)
from fleetqueue.runtime.operators.training_runtimes import runtimes

pytestmark = pytest.mark.rule("jobs B.6.4")

REFERENCE = '{{"name":"{}","apiGroup":"trainer.kubeflow.org","kind":"ClusterTrainingRuntime"}}'


def check(parent: Object, *others: Object, old: Object | None = None) -> list[str]:
    known = {each["metadata"]["name"] for each in others}
    preinstalled = [each for each in runtimes() if each["metadata"]["name"] not in known]
    return texts(validate(asked(parent, old, *others, *preinstalled)))


def patch(manager: str = "acme.io/x", job: str = "node", **pod: Any) -> Object:
    jobs = [{"name": job, "template": {"spec": {"template": {"spec": pod}}}}]
    return {
        "manager": manager,
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}},
    }


@pytest.mark.parametrize("name", [each["metadata"]["name"] for each in runtimes()])
def test_a_simple_job_of_every_preinstalled_runtime_is_fine(name: str) -> None:
    assert check(train_jobs.job(name)) == []


def test_the_runtime_must_exist() -> None:
    why = 'ClusterTrainingRuntime.trainer.kubeflow.org "none" not found: specified '
    assert check(train_jobs.job("none")) == [
        f"spec.RuntimeRef: Invalid value: {REFERENCE.format('none')}: {why}"
        "clusterTrainingRuntime must be created before the TrainJob is created"
    ]
    local = train_jobs.job("mine")
    local["spec"]["runtimeRef"]["kind"] = "TrainingRuntime"
    assert check(local)[0].endswith(
        'TrainingRuntime.trainer.kubeflow.org "mine" not found: specified trainingRuntime must be '
        "created before the TrainJob is created"
    )
    there = {**runtime(), "kind": "TrainingRuntime"}
    there["metadata"] = {"name": "mine", "namespace": "default"}
    assert check(local, there) == []


def test_a_job_may_change_when_its_runtime_is_gone() -> None:
    running = train_jobs.job("none")
    stopped = {**running, "spec": {**running["spec"], "suspend": True}}
    assert check(stopped, old=running) == []


def test_a_deprecated_runtime_is_warned_of() -> None:
    source = runtime()
    source["metadata"]["labels"]["trainer.kubeflow.org/support"] = "deprecated"
    question = asked(train_jobs.job(), None, source)
    assert validate(question) == []
    gone = "is deprecated and will be removed in a future release of Kubeflow Trainer"
    see = f"See runtime deprecation policy: {POLICY_URL}"
    assert question.warnings == [
        f'Referenced ClusterTrainingRuntime "torch-distributed" {gone}. {see}'
    ]
    question = asked(source)
    validate_runtime(question)
    assert question.warnings == [f'ClusterTrainingRuntime "torch-distributed" {gone}. {see}']


@pytest.mark.parametrize("part", ["dataset", "model"])
def test_an_initializer_needs_its_job_container_and_mount(part: str) -> None:
    step, name = f"{part}-initializer", "torchtune-llama3.2-1b"
    said = {part: {"storageUri": "hf://a/b"}}
    assert check(train_jobs.job(name, initializer=said)) == []

    def refused(source: Object) -> str:
        parent = train_jobs.job(source["metadata"]["name"], initializer=said)
        (text,) = check(parent, source)
        assert text.startswith("spec.runtimeRef: Invalid value: ")
        return text.partition("}: ")[2]

    assert refused(runtime()) == (
        f"must have {step} job when trainJob is configured with input {part}Config"
    )
    source = runtime(name)
    jobs = source["spec"]["template"]["spec"]["replicatedJobs"]
    job = next(each for each in jobs if each["name"] == step)
    container = job["template"]["spec"]["template"]["spec"]["containers"][0]
    del container["volumeMounts"]
    assert refused(source) == (
        f"must have volumeMount with name - initializer in container {step} of the {step} job"
    )
    container["name"] = "other"
    assert refused(source) == f"must have container with name - {step} in the {step} job"


NOT_THERE = "must not have {} that doesn't exist in the runtime job"
# fmt: off
PATCHES: dict[str, tuple[Object, str]] = {
    "no such job": (patch(job="cache"), f"{NOT_THERE.format('replicated job')} template"),
    "no such container": (
        patch(containers=[{"name": "x"}]), f"{NOT_THERE.format('container')} node"),
    "no such init container": (
        patch(initContainers=[{"name": "x"}]), f"{NOT_THERE.format('initContainer')} node"),
    "variables of a step": (
        patch(containers=[{"name": "node", "env": [{"name": "A"}]}]),
        "must not have envs for the dataset-initializer, model-initializer, node containers"),
    "manager without a domain": (
        patch(manager="me"), 'must be a domain-prefixed path (such as "acme.io/foo")'),
}
# fmt: on


@pytest.mark.parametrize(("given", "why"), PATCHES.values(), ids=PATCHES)
def test_a_patch_that_does_not_fit_is_refused(given: Object, why: str) -> None:
    (text,) = check(train_jobs.job(runtimePatches=[given]))
    assert text.startswith("spec.runtimePatches")
    assert text.endswith(f": {why}")


def test_patches_change_only_while_the_job_is_or_gets_suspended() -> None:
    old = train_jobs.job(runtimePatches=[])
    new = train_jobs.job(runtimePatches=[patch()])
    waiting = train_jobs.job(runtimePatches=[patch()], suspend=True)
    assert check(new, old=old) == [
        "spec.runtimePatches: Forbidden: RuntimePatches can only be modified when the TrainJob is "
        "suspended before or after the update"
    ]
    assert check(waiting, old=old) == []
    assert check(new, old=train_jobs.job(suspend=True)) == []
    active = {"name": "node", "active": 1}
    child = train_jobs.job_set(old, runtime(), replicatedJobsStatus=[active])
    assert check(waiting, child, old=old) == [
        "spec.runtimePatches: Forbidden: RuntimePatches cannot be modified when the JobSet's "
        "ReplicatedJob node is still active"
    ]


@pytest.mark.rule("jobs B.6.4")
def test_patches_that_are_new_or_changed_are_stamped() -> None:
    kept, changed = patch("acme.io/a"), patch("acme.io/b")
    old = train_jobs.job(
        runtimePatches=[
            {**kept, "time": "2020-01-01T00:00:00Z"},
            {**changed, "time": "2020-01-01T00:00:00Z"},
        ]
    )
    new = train_jobs.job(
        runtimePatches=[
            kept,
            patch("acme.io/b", nodeSelector={"a": "b"}),
            patch("acme.io/c"),
            {**patch("acme.io/d"), "time": "2021-01-01T00:00:00Z"},
        ]
    )
    default(asked(new, old))
    assert [each["time"] for each in new["spec"]["runtimePatches"]] == [
        "2020-01-01T00:00:00Z",
        operators.TIME,
        operators.TIME,
        operators.TIME,
    ]
    fresh = train_jobs.job(runtimePatches=[patch()])
    default(asked(fresh))
    assert fresh["spec"]["runtimePatches"][0]["time"] == operators.TIME


@pytest.mark.rule("jobs B.6.2")
@pytest.mark.parametrize(
    ("name", "variables", "text"),
    [
        (
            "torch-distributed",
            ["PET_NNODES", "A", "PET_MASTER_ADDR"],
            "must not have reserved envs, invalid envs configured: [PET_MASTER_ADDR PET_NNODES]",
        ),
        (
            "deepspeed-distributed",
            ["OMPI_MCA_plm_rsh_args"],
            "must not have reserved envs, invalid envs configured: [OMPI_MCA_plm_rsh_args]",
        ),
        (
            "xgboost-distributed",
            ["A", "DMLC_TASK_ID"],
            "spec.trainer.env[1]: Forbidden: DMLC_TASK_ID is reserved for the XGBoost runtime",
        ),
        ("torch-distributed", ["OMPI_MCA_plm_rsh_args"], ""),
    ],
)
def test_reserved_variables(name: str, variables: list[str], text: str) -> None:
    trainer = {"env": [{"name": each, "value": "x"} for each in variables]}
    found = check(train_jobs.job(name, trainer=trainer))
    assert len(found) == bool(text)
    assert "".join(found).endswith(text)


def test_mpi_on_many_nodes_needs_a_launcher_and_nodes() -> None:
    source = runtime("deepspeed-distributed")
    source["spec"]["template"]["spec"]["replicatedJobs"].pop(0)
    parent = train_jobs.job("deepspeed-distributed", trainer={"numNodes": 2})
    assert check(parent, source) == [
        "spec.trainer.numNodes: Invalid value: 2: must have 1 when MPI trainingRuntime with "
        "enabled runLauncherAsNode does not have either launcher and node"
    ]


def test_injection_targets_must_exist() -> None:
    source = runtime()
    target = {"jobName": "node", "containerNames": ["side"]}
    source["spec"]["mlPolicy"]["torch"] = {"envInjection": {"targets": [target]}}
    (text,) = check(train_jobs.job(), source)
    why = 'envInjection target podSet "node" container "side" not found in runtime template'
    assert text.endswith(why)


# fmt: off
TUNING: dict[str, tuple[str, Object, list[str]]] = {
    "fine": ("torchtune-llama3.2-1b", {}, []),
    "unknown model": (
        "torch-distributed", {},
        ["must have a supported pretrained model, invalid model configured: "]),
    "too many nodes": (
        "torchtune-llama3.2-1b", {"numNodes": 2}, ["must be 1 for llama3_2/1B model"]),
    "adapters on many nodes": (
        "torchtune-llama3.2-1b", {"numNodes": 2, "args": ["model.lora_attn_modules=[x]"]},
        ["must be 1 for llama3_2/1B model",
         "LoRA fine-tuning is not supported for multi-node training in TorchTune"]),
    "quantized where it is not known": (
        "torchtune-qwen2.5-1.5b", {"args": ["model.quantize_base=true"]},
        ["QLoRA is not supported for qwen2_5/1.5B model"]),
    "quantized on two devices": (
        "torchtune-llama3.2-3b", {"args": ["model.quantize_base=True"]},
        ["must be auto or 1 for llama3_2/3B model when using QLoRA",
         "must have gpu resource with value 1 for llama3_2/3B model when using QLoRA"]),
    "what the runtime says": (
        "torchtune-llama3.2-1b", {"args": ["a=b", "output_dir=/x"]},
        ['must not set immutable config "output_dir" in trainer args; it is managed by the '
         'runtime']),
}
# fmt: on


@pytest.mark.parametrize(("name", "trainer", "whys"), TUNING.values(), ids=TUNING)
def test_what_torchtune_cannot_do(name: str, trainer: Object, whys: list[str]) -> None:
    found = check(train_jobs.job(name, trainer={"command": ["tune", "run"], **trainer}))
    assert len(found) == len(whys)
    assert all(text.endswith(why) for text, why in zip(found, whys, strict=True))


def test_steps_of_a_runtime_are_one_job_with_the_right_container() -> None:
    for each in runtimes():
        assert validate_runtime(asked(each)) == []
    bad = runtime()
    job = bad["spec"]["template"]["spec"]["replicatedJobs"][0]
    job["replicas"] = 2
    job["template"]["spec"]["template"]["spec"]["containers"][0]["name"] = "main"
    path = "spec.template.spec.replicatedJobs[0]"
    first, second = texts(validate_runtime(asked(bad)))
    assert first == f"{path}.replicas: Invalid value: 2: always must be 1"
    assert second.startswith(f"{path}.template.spec.template.spec.containers: Invalid value: [")
    assert second.endswith(": must contain the required container for the ancestor: trainer")
    assert len(validate_runtime(asked(bad, copy.deepcopy(bad)))) == 2
    local = {**bad, "kind": "TrainingRuntime"}
    assert validate_runtime(asked(local, copy.deepcopy(local))) == []
