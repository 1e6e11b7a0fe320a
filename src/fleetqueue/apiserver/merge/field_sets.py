"""Sets of field paths, kept as the nested objects that `fieldsV1` shows on the wire.

A key is a path element: `f:name` a field, `k:{"name":"a"}` an item of a list map, `v:"x"` an item
of a set, `i:0` an index. What a key leads to says whether the path is in the set: an empty object
is, an object with `.` is, and so are paths below; an object without `.` only holds paths below.
Every set is sorted as kube-apiserver sorts it, so a set can be written out as it is.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from fleetqueue.apiserver.merge import go_text
from fleetqueue.base import codec

FieldSet: TypeAlias = dict[str, "FieldSet"]
Path: TypeAlias = tuple[str, ...]
Filter: TypeAlias = Callable[[FieldSet], FieldSet]

SELF = "."
LEAF: FieldSet = {}
_ELEMENTS_KEPT = 1 << 16


class MalformedSet(ValueError):
    """A `fieldsV1` that is no set of paths."""


def of(*paths: Path) -> FieldSet:
    """The set of these paths; a part without a type prefix is a field name."""
    found: FieldSet = {}
    for path in paths:
        below = LEAF
        for part in reversed(path):
            below = {part if part[1:2] == ":" else f"f:{part}": below}
        found = union(found, below)
    return found


def has(fields: FieldSet, path: Path) -> bool:
    below: FieldSet | None = fields
    for element in path:
        below = below.get(element) if below else None
        if below is None:
            return False
    return below is not None and _is_member(below)


def paths(fields: FieldSet, prefix: Path = ()) -> Iterator[Path]:
    """All paths, in the order in which upstream reports conflicts: members first, then below."""
    for element, below in fields.items():
        if element != SELF and _is_member(below):
            yield (*prefix, element)
    for element, below in fields.items():
        if element != SELF and below:
            yield from paths(below, (*prefix, element))


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    if not other or one is other:
        return one
    return _blend(one, other) if one else other


def difference(fields: FieldSet, gone: FieldSet) -> FieldSet:
    """The paths that are not in `gone`; what lies below a path in `gone` stays."""
    return (_subtract(fields, gone) or LEAF) if fields and gone else fields


def recursive_difference(fields: FieldSet, gone: FieldSet) -> FieldSet:
    """The paths that are neither in `gone` nor below a path in it."""
    return (_cut_off(fields, gone) or LEAF) if fields and gone else fields


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    return (_common(one, other) or LEAF) if one and other else LEAF


def leaves(fields: FieldSet) -> FieldSet:
    """The paths with nothing below them."""
    return {
        element: leaves(below) if below else below
        for element, below in fields.items()
        if element != SELF
    }


def as_member(below: FieldSet | None) -> FieldSet:
    """What a key leads to, so that the key's own path is in the set too."""
    if not below:
        return LEAF
    return below if SELF in below else {SELF: LEAF, **below}


def ordered(fields: FieldSet) -> FieldSet:
    """The same set with its first level sorted; the levels below are sorted already."""
    if len(fields) < 2:
        return fields
    keys = list(fields)
    in_order = sorted(keys, key=_rank)
    return fields if in_order == keys else {key: fields[key] for key in in_order}


def excluding(fields: FieldSet) -> Filter:
    """A filter that drops these paths and all below them: the fields a strategy resets."""
    return lambda found: recursive_difference(found, fields)


def only(*patterns: Path) -> Filter:
    """A filter that keeps what a pattern matches and all below it; `*` matches any element."""
    trees = [tuple(p if p == "*" or p[1:2] == ":" else f"f:{p}" for p in path) for path in patterns]
    return lambda found: _matching(found, trees)


def canonical(raw: Any) -> FieldSet:
    """The set that a client's `fieldsV1` stands for, sorted and with keys in their one spelling."""
    return _read(raw)[0] or LEAF


def path_text(path: Path) -> str:
    """As messages name it: `.spec.containers[name="a"].image`."""
    return "".join(element_text(element) for element in path)


@lru_cache(_ELEMENTS_KEPT)
def element_text(element: str) -> str:
    kind, text = element[0], element[2:]
    if kind == "f":
        return f".{text}"
    if kind == "k":
        pairs = codec.decode(text).items()
        return f"[{','.join(f'{name}={_value_text(value)}' for name, value in pairs)}]"
    return f"[={_value_text(codec.decode(text))}]" if kind == "v" else f"[{text}]"


@lru_cache(_ELEMENTS_KEPT, typed=True)
def value_element(value: Any) -> str:
    return f"v:{_json(value)}"


def key_element(names: Path, *values: Any) -> str:
    """`names` are sorted; each has its value."""
    try:
        return _kept_key_element(names, *values)
    except TypeError:
        # A list or a map is no key, but the complaint about it has to name its place.
        return _key_element(names, *values)


def _key_element(names: Path, *values: Any) -> str:
    pairs = ",".join(f"{_json(n)}:{_json(v)}" for n, v in zip(names, values, strict=True))
    return f"k:{{{pairs}}}"


_kept_key_element = lru_cache(_ELEMENTS_KEPT, typed=True)(_key_element)


def _is_member(below: FieldSet) -> bool:
    return not below or SELF in below


def _blend(one: FieldSet, other: FieldSet) -> FieldSet:
    """Both are not empty; levels that do not change are shared."""
    result = one
    grew = False
    for element, theirs in other.items():
        mine = one.get(element)
        if mine is None:
            joined, grew = theirs, True
        elif not theirs:
            joined = as_member(mine) if mine else mine
        else:
            joined = _blend(mine, theirs) if mine else as_member(theirs)
        if joined is not mine:
            if result is one:
                result = dict(one)
            result[element] = joined
    return ordered(result) if grew else result


def _subtract(fields: FieldSet, gone: FieldSet) -> FieldSet | None:
    """What is left of the level, `fields` itself where nothing went, None where nothing stayed."""
    if fields.keys().isdisjoint(gone):
        return fields
    kept: FieldSet = {}
    for element, below in fields.items():
        cut = gone.get(element)
        left: FieldSet | None = below
        if element == SELF:
            left = below if cut is None else None
        elif cut is not None:
            left = _without(below, cut)
        if left is not None:
            kept[element] = left
    return _tidy(kept, fields)


def _without(below: FieldSet, cut: FieldSet) -> FieldSet | None:
    if not below:
        return None if _is_member(cut) else below
    return _subtract(below, cut or {SELF: LEAF})


def _cut_off(fields: FieldSet, gone: FieldSet) -> FieldSet | None:
    if fields.keys().isdisjoint(gone):
        return fields
    kept: FieldSet = {}
    for element, below in fields.items():
        cut = gone.get(element)
        left: FieldSet | None = below
        if cut is not None:
            left = None if _is_member(cut) else (_cut_off(below, cut) if below else below)
        if left is not None:
            kept[element] = left
    return _tidy(kept, fields)


def _tidy(kept: FieldSet, before: FieldSet) -> FieldSet | None:
    """A level with nothing but itself is a leaf; one with nothing at all is no level."""
    if not kept:
        return None
    if len(kept) == 1 and SELF in kept:
        return LEAF
    unchanged = len(kept) == len(before) and all(kept[key] is before[key] for key in kept)
    return before if unchanged else kept


def _common(one: FieldSet, other: FieldSet) -> FieldSet | None:
    found: FieldSet = {}
    for element, mine in one.items():
        theirs = other.get(element)
        if theirs is None:
            continue
        both = _common(mine, theirs) if mine and theirs else None
        if element == SELF:
            found[SELF] = LEAF
        elif _is_member(mine) and _is_member(theirs):
            found[element] = as_member(both)
        elif both:
            found[element] = both
    return found or None


def _matching(fields: FieldSet, patterns: list[Path]) -> FieldSet:
    found: FieldSet = {}
    for element, below in fields.items():
        rest = [pattern[1:] for pattern in patterns if pattern[0] in ("*", element)]
        if element == SELF or not rest:
            continue
        kept = below if not all(rest) else _matching(below, rest)
        if kept or _is_member(below):
            found[element] = as_member(kept) if _is_member(below) else kept
    return found


def _read(raw: Any) -> tuple[FieldSet | None, bool]:
    """(what lies below or None, whether the path itself is in the set)"""
    if raw is None:
        return None, True
    if not isinstance(raw, Mapping):
        raise MalformedSet(f"expected an object of fields, got {go_text.plain(raw)}")
    found: FieldSet = {}
    for key, value in raw.items():
        element = _spelled(key) if key != SELF else None
        if element is not None:
            below, is_member = _read(value)
            found[element] = as_member(below) if is_member else below or LEAF
    return (ordered(found), SELF in raw) if found else (None, True)


def _spelled(key: str) -> str | None:
    """The one spelling of a path element; None for a kind of element that is not known."""
    if len(key) < 2:
        raise MalformedSet("key must be 2 characters long:")
    if key[1] != ":":
        raise MalformedSet(f"missing colon: {key}")
    try:
        if key[0] == "k":
            pairs = sorted(codec.decode(key[2:]).items())
            return key_element(tuple(name for name, _ in pairs), *(value for _, value in pairs))
        if key[0] == "v":
            return value_element(codec.decode(key[2:]))
        if key[0] == "i":
            return f"i:{int(key[2:])}"
    except (AttributeError, TypeError, ValueError) as error:
        raise MalformedSet(f"parsing key as path element: {error}") from error
    return key if key[0] == "f" else None


@lru_cache(_ELEMENTS_KEPT)
def _rank(element: str) -> tuple[Any, ...]:
    """Fields come first, then keys, values and indexes; numbers sort as numbers."""
    kind, text = element[0], element[2:]
    if kind == "f":
        return (1, text)
    if kind == "k":
        return (2, *((name, *_value_rank(value)) for name, value in codec.decode(text).items()))
    if kind == "v":
        return (3, *_value_rank(codec.decode(text)))
    return (4, int(text)) if kind == "i" else (0,)


def _value_rank(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return (3, value)
    if isinstance(value, int | float):
        return (1, value)
    return (2, value) if isinstance(value, str) else (4, _json(value))


def _value_text(value: Any) -> str:
    if isinstance(value, str):
        return go_text.quoted(value)
    if isinstance(value, list):
        return f"[{','.join(_value_text(item) for item in value)}]"
    if isinstance(value, dict):
        return "".join(f"{name}={_value_text(value[name])}" for name in value)
    return _json(value)


def _json(value: Any) -> str:
    """JSON as Go writes it into a key: `<`, `>` and `&` escaped."""
    text = codec.encode(value).decode()
    for mark, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(mark, escaped)
    return text
