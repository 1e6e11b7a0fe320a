"""What is wrong with a value, in the words and the order of the API server's schema validation.

Called only after `checks` has said no. Counts successful checks as upstream does, because among the
branches of anyOf and oneOf the errors of the one with most matches are shown.
"""

from collections.abc import Iterable
from typing import Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.cel.regex import compile_pattern
from fleetqueue.apiserver.field_errors import FieldError
from fleetqueue.apiserver.schema import checks, formats
from fleetqueue.apiserver.schema.correlation import Pair
from fleetqueue.apiserver.schema.node import Node
from fleetqueue.apiserver.schema.values import in_order, is_integral, same, show_number, type_of

NOWHERE = "<nil>"
"""The path of an error about the whole object, as Go prints a nil path."""
_FORMAT_OF_TYPE = {"integer": "int64", "number": "float64"}


class Report:
    """Errors of one value so far, and how many checks it passed."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self.matches = 0

    def add(self, *errors: FieldError) -> None:
        for error in errors:
            if error not in self.errors:
                self.errors.append(error)

    def merge(self, other: "Report") -> None:
        self.add(*other.errors)
        self.matches += other.matches

    def merge_and_count(self, other: "Report") -> None:
        self.merge(other)
        self.matches += 1


def report(value: Any, node: Node, path: str, prefix: str = "", pair: Pair | None = None) -> Report:
    """`path` is what messages name; `prefix` stands in front of it in error paths (status)."""
    return _Reporter(prefix).whole(value, node, path, pair)


class _Reporter:
    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def whole(self, value: Any, node: Node, path: str, pair: Pair | None) -> Report:
        found = self._value(value, node, path, pair)
        if found.errors and pair is not None and pair.is_unchanged:
            found.errors.clear()
        return found

    def _value(self, value: Any, node: Node, path: str, pair: Pair | None) -> Report:
        found = Report()
        has_type = bool(_types(node) or formats.find(node.format))
        if value is None:
            found.merge(self._type(value, node, path))
            found.add(*self._enum(value, node, path))
            return found
        if has_type:
            found.merge_and_count(self._type(value, node, path))
        found.merge_and_count(self._combinations(value, node, path))
        kind = type_of(value)
        if kind == "string":
            found.add(*self._string(value, node, path))
            found.matches += 1
            if formats.find(node.format):
                found.add(*self._format(value, node, path))
                found.matches += 1
        elif kind in ("integer", "number"):
            found.add(*self._number(value, node, path))
            found.matches += 2
        elif kind == "array":
            found.merge_and_count(self._list(value, node, path, pair))
        found.add(*self._enum(value, node, path))
        found.matches += 1
        if kind == "object":
            found.merge_and_count(self._object(value, node, path, pair))
        found.matches += 1
        return found

    def _at(self, path: str) -> str:
        inner = path.removeprefix(".")
        if not self.prefix:
            return inner or NOWHERE
        return f"{self.prefix}.{inner}" if inner else self.prefix

    def _invalid(self, path: str, value: Any, detail: str) -> FieldError:
        if isinstance(value, float):
            return FieldError("FieldValueInvalid", self._at(path), show_number(value), detail)
        return fields.wrong(self._at(path), "" if value is None else value, detail)

    def _mixed(self, detail: str) -> FieldError:
        """An error about a combination of schemas carries no path of its own."""
        return fields.wrong(self.prefix or NOWHERE, "", detail)

    def _type(self, value: Any, node: Node, path: str) -> Report:
        found = Report()
        wrong = _wrong_type(value, node)
        if wrong is None:
            found.matches = 1
            return found
        wanted, given = wrong
        detail = f"{path} in body must be of type {wanted}: {fields.show(given)}"
        found.add(fields.wrong_type(self._at(path), given, detail))
        return found

    def _enum(self, value: Any, node: Node, path: str) -> Iterable[FieldError]:
        allowed = node.raw.get("enum")
        if not allowed or (value is not None and any(same(value, one) for one in allowed)):
            return
        words = [one if isinstance(one, str) else fields.show(one) for one in allowed]
        yield fields.unsupported(self._at(path), in_order(value), words)

    def _string(self, value: str, node: Node, path: str) -> Iterable[FieldError]:
        """The first of these that fails is the only one reported."""
        raw = node.raw
        longest, shortest = raw.get("maxLength"), raw.get("minLength")
        if longest is not None and len(value) > longest:
            yield fields.too_long(self._at(path), longest)
        elif shortest is not None and len(value) < shortest:
            detail = f"{path} in body should be at least {shortest} chars long"
            yield self._invalid(path, value, detail)
        elif pattern := raw.get("pattern"):
            yield from self._pattern(value, pattern, path)

    def _pattern(self, value: str, pattern: str, path: str) -> Iterable[FieldError]:
        try:
            if compile_pattern(pattern).matches(value):
                return
        except ValueError as problem:
            pattern = f"{pattern}, but pattern is invalid: {problem}"
        yield self._invalid(path, value, f"{path} in body should match '{pattern}'")

    def _format(self, value: str, node: Node, path: str) -> Iterable[FieldError]:
        accepts = formats.find(node.format)
        if accepts is not None and not accepts(value):
            detail = f"{path} in body must be of type {node.format}: {fields.show(value)}"
            yield fields.wrong_type(self._at(path), value, detail)

    def _number(self, value: float, node: Node, path: str) -> Iterable[FieldError]:
        raw = node.raw
        # Integers are compared with the integer part of a bound, and it is shown so.
        native = int if isinstance(value, int) else float
        if (factor := raw.get("multipleOf")) is not None and not checks.is_multiple(value, factor):
            shown = show_number(native(factor))
            yield self._invalid(path, value, f"{path} in body should be a multiple of {shown}")
        if (least := raw.get("minimum")) is not None:
            bound, is_open = native(least), bool(raw.get("exclusiveMinimum"))
            if value <= bound if is_open else value < bound:
                yield self._invalid(path, value, _bound_text(path, "greater", is_open, bound))
        if (most := raw.get("maximum")) is not None:
            bound, is_open = native(most), bool(raw.get("exclusiveMaximum"))
            if value >= bound if is_open else value > bound:
                yield self._invalid(path, value, _bound_text(path, "less", is_open, bound))

    def _list(self, value: list[Any], node: Node, path: str, pair: Pair | None) -> Report:
        found, raw, size = Report(), node.raw, len(value)
        if node.items is not None:
            for index, item in enumerate(value):
                below = pair.item(index) if pair is not None else None
                found.merge(self.whole(item, node.items, f"{path}[{index}]", below))
        if (least := raw.get("minItems")) is not None and size < least:
            detail = f"{path} in body should have at least {least} items"
            found.add(self._invalid(path, size, detail))
        if (most := raw.get("maxItems")) is not None and size > most:
            found.add(fields.too_many(self._at(path), size, most))
        if raw.get("uniqueItems") and not checks.is_unique(value):
            found.add(self._invalid(path, None, f"{path} in body shouldn't contain duplicates"))
        found.matches += 1
        return found

    def _object(self, value: dict[str, Any], node: Node, path: str, pair: Pair | None) -> Report:
        found, raw, size = Report(), node.raw, len(value)
        if (least := raw.get("minProperties")) is not None and size < least:
            detail = f"{path} in body should have at least {least} properties"
            found.add(self._invalid(path, size, detail))
        if (most := raw.get("maxProperties")) is not None and size > most:
            found.add(fields.too_many(self._at(path), size, most))
        for name, below in value.items():
            child = node.child(name)
            if child is not None:
                at = f"{path}.{name}" if path or name not in node.properties else name
                found.merge(self.whole(below, child, at, _below(pair, name, path)))
            elif raw.get("additionalProperties") is False:
                detail = f"{path}.{name} in body is a forbidden property"
                found.add(self._invalid(path, name, detail))
        for name in node.required:
            if name not in value:
                found.add(fields.required(self._at(f"{path}.{name}")))
        return found

    def _combinations(self, value: Any, node: Node, path: str) -> Report:
        found, raw = Report(), node.raw
        if branches := raw.get("anyOf"):
            found.merge(self._any_of(self._branches(value, branches, path), path))
        if branches := raw.get("oneOf"):
            found.merge(self._one_of(self._branches(value, branches, path), path))
        if branches := raw.get("allOf"):
            found.merge(self._all_of(self._branches(value, branches, path), path))
        if (refused := raw.get("not")) is not None:
            [outcome] = self._branches(value, [refused], path)
            if not outcome.errors:
                found.add(self._mixed(f'"{path}" must not validate the schema (not)'))
        found.matches += 1
        return found

    def _branches(self, value: Any, branches: list[Any], path: str) -> list[Report]:
        """Inside of a branch nothing is tolerated for being old; the node as a whole may be."""
        return [self._value(value, Node(branch), path, None) for branch in branches]

    def _any_of(self, outcomes: list[Report], path: str) -> Report:
        found = Report()
        good = [outcome for outcome in outcomes if not outcome.errors]
        if good:
            found.merge(good[0])
        else:
            found.add(self._mixed(f'"{path}" must validate at least one schema (anyOf)'))
            found.merge(max(outcomes, key=lambda outcome: outcome.matches))
        return found

    def _one_of(self, outcomes: list[Report], path: str) -> Report:
        found = Report()
        good = [outcome for outcome in outcomes if not outcome.errors]
        if len(good) == 1:
            found.merge(good[0])
            return found
        count = f"Found {len(good)} valid alternatives" if good else "Found none valid"
        found.add(self._mixed(f'"{path}" must validate one and only one schema (oneOf). {count}'))
        if not good:
            found.merge(max(outcomes, key=lambda outcome: outcome.matches))
        return found

    def _all_of(self, outcomes: list[Report], path: str) -> Report:
        found = Report()
        for outcome in outcomes:
            found.merge(outcome)
        bad = [outcome for outcome in outcomes if outcome.errors]
        if bad:
            none = ". None validated" if len(bad) == len(outcomes) else ""
            found.add(self._mixed(f'"{path}" must validate all the schemas (allOf){none}'))
        return found


def _bound_text(path: str, word: str, is_open: bool, bound: float) -> str:
    words = f"{word} than" if is_open else f"{word} than or equal to"
    return f"{path} in body should be {words} {show_number(bound)}"


def _below(pair: Pair | None, name: str, path: str) -> Pair | None:
    """The version and kind of the root never ratchet: old and new were converted to the same."""
    if pair is None or (not path and name in ("apiVersion", "kind")):
        return None
    return pair.field(name)


def _types(node: Node) -> tuple[str, ...]:
    if node.raw.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return (node.type,) if node.type else ()


def _wrong_type(value: Any, node: Node) -> tuple[str, str] | None:
    """(wanted, given) if the type is wrong."""
    types = _types(node)
    kind = type_of(value)
    if kind == "null":
        return (",".join(types), "null") if types and not node.is_nullable else None
    fits = kind in types or (
        (kind == "number" and "integer" in types and is_integral(value))
        or (kind == "integer" and "number" in types)
    )
    has_format = formats.find(node.format) is not None
    if has_format and kind not in ("string", "array") and not fits:
        return node.format, _FORMAT_OF_TYPE.get(kind, "")
    is_numeric = "number" in types or "integer" in types
    if fits or (has_format and not is_numeric and kind in ("string", "array")):
        return None
    return (",".join(types), kind) if types else None
