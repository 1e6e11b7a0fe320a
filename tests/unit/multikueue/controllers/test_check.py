"""What an AdmissionCheck of ours says of itself."""

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support.dispatching import admission_check, cluster, config

from fleetqueue.kube.plan import NOTHING, Look, Status
from fleetqueue.kube.sources import Listed
from fleetqueue.multikueue.controllers import check as checks

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LOAD = "Cannot load the AdmissionChecks parameters: "


def member(name: str, is_active: bool | None = True) -> dict[str, Any]:
    made = cluster(name)
    if is_active is not None:
        condition = {"type": "Active", "status": str(is_active), "reason": "x", "message": "y"}
        made["status"] = {"conditions": [condition]}
    return made


def check(**parameters: Any) -> dict[str, Any]:
    made = admission_check("mk", "c")
    made["metadata"]["generation"] = 3
    made["spec"]["parameters"] = {**made["spec"]["parameters"], **parameters}
    return made


def without_parameters() -> dict[str, Any]:
    made = check()
    del made["spec"]["parameters"]
    return made


def decided(parent: dict[str, Any], *around: dict[str, Any]) -> Any:
    return checks.decide(Look(parent, NOW, Listed(around)))


def condition_of(plan: Any) -> dict[str, Any]:
    [step] = plan.steps
    assert isinstance(step, Status)
    [found] = step.status["conditions"]
    return dict(found)


TWO = config("w1", "w2", name="c")
# fmt: off
CASES = {
    "all are active":    (check(), [TWO, member("w1"), member("w2")],
                          "True", "Active", "The admission check is active"),
    "one is not":        (check(), [TWO, member("w1"), member("w2", False)],
                          "True", "SomeActiveClusters", "Inactive clusters: [w2]"),
    "one is unheard of": (check(), [TWO, member("w1"), member("w2", None)],
                          "True", "SomeActiveClusters", "Inactive clusters: [w2]"),
    "one is missing":    (check(), [TWO, member("w2")],
                          "True", "SomeActiveClusters", "Missing clusters: [w1]"),
    "none is usable":    (check(), [config("w3", "w2", "w1", name="c"), member("w1", False),
                                    member("w2", False)],
                          "False", "NoUsableClusters",
                          "Missing clusters: [w3], Inactive clusters: [w2 w1]"),
    "all are missing":   (check(), [TWO], "False", "NoUsableClusters",
                          "Missing clusters: [w1 w2]"),
    "no parameters":     (without_parameters(), [], "False", "BadConfig",
                          f"{LOAD}missing parameters reference"),
    "no name":           (check(name=""), [], "False", "BadConfig",
                          f"{LOAD}empty name: bad parameters reference"),
    "another group":     (check(apiGroup="g", kind="k"), [], "False", "BadConfig",
                          f'{LOAD}wrong group "g", expecting "kueue.x-k8s.io": '
                          "bad parameters reference"),
    "another kind":      (check(kind="k"), [], "False", "BadConfig",
                          f'{LOAD}wrong kind "k", expecting "MultiKueueConfig": '
                          "bad parameters reference"),
    "no configuration":  (check(), [], "False", "BadConfig",
                          f'{LOAD}MultiKueueConfig.kueue.x-k8s.io "c" not found'),
}
# fmt: on


@pytest.mark.rule("AC-1")
@pytest.mark.rule("multikueue 2.3")
@pytest.mark.rule("MKC-4")
@pytest.mark.parametrize(
    ("parent", "around", "status", "reason", "message"), CASES.values(), ids=CASES
)
def test_the_condition(parent: Any, around: Any, status: str, reason: str, message: str) -> None:
    found = condition_of(decided(parent, *around))
    assert (found["status"], found["reason"], found["message"]) == (status, reason, message)
    assert (found["type"], found["observedGeneration"]) == ("Active", 3)


def test_what_is_said_already_is_not_said_again() -> None:
    around = [TWO, member("w1"), member("w2")]
    [step] = decided(check(), *around).steps
    assert decided({**check(), "status": step.status}, *around) == NOTHING
    changed = decided({**check(), "status": step.status}, TWO, member("w1"))
    assert condition_of(changed)["message"] == "Missing clusters: [w2]"


@pytest.mark.rule("AC-3")
def test_checks_of_others_are_left_alone() -> None:
    other = check()
    other["spec"]["controllerName"] = "example.com/check"
    assert decided(other, TWO) == NOTHING
    assert list(checks.CHECKS_OF_CONFIG.values(other)) == []
    assert list(checks.CHECKS_OF_CONFIG.values(check())) == ["c"]
    assert list(checks.CHECKS_OF_CONFIG.values(check(kind="k"))) == []


# fmt: off
NEWS = {
    "a cluster appears":          (None, member("w1", None), True),
    "a cluster goes":             (member("w1"), None, True),
    "a cluster is lost":          (member("w1"), member("w1", False), True),
    "a cluster has other labels": (member("w1"), {**member("w1"), "metadata": {"labels": {}}},
                                   False),
}
# fmt: on


@pytest.mark.rule("AC-2")
@pytest.mark.parametrize(("old", "new", "is_news"), NEWS.values(), ids=NEWS)
def test_what_of_a_cluster_makes_a_check_look_again(old: Any, new: Any, is_news: bool) -> None:
    [_, by_cluster] = next(iter(checks.operators())).follows
    assert by_cluster.when is not None
    assert by_cluster.when(old, new) is is_news


@pytest.mark.rule("AC-2")
def test_a_configuration_makes_its_checks_look_again_when_its_clusters_change() -> None:
    [by_config, _] = next(iter(checks.operators())).follows
    assert by_config.when is not None
    assert by_config.when(TWO, config("w1", name="c"))
    assert by_config.when(TWO, config("w2", "w1", name="c"))
    assert by_config.when(None, TWO)
    assert not by_config.when(TWO, config("w1", "w2", name="c", quotaManagement="Automated"))


@pytest.mark.rule("AC-2")
def test_only_the_checks_that_use_a_cluster_look_again() -> None:
    other = admission_check("other", "d")
    listed = Listed([TWO, config("w3", name="d"), check(), other])
    [by_config, by_cluster] = next(iter(checks.operators())).follows
    assert [key.name for key in by_cluster.parents(listed, member("w2"))] == ["mk"]
    assert [key.name for key in by_cluster.parents(listed, member("w9"))] == []
    assert [key.name for key in by_config.parents(listed, config("w3", name="d"))] == ["other"]
