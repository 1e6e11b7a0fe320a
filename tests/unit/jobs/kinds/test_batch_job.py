"""batch Jobs: their size, their end, and what is refused of them."""

from typing import Any

import pytest
from tests.support.job_looks import KINDS, SETTINGS, job, pods, refusals, sight, with_settings

from fleetqueue.jobs.infos import PodSetInfo
from fleetqueue.jobs.pod_sets import pod_sets_of
from fleetqueue.kube.plan import Patch
from fleetqueue.kube.resources import Object

pytestmark = [pytest.mark.rule("jobs A.10"), pytest.mark.rule("kueue 9.7")]

KIND = KINDS["batch/job"]
K = "kueue.x-k8s.io"
MIN, SYNC = f"{K}/job-min-parallelism", f"{K}/job-completions-equal-parallelism"


@pytest.mark.parametrize(
    ("spec", "count"),
    [({}, 1), ({"parallelism": 3}, 3), ({"parallelism": 3, "completions": 2}, 2),
     ({"completions": 5}, 1), ({"parallelism": 0}, 0)],
)  # fmt: skip
def test_how_many_pods(spec: Object, count: int) -> None:
    [pod_set] = pod_sets_of(KIND, sight(job(spec=spec)))
    assert pod_set["count"] == count


def test_labels_of_the_job_controller_are_not_in_the_pod_set() -> None:
    labels = {
        "job-name": "a",
        "controller-uid": "u",
        "batch.kubernetes.io/controller-uid": "u",
        "batch.kubernetes.io/job-name": "a",
    }
    [pod_set] = pod_sets_of(KIND, sight(job(template=pods(labels=labels))))
    kept = {"batch.kubernetes.io/job-name": "a"}
    assert pod_set["template"]["metadata"]["labels"] == kept


def test_the_least_parallelism() -> None:
    made = job(annotations={MIN: "2"}, spec={"parallelism": 5})
    assert pod_sets_of(KIND, sight(made))[0]["minCount"] == 2
    off = with_settings(partial_admission=False)
    assert "minCount" not in pod_sets_of(KIND, sight(made, settings=off))[0]


# fmt: off
RECLAIMED = {  #                  p  c     done  answer
    "nothing done":              (5, 5,    0,    {}),
    "two of five":               (5, 5,    2,    {"main": 2}),
    "more to do than at a time": (2, 9,    3,    {}),
    "one at a time":             (1, 1,    1,    {}),
    "no completions":            (4, None, 1,    {"main": 1}),
    "all done":                  (3, 3,    9,    {"main": 3}),
}
# fmt: on


@pytest.mark.rule("kueue 3.9")
@pytest.mark.parametrize(("p", "c", "done", "answer"), RECLAIMED.values(), ids=RECLAIMED.keys())
def test_reclaimable_pods(p: int, c: int | None, done: int, answer: Any) -> None:
    spec = {"parallelism": p, **({} if c is None else {"completions": c})}
    assert KIND.reclaimable is not None
    assert KIND.reclaimable(sight(job(spec=spec, status={"succeeded": done}))) == answer


def test_indexes_count_once_and_below_the_completions() -> None:
    status = {"completedIndexes": "0,2-3", "failedIndexes": "3-8", "succeeded": 3}
    spec = {"parallelism": 5, "completions": 5, "completionMode": "Indexed"}
    assert KIND.reclaimable is not None
    assert KIND.reclaimable(sight(job(spec=spec, status=status))) == {"main": 4}


@pytest.mark.parametrize(
    ("status", "ready"),
    [({"ready": 1}, False), ({"ready": 2}, True), ({"ready": 1, "succeeded": 1}, True),
     ({"uncountedTerminatedPods": {"succeeded": ["a", "b"]}}, True), ({}, False)],
)  # fmt: skip
def test_when_pods_are_ready(status: Object, ready: bool) -> None:
    made = job(spec={"parallelism": 2}, status=status)
    assert KIND.is_ready(sight(made)) is ready


def test_a_job_that_is_being_stopped_is_not_suspended() -> None:
    assert KIND.suspends(job())
    assert not KIND.suspends(job(annotations={f"{K}/stopping": "true"}))
    assert not KIND.suspends(job(spec={"suspend": False}))


def test_a_stop_has_three_steps() -> None:
    template = pods(labels={"job-name": "a", f"{K}/podset": "main"})
    made = job(
        template=template,
        annotations={MIN: "2"},
        spec={"suspend": False, "parallelism": 3},
        status={"startTime": "now", "active": 3},
    )
    assert KIND.stop is not None
    found = KIND.stop(sight(made), [PodSetInfo("main", 5, labels={"mine": "yes"})])
    assert [(step.patch, step.subresource) for step in found if isinstance(step, Patch)] == [
        (
            {"metadata": {"annotations": {f"{K}/stopping": "true"}}, "spec": {"suspend": True}},
            "",
        ),
        ({"status": {"startTime": None}}, "status"),
        (
            {
                "metadata": {"annotations": {f"{K}/stopping": None}},
                "spec": {
                    "parallelism": 5,
                    "template": {"metadata": {"labels": {f"{K}/podset": None, "mine": "yes"}}},
                },
            },
            "",
        ),
    ]
    assert KIND.stop(sight(job()), None) == []


MIN_PATH, SYNC_PATH = f"metadata.annotations[{MIN}]", f"metadata.annotations[{SYNC}]"
FIVE = {"parallelism": 5, "completions": 5, "completionMode": "Indexed"}
TOGETHER = "partial admission and elastic job cannot be used together"
TOPOLOGY = pods(annotations={f"{K}/podset-required-topology": "rack"})
REFUSALS = {
    "no number": (
        job(annotations={MIN: "x"}, spec=FIVE),
        [f'{MIN_PATH}: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax'],
    ),
    "not below the size": (
        job(annotations={MIN: "5"}, spec=FIVE),
        [f"{MIN_PATH}: Invalid value: 5: should be between 0 and 4"],
    ),
    "nothing": (
        job(annotations={MIN: "0"}, spec=FIVE),
        [f"{MIN_PATH}: Invalid value: 0: should be between 0 and 4"],
    ),
    "fine": (job(annotations={MIN: "4", SYNC: "true"}, spec=FIVE), []),
    "elastic": (
        job(annotations={MIN: "2", f"{K}/elastic-job": "true"}, spec=FIVE),
        [
            f"{MIN_PATH}: Invalid value: 2: {TOGETHER}",
        ],
    ),
    "no bool": (
        job(annotations={SYNC: "x"}, spec=FIVE),
        [f'{SYNC_PATH}: Invalid value: "x": strconv.ParseBool: parsing "x": invalid syntax'],
    ),
    "not indexed": (
        job(annotations={SYNC: "true"}, spec={**FIVE, "completionMode": "NonIndexed"}),
        [
            f'{SYNC_PATH}: Invalid value: "true": should not be enabled for NonIndexed jobs',
        ],
    ),
    "sizes differ": (
        job(annotations={SYNC: "true"}, spec={**FIVE, "completions": 4}),
        [
            "spec.completions: Invalid value: 4: should be equal to parallelism when"
            f" {SYNC} annotation is true",
        ],
    ),
    "elastic with a topology": (
        job(annotations={f"{K}/elastic-job": "true"}, template=TOPOLOGY),
        [
            f"spec.template.metadata.annotations.{K}/podset-required-topology: Forbidden:"
            " required topology is not supported with elastic jobs",
        ],
    ),
}


@pytest.mark.rule("kueue 9.6")
@pytest.mark.parametrize(("made", "expected"), REFUSALS.values(), ids=REFUSALS.keys())
def test_refusals(made: Object, expected: list[str]) -> None:
    assert refusals(made) == expected


@pytest.mark.rule("kueue 9.6")
def test_refusals_of_changes() -> None:
    running = {"suspend": False}
    old = job(annotations={MIN: "2"}, spec={**FIVE, **running})
    new = job(annotations={MIN: "2"}, spec={**FIVE, **running, "parallelism": 4})
    assert refusals(new, old=old) == [
        "spec.parallelism: Forbidden: cannot change when partial admission is enabled and the job"
        " is not suspended"
    ]
    follows = job(annotations={MIN: "2", SYNC: "true"}, spec={**FIVE, **running})
    assert refusals(follows, old=old) == [
        f"{SYNC_PATH}: Forbidden: field is immutable while the job is not suspended"
    ]
    # The admitted parallelism may be below the bound of an annotation that did not change.
    start = job(annotations={MIN: "4"}, spec={**FIVE, **running, "parallelism": 4})
    assert refusals(start, old=job(annotations={MIN: "4"}, spec=FIVE)) == []


def test_settings_of_the_tests_have_all_kinds() -> None:
    assert SETTINGS.frameworks == set(KINDS)
