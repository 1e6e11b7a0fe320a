"""Answers made comparable: what differs between any two runs is replaced by what it means.

A uid becomes `uid-1`, the same uid `uid-1` again; so do revisions, names that a server generated
and tokens. Times become `<time>`. What is left must be equal on both servers.
"""

import difflib
import json
import re
from typing import Any

from support.server import Answer

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_JWT = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")
_SUFFIX = r"[bcdfghjklmnpqrstvwxz2456789]{5}"
_AGES = re.compile(r"^(?:<invalid>|\d+(?:ms|s|m|h|d)(?:\d+s)?)$")
_YEARS = re.compile(r"\b\d+y(?:\d+d)?\b")
_PATCHED = re.compile(r'Invalid value: "\{\\"(?:[a-zA-Z]+)\\".*[^\\]": ')
_RECORD = re.compile(r"in record \(\d+\)")
_VERSION = re.compile(r'(resourceVersion"?: ?")(\d+)')
UNORDERED = ("causes", "managedFields")
"""Causes of one error may come in the order of a Go map; field managers come in the order of their
times, which differ where a case happens to pass from one second to the next."""
HEADERS = ("Content-Type", "Warning", "Retry-After", "Location", "Content-Encoding")


class Normaliser:
    """One per case and server: what a value means is decided by the order of first appearance."""

    def __init__(self, namespace: str) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._namespace = namespace
        self.prefixes: list[str] = ["kube-api-access-"]
        """generateName prefixes seen in requests; names that begin so are generated ones."""

    def answer(self, answer: Answer, ignore: tuple[str, ...] = ()) -> dict[str, Any]:
        normal: dict[str, Any] = {"status": answer.status}
        for name in HEADERS:
            value = answer.header(name)
            if value:
                normal[name] = self.text(value)
        normal["body"] = self._body(answer, ignore)
        for path in ignore:
            remove(normal, path.split("."))
        return normal

    def _body(self, answer: Answer, ignore: tuple[str, ...]) -> Any:
        if not answer.body:
            return ""
        if "json" not in answer.header("Content-Type"):
            return self.text(answer.body.decode(errors="replace"))
        body = answer.json
        for path in ignore:
            # What is not compared must not count among the values that are.
            remove({"body": body}, path.split("."))
        return self.value(body)

    def value(self, value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            if value.get("kind") == "Table":
                value = _comparable_table(value)
            if isinstance(value.get("metadata"), dict) and (
                "items" in value or "rows" in value or _is_bookmark(value)
            ):
                value = _without_revision(value)
            # In one order on both servers, so that what is seen first is the same.
            return {self.text(key): self.value(value[key], key) for key in sorted(value)}
        if isinstance(value, list):
            items = [self.value(item, name) for item in value]
            return sorted(items, key=str) if name in UNORDERED else items
        if isinstance(value, str):
            if name == "resourceVersion":
                return self._named("rv", value) if value not in ("", "0") else value
            if name == "continue":
                return "<token>" if value else ""
            return self.text(value)
        return value

    def text(self, text: str) -> str:
        text = text.replace(self._namespace, "<ns>")
        text = _JWT.sub("<jwt>", text)
        text = _UID.sub(lambda found: self._named("uid", found[0]), text)
        for prefix in self.prefixes:
            pattern = re.compile(re.escape(prefix) + _SUFFIX)
            text = pattern.sub(lambda found: self._named("name", found[0]), text)
        text = _VERSION.sub(lambda found: found[1] + self._named("rv", found[2]), text)
        text = _PATCHED.sub('Invalid value: "<patched>": ', text)
        text = _RECORD.sub("in record (<rv>)", text)
        return _sorted_errors(_TIME.sub("<time>", text))

    def _named(self, kind: str, value: str) -> str:
        found = self._names.get((kind, value))
        if found is None:
            count = sum(1 for known, _ in self._names if known == kind)
            found = self._names[kind, value] = f"{kind}-{count + 1}"
        return found


def _sorted_errors(text: str) -> str:
    """Several errors of one object come in the order of a Go map; their order means nothing."""
    head, mark, rest = text.partition(" is invalid: [")
    if not mark:
        return text
    return head + mark + ", ".join(sorted(rest.removesuffix("]").split(", "))) + "]"


def difference(theirs: Any, own: Any) -> str:
    """What changed from kube-apiserver's answer to ours, as a diff of sorted JSON."""
    before, after = (
        json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).splitlines()
        for value in (theirs, own)
    )
    lines = difflib.unified_diff(before, after, "kube-apiserver", "fleetqueue", lineterm="", n=2)
    return "\n".join(lines)


def _comparable_table(table: dict[str, Any]) -> dict[str, Any]:
    """Descriptions of columns are in words of our own."""
    rows, columns = table.get("rows"), table.get("columnDefinitions")
    return {
        **table,
        "rows": rows and [_without_age(row) for row in rows],
        "columnDefinitions": columns
        and [{**column, "description": "<words>"} for column in columns],
    }


def _without_revision(listed: dict[str, Any]) -> dict[str, Any]:
    """The revision of a list or a bookmark also counts what others wrote meanwhile."""
    metadata = dict(listed["metadata"])
    if metadata.get("resourceVersion"):
        metadata["resourceVersion"] = "0"
    return {**listed, "metadata": metadata}


def _is_bookmark(value: dict[str, Any]) -> bool:
    annotations = value["metadata"].get("annotations")
    return isinstance(annotations, dict) and "k8s.io/initial-events-end" in annotations


def _without_age(row: dict[str, Any]) -> dict[str, Any]:
    """Ages depend on when a server was asked."""
    cells = [
        _YEARS.sub("<age>", _AGES.sub("<age>", cell)) if isinstance(cell, str) else cell
        for cell in row.get("cells") or []
    ]
    return {**row, "cells": cells}


def remove(value: Any, path: list[str]) -> None:
    if isinstance(value, list):
        for item in value:
            remove(item, path)
    elif isinstance(value, dict):
        if len(path) == 1:
            value.pop(path[0], None)
        elif path[0] in value:
            remove(value[path[0]], path[1:])
