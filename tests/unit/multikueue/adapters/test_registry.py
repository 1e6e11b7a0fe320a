"""Which adapters there are, and which of them a Workload gets."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.dispatched import SETTINGS_OF_MANAGER as SETTINGS
from tests.support.dispatched import with_gates
from tests.support.job_looks import KINDS, owned_by, thing

from fleetqueue.base import paths
from fleetqueue.jobs.settings import external_kind
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue.adapter import Adapter, Copied, Copying
from fleetqueue.multikueue.adapters.registry import adapter_for, adapters, handed_over
from fleetqueue.multikueue.settings import DispatchSettings

K = "kueue.x-k8s.io"
OURS = f"{K}/multikueue"
ALL = adapters(SETTINGS)
BY_FRAMEWORK = {each.framework: each for each in ALL.values()}


def enabling(*frameworks: str, **more: Any) -> DispatchSettings:
    return replace(SETTINGS, jobs=replace(SETTINGS.jobs, frameworks=frozenset(frameworks)), **more)


@pytest.mark.rule("CFG-1")
@pytest.mark.rule("S003-30")
def test_every_kind_has_an_adapter_but_those_that_are_sent_as_pods() -> None:
    assert BY_FRAMEWORK.keys() == KINDS.keys() - {"deployment"}
    assert list(adapters(enabling("batch/job"))) == [("batch", "Job")]


@pytest.mark.rule("DEP-3")
@pytest.mark.rule("IMP-21")
@pytest.mark.parametrize(
    "framework", ["deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset"]
)
def test_pods_come_with_what_is_made_of_them(framework: str) -> None:
    assert ("", "Pod") in adapters(enabling(framework))


def workload(*owners: Object, **more: Any) -> Object:
    return thing(f"{K}/v1beta2", "Workload", "w", ownerReferences=list(owners), **more)


def reference(api_version: str, kind: str, name: str = "x", **more: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": "u", **more}


def notes(kind: str, name: str) -> dict[str, str]:
    return {f"{K}/job-owner-gvk": kind, f"{K}/job-owner-name": name}


SET = "apps/v1, Kind=StatefulSet"


@pytest.mark.rule("FLOW-6")
@pytest.mark.parametrize(
    ("owners", "annotations", "kind"),
    [
        pytest.param(
            [reference("v1", "Pod"), reference("batch/v1", "Job", controller=True)],
            {},
            "Job",
            id="who controls it",
        ),
        pytest.param(
            [reference("v1", "Pod"), reference("batch/v1", "Job")], {}, "Pod", id="the first"
        ),
        pytest.param(
            [reference("v1", "Pod", controller=True)], notes(SET, "db"), "StatefulSet", id="a note"
        ),
        pytest.param([reference("v1", "Pod")], notes(SET, ""), "Pod", id="a note without a name"),
        pytest.param(
            [reference("v1", "Pod")], notes("a/v1, Kind=B", "b"), "Pod", id="a note of others"
        ),
        pytest.param([], notes(SET, "db"), "StatefulSet", id="a note alone"),
    ],
)
def test_the_adapter_of_a_workload(
    owners: list[Object], annotations: dict[str, str], kind: str
) -> None:
    found = adapter_for(workload(*owners, annotations=annotations), ALL)
    assert isinstance(found, Adapter)
    assert found.resource.kind == kind


@pytest.mark.rule("FLOW-6")
@pytest.mark.rule("LIM-15")
@pytest.mark.parametrize(
    ("owners", "text"),
    [
        ([], "No multikueue adapter found"),
        (
            [reference("kubeflow.org/v2beta1", "MPIJob", controller=True)],
            'No multikueue adapter found for owner kind "kubeflow.org/v2beta1, Kind=MPIJob"',
        ),
        (
            [reference("v1", "Pod")],
            'No multikueue adapter found for owner kind "/v1, Kind=Pod"',
        ),
        (
            [reference(f"{K}/v1beta2", "Workload", controller=True)],
            f'No multikueue adapter found for owner kind "{K}/v1beta2, Kind=Workload"',
        ),
    ],
)
def test_why_there_is_none(owners: list[Object], text: str) -> None:
    assert adapter_for(workload(*owners), adapters(enabling("batch/job"))) == text


FIELD_NAMES = {"kubeflow.org/mpijob": "spec.runPolicy.managedBy"}


@pytest.mark.rule("MB-2")
@pytest.mark.rule("KF-3")
@pytest.mark.rule("LIM-17")
@pytest.mark.rule("S000-5")
@pytest.mark.rule("S000-12")
@pytest.mark.parametrize("framework", [name for name, kind in KINDS.items() if kind.managed_by])
def test_a_job_that_somebody_else_runs_is_not_handed_over(framework: str) -> None:
    kind, adapter = KINDS[framework], BY_FRAMEWORK[framework]
    made = thing(kind.resource.api_version, kind.resource.kind, "x", spec={})

    def reason(value: str) -> str | None:
        return handed_over(adapter, paths.with_value(made, kind.managed_by, value))

    title = FIELD_NAMES.get(framework, "spec.managedBy")
    assert reason(OURS) is None
    assert reason("example.com/x") == f'Expecting {title} to be "{OURS}" not "example.com/x"'
    assert handed_over(adapter, made) == f'Expecting {title} to be "{OURS}" not ""'


@pytest.mark.rule("S001-8")
def test_the_wrong_field_hands_nothing_over() -> None:
    made = thing("kubeflow.org/v1", "TFJob", "x", spec={"managedBy": OURS})
    assert handed_over(BY_FRAMEWORK["kubeflow.org/tfjob"], made) is not None


# Kinds of the configuration

CUSTOM = external_kind("Custom.v1.example.com")


def custom(**more: Any) -> Object:
    spec = {"managedBy": OURS, "suspend": False, "x": 1}
    return thing("example.com/v1", "Custom", "c", spec=spec, **more)


@pytest.mark.rule("EXT-1")
@pytest.mark.rule("EXT-2")
def test_a_kind_that_only_the_configuration_knows() -> None:
    settings = enabling("batch/job", external=(CUSTOM,))
    made = {**custom(ownerReferences=[{}]), "data": {"k": "v"}}
    own = owned_by(workload(), made)
    adapter = adapter_for(own, adapters(settings))
    assert isinstance(adapter, Adapter)
    mirror = adapter.mirror(made, own, settings)
    assert mirror.keys() == {"apiVersion", "kind", "metadata", "spec"}
    assert mirror["spec"] == {"suspend": False, "x": 1}
    assert "ownerReferences" not in mirror["metadata"]
    assert adapter.propagation == "Background"
    assert [key.name for key in adapter.wakes(mirror, settings)] == ["w"]
    assert adapter.copy(Copying(own, made, mirror, settings)) == Copied()
    told = {**mirror, "status": {"phase": "x"}}
    assert adapter.copy(Copying(own, made, told, settings)) == Copied({"phase": "x"})


@pytest.mark.rule("EXT-2")
def test_why_a_custom_job_is_not_handed_over() -> None:
    [adapter] = adapters(enabling("none", external=(CUSTOM,))).values()
    assert handed_over(adapter, custom()) is None
    other = paths.with_value(custom(), "spec.managedBy", "me")
    assert handed_over(adapter, other) == f'Expecting .spec.managedBy to be "{OURS}" not "me"'
    off = replace(enabling("none", external=(CUSTOM,)), gates=_off())
    [disabled] = adapters(off).values()
    assert handed_over(disabled, custom()) == (
        "MultiKueueAdaptersForCustomJobs feature gate is disabled"
    )


def _off() -> Any:
    return with_gates(external_frameworks=False).gates


@pytest.mark.rule("EXT-4")
def test_a_kind_of_ours_stays_ours() -> None:
    settings = enabling("batch/job", external=(external_kind("Job.v1.batch"),))
    assert adapters(settings)["batch", "Job"].framework == "batch/job"


def test_kinds_are_called_as_go_calls_them() -> None:
    titles = {each.resource.kind: each.title for each in ALL.values()}
    assert titles["Pod"] == "/v1, Kind=Pod"
    assert titles["Job"] == "batch/v1, Kind=Job"
