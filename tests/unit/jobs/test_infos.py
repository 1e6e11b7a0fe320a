"""What goes into templates, and back out."""

import pytest

from fleetqueue.jobs.infos import (
    CannotStart,
    PodSetInfo,
    check_number,
    info_of,
    merged_template,
    with_info,
)

pytestmark = [pytest.mark.rule("jobs A.6"), pytest.mark.rule("kueue 9.5")]

TEMPLATE = {
    "metadata": {"labels": {"a": "1"}},
    "spec": {"containers": [], "tolerations": [{"key": "t"}]},
}


def test_a_merge_adds_and_keeps() -> None:
    info = PodSetInfo(
        labels={"b": "2"},
        annotations={"n": "1"},
        node_selector={"pool": "x"},
        tolerations=[{"key": "t"}, {"key": "u"}],
        scheduling_gates=[{"name": "g"}, {"name": "g"}],
    )
    assert merged_template(TEMPLATE, info) == {
        "metadata": {"labels": {"a": "1", "b": "2"}, "annotations": {"n": "1"}},
        "spec": {
            "containers": [],
            "tolerations": [{"key": "t"}, {"key": "u"}],
            "nodeSelector": {"pool": "x"},
            "schedulingGates": [{"name": "g"}],
        },
    }
    assert TEMPLATE["metadata"] == {"labels": {"a": "1"}}


CONFLICTS = {
    "labels": PodSetInfo(labels={"a": "2"}),
    "annotations": PodSetInfo(annotations={"a": "2"}),
    "nodeSelector": PodSetInfo(node_selector={"a": "2"}),
}


@pytest.mark.parametrize(("what", "info"), CONFLICTS.items())
def test_two_values_of_one_key_are_refused(what: str, info: PodSetInfo) -> None:
    mine = PodSetInfo(labels={"a": "1"}, annotations={"a": "1"}, node_selector={"a": "1"})
    with pytest.raises(CannotStart) as refusal:
        mine.merged(info)
    assert str(refusal.value) == (
        f"invalid admission check PodSetUpdate: conflict for {what}:"
        " conflict for key=a, value1=1, value2=2"
    )
    assert mine.merged(PodSetInfo(labels={"a": "1"})).labels == {"a": "1"}


def test_an_elastic_job_forgets_its_last_admission() -> None:
    key = "kueue.x-k8s.io/workload"
    mine, other = PodSetInfo(annotations={key: "old"}), PodSetInfo(annotations={key: "new"})
    with pytest.raises(CannotStart):
        mine.merged(other)
    assert mine.merged(other, renews=True).annotations == {key: "new"}


def test_what_was_put_in_can_be_taken_out() -> None:
    info = PodSetInfo(labels={"b": "2"}, node_selector={"pool": "x"})
    assert with_info(merged_template(TEMPLATE, info), info_of(TEMPLATE)) == TEMPLATE


def test_the_number_of_infos_must_fit() -> None:
    with pytest.raises(CannotStart, match=r"^invalid podset infos: expecting 2 podset, got 1$"):
        check_number(2, [PodSetInfo()])
