"""A CRD's schema, ready to work: prune, default and validate custom resources.

Everything is compiled on first use, since most served versions of most CRDs never see an object.
The metadata of the root is not this module's business; that of embedded resources is.
"""

from functools import cached_property
from typing import Any

from fleetqueue.apiserver.field_errors import FieldError
from fleetqueue.apiserver.schema import (
    checks,
    defaulting,
    embedded,
    lists,
    pruning,
    reports,
    rules,
)
from fleetqueue.apiserver.schema.correlation import Pair
from fleetqueue.apiserver.schema.node import Node

_BLOCKING = frozenset(
    (
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    )
)
_SKIPPED = FieldError(
    "FieldValueInvalid",
    reports.NOWHERE,
    "null",
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


class CompiledSchema:
    """The schema of one version of a custom resource."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def prune(self, obj: dict[str, Any]) -> list[str]:
        """Drop unknown fields in place; returns their paths, sorted."""
        dropped: list[str] = []
        if self._pruner is not None:
            self._pruner(obj, "", dropped)
        if self._coerce is not None:
            dropped += self._coerce(obj, "")
        return sorted(dropped)

    def default(self, obj: dict[str, Any]) -> None:
        """Fill in defaults in place; drops nulls of fields that are not nullable."""
        if self._defaulter is not None:
            self._defaulter(obj)

    def validate(
        self,
        obj: dict[str, Any],
        old: dict[str, Any] | None = None,
        *,
        status_only: bool = False,
        warnings: list[str] | None = None,
    ) -> list[FieldError]:
        """All errors. On an update, what did not change may stay wrong.

        `status_only` is for writes to /status: only the status is checked against the schema,
        while rules see the whole object. Failed rules on unchanged values go to `warnings`.
        """
        pair = None if old is None else Pair(obj, old, self.node)
        errors = self._status_errors(obj, old) if status_only else self._schema_errors(obj, pair)
        if self._embedded is not None:
            self._embedded(obj, "", errors)
        errors += self._list_errors(obj, old)
        if self._rules is None:
            return errors
        if any(error.reason in _BLOCKING for error in errors):
            return [*errors, _SKIPPED]
        return errors + self._rules.validate(obj, pair, warnings)

    @cached_property
    def _pruner(self) -> pruning.Pruner | None:
        return pruning.build(self.node, is_root=True)

    @cached_property
    def _coerce(self) -> embedded.Coercer | None:
        return embedded.build_coercer(self.node)

    @cached_property
    def _defaulter(self) -> defaulting.Defaulter | None:
        return defaulting.build(self.node)

    @cached_property
    def _check(self) -> checks.Check:
        return checks.build(self.node)

    @cached_property
    def _status(self) -> Node | None:
        found: Node | None = self.node.properties.get("status")
        return found

    @cached_property
    def _check_status(self) -> checks.Check:
        return checks.build(self._status) if self._status is not None else lambda _: True

    @cached_property
    def _embedded(self) -> embedded.Validator | None:
        return embedded.build_validator(self.node)

    @cached_property
    def _lists(self) -> lists.Finder | None:
        return lists.build(self.node)

    @cached_property
    def _rules(self) -> rules.RuleTree | None:
        return rules.build(self.node, is_root=True)

    def _schema_errors(self, obj: dict[str, Any], pair: Pair | None) -> list[FieldError]:
        if self._check(obj):
            return []
        return reports.report(obj, self.node, "", pair=pair).errors

    def _status_errors(self, obj: dict[str, Any], old: dict[str, Any] | None) -> list[FieldError]:
        status = obj.get("status")
        if self._status is None or "status" not in obj or self._check_status(status):
            return []
        before = (old or {}).get("status")
        pair = None if before is None else Pair(status, before, self._status)
        return reports.report(status, self._status, "", "status", pair).errors

    def _list_errors(self, obj: dict[str, Any], old: dict[str, Any] | None) -> list[FieldError]:
        """Duplicates are tolerated on an update if there were some before."""
        errors: list[FieldError] = []
        if self._lists is None:
            return errors
        self._lists(obj, "", errors)
        if errors and old is not None:
            before: list[FieldError] = []
            self._lists(old, "", before)
            if before:
                return []
        return errors
