"""The server is killed while jobs run: nothing is left behind, and every job ends as it should."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from live.conftest import Live


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Live]:
    live = Live(tmp_path / "cluster")
    yield live
    live.stop()


@pytest.mark.rule("jobs C.13")
def test_jobs_survive_the_death_of_their_server(own: Live, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    go = tmp_path / "go"
    script = f"until [ -e {go} ]; do sleep 0.1; done; echo done >> {marks}/$JOB_COMPLETION_INDEX"
    for number in range(3):
        folder = marks / str(number)
        folder.mkdir()
        container = {
            "name": "c", "image": "busybox",
            "command": ["sh", "-c", script.replace(str(marks), str(folder))],
        }  # fmt: skip
        template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        spec = {
            "completions": 3,
            "parallelism": 3,
            "completionMode": "Indexed",
            "template": template,
        }
        own.create(
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": f"j{number}"},
                "spec": spec,
            }
        )
    own.until("they run", lambda: len(own.pods("Running")) == 9)
    uids = own.uids()
    assert len(own.processes(uids)) >= 9
    own.kill()
    own.until("none outlives its server", lambda: not own.processes(uids))
    go.touch()
    own.start_again()
    for number in range(3):
        name = f"j{number}"
        own.until(f"{name} completes", lambda name=name: own.condition("Job", name, "Complete"))
        written = [path.read_text() for path in sorted((marks / str(number)).iterdir())]
        assert len(written) == 3
        succeeded = [
            pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]
            for pod in own.all("Pod")
            if pod["metadata"]["labels"]["job-name"] == name
            and pod["status"]["phase"] == "Succeeded"
        ]
        assert sorted(succeeded) == ["0", "1", "2"]
    assert not own.processes({*uids, *own.uids()})
