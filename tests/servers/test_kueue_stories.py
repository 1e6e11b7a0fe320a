"""The same stories of queued Jobs within our server, and beside kube-apiserver."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from fleetqueue.api.crds import all_crds
from live.queues import is_true, offer, workload_of
from support.kueue_bad_input import BAD_INPUT
from support.kueue_doors import DOORS, Door
from support.kueue_job_refusals import JOBS
from support.kueue_refusals import FLAVORS, QUEUES, Refusal
from support.kueue_stories import STORIES, Story, is_suspended, job
from support.kueue_workload_refusals import WORKLOADS
from support.server import wait_until

UNKNOWN_PLACES = "Warning: places in queues are not known: service unavailable\n"
MERGE = "application/merge-patch+json"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    chosen = metafunc.config.getoption("--servers").split(",")
    names = [name for name in DOORS if name in chosen]
    metafunc.parametrize("opened", names, indirect=True, scope="module")


@pytest.fixture(scope="module")
def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Door]:
    door = Door(tmp_path_factory.mktemp("door"), DOORS[request.param])
    yield door
    door.stop()


@pytest.mark.parametrize(
    "story",
    [
        pytest.param(story, marks=pytest.mark.rule(*rules), id=story.__name__)
        for story, rules in {**STORIES, **BAD_INPUT}.items()
    ],
)
def test_a_story_is_the_same_behind_every_door(opened: Door, story: Story) -> None:
    opened.use(story.__name__.replace("_", "-"))
    story(opened)


@pytest.mark.rule("kueue 1.0", "kueue 9.6", "jobs A.7")
def test_what_is_refused_is_refused_in_the_same_words(opened: Door) -> None:
    opened.use("refusals")
    with_jax_jobs(opened)
    lines = []
    for each in (*QUEUES, *FLAVORS, *WORKLOADS, *JOBS):
        if not each.is_lasting:
            continue
        found, expected = answered(opened, each), (*each.answer, each.message)
        if found != expected:
            lines.append(f"{each.title}: {found}, expected {expected}")
    assert "\n".join(lines) == ""


@pytest.mark.rule("kueue 10.1")
def test_a_kind_of_job_is_queued_whose_definition_came_late(opened: Door) -> None:
    opened.use("late")
    with_jax_jobs(opened)
    queue = offer(opened, "late", "2")
    opened.create(jax_job("late", queue))
    opened.until("its Workload", lambda: owned(opened, "late"))

    def is_running() -> bool:
        return opened.get("JAXJob", "late")["spec"]["runPolicy"].get("suspend") is False

    opened.until("it may run", is_running)


@pytest.mark.rule("kueue 11.4", "kueue 13.9")
def test_kueuectl_speaks_to_every_door(opened: Door) -> None:
    opened.use("shell")
    kubeconfig = str(opened.server.kubeconfig)

    def kueuectl(*arguments: str) -> str:
        flags = ("--kubeconfig", kubeconfig, "-n", opened.namespace)
        done = subprocess.run(
            [sys.executable, "-m", "fleetqueue", "kueue", *arguments, *flags],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        # A kube-apiserver without a network to its Services cannot be asked who waits where.
        assert done.stderr in ("", UNKNOWN_PLACES)
        return done.stdout

    assert kueuectl("create", "rf", "shell") == "resourceflavor.kueue.x-k8s.io/shell created\n"
    kueuectl("create", "cq", "shell", "--nominal-quota", "shell:cpu=1")
    kueuectl("create", "lq", "main", "-c", "shell")
    opened.create(job("first", "main"))
    opened.until("first is admitted", lambda: is_true(opened, "first", "Admitted"))
    opened.create(job("second", "main"))
    opened.until("second waits", lambda: workload_of(opened, "second"))

    def places() -> list[list[str]]:
        lines = kueuectl("list", "workload", "-q", "main").splitlines()[1:]
        return sorted([line.split()[2], *line.split()[5:7]] for line in lines)

    states = [["first", "ADMITTED"], ["second", "PENDING"]]
    opened.until("both are listed", lambda: [each[:2] for each in places()] == states)
    if opened.name != "kube-apiserver":
        assert places()[1][2] == "0"
    names = kueuectl("list", "workload", "--for", "job/second", "-o", "name").split()
    assert len(names) == 1
    assert kueuectl("stop", "cq", "shell") == "clusterqueue.kueue.x-k8s.io/shell\n"
    opened.until("first is stopped", lambda: is_suspended(opened, "first"))
    listed = kueuectl("list", "cq", "--field-selector", "metadata.name=shell").splitlines()[1]
    assert listed.split()[0] == "shell"
    assert completed(kubeconfig, "kueuectl resume cq sh") == ["shell"]
    workload = names[0].partition("/")[2]
    assert kueuectl("delete", "workload", workload, "-y") == "jobs.batch/second deleted\n"


@pytest.mark.rule("kueue 10.4")
def test_the_controllers_were_forbidden_nothing(opened: Door) -> None:
    """The last one: by now they have done nearly all that they do."""
    told = [line for line in opened.log_text().splitlines() if "forbidden" in line.lower()]
    assert "\n".join(told) == ""


def completed(kubeconfig: str, line: str) -> list[str]:
    """What a shell would offer next."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    ours = {"_KUEUECTL_COMPLETE": "bash_complete", "KUBECONFIG": kubeconfig, **words}
    program = "from fleetqueue.cli.kueuectl.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
        env=os.environ | ours,
    )  # fmt: skip
    assert done.stderr == ""
    return [each.partition(",")[2] for each in done.stdout.split()]


def jax_job(name: str, queue: str) -> dict[str, Any]:
    container = {"name": "jax", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    worker = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "JAXJob",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"runPolicy": {}, "jaxReplicaSpecs": {"Worker": worker}},
    }


def owned(door: Door, name: str) -> bool:
    owners = [each["metadata"].get("ownerReferences") or () for each in door.all("Workload")]
    return any(owner["name"] == name for each in owners for owner in each)


def answered(door: Door, refusal: Refusal) -> tuple[int, str, str]:
    kind, name = refusal.obj["kind"], refusal.obj["metadata"]["name"]
    place = refusal.served_at(door.path(kind))
    status, answer = door.send("POST", place, refusal.obj)
    if status == 201 and refusal.patch is not None:
        at = "/".join(filter(None, (place, name, refusal.subresource)))
        status, answer = door.send("PATCH", at, refusal.patch, MERGE)
    return status, str(answer.get("reason") or ""), str(answer.get("message") or "")


def with_jax_jobs(door: Door) -> None:
    """A kind of job that takes less than others do."""
    if door.send("GET", door.path("JAXJob"))[0] == 200:
        return
    crds = {each["metadata"]["name"]: each for each in all_crds("kubeflow.org")}
    door.request("POST", CRDS, crds["jaxjobs.kubeflow.org"])
    wait_until("JAXJobs", lambda: door.send("GET", door.path("JAXJob"))[0] == 200)
