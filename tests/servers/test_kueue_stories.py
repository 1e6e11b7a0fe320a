"""The same stories of queued Jobs within our server, and beside kube-apiserver."""

from collections.abc import Iterator

import pytest

from fleetqueue.api.crds import all_crds
from support.kueue_doors import DOORS, Door
from support.kueue_job_refusals import JOBS
from support.kueue_refusals import FLAVORS, QUEUES, Refusal
from support.kueue_stories import STORIES, Story
from support.kueue_workload_refusals import WORKLOADS
from support.server import wait_until

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
        for story, rules in STORIES.items()
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


def answered(door: Door, refusal: Refusal) -> tuple[int, str, str]:
    kind, name = refusal.obj["kind"], refusal.obj["metadata"]["name"]
    status, answer = door.send("POST", door.path(kind), refusal.obj)
    if status == 201 and refusal.patch is not None:
        place = "/".join(filter(None, (door.path(kind, name), refusal.subresource)))
        status, answer = door.send("PATCH", place, refusal.patch, MERGE)
    return status, str(answer.get("reason") or ""), str(answer.get("message") or "")


def with_jax_jobs(door: Door) -> None:
    """A kind of job that takes less than others do."""
    if door.send("GET", door.path("JAXJob"))[0] == 200:
        return
    crds = {each["metadata"]["name"]: each for each in all_crds("kubeflow.org")}
    door.request("POST", CRDS, crds["jaxjobs.kubeflow.org"])
    wait_until("JAXJobs", lambda: door.send("GET", door.path("JAXJob"))[0] == 200)
