"""Properties of the domain-free helpers: heap, delays, paths, documents, virtual time."""

import asyncio
import json
from contextlib import suppress
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as some

from fleetqueue.base import codec, documents, jsonpath, paths
from fleetqueue.base.backoff import Backoff
from fleetqueue.base.heap import KeyedHeap
from fleetqueue.base.virtual_time import run

KEYS = some.text(alphabet="abc.[]'\"\\/*é ", min_size=1, max_size=4)
SCALARS = (
    some.none()
    | some.booleans()
    | some.integers(-(2**63), 2**63 - 1)
    | some.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not x.is_integer())
    | some.text(alphabet=some.characters(exclude_categories=["Cs", "Cc"]), max_size=8)
    | some.sampled_from(
        ["yes", "1e3", "0x1", "1:30", "2026-01-01", "~", "a: b", "- a", "#", "a\nb"]
    )
)
JSON = some.recursive(
    SCALARS,
    lambda children: (
        some.lists(children, max_size=4) | some.dictionaries(KEYS, children, max_size=4)
    ),
    max_leaves=12,
)


@given(some.lists(some.tuples(some.sampled_from("abcdefgh"), some.none() | some.integers(0, 5))))
def test_a_heap_is_a_sorted_dictionary(steps: list[tuple[str, int | None]]) -> None:
    heap: KeyedHeap[str, int] = KeyedHeap(rank=lambda item: item)
    model: dict[str, int] = {}
    for key, item in steps:
        if item is None:
            assert heap.remove(key) == model.pop(key, None)
        else:
            heap.put(key, item)
            model[key] = item
    # A dictionary keeps a key's first place on update, as the heap keeps its turn.
    expected = sorted(model.items(), key=lambda pair: pair[1])
    assert heap.ordered() == expected
    assert [heap.pop() for _ in range(len(heap))] == expected


@given(some.floats(0, 10), some.floats(1, 5), some.floats(0, 2), some.integers(0, 10_000))
def test_a_delay_never_exceeds_the_cap(
    first: float, factor: float, jitter: float, attempt: int
) -> None:
    rule = Backoff(first, 60, factor, jitter)
    delay = rule.delay(attempt, Random(attempt))
    assert rule.plain_delay(attempt) <= delay <= 60
    assert rule.plain_delay(attempt) <= rule.plain_delay(attempt + 1)


@given(some.lists(KEYS | some.integers(-3, 3) | some.just(paths.EVERY), max_size=5))
def test_a_rendered_path_reads_back(steps: list[paths.Step]) -> None:
    assert paths.parse(paths.render(tuple(steps))) == tuple(steps)


@given(some.dictionaries(KEYS, JSON, max_size=4), KEYS, KEYS)
def test_what_is_set_is_got_and_the_input_stays(
    document: dict[str, Any], first: str, second: str
) -> None:
    before = repr(document)
    changed = paths.with_value(document, (first,), {})
    changed = paths.with_value(changed, (first, second), 7)
    assert paths.get(changed, (first, second)) == 7
    assert paths.get(paths.without(changed, (first, second)), (first, second)) is None
    assert repr(document) == before


@given(JSON)
def test_a_dumped_document_reads_back(value: Any) -> None:
    read = documents.load(documents.dump({"value": value}))["value"]
    assert repr(read) == repr(value) or read == value


@given(some.text(max_size=30) | some.text(alphabet="{}[]:,-&*!|>'\"#%@`? \n\tab<", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(documents.DocumentError):
        assert isinstance(documents.load_all(text), list)


@given(some.text(alphabet=".[]()?@='\"*:,-01ab\\{}<>! ", max_size=20), JSON)
def test_any_jsonpath_is_read_or_refused(text: str, document: Any) -> None:
    with suppress(jsonpath.JsonPathError):
        jsonpath.parse(text).first(document)


@given(some.lists(some.integers(0, 1000), min_size=1, max_size=6))
def test_virtual_time_ends_at_the_last_timer(delays: list[int]) -> None:
    async def main() -> float:
        await asyncio.gather(*(asyncio.sleep(delay) for delay in delays))
        return asyncio.get_running_loop().time()

    assert run(main()) == max(delays)


def _object_text(members: list[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{json.dumps(key)}: {value}" for key, value in members) + "}"


TEXTS = some.recursive(
    SCALARS.map(json.dumps) | some.sampled_from(['"\\u0022"', '"\\u0022a\\u0022"']),
    lambda below: (
        some.lists(below, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | some.lists(some.tuples(KEYS, below), max_size=4).map(_object_text)
    ),
    max_leaves=8,
)


@given(TEXTS)
def test_a_key_is_reported_if_and_only_if_it_comes_twice(text: str) -> None:
    repeats: list[bool] = []
    json.loads(text, object_pairs_hook=lambda pairs: repeats.append(len(dict(pairs)) < len(pairs)))
    data = text.encode()
    assert bool(codec.duplicate_keys(data, codec.decode(data))) == any(repeats)
