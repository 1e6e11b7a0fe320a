"""BestFit: which worker is asked first, and when the next one is."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from fleetqueue.api.kueue.labels import BEST_FIT_STEP
from fleetqueue.multikueue.dispatcher import Candidate, Nomination
from fleetqueue.multikueue.dispatchers import best_fit
from fleetqueue.multikueue.dispatchers.best_fit import SILENCE_SECONDS, STEP
from fleetqueue.multikueue.preflight import Problems
from support.offered import (
    NOW,
    SETTINGS,
    cluster_queue,
    condition,
    copy,
    offer,
    worker,
    workload,
)

nominate = best_fit.DISPATCHER.nominate
pytestmark = pytest.mark.rule("S003-20")

NO = condition("QuotaReserved", False, "WaitingForQuota", "insufficient unused quota")
YES = condition("QuotaReserved", True, "QuotaReserved")

FREE = worker("free", cluster_queue(default="cpu=2"))
ROOMY = worker("roomy", cluster_queue(default="cpu=64"))
BORROWS = worker(
    "borrows",
    cluster_queue(default="cpu=2", used="default: cpu=2", cohort="all"),
    cluster_queue("other", default="cpu=8", cohort="all"),
)
UNKNOWN = worker("unknown")
PREEMPTS = worker("preempts", cluster_queue(default="cpu=2", used="default: cpu=2"))
SMALL = worker("small", cluster_queue(default="cpu=500m"))


def best(*candidates: Candidate, **asked: str) -> str:
    made = nominate(offer(*candidates, workload=workload(**asked)))
    assert made.names is not None
    assert len(made.names) == STEP
    return made.names[0]


# fmt: off
ORDERS = {
    "more free quota":                          (ROOMY, FREE),
    "free quota before borrowing":              (FREE, BORROWS),
    "borrowing before what nobody knows":       (BORROWS, UNKNOWN),
    "what nobody knows before preempting":      (UNKNOWN, PREEMPTS),
    "preempting before never":                  (PREEMPTS, SMALL),
}
# fmt: on


@pytest.mark.parametrize(("better", "worse"), ORDERS.values(), ids=ORDERS.keys())
def test_the_worker_with_most_room_is_asked_first(better: Candidate, worse: Candidate) -> None:
    assert best(worse, better) == best(better, worse) == better.name


def test_the_whole_order_is_strict() -> None:
    workers = [SMALL, PREEMPTS, UNKNOWN, BORROWS, FREE, ROOMY]
    asked = {BEST_FIT_STEP: "6"}

    made = nominate(offer(*workers, workload=workload(annotations=asked)))

    assert made.names == ["roomy", "free", "borrows", "unknown", "preempts", "small"]


def test_a_second_flavor_may_take_it() -> None:
    two = worker("two", cluster_queue(spot="cpu=1", reserved="cpu=4", used="spot: cpu=1"))
    one = worker("one", cluster_queue(default="cpu=2"))

    assert best(one, two, cpu="4") == "two"


def test_all_resources_must_fit() -> None:
    no_gpu = worker("no-gpu", cluster_queue(default="cpu=64 gpu=0"))
    gpu = worker("gpu", cluster_queue(default="cpu=2 gpu=1"))

    assert best(no_gpu, gpu, cpu="1", gpu="1") == "gpu"


def test_own_quota_that_is_lent_out_now_is_not_free() -> None:
    lent = worker(
        "lent",
        cluster_queue(default="cpu=4", cohort="all"),
        cluster_queue("other", default="cpu=0", used="default: cpu=4", cohort="all"),
    )
    assert best(lent, FREE) == "free"


def test_equal_workers_share_many_jobs_evenly() -> None:
    workers = [worker(name, cluster_queue(default="cpu=64")) for name in "abcd"]
    names = [f"job-{number}" for number in range(400)]

    found = Counter(
        (nominate(offer(*workers, workload=workload(name))).names or [""])[0] for name in names
    )

    assert sum(found.values()) == 400
    assert min(found.values()) > 70


def test_the_choice_does_not_depend_on_anything_but_the_offer() -> None:
    workers = [worker(name, cluster_queue(default="cpu=64")) for name in "abcd"]

    assert best(*workers) == best(*workers) == best(*reversed(workers))


@pytest.mark.rule("LIM-2")
def test_a_worker_with_problems_or_without_connection_is_not_asked() -> None:
    broken = replace(ROOMY, problems=["There is no LocalQueue."])
    lost = replace(ROOMY, name="lost", is_connected=False)

    made = nominate(offer(broken, lost, FREE))

    assert made.names == ["free"]
    assert made.after == SILENCE_SECONDS


@pytest.mark.rule("IMP-11")
def test_where_no_worker_can_run_it_the_note_says_why_and_it_looks_again() -> None:
    broken = replace(ROOMY, problems=["There is no LocalQueue."])
    lost = replace(ROOMY, name="lost", is_connected=False)

    made = nominate(offer(broken, lost))

    assert made.names is None
    assert made.after == best_fit.RETRY_SECONDS
    assert made.note == ('No worker can run it. "lost" is not connected. There is no LocalQueue.')


def asked(first: Candidate, answer: dict[str, Any] | None, *, seconds: float = 0) -> Nomination:
    """One worker was nominated so many seconds ago and gave its answer; FREE is untried."""
    told = None if answer is None else copy(answer)
    about = {"nominated": [first.name], "round_started": NOW - timedelta(seconds=seconds)}
    return nominate(offer(replace(first, copy=told), FREE, **about))


# fmt: off
PENDING = condition("QuotaReserved", False, "PendingEvaluation", "waits")
PREEMPTING = condition("QuotaReserved", False, "WaitingForPreemptedWorkloads", "in a moment")
LEGACY_NO = condition("QuotaReserved", False, "Pending", "couldn't assign flavors")
LEGACY_PREEMPTING = condition(
    "QuotaReserved", False, "Pending", "no room. Pending the preemption of 1 workload(s)")
GATED = condition("QuotaReserved", False, "AdmissionGated", "requires preemption, but it's gated")
ANSWERS = {  #                                  answer             after    spills   again after
    "nothing yet":                              (None,                 1,   False,   4),
    "not looked at yet":                        (PENDING,              1,   False,   4),
    "no":                                       (NO,                   0,   True,    5),
    "no, in the older words":                   (LEGACY_NO,            0,   True,    5),
    "only with preemption":                     (GATED,                0,   True,    5),
    "yes":                                      (YES,                900,   False,   None),
    "it makes room":                            (PREEMPTING,          60,   False,   240),
    "it makes room, in the older words":        (LEGACY_PREEMPTING,   60,   False,   240),
    "it makes room for too long":               (PREEMPTING,         301,   True,    5),
    "silent for too long":                      (None,                 5,   True,    5),
    "blocked for too long":                     (PENDING,              6,   True,    5),
}
# fmt: on


@pytest.mark.parametrize(
    ("answer", "seconds", "spills", "after"), ANSWERS.values(), ids=ANSWERS.keys()
)
def test_the_next_worker_is_asked_as_soon_as_one_says_no(
    answer: dict[str, Any] | None, seconds: float, spills: bool, after: float | None
) -> None:
    made = asked(ROOMY, answer, seconds=seconds)

    assert made.names == (["roomy", "free"] if spills else None)
    assert made.after == after


def test_a_worker_that_said_no_keeps_the_place_of_the_job_in_its_queue() -> None:
    said_no = [replace(each, copy=copy(NO)) for each in (ROOMY, FREE)]

    made = nominate(offer(*said_no, nominated=["roomy", "free"], round_started=NOW))

    assert made == Nomination(None)


def test_a_worker_that_is_lost_is_replaced() -> None:
    lost = replace(ROOMY, is_connected=False)

    made = nominate(offer(lost, FREE, nominated=["roomy"], round_started=NOW))

    assert made.names == ["free"]


@pytest.mark.parametrize("text", ["two", "-1", "", "²"])
def test_a_step_that_is_no_number_counts_as_none(text: str) -> None:
    assert best_fit.step_of(workload(annotations={BEST_FIT_STEP: text})) == STEP


def test_a_step_of_zero_would_ask_nobody_and_counts_as_one() -> None:
    assert best_fit.step_of(workload(annotations={BEST_FIT_STEP: "0"})) == 1


def test_several_may_be_asked_at_a_time() -> None:
    two = workload(annotations={BEST_FIT_STEP: "2"})
    first = nominate(offer(FREE, ROOMY, SMALL, workload=two))
    answered = replace(ROOMY, copy=copy(NO))
    about = {"nominated": ["roomy", "free"], "round_started": NOW, "workload": two}

    second = nominate(offer(FREE, answered, SMALL, **about))

    assert first.names == ["roomy", "free"]
    assert second.names == ["roomy", "free", "small"]


def test_how_long_preemption_may_take_is_a_setting() -> None:
    settings = replace(SETTINGS, preemption_seconds=10)
    about = {"nominated": ["roomy"], "round_started": NOW, "settings": settings}

    assert nominate(offer(replace(ROOMY, copy=copy(PREEMPTING)), FREE, **about)).after == 10


def test_while_an_answer_is_waited_for_the_others_are_not_even_looked_at() -> None:
    def look() -> list[str]:
        raise AssertionError("looked at for nothing")

    other = replace(FREE, problems=Problems(look))

    made = nominate(offer(ROOMY, other, nominated=["roomy"], round_started=NOW))

    assert made == Nomination(None, after=SILENCE_SECONDS)
