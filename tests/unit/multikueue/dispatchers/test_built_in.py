"""AllAtOnce, Incremental and External: who is nominated when."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from fleetqueue.multikueue.dispatcher import Nomination
from fleetqueue.multikueue.dispatchers import all_at_once, external, incremental
from support.offered import NOW, SETTINGS, offer, worker

ALL = all_at_once.DISPATCHER
STEPS = incremental.DISPATCHER


@pytest.mark.rule("DISP-10")
@pytest.mark.parametrize(
    ("connected", "nominated", "wanted"),
    [
        (["b", "a"], [], ["a", "b"]),
        (["b", "a"], ["b", "a"], None),
        (["a"], ["a", "b"], ["a"]),
        ([], ["a"], []),
        ([], [], None),
    ],
    ids=["sorted", "the same set is not written again", "one is lost", "all are lost", "nobody"],
)
def test_all_at_once(connected: list[str], nominated: list[str], wanted: list[str] | None) -> None:
    workers = [worker(name, is_connected=name in connected) for name in ("b", "a", "c")]

    assert ALL.nominate(offer(*workers, nominated=nominated)) == Nomination(wanted)


def rounds(names: Sequence[str], steps: int, *, step_size: int, config_order: bool) -> list[str]:
    """What is nominated after each round, everything else being left as it was."""
    gates = replace(SETTINGS.gates, config_order=config_order)
    settings = replace(SETTINGS, step_size=step_size, gates=gates)
    nominated: Sequence[str] = []
    now = started = NOW
    found = []
    for _ in range(steps):
        workers = [worker(name) for name in names]
        about = {"nominated": nominated, "round_started": started, "now": now}
        made = STEPS.nominate(offer(*workers, settings=settings, **about))
        nominated, started = made.names or nominated, now
        assert made.after == 300
        now += timedelta(seconds=301)
        found.append(" ".join(nominated))
    return found


@pytest.mark.rule("DISP-20")
@pytest.mark.rule("DISP-21")
@pytest.mark.rule("DISP-22")
@pytest.mark.rule("S003-26")
@pytest.mark.rule("S003-27")
@pytest.mark.parametrize("config_order", [True, False])
def test_incremental_nominates_three_more_in_each_round(config_order: bool) -> None:
    names = ["g", "a", "f", "b", "e", "c", "d"]
    order = names if config_order else sorted(names)

    found = rounds(names, 3, step_size=3, config_order=config_order)

    assert found == [" ".join(order[:3]), " ".join(order[:6]), " ".join(order)]


@pytest.mark.rule("DISP-22")
@pytest.mark.rule("DISP-27")
@pytest.mark.rule("S003-21")
def test_incremental_goes_one_by_one_with_a_step_of_one() -> None:
    found = rounds(["onprem", "aws", "gcp"], 3, step_size=1, config_order=True)

    assert found == ["onprem", "onprem aws", "onprem aws gcp"]


@pytest.mark.parametrize(("seconds", "wanted"), [(29, None), (31, ["a", "b"])])
def test_a_round_lasts_as_long_as_it_is_told(seconds: int, wanted: list[str] | None) -> None:
    settings = replace(SETTINGS, step_size=1, round_seconds=30.0)
    now = NOW + timedelta(seconds=seconds)
    about = {"nominated": ["a"], "round_started": NOW, "now": now}
    made = STEPS.nominate(offer(worker("a"), worker("b"), settings=settings, **about))
    assert made.names == wanted
    assert made.after is not None
    assert made.after == pytest.approx(30 if wanted else 1)


@pytest.mark.rule("DISP-23")
@pytest.mark.parametrize(
    ("elapsed", "wanted"),
    [(0, None), (299.5, None), (300, None), (300.1, ["a", "b"])],
)
def test_a_round_lasts_five_minutes_and_its_last_instant(
    elapsed: float, wanted: list[str] | None
) -> None:
    settings = replace(SETTINGS, step_size=1)
    now = NOW + timedelta(seconds=elapsed)
    about = {"nominated": ["a"], "round_started": NOW, "settings": settings, "now": now}

    made = STEPS.nominate(offer(worker("a"), worker("b"), **about))

    assert made.names == wanted
    assert made.after == pytest.approx(300 if wanted else 300 - elapsed, abs=1e-3)
    assert made.after is not None
    assert wanted or now + timedelta(seconds=made.after) > NOW + timedelta(seconds=300)


@pytest.mark.rule("DISP-24")
@pytest.mark.rule("IMP-18")
def test_when_all_are_nominated_it_says_so_and_looks_again_by_timer() -> None:
    about = {"nominated": ["a"], "round_started": NOW - timedelta(hours=1)}

    made = STEPS.nominate(offer(worker("a"), **about))

    assert made == Nomination(None, after=300, note="no more workers to nominate")


@pytest.mark.rule("DISP-20")
@pytest.mark.rule("IMP-18")
def test_a_worker_that_is_not_connected_keeps_its_turn_and_is_told_of() -> None:
    made = STEPS.nominate(offer(worker("a", is_connected=False), worker("b")))

    assert made.names == ["a", "b"]
    assert made.note == "nominated while not connected: a"


@pytest.mark.rule("IMP-4")
def test_a_round_that_began_nobody_knows_when_begins_now() -> None:
    made = STEPS.nominate(offer(worker("a"), worker("b"), nominated=["a"]))

    assert made.names is None
    assert made.after == pytest.approx(300)


@pytest.mark.rule("DISP-21")
def test_a_worker_that_left_the_configuration_leaves_the_list_with_the_next_round() -> None:
    about = {"nominated": ["gone", "a"], "round_started": NOW - timedelta(hours=1)}

    assert STEPS.nominate(offer(worker("a"), worker("b"), **about)).names == ["a", "b"]


@pytest.mark.rule("DISP-30")
def test_external_leaves_the_names_to_somebody_else() -> None:
    assert external.DISPATCHER.nominate(offer(worker("a"))) == Nomination(None)
    assert external.DISPATCHER.nominate(offer(worker("a"), nominated=["x"])) == Nomination(None)
