"""What is refused of pods before a queue, word for word."""

from typing import Any

import pytest
from tests.support.job_looks import KINDS, SETTINGS, asked, owned_by, refusals, thing
from tests.support.queued_pods import K, member, pod

from fleetqueue.jobs.ancestors import Family
from fleetqueue.jobs.webhook import webhook
from fleetqueue.kube.resources import Object

pytestmark = [pytest.mark.rule("jobs A.12.2"), pytest.mark.rule("jobs A.7")]

TOTAL = f"{K}/pod-group-total-count"
GROUP = f"{K}/pod-group-name"


def gated(obj: Object) -> Object:
    gates = [{"name": f"{K}/admission"}]
    return {**obj, "spec": {**obj["spec"], "schedulingGates": gates}}


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(pod("p"), [], id="a plain pod"),
        pytest.param(member("p"), [], id="a member of a group"),
        pytest.param(
            pod("p", labels={"managed": "yes"}),
            [f"metadata.labels[{K}/managed]: Forbidden: managed label value can only be 'true'"],
            id="the label of managed pods",
        ),
        pytest.param(
            pod("p", labels={"pod-group-name": "g"}),
            [
                f"metadata.annotations[{TOTAL}]: Required value: both the '{TOTAL}' annotation"
                f" and the '{GROUP}' label should be set"
            ],
            id="no total",
        ),
        pytest.param(
            pod("p", annotations={"pod-group-name": "g"}),
            [
                f"metadata.annotations[{TOTAL}]: Required value: both the '{TOTAL}' annotation"
                f" and the '{GROUP}' annotation should be set"
            ],
            id="no total for a group by annotation",
        ),
        pytest.param(
            pod("p", annotations={"pod-group-total-count": "3"}),
            [
                f"metadata.labels[{GROUP}]: Required value: both the '{TOTAL}' annotation"
                f" and the '{GROUP}' label should be set"
            ],
            id="no group",
        ),
        pytest.param(
            member("p", total=0),
            [
                f'metadata.annotations[{TOTAL}]: Invalid value: "0": incorrect annotation value'
                f" '{TOTAL}=0': group total count should be greater than zero"
            ],
            id="a total of nothing",
        ),
        pytest.param(
            member("p", annotations={"pod-group-total-count": "x"}),
            [
                f'metadata.annotations[{TOTAL}]: Invalid value: "x":'
                ' strconv.Atoi: parsing "x": invalid syntax'
            ],
            id="a total that is no number",
        ),
        pytest.param(
            member("p", annotations={"prebuilt-workload-name": "other"}),
            [
                f'metadata.annotations[{K}/prebuilt-workload-name]: Invalid value: "other":'
                " prebuilt workload and pod group should be equal"
            ],
            id="a workload of another name",
        ),
        pytest.param(
            pod("p", annotations={"podset-unconstrained-topology": "maybe"}),
            [
                f"metadata.annotations[{K}/podset-unconstrained-topology]: Invalid value:"
                ' "maybe": must be a boolean value'
            ],
            id="a wish for a topology",
        ),
    ],
)
def test_new_pods(made: Object, expected: list[str]) -> None:
    assert refusals(made, framework="pod") == expected


def test_a_group_needs_a_name_that_could_be_a_workloads() -> None:
    [found] = refusals(member("p", annotations={"pod-group-name": "A_b"}), framework="pod")
    assert found.startswith(f'metadata.annotations[{GROUP}]: Invalid value: "A_b": a lowercase RFC')


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param(
            gated(member("p", group="b")),
            gated(member("p", group="a")),
            [f'metadata.labels[{GROUP}]: Invalid value: "b": field is immutable'],
            id="another group",
        ),
        pytest.param(gated(member("p")), gated(pod("p")), [], id="a group for the first time"),
        pytest.param(
            member("p", annotations={"retriable-in-group": "true"}),
            member("p", annotations={"retriable-in-group": "false"}),
            [
                f"metadata.annotations[{K}/retriable-in-group]: Forbidden:"
                " unretriable pod group can't be converted to retriable"
            ],
            id="retriable again",
        ),
        pytest.param(
            pod("p", labels={"queue-name": "b"}),
            pod("p", labels={"queue-name": "a"}),
            [f'metadata.labels[{K}/queue-name]: Invalid value: "b": field is immutable'],
            id="another queue while it runs",
        ),
        pytest.param(
            gated(pod("p", labels={"queue-name": "b"})),
            gated(pod("p", labels={"queue-name": "a"})),
            [],
            id="another queue while it waits",
        ),
    ],
)
def test_changed_pods(new: Object, old: Object, expected: list[str]) -> None:
    assert refusals(new, old=old, framework="pod") == expected


@pytest.mark.parametrize(("kind", "warns"), [("Job", True), ("Other", False)])
def test_a_managed_pod_of_a_managed_owner_is_warned_of(kind: str, warns: bool) -> None:
    made = owned_by(pod("p", labels={"managed": "true"}), thing("batch/v1", kind, "j"))
    hook = webhook(KINDS["pod"], SETTINGS, Family.of(KINDS.values(), SETTINGS))
    written: Any = asked(made)
    assert hook.validate is not None
    assert hook.validate(written) == []
    text = (
        f"pod owner is managed by kueue, label '{K}/managed=true'"
        " might lead to unexpected behaviour"
    )
    assert written.warnings == ([text] if warns else [])
