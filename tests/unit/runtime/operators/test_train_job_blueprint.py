"""A runtime's template under patches, resources and what the job itself says."""

from typing import Any

import pytest
from tests.support import train_jobs
from tests.support.train_jobs import built, environment, runtime

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators.train_job_children import (
    limit_devices,
    make_blueprint,
    make_job_set,
)
from fleetqueue.runtime.operators.train_job_patches import merged

pytestmark = pytest.mark.rule("jobs B.6.1")


def patch(job: str, manager: str = "acme.io/x", **pod: Any) -> Object:
    template = {"spec": {"template": pod}}
    spec = {"replicatedJobs": [{"name": job, "template": template}]}
    return {"manager": manager, "trainingRuntimeSpec": {"template": {"spec": spec}}}


def test_patches_apply_in_their_order_and_jobs_keep_theirs() -> None:
    name = "torchtune-llama3.2-1b"
    patches = [
        patch(
            "node", spec={"nodeSelector": {"pool": "a", "zone": "1"}, "tolerations": [{"key": "a"}]}
        ),
        patch("model-initializer", "acme.io/y", metadata={"labels": {"x": "1"}}),
        patch(
            "node", "acme.io/z", spec={"nodeSelector": {"pool": "b"}, "tolerations": [{"key": "b"}]}
        ),
    ]
    made = train_jobs.job_set(train_jobs.job(name, runtimePatches=patches), runtime(name))
    names = [each["name"] for each in made["spec"]["replicatedJobs"]]
    assert names == ["dataset-initializer", "model-initializer", "node"]
    pod = train_jobs.pod_of(made, "node")
    assert pod["nodeSelector"] == {"pool": "b", "zone": "1"}
    assert pod["tolerations"] == [{"key": "b"}]
    model = train_jobs.replicated(made, "model-initializer")
    assert model["template"]["spec"]["template"]["metadata"]["labels"] == {"x": "1"}


# fmt: off
MERGES: dict[str, tuple[Object, Object, Object]] = {
    "maps merge": ({"a": {"x": 1}}, {"a": {"y": 2}}, {"a": {"x": 1, "y": 2}}),
    "null removes": ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
    "named lists merge by name, new ones first": (
        {"volumes": [{"name": "a", "x": 1}, {"name": "b"}]},
        {"volumes": [{"name": "c"}, {"name": "a", "y": 2}]},
        {"volumes": [{"name": "c"}, {"name": "a", "x": 1, "y": 2}, {"name": "b"}]}),
    "known items keep their order": (
        {"env": [{"name": "a"}, {"name": "b"}, {"name": "c"}]},
        {"env": [{"name": "c", "value": "3"}, {"name": "a", "value": "1"}]},
        {"env": [{"name": "a", "value": "1"}, {"name": "b"}, {"name": "c", "value": "3"}]}),
    "mounts merge by their path": (
        {"volumeMounts": [{"name": "a", "mountPath": "/x"}]},
        {"volumeMounts": [{"name": "b", "mountPath": "/x"}]},
        {"volumeMounts": [{"name": "b", "mountPath": "/x"}]}),
    "gates merge, tolerations do not": (
        {"schedulingGates": [{"name": "a"}], "tolerations": [{"key": "a"}]},
        {"schedulingGates": [{"name": "b"}], "tolerations": [{"key": "b"}]},
        {"schedulingGates": [{"name": "b"}, {"name": "a"}], "tolerations": [{"key": "b"}]}),
}
# fmt: on


@pytest.mark.parametrize(("old", "change", "new"), MERGES.values(), ids=MERGES)
def test_a_strategic_merge(old: Object, change: Object, new: Object) -> None:
    assert merged(old, change) == new


def test_the_runtime_itself_is_never_changed() -> None:
    source, before = runtime("torchtune-llama3.2-1b"), runtime("torchtune-llama3.2-1b")
    patches = [patch("node", spec={"volumes": [{"name": "v"}]})]
    trainer = {"numNodes": 1, "resourcesPerNode": {"limits": {"cpu": 1}}, "image": "mine"}
    built(train_jobs.job(runtimePatches=patches, trainer=trainer), source)
    assert source == before


def test_resources_merge_key_by_key() -> None:
    trainer = {"resourcesPerNode": {"limits": {"cpu": "4"}, "requests": {"cpu": "1"}}}
    pod = built(train_jobs.job(trainer=trainer), runtime("torchtune-llama3.2-1b"))
    assert pod["containers"][0]["resources"] == {
        "limits": {"nvidia.com/gpu": 2, "cpu": "4"},
        "requests": {"cpu": "1"},
    }


@pytest.mark.rule("S002-13")
@pytest.mark.parametrize(
    ("given", "limits"),
    [
        ({"requests": {"cpu": "4", "nvidia.com/gpu": "1"}}, {"nvidia.com/gpu": "1"}),
        (
            {"requests": {"acme.com/a": 2, "acme.com/b": 1}, "limits": {"cpu": 3, "acme.com/b": 1}},
            {"cpu": 3, "acme.com/a": 2, "acme.com/b": 1},
        ),
        ({"requests": {"cpu": "4", "requests.kubernetes.io/x": 1}}, None),
        ({"limits": {"nvidia.com/gpu": 1}}, {"nvidia.com/gpu": 1}),
    ],
)
def test_devices_that_are_requested_are_a_limit_of_what_is_made(
    given: Object, limits: Object | None
) -> None:
    trainer = {"resourcesPerNode": given}
    made = make_blueprint(train_jobs.job(trainer=trainer), runtime("torch-distributed"))
    before = train_jobs.pod_of(make_job_set(made), "node")["containers"][0]["resources"]
    assert before == given
    limit_devices(made)
    pod = train_jobs.pod_of(make_job_set(made), "node")
    assert pod["containers"][0]["resources"].get("limits") == limits


def test_the_trainer_replaces_image_command_and_args() -> None:
    trainer = {"image": "mine", "command": ["python"], "args": ["x.py"]}
    container = built(train_jobs.job("plain", trainer=trainer), runtime("plain"))["containers"][0]
    assert (container["image"], container["command"], container["args"]) == (
        "mine",
        ["python"],
        ["x.py"],
    )
    assert "env" not in container


def test_jobs_beside_the_trainer_keep_their_own_number_of_pods() -> None:
    source = runtime()
    extra = {"name": "cache", "replicas": 2, "template": {"spec": {"parallelism": 5}}}
    source["spec"]["template"]["spec"]["replicatedJobs"].append(extra)
    made = train_jobs.job_set(train_jobs.job(trainer={"numNodes": 2}), source)
    job = train_jobs.replicated(made, "cache")
    assert (job["replicas"], job["template"]["spec"]["completions"]) == (2, 5)


def test_a_runtime_without_a_policy_keeps_its_own_number_of_pods() -> None:
    source = runtime("plain")
    del source["spec"]["mlPolicy"]
    job = source["spec"]["template"]["spec"]["replicatedJobs"][0]
    job["template"]["spec"]["parallelism"] = 6
    made = train_jobs.job_set(train_jobs.job(), source)
    assert train_jobs.replicated(made, "node")["template"]["spec"]["completions"] == 6


def test_initializers_get_their_source_variables_and_secret() -> None:
    name = "torchtune-llama3.2-1b"
    said = {
        "dataset": {"storageUri": "hf://a/b", "env": [{"name": "X", "value": "1"}]},
        "model": {"secretRef": {"name": "token"}},
    }
    made = train_jobs.job_set(train_jobs.job(name, initializer=said), runtime(name))
    data = train_jobs.pod_of(made, "dataset-initializer")
    assert environment(data, "dataset-initializer") == {"STORAGE_URI": "hf://a/b", "X": "1"}
    model = train_jobs.pod_of(made, "model-initializer")
    assert environment(model, "model-initializer") == {
        "STORAGE_URI": "hf://meta-llama/Llama-3.2-1B-Instruct"
    }
    assert model["containers"][0]["envFrom"] == [{"secretRef": {"name": "token"}}]
    assert all(each["replicas"] == 1 for each in made["spec"]["replicatedJobs"])
