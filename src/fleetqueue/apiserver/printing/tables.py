"""Table answers: the columns of a kind and a row per object, as kubectl asks for them."""

import importlib
import pkgutil
from datetime import datetime
from functools import cache
from typing import Any

from fleetqueue.apiserver import forms
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.forms import Form
from fleetqueue.apiserver.printing import custom, kinds
from fleetqueue.apiserver.printing.cells import NAME, dig
from fleetqueue.apiserver.printing.layout import Column, Layout, Object
from fleetqueue.apiserver.registry import Version
from fleetqueue.base import codec

ZERO_TIME = "0001-01-01T00:00:00Z"
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_LIST_FIELDS = ("resourceVersion", "continue", "remainingItemCount")
_NO_HEADER = b'"columnDefinitions":null'


def table(call: Call, form: Form, objects: list[Object], metadata: Object, now: datetime) -> Object:
    layout = layout_of(call)
    if layout.order is not None:
        objects = sorted(objects, key=layout.order)
    rows = [_row(call, form, layout, obj, now) for obj in objects]
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{form.version}",
        "metadata": {key: metadata[key] for key in _LIST_FIELDS if metadata.get(key)},
        "columnDefinitions": layout.definitions(),
        "rows": rows if rows or layout is not DEFAULT else None,
    }


def event_table(call: Call, form: Form, obj: Object, now: datetime) -> Object:
    """The table of one watch event, as it follows an event that had the columns."""
    shown = table(call, form, [obj], obj["metadata"], now)
    if not layout_of(call).repeats_header:
        shown["columnDefinitions"] = None
    return shown


def with_header(call: Call, line: bytes) -> bytes:
    """A watch event's line with the columns put in: the first one a client gets."""
    header = codec.encode(layout_of(call).definitions())
    return line.replace(_NO_HEADER, b'"columnDefinitions":' + header, 1)


def layout_of(call: Call) -> Layout:
    sub = call.version.subresources.get(call.route.subresource)
    is_scale = sub is not None and sub.kind == "Scale"
    if call.resource.is_custom:
        return _custom_layout(custom.SCALE) if is_scale else _layout_of_version(call.version)
    key = ("autoscaling", "Scale") if is_scale else (call.resource.group, call.version.kind)
    return layouts().get(key, DEFAULT)


@cache
def layouts() -> dict[tuple[str, str], Layout]:
    """Every table of a built-in kind: what the modules of the folder declare."""
    found: dict[tuple[str, str], Layout] = {}
    for module in pkgutil.iter_modules(kinds.__path__):
        found |= importlib.import_module(f"{kinds.__name__}.{module.name}").LAYOUTS
    return found


def _layout_of_version(version: Version) -> Layout:
    return _custom_layout(version.columns)


_custom_layout = cache(custom.layout)


def _row(call: Call, form: Form, layout: Layout, obj: Object, now: datetime) -> Object:
    row: Object = {"cells": layout.cells(_printed(call, layout, obj), now)}
    conditions = layout.conditions(obj) if layout.conditions else None
    if conditions:
        row["conditions"] = conditions
    row["object"] = _included(form, obj)
    return row


def _printed(call: Call, layout: Layout, obj: Object) -> Object:
    """The object in the version its cells are written for."""
    convert = call.resource.convert
    if convert is None or layout.api_version in ("", call.api_version):
        return obj
    return convert(obj, layout.api_version)


def _included(form: Form, obj: Object) -> Any:
    if form.include == "Object":
        return obj
    is_bookmark = dig(obj, "metadata", "annotations", INITIAL_EVENTS_END) == "true"
    if form.include == "None" and not is_bookmark:
        return None
    return forms.metadata_only(obj, form.version)


def _created(obj: Object, _: datetime) -> str:
    return dig(obj, "metadata", "creationTimestamp") or ZERO_TIME


DEFAULT = Layout((NAME, Column("Created At", _created, "date")))
