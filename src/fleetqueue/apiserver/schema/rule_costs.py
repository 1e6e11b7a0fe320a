"""Whether the rules of a CRD could become too expensive: each by itself, and all of one version."""

from collections.abc import Iterator
from typing import Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.cel.cost.sizes import add, multiply
from fleetqueue.apiserver.field_errors import FieldError
from fleetqueue.apiserver.schema.structure import Schema

EXPRESSION_COST_MAX = 10_000_000
TOTAL_COST_MAX = 100_000_000
_SHOWN_MAX = 4
_SHARE_MIN = TOTAL_COST_MAX // 100
"""Rules below a hundredth of the total are not named when it is too much."""
_HINT = (
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
    "maps, and strings are declared"
)


class TotalCost:
    """The costs of all rules of a schema, and which of them weigh most."""

    def __init__(self) -> None:
        self.sum = 0
        self._dearest: list[tuple[int, str]] = []

    def observe(self, path: str, cost: int) -> None:
        self.sum = add(self.sum, cost)
        if cost >= _SHARE_MIN:
            self._dearest.append((cost, path))
            self._dearest.sort(key=lambda entry: -entry[0])
            del self._dearest[_SHOWN_MAX:]

    def errors(self, path: str) -> Iterator[FieldError]:
        """What to say about the schema at `path`: nothing, unless its rules cost too much."""
        if self.sum <= TOTAL_COST_MAX:
            return
        why = (
            "contributed to estimated rule cost total exceeding cost limit "
            "for entire OpenAPIv3 schema"
        )
        for _, where in self._dearest:
            yield fields.forbidden(where, why)
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        yield fields.forbidden(path, excess(what, self.sum, TOTAL_COST_MAX))


def excess(what: str, cost: int, limit: int) -> str:
    factor = float(cost) / float(limit)
    if factor > 100:
        shown = "more than 100x"
    elif factor < 1.5:
        # With one digit, a little too much would read as if it were just enough.
        shown = f"{factor:f}x"
    else:
        shown = f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {shown} ({_HINT})"


def cardinality_below(schema: Schema, cardinality: int | None) -> int | None:
    """How often values below `schema` occur in one object; None where nothing limits it."""
    most = _elements_max(schema)
    return None if cardinality is None or most is None else multiply(cardinality, most)


def _elements_max(schema: Schema) -> int | None:
    limit: Any = 1
    if schema.get("type") == "array":
        limit = schema.get("maxItems")
    elif schema.get("type") == "object" and schema.get("additionalProperties") is not None:
        limit = schema.get("maxProperties")
    return None if limit is None else max(int(limit), 0)
