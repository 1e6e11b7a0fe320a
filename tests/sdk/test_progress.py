"""What a job tells of its progress while it runs."""

from pathlib import Path
from typing import Any

import pytest
from kubeflow.trainer import CustomTrainer

from sdk.conftest import TRAINER, Namespace

pytestmark = pytest.mark.rule("jobs E.7")

PROGRESS = {
    "lastUpdatedTime": "2026-01-01T00:00:00Z",
    "progressPercentage": 40,
    "estimatedRemainingSeconds": 120,
    "metrics": [{"name": "loss", "value": "0.5"}],
}


def report(path: str) -> None:
    import os
    import time

    from kubeflow.trainer import update_trainjob_status

    print("told:", update_trainjob_status(progress_percent=40, metrics={"loss": 0.5}))
    while not os.path.exists(path):
        time.sleep(0.05)


def apply_progress(namespace: Namespace, name: str, progress: dict[str, Any]) -> tuple[int, Any]:
    """As the Trainer's server writes it for a pod that reports to it."""
    path = namespace.path(TRAINER, "trainjobs", name)
    body = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name},
        "status": {"trainerStatus": progress},
    }
    query = "fieldManager=trainer-status&force=true"
    headers = {"Content-Type": "application/apply-patch+yaml"}
    with namespace.server.client() as client:
        answer = client.send("PATCH", f"{path}/status?{query}", body, headers)
    return answer.status, answer.json


def test_progress_is_kept_to_the_end_of_the_job(namespace: Namespace, tmp_path: Path) -> None:
    """Nobody listens in a pod, as the feature is off by default upstream: reporting is no error."""
    client, mark = namespace.client, tmp_path / "mark"
    trainer = CustomTrainer(func=report, func_args={"path": str(mark)}, image="python:3")
    name = client.train(runtime="plain", trainer=trainer)
    client.wait_for_job_status(name, {"Running"}, timeout=60, polling_interval=1)
    assert apply_progress(namespace, name, PROGRESS)[0] == 200
    status, refused = apply_progress(namespace, name, PROGRESS | {"progressPercentage": 101})
    assert (status, refused["reason"]) == (422, "Invalid")
    mark.touch()
    assert namespace.finish(name).status == "Complete"
    shown = namespace.train_job(name)["status"]
    assert shown["trainerStatus"] == PROGRESS
    assert [each["succeeded"] for each in shown["jobsStatus"]] == [1]
    assert list(client.get_job_logs(name)) == ["told: False"]
