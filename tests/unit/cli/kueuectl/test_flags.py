"""Quotas, labels, taints and tolerations as flags write them."""

import pytest

from fleetqueue.cli.kueuectl.failures import Failure
from fleetqueue.cli.kueuectl.pairs import read_pairs, read_taints, read_tolerations
from fleetqueue.cli.kueuectl.quotas import resource_groups

pytestmark = pytest.mark.rule("kueue 11.4")


def shape(groups: list[dict[str, object]]) -> list[tuple[list[str], list[str]]]:
    return [
        (each["coveredResources"], [flavor["name"] for flavor in each["flavors"]])  # type: ignore[attr-defined,misc]
        for each in groups
    ]


@pytest.mark.parametrize(
    ("nominal", "expected"),
    [
        ([], []),
        (["a:cpu=1"], [(["cpu"], ["a"])]),
        (["a:cpu=1,b:cpu=2"], [(["cpu"], ["a", "b"])]),
        (["a:cpu=1", "b:cpu=2"], [(["cpu"], ["a", "b"])]),
        (["a:cpu=1;memory=1Gi", "b:memory=1Gi;cpu=2"], [(["cpu", "memory"], ["a", "b"])]),
        (["a:cpu=1", "b:memory=1Gi", "c:cpu=3"], [(["cpu"], ["a", "c"]), (["memory"], ["b"])]),
    ],
)
def test_flavors_with_the_same_resources_are_in_one_group(
    nominal: list[str], expected: object
) -> None:
    assert shape(resource_groups(nominal, [], [])) == expected


@pytest.mark.parametrize(
    ("nominal", "borrowing", "lending", "message"),
    [
        (["a"], [], [], "invalid resources specification"),
        (["a:"], [], [], "invalid resources specification"),
        (["a:cpu"], [], [], "invalid resources specification"),
        ([":cpu=1"], [], [], "invalid resources specification"),
        (["a:cpu=1;"], [], [], "invalid resources specification"),
        (["a:cpu=1;cpu=2"], [], [], "invalid resources specification"),
        (["a:cpu=1", ""], [], [], "invalid resources specification"),
        (["a:cpu=x"], [], [], "invalid resource quota"),
        (["a:cpu="], [], [], "invalid resource quota"),
        (["a:cpu=1", "a:memory=1"], [], [], "invalid flavor"),
        (["a:cpu=1"], ["b:cpu=1"], [], "invalid flavor"),
        (["a:cpu=1"], ["a:memory=1"], [], "resource quota not found"),
        (["a:cpu=1"], [], ["a:memory=1"], "resource quota not found"),
        (["a:cpu=1"], [], ["a:cpu=1x"], "invalid resource quota"),
        (["a:cpu=1", "b:cpu=1;memory=1"], [], [], "invalid resource group"),
    ],
)
def test_bad_quotas_are_refused(
    nominal: list[str], borrowing: list[str], lending: list[str], message: str
) -> None:
    with pytest.raises(Failure) as raised:
        resource_groups(nominal, borrowing, lending)
    assert raised.value.message == message


def test_pairs() -> None:
    assert read_pairs(["a=b,c=", "d=e=f"], "--x") == {"a": "b", "c": "", "d": "e=f"}
    with pytest.raises(Failure, match="a must be formatted as key=value"):
        read_pairs(["a"], "--x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=b", "invalid taint spec: a=b"),
        ("a:b:NoSchedule", "invalid taint spec: a:b:NoSchedule"),
        ("a=b=c:NoSchedule", "invalid taint spec: a=b=c:NoSchedule"),
        ("a:Maybe", "invalid taint effect: Maybe, unsupported taint effect"),
        ("-a:NoSchedule", "invalid taint spec: -a:NoSchedule, name part must"),
        ("a=b c:NoSchedule", "invalid taint spec: a=b c:NoSchedule, a valid label must"),
        ("a=1:NoSchedule,a=2:NoSchedule",
         "duplicated taints with the same key and effect: {a 2 NoSchedule <nil>}"),
    ],
)  # fmt: skip
def test_bad_taints_are_refused(text: str, message: str) -> None:
    with pytest.raises(Failure) as raised:
        read_taints([text])
    assert raised.value.message.startswith(message)


def test_tolerations_may_leave_out_value_and_effect() -> None:
    assert read_tolerations(["a", "b:NoExecute", "c=d:PreferNoSchedule"]) == [
        {"key": "a", "operator": "Exists"},
        {"key": "b", "effect": "NoExecute", "operator": "Exists"},
        {"key": "c", "value": "d", "effect": "PreferNoSchedule", "operator": "Equal"},
    ]
    with pytest.raises(Failure, match="invalid toleration effect: X, unsupported toleration"):
        read_tolerations(["a:X"])
