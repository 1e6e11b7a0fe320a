"""Which objects a list, watch or delete-collection means: label and field selectors over stored
bytes.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from fleetqueue.api import selectors
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.storage import Stored
from fleetqueue.base import jsonpath

Object = dict[str, Any]
Match = Callable[[Stored], bool]


class _Metadata(msgspec.Struct):
    labels: dict[str, str] = {}


class _Labelled(msgspec.Struct):
    metadata: _Metadata


_labels = msgspec.json.Decoder(_Labelled)


def prefix(call: Call) -> str:
    """How the keys of the collection begin."""
    if call.resource.namespaced and call.route.namespace:
        return f"{call.route.namespace}/"
    return ""


def matcher(call: Call, core: Core) -> Match | None:
    """A test for stored objects; None where everything matches."""
    tests: list[Match] = []
    labels = call.request.first("labelSelector")
    if labels:
        tests.append(_label_test(labels))
    text = fields_of(call)
    if text:
        tests.append(_field_test(text, call, core))
    if not tests:
        return None
    if len(tests) == 1:
        return tests[0]
    return lambda stored: all(test(stored) for test in tests)


def fields_of(call: Call) -> str:
    """The field selector. A path that names what is watched (watch/namespaces/NS/pods/NAME) means
    that alone: a selector beside it must name the same.
    """
    text, name = call.request.first("fieldSelector"), call.route.name
    if not name or call.route.verb != "watch":
        return text
    if not text:
        return f"metadata.name={selectors.escape_field_value(name)}"
    if _parsed(text).exact_value("metadata.name") != name:
        raise problems.bad_request("fieldSelector metadata.name doesn't match requested name")
    return text


def _label_test(text: str) -> Match:
    try:
        selector = selectors.parse_labels(text)
    except ValueError as error:
        raise problems.bad_request(str(error)) from error
    matches = selector.matches
    cache: dict[int, bool] = {}

    def test(stored: Stored) -> bool:
        found = cache.get(stored.revision)
        if found is None:
            if len(cache) > 1024:
                cache.clear()
            found = matches(_labels.decode(stored.data).metadata.labels or {})
            cache[stored.revision] = found
        return found

    return test


_UNSUPPORTED = {
    "Job": 'field label "{}" not supported for Job',
    "ResourceSlice": "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {}",
}


def _field_test(text: str, call: Call, core: Core) -> Match:
    selector = _parsed(text)
    readers: dict[str, Callable[[Stored], str]] = {}
    for term in selector.terms:
        read = _reader(term.field, call, core)
        if read is None:
            raise problems.bad_request(_unsupported(term.field, call))
        readers[term.field] = read

    def test(stored: Stored) -> bool:
        return selector.matches({name: read(stored) for name, read in readers.items()})

    return test


def _parsed(text: str) -> selectors.FieldSelector:
    try:
        return selectors.parse_fields(text)
    except ValueError as error:
        raise problems.bad_request(str(error)) from error


def _reader(name: str, call: Call, core: Core) -> Callable[[Stored], str] | None:
    if name == "metadata.name":
        return lambda stored: stored.key.rpartition("/")[2]
    if name == "metadata.namespace":
        if not call.resource.namespaced and not call.resource.is_custom:
            return None
        return lambda stored: stored.key.rpartition("/")[0]
    own = call.resource.strategy.fields.get(name)
    if own is not None:
        return lambda stored: own(core.store.decoded(stored))
    if "." + name in call.version.selectable:
        path = jsonpath.parse("." + name)
        return lambda stored: _text(path.first(_shown(stored, call, core)))
    return None


def _shown(stored: Stored, call: Call, core: Core) -> Object:
    """The object in the version asked for, where that can be had without waiting."""
    obj = core.live(call.resource, stored)
    if call.resource.convert_later is not None:
        return obj
    return core.convert_now(call.resource, obj, call.api_version)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _unsupported(name: str, call: Call) -> str:
    if call.resource.is_custom:
        return f"field label not supported: {name}"
    if call.version.kind in _UNSUPPORTED:
        return _UNSUPPORTED[call.version.kind].format(name)
    known = call.resource.strategy.fields
    if known:
        return f"field label not supported: {name}"
    return f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"'
