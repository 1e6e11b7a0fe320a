"""Checks how device classes are mapped to what quota counts."""

from collections.abc import Iterator, Sequence

from fleetqueue.api import names
from fleetqueue.api.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    required,
    too_many,
    wrong,
)
from fleetqueue.api.kueue.config.types import DeviceClassMapping
from fleetqueue.api.model import write

PATH = "resources.deviceClassMappings"
MAPPINGS_MAX = 16
CLASSES_MAX = 8


def check_devices(mappings: Sequence[DeviceClassMapping]) -> Iterator[FieldError]:
    if len(mappings) > MAPPINGS_MAX:
        yield too_many(PATH, len(mappings), MAPPINGS_MAX)
    resources: set[str] = set()
    classes: dict[str, str] = {}
    for index, mapping in enumerate(mappings):
        path = f"{PATH}[{index}]"
        yield from _check_name(mapping.name, f"{path}.name", resources)
        yield from _check_classes(mapping, f"{path}.deviceClassNames", classes)
        yield from _check_sources(mapping, f"{path}.sources")


def _check_name(name: str, path: str, known: set[str]) -> Iterator[FieldError]:
    if not name:
        yield required(path, "the name of a resource is required")
        return
    for message in names.qualified_name(name):
        yield wrong(path, name, message)
    if name in known:
        yield duplicate(path, name)
    known.add(name)


def _check_classes(
    mapping: DeviceClassMapping, path: str, known: dict[str, str]
) -> Iterator[FieldError]:
    """A device is counted once: its class belongs to one mapping."""
    given = mapping.device_class_names
    if not given:
        yield required(path, "at least one device class is required")
    if len(given) > CLASSES_MAX:
        yield too_many(path, len(given), CLASSES_MAX)
    for index, name in enumerate(given):
        at = f"{path}[{index}]"
        for message in names.dns1123_subdomain(name):
            yield wrong(at, name, message)
        if name in given[:index]:
            yield duplicate(at, name)
        elif name in known:
            yield wrong(at, name, f"is already mapped to the resource {known[name]}")
        known.setdefault(name, mapping.name)


def _check_sources(mapping: DeviceClassMapping, path: str) -> Iterator[FieldError]:
    for index, source in enumerate(mapping.sources):
        at = f"{path}[{index}]"
        if (source.counter is None) == (source.capacity is None):
            message = "exactly one of counter and capacity must be set"
            yield wrong(at, write(source), message)
        else:
            yield forbidden(at, "is not supported: devices are counted by their class")
