"""What is kept of pods that are gone: found again, also after a restart, until their job goes."""

import json
from pathlib import Path
from typing import Any

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.api.selectors import parse_labels
from fleetqueue.embedded.reach.kept import Kept, kept_job, log_path, reduced
from fleetqueue.kube.resources import Resource

Object = dict[str, Any]
JOBS = Resource("batch", "v1", "jobs", "Job")


def pod(name: str, **labels: str) -> Object:
    container = {
        "name": "main",
        "image": "i",
        "command": ["run", "--password=p"],
        "env": [{"name": "TOKEN", "value": "secret"}],
    }
    return {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"uid-{name}",
            "labels": labels,
            "annotations": {"note": "n", "kubectl.kubernetes.io/default-container": "main"},
        },
        "spec": {"containers": [container], "nodeName": "n", "volumes": [{"secret": {}}]},
        "status": {"phase": "Succeeded", "podIP": "127.0.0.1"},
    }


def job(uid: str, name: str = "x") -> Object:
    return {"metadata": {"name": name, "namespace": "ns", "uid": uid}}


def keep(kept: Kept, uid: str, *pods: Object, text: bytes = b"", name: str = "x") -> None:
    place = kept.begin(uid)
    for each in pods:
        path = log_path(place, each["metadata"]["name"], "main")
        path.parent.mkdir()
        path.write_bytes(text)
    kept.end(kept_job(job(uid, name), JOBS, "worker", list(pods)))


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path / "logs")


def names(found: list[Object]) -> list[str]:
    return [each["metadata"]["name"] for each in found]


def test_a_kept_pod_is_found_by_name_and_by_labels(kept: Kept) -> None:
    keep(kept, "u", pod("x-1", job="u"), pod("x-2", job="u"))
    keep(kept, "v", pod("y-1", job="v"), name="y")
    found = kept.find(Key("ns", "x-1"))
    assert found is not None
    assert names(kept.select("ns", parse_labels("job=u"))) == ["x-1", "x-2"]
    assert names(kept.select("ns", parse_labels("job!=u"))) == ["y-1"]
    assert kept.select("other", parse_labels("job=u")) == []
    assert kept.find(Key("other", "x-1")) is None
    assert kept.log(found, "main").name == "main.log"
    assert kept.log(found, "main", previous=True).name == "main.previous.log"


def holding(name: str, *containers: str) -> Object:
    made = pod(name)
    made["spec"]["containers"] = [{"name": each, "image": "i"} for each in containers]
    return made


@pytest.mark.parametrize(
    "odd",
    [
        holding("..", "main"),
        holding("a/../..", "main"),
        holding("", "main"),
        holding("x-1", "/etc/passwd"),
        holding("x-1", "main", "../../main"),
        holding("x-1", "main.previous"),
        {**pod("x-1"), "status": {"initContainerStatuses": [{"name": "../x"}]}},
    ],
)
def test_pods_whose_names_no_server_takes_are_left_out(kept: Kept, odd: Object) -> None:
    kept.begin("u")
    kept.end(kept_job(job("u"), JOBS, "worker", [odd, pod("x-2")]))
    assert names(kept.select("ns", parse_labels(""))) == ["x-2"]


def test_pods_that_an_earlier_process_let_in_are_left_out(kept: Kept, tmp_path: Path) -> None:
    keep(kept, "u", pod("x-1"), pod("x-2"))
    index = tmp_path / "logs" / "u" / "job.json"
    index.write_text(index.read_text().replace("x-1", "..").replace('"main"', '"../main"', 1))
    again = Kept(tmp_path / "logs")
    again.load()
    assert names(again.select("ns", parse_labels(""))) == ["x-2"]


@pytest.mark.parametrize(
    ("name", "container"),
    [("..", "x"), (".", "x"), ("p", "/etc/x"), ("p", "../x"), ("p", "../../x"), ("linked", "x")],
)
def test_no_log_is_outside_the_place_of_its_job(tmp_path: Path, name: str, container: str) -> None:
    place = tmp_path / "u"
    place.mkdir()
    (place / "linked").symlink_to(tmp_path)
    with pytest.raises(ValueError, match="is not in the directory of its job"):
        log_path(place, name, container)


def test_a_restart_finds_what_was_ended_and_drops_the_rest(kept: Kept, tmp_path: Path) -> None:
    keep(kept, "u", pod("x-1"))
    kept.begin("unfinished")
    again = Kept(tmp_path / "logs")
    again.load()
    assert list(again.jobs()) == ["u"]
    assert again.find(Key("ns", "x-1")) is not None
    assert [each.name for each in (tmp_path / "logs").iterdir()] == ["u"]


def test_logs_go_with_their_job(kept: Kept, tmp_path: Path) -> None:
    keep(kept, "u", pod("x-1"))
    kept.drop("another")
    assert kept.jobs()
    kept.drop("u")
    assert kept.find(Key("ns", "x-1")) is None
    assert not list((tmp_path / "logs").iterdir())


def test_a_job_of_the_same_name_takes_over_the_names_of_its_pods(kept: Kept) -> None:
    keep(kept, "old", pod("x-0"))
    keep(kept, "new", pod("x-0"))
    kept.drop("old")
    assert kept.find(Key("ns", "x-0")) is not None
    kept.drop("new")
    assert kept.find(Key("ns", "x-0")) is None


def test_what_was_begun_may_be_abandoned(kept: Kept, tmp_path: Path) -> None:
    kept.begin("u")
    kept.abandon("u")
    assert not list((tmp_path / "logs").iterdir())


def test_beyond_the_limit_the_oldest_are_dropped(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "logs", bytes_max=25)
    for number in range(3):
        keep(kept, f"u{number}", pod(f"x-{number}"), text=b"0123456789")
    assert list(kept.jobs()) == ["u1", "u2"]
    keep(kept, "large", pod("x-9"), text=b"0" * 100)
    assert list(kept.jobs()) == ["large"]


def test_nothing_that_may_be_a_secret_is_written_down(kept: Kept, tmp_path: Path) -> None:
    made = reduced(pod("x-1", job="u"))
    assert made["spec"]["containers"] == [{"name": "main", "image": "i"}]
    assert "volumes" not in made["spec"]
    assert made["metadata"]["annotations"] == {"kubectl.kubernetes.io/default-container": "main"}
    keep(kept, "u", pod("x-1"))
    text = (tmp_path / "logs" / "u" / "job.json").read_text()
    assert "secret" not in text
    assert "password" not in text
    assert json.loads(text)["worker"] == "worker"


def test_others_on_the_machine_do_not_read_them(kept: Kept, tmp_path: Path) -> None:
    keep(kept, "u", pod("x-1"))
    assert (tmp_path / "logs").stat().st_mode & 0o077 == 0
    assert (tmp_path / "logs" / "u" / "job.json").stat().st_mode & 0o077 == 0
