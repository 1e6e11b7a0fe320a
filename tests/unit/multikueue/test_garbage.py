"""What on a worker is nobody's any more."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.support.dispatching import admission_check, config

from fleetqueue.api.meta import Key
from fleetqueue.kube.resources import Object, Resource, key_of
from fleetqueue.multikueue import garbage
from fleetqueue.multikueue.garbage import Local
from fleetqueue.runtime.kinds import JOB, POD

CONFIG = config("w1", "w2", name="c")


class Remote:
    """As much of a worker as is read here."""

    name = "w1"

    def __init__(
        self, copies: Sequence[Object] = (), mirrors: Mapping[Resource, Sequence[Object]] = {}
    ) -> None:
        self._copies = copies
        self._mirrors = mirrors

    def copies(self) -> Sequence[Object]:
        return self._copies

    def mirrors(self, kind: Resource) -> Sequence[Object]:
        return self._mirrors.get(kind, ())

    def mirror(self, kind: Resource, key: Key) -> Object | None:
        return next((each for each in self.mirrors(kind) if key_of(each) == key), None)


def workload(name: str = "a", *checks: str, **metadata: Any) -> Object:
    states = [{"name": each, "state": "Pending"} for each in checks]
    return {
        "metadata": {"name": name, "namespace": "ns", **metadata},
        "status": {"admissionChecks": states},
    }


def owner(kind: Resource, name: str = "job", uid: str = "7", **more: Any) -> Object:
    return {
        "apiVersion": kind.api_version, "kind": kind.kind, "name": name, "uid": uid,
        "controller": True, **more,
    }  # fmt: skip


def mirror(name: str = "job", uid: str = "7", **metadata: Any) -> Object:
    return {"metadata": {"name": name, "namespace": "ns", "uid": uid, **metadata}}


def local(*workloads: Object, clusters: Object | None = CONFIG) -> Local:
    by_key = {key_of(each): each for each in workloads}
    other = admission_check("other", "c")
    other["spec"]["controllerName"] = "example.com/check"
    checks = {"mk": admission_check("mk", "c"), "other": other}
    return Local(by_key.get, checks.get, lambda name: clusters if name == "c" else None)


def orphans(around: Local) -> list[str]:
    remote: Any = Remote([workload("a")])
    return [key_of(each).name for each in garbage.orphaned_copies(remote, around)]


# fmt: off
COPIES = {
    "its workload is here":           (local(workload("a", "mk")), []),
    "its workload is gone":           (local(workload("b", "mk")), ["a"]),
    "its workload is about to go":    (local(workload("a", "mk", deletionTimestamp="t")), ["a"]),
    "it waits without a check":       (local(workload("a")), []),
    "the worker was taken out":       (local(workload("a", "mk"), clusters=config("w2")), ["a"]),
    "only others' checks say so":     (local(workload("a", "other"), clusters=config("w2")), []),
    "the configuration is not known": (local(workload("a", "mk"), clusters=None), []),
}
# fmt: on


@pytest.mark.rule("GC-1")
@pytest.mark.rule("IMP-2")
@pytest.mark.parametrize(("around", "expected"), COPIES.values(), ids=COPIES)
def test_which_copies_are_orphans(around: Local, expected: list[str]) -> None:
    assert orphans(around) == expected


def owned(*owners: Object, mirrors: Mapping[Resource, Sequence[Object]]) -> str:
    remote: Any = Remote([], mirrors)
    found = garbage.mirror_of(remote, workload(ownerReferences=list(owners)), {JOB: lambda m: []})
    return "" if found is None else f"{found[0].kind} {key_of(found[1]).name}"


@pytest.mark.rule("GC-1")
@pytest.mark.rule("GC-3")
def test_the_job_behind_a_copy_goes_with_it_only_if_it_is_ours() -> None:
    ours = {JOB: [mirror()]}
    assert owned(owner(JOB), mirrors=ours) == "Job job"
    assert owned(owner(JOB, controller=False), mirrors=ours) == ""
    assert owned(owner(JOB, uid="8"), mirrors=ours) == ""
    assert owned(owner(JOB), mirrors={}) == ""
    assert owned(owner(POD), mirrors={POD: [mirror()]}) == ""
    assert owned(mirrors=ours) == ""


def doubtful(made: Object, *workloads: Object) -> bool:
    remote: Any = Remote([], {POD: [made]})
    keys = [Key("ns", "a"), Key("ns", "b")]
    return bool(garbage.doubtful_mirrors(remote, {POD: lambda m: keys}, local(*workloads)))


@pytest.mark.rule("IMP-7")
def test_a_mirror_without_any_workload_is_doubtful() -> None:
    assert doubtful(mirror())
    assert doubtful(mirror(), workload("a", deletionTimestamp="t"))
    assert not doubtful(mirror(), workload("b"))
    assert not doubtful(mirror(deletionTimestamp="t"))
    assert not doubtful(mirror(ownerReferences=[owner(JOB)]))
