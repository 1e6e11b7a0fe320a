"""The calls behind the verbs: pure functions from what is asked to method, path, query and body."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal, TypedDict

from fleetqueue.api.model import write
from fleetqueue.kube.transport import Call

Validation = Literal["Strict", "Warn", "Ignore"]
Propagation = Literal["Background", "Foreground", "Orphan"]


class PatchType(StrEnum):
    """How a patch is meant, by its media type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class WriteOptions(TypedDict, total=False):
    """What every write may be told."""

    dry_run: bool
    field_manager: str
    field_validation: Validation


class DeleteOptions(TypedDict, total=False):
    """What a delete may be told."""

    propagation: Propagation
    grace_period_seconds: int
    uid: str
    """Delete only the object with this uid."""
    resource_version: str
    """Delete only what has not changed since."""
    dry_run: bool


class Selection(TypedDict, total=False):
    """Which objects of a collection."""

    label_selector: str
    field_selector: str


class ListOptions(Selection, total=False):
    """Which objects, and how fresh."""

    resource_version: str
    resource_version_match: Literal["Exact", "NotOlderThan"]


class WatchOptions(Selection, total=False):
    """Which changes, from where on, and for how long."""

    resource_version: str
    resource_version_match: Literal["Exact", "NotOlderThan"]
    timeout_seconds: int
    allow_bookmarks: bool
    send_initial_events: bool


Query = list[tuple[str, str]]


def write_query(options: WriteOptions, manager: str = "") -> Query:
    manager = options.get("field_manager") or manager
    return _given(
        ("dryRun", "All" if options.get("dry_run") else ""),
        ("fieldManager", manager),
        ("fieldValidation", options.get("field_validation") or ""),
    )


def selection_query(options: Mapping[str, Any]) -> Query:
    return _given(
        ("labelSelector", options.get("label_selector") or ""),
        ("fieldSelector", options.get("field_selector") or ""),
        ("resourceVersion", options.get("resource_version") or ""),
        ("resourceVersionMatch", options.get("resource_version_match") or ""),
    )


def list_query(options: ListOptions, limit: int = 0, token: str = "") -> Query:
    """A continue token carries the revision itself, so none may be given beside it."""
    query = selection_query(options)
    if token:
        query = [pair for pair in query if not pair[0].startswith("resourceVersion")]
    return query + _given(("limit", str(limit) if limit else ""), ("continue", token))


def watch_query(options: WatchOptions) -> Query:
    timeout = options.get("timeout_seconds")
    return [
        ("watch", "true"),
        *selection_query(options),
        *_given(
            ("allowWatchBookmarks", "true" if options.get("allow_bookmarks", True) else ""),
            ("timeoutSeconds", str(timeout) if timeout else ""),
            ("sendInitialEvents", "true" if options.get("send_initial_events") else ""),
        ),
    ]


def delete_body(options: DeleteOptions) -> dict[str, Any]:
    preconditions = dict(
        _given(
            ("uid", options.get("uid") or ""),
            ("resourceVersion", options.get("resource_version") or ""),
        )
    )
    body: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if preconditions:
        body["preconditions"] = preconditions
    if "propagation" in options:
        body["propagationPolicy"] = options["propagation"]
    if "grace_period_seconds" in options:
        body["gracePeriodSeconds"] = options["grace_period_seconds"]
    if options.get("dry_run"):
        body["dryRun"] = ["All"]
    return body


def read(path: str, query: Query) -> Call:
    return Call("GET", path, query)


def send(method: str, path: str, query: Query, body: Any) -> Call:
    return Call(method, path, query, {"content-type": "application/json"}, object=plain(body))


def patch(path: str, query: Query, body: Any, kind: PatchType) -> Call:
    return Call("PATCH", path, query, {"content-type": kind.value}, object=plain(body))


def plain(body: Any) -> Any:
    """Wire types as plain JSON; what is plain already stays the same object."""
    return body if isinstance(body, dict) else write(body)


def _given(*pairs: tuple[str, str]) -> Query:
    return [(name, value) for name, value in pairs if value]
