"""Who manages a job that another object controls."""

import pytest
from tests.support.job_looks import KINDS, SETTINGS, job, owned_by, thing, with_settings

from fleetqueue.jobs.ancestors import Family, TooDeep, ancestor_of
from fleetqueue.jobs.kind import NotYet
from fleetqueue.jobs.settings import JobSettings, external_kind
from fleetqueue.kube.resources import Object

pytestmark = [pytest.mark.rule("jobs A.3"), pytest.mark.rule("kueue 9.2")]

LABELS = {"q": {"kueue.x-k8s.io/queue-name": "lq"}, "": {}}
VERSIONS = {
    "Job": "batch/v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "AppWrapper": "workload.codeflare.dev/v1beta2",
    "ReplicaSet": "apps/v1",
    "Deployment": "apps/v1",
    "Foo": "example.com/v1",
    "Stranger": "example.org/v1",
}


def chain(picture: str) -> list[Object]:
    """`Job(q) < JobSet` is a Job with a queue that a JobSet controls."""
    made: list[Object] = []
    for index, text in enumerate(reversed(picture.split(" < "))):
        kind, _, mark = text.rstrip(")").partition("(")
        obj = thing(VERSIONS[kind], kind, f"{kind.lower()}{index}", labels=LABELS[mark])
        made.insert(0, owned_by(obj, made[0]) if made else obj)
    return made


def find(picture: str, settings: JobSettings = SETTINGS) -> str | None:
    first, *above = chain(picture)
    by_name = {each["metadata"]["name"]: each for each in above}
    family = Family.of(KINDS.values(), settings)
    found = ancestor_of(first, family, settings, lambda stub: by_name.get(stub["metadata"]["name"]))
    return None if found is None else str(found["kind"])


# fmt: off
CASES = {
    "the topmost with a queue":        ("Job(q) < JobSet < AppWrapper(q)",   "AppWrapper"),
    "the one in between":              ("Job(q) < JobSet(q) < AppWrapper",   "JobSet"),
    "nobody has a queue":              ("Job < JobSet < AppWrapper",         None),
    "nobody above":                    ("Job(q)",                            None),
    "a stranger is not climbed":       ("Job(q) < Stranger(q)",              None),
    "a ReplicaSet is, but is nobody":  ("Job < ReplicaSet(q) < JobSet(q)",   "JobSet"),
    "a ReplicaSet alone":              ("Job < ReplicaSet(q)",               None),
}
# fmt: on


@pytest.mark.parametrize(("picture", "expected"), CASES.values(), ids=CASES.keys())
def test_ancestors(picture: str, expected: str | None) -> None:
    assert find(picture) == expected


def test_without_queue_names_any_managed_kind_counts() -> None:
    settings = with_settings(manages_without_queue_name=True)
    assert find("Job < JobSet < AppWrapper", settings) == "AppWrapper"


def test_kinds_from_outside_count_as_managed() -> None:
    settings = with_settings(external=(external_kind("Foo.v1.example.com"),))
    assert find("Job < Foo(q)", settings) == "Foo"
    assert find("Job < Foo(q)") is None


def test_an_owner_of_another_uid_ends_the_search() -> None:
    child, parent = chain("Job < JobSet(q)")
    parent["metadata"]["uid"] = "another"
    family = Family.of(KINDS.values(), SETTINGS)
    assert ancestor_of(child, family, SETTINGS, lambda stub: parent) is None


def test_an_owner_that_is_not_there_is_waited_for() -> None:
    child, _ = chain("Job < JobSet(q)")
    family = Family.of(KINDS.values(), SETTINGS)
    with pytest.raises(NotYet, match='JobSet "jobset0" not found'):
        ancestor_of(child, family, SETTINGS, lambda stub: None)


def test_ten_owners_are_enough() -> None:
    assert find(" < ".join(["Job"] * 10 + ["JobSet(q)"])) == "JobSet"
    with pytest.raises(TooDeep, match="ancestor depth exceeded limit of 10"):
        find(" < ".join(["Job"] * 11 + ["JobSet(q)"]))


def test_a_cycle_is_an_error() -> None:
    one, two = job("one"), job("two")
    one, two = owned_by(one, two), owned_by(two, one)
    by_name = {"one": one, "two": two}
    family = Family.of(KINDS.values(), SETTINGS)
    with pytest.raises(TooDeep, match="cyclic ownership"):
        ancestor_of(one, family, SETTINGS, lambda stub: by_name[stub["metadata"]["name"]])
