"""How long a selection is remembered."""

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.fleet.decide import selection
from fleetqueue.fleet.hub.selecting_memory import Selections

pytestmark = pytest.mark.rule("SEL-6")
KEY = Key("", "all")
FOUND = selection.selected([], is_job_aware=True)


def kept() -> Selections:
    made = Selections()
    made.begin(KEY)
    made.keep(KEY, 1, FOUND)
    return made


def test_a_selection_holds_until_the_placement_says_something_else() -> None:
    made = kept()
    assert made.known(KEY, 1) is FOUND
    assert made.known(KEY, 2) is None
    assert made.known(Key("", "other"), 1) is None


def test_a_selection_holds_until_something_in_it_changes() -> None:
    made = kept()
    made.changed(KEY)
    assert made.known(KEY, 1) is None
    made.begin(KEY)
    made.keep(KEY, 1, FOUND)
    assert made.known(KEY, 1) is FOUND


def test_what_changes_while_a_placement_selects_is_not_lost() -> None:
    made = Selections()
    made.begin(KEY)
    made.changed(KEY)
    made.keep(KEY, 1, FOUND)
    assert made.known(KEY, 1) is None


def test_a_placement_that_is_gone_leaves_nothing() -> None:
    made = kept()
    made.drop(KEY)
    assert made.known(KEY, 1) is None
