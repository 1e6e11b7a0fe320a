"""Properties of quantities, selectors, patches and times."""

import copy
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as some

from fleetqueue.api import patches, selectors, times
from fleetqueue.api.quantity import Quantity, QuantityError, parse
from fleetqueue.api.selectors import SelectorError

NUMBERS = some.from_regex(r"[+-]?[0-9]{1,20}(\.[0-9]{0,12})?", fullmatch=True)
SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
SUFFIXES += ["e3", "E-3", "e0"]
QUANTITIES = some.builds(str.__add__, NUMBERS, some.sampled_from(SUFFIXES)).map(parse)
SMALL = some.builds(Quantity, some.integers(-(10**6), 10**6), some.integers(-9, 9))

KEYS = some.sampled_from(["a", "b", "~", "/", "0", "1"])
JSON = some.recursive(
    some.none() | some.booleans() | some.integers(0, 2) | some.text("xy", max_size=1),
    lambda children: (
        some.lists(children, max_size=3) | some.dictionaries(KEYS, children, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = some.dictionaries(KEYS, JSON, max_size=3)
POINTERS = some.lists(some.sampled_from(["a", "b", "~0", "~1", "0", "1", "-", "-1"]), max_size=3)
OPERATIONS = some.fixed_dictionaries(
    {
        "op": some.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
        "path": POINTERS.map(lambda parts: "".join(f"/{part}" for part in parts)),
        "from": POINTERS.map(lambda parts: "".join(f"/{part}" for part in parts)),
    },
    optional={"value": JSON},
)


@given(QUANTITIES)
def test_a_printed_quantity_reads_back_as_the_same_amount(quantity: Quantity) -> None:
    # Beyond exa there is no suffix to print, so the amount is lost, as it is upstream.
    if abs(quantity) < parse("999E"):
        assert parse(str(quantity)) == quantity
        assert str(parse(str(-quantity))) == str(-quantity)


@given(SMALL, SMALL, SMALL)
def test_sums_are_exact(left: Quantity, middle: Quantity, right: Quantity) -> None:
    assert left + middle == middle + left
    assert (left + middle) + right == left + (middle + right)
    assert (left + middle) - middle == left
    assert left * 3 == left + left + left
    assert (left < middle) == (left + right < middle + right)


@given(SMALL)
def test_rounding_is_away_from_zero_and_by_less_than_one(quantity: Quantity) -> None:
    gap = abs(Quantity(quantity.value())) - abs(quantity)
    assert Quantity(0) <= gap < Quantity(1)


@given(some.text("0123456789.+-eEinumkKMGTP x", max_size=12))
def test_any_text_is_a_quantity_or_refused(text: str) -> None:
    with suppress(QuantityError):
        assert str(parse(text))


@given(some.text("abin ot(),!=<>-/.", max_size=16), some.dictionaries(KEYS, KEYS))
def test_a_label_selector_that_reads_reads_back_the_same(text: str, labels: dict[str, str]) -> None:
    try:
        selector = selectors.parse_labels(text)
    except SelectorError:
        return
    again = selectors.parse_labels(str(selector))
    assert str(again) == str(selector)
    assert again.matches(labels) == selector.matches(labels)


@given(some.text(max_size=10))
def test_any_field_value_survives_escaping(value: str) -> None:
    selector = selectors.parse_fields(f"a.b={selectors.escape_field_value(value)}")
    assert selector.exact_value("a.b") == value


@given(OBJECTS, some.lists(OPERATIONS, max_size=4))
def test_a_json_patch_never_changes_its_inputs(document: Any, operations: list[Any]) -> None:
    before, patch_before = copy.deepcopy(document), copy.deepcopy(operations)
    with suppress(patches.PatchFailed):
        patches.apply_json_patch(document, operations)
    assert repr((document, operations)) == repr((before, patch_before))


@given(OBJECTS, OBJECTS)
def test_a_merge_patch_applied_twice_is_applied_once(document: Any, patch: Any) -> None:
    """But for nulls in a list that replaces an object: upstream keeps them the first time only."""
    once = patches.apply_merge_patch(document, patch)
    again = patches.apply_merge_patch(once, patch)
    assert _without_nulls(again) == _without_nulls(once)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(child) for key, child in value.items() if child is not None}
    return [_without_nulls(child) for child in value] if isinstance(value, list) else value


@given(OBJECTS.map(_without_nulls), OBJECTS.map(_without_nulls))
def test_a_made_merge_patch_leads_from_old_to_new(old: Any, new: Any) -> None:
    result = patches.apply_merge_patch(old, patches.create_merge_patch(old, new))
    assert patches.create_merge_patch(result, new) == {}


@given(some.integers(-(2**63) + 1, 2**63 - 1))
def test_a_printed_duration_reads_back(nanoseconds: int) -> None:
    assert times.parse_nanoseconds(times.format_nanoseconds(nanoseconds)) == nanoseconds


@given(some.datetimes(timezones=some.timezones()))
def test_a_printed_time_reads_back(moment: Any) -> None:
    try:
        text = times.format_micro_time(moment)
    except OverflowError:
        return
    assert times.format_micro_time(times.parse_time(text)) == text
    assert times.format_time(times.parse_time(text)) == times.format_time(moment)
