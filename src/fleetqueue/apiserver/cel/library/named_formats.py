"""`format.dns1123Label().validate(text)`: the name formats of Kubernetes in expressions."""

from collections.abc import Callable
from dataclasses import dataclass

from fleetqueue.api import names
from fleetqueue.apiserver.cel.library import urls
from fleetqueue.apiserver.cel.overloads import overload
from fleetqueue.apiserver.cel.values import NONE, Optional, register
from fleetqueue.apiserver.schema import formats


@dataclass(frozen=True, slots=True)
class Format:
    name: str
    check: Callable[[str], list[str]]


register(Format, "kubernetes.NamedFormat")


def _prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """A prefix may end in a dash, which stands for what will follow."""
    return lambda text: check(f"{text[:-1]}a" if len(text) > 1 and text.endswith("-") else text)


def _schema_format(name: str, problem: str) -> Callable[[str], list[str]]:
    def check(text: str) -> list[str]:
        accepts = formats.find(name)
        return [] if accepts is not None and accepts(text) else [problem]

    return check


def _uri(text: str) -> list[str]:
    return [] if urls.is_url(text) else [f'parse "{text}": invalid URI for request']


_CHECKS: dict[str, Callable[[str], list[str]]] = {
    "dns1123Label": names.dns1123_label,
    "dns1123Subdomain": names.dns1123_subdomain,
    "dns1035Label": names.dns1035_label,
    "qualifiedName": names.qualified_name,
    "dns1123LabelPrefix": _prefix(names.dns1123_label),
    "dns1123SubdomainPrefix": _prefix(names.dns1123_subdomain),
    "dns1035LabelPrefix": _prefix(names.dns1035_label),
    "labelValue": names.label_value,
    "uri": _uri,
    "uuid": _schema_format("uuid", "does not match the UUID format"),
    "byte": _schema_format("byte", "invalid base64"),
    "date": _schema_format("date", "invalid date"),
    "datetime": _schema_format("datetime", "invalid datetime"),
}
_FORMATS = {name: Format(name, check) for name, check in _CHECKS.items()}


def _validate(form: Format, text: str) -> Optional:
    problems = form.check(text)
    return Optional(problems) if problems else NONE


def _named(name: str) -> Optional:
    return Optional(_FORMATS[name]) if name in _FORMATS else NONE


def _constant(name: str) -> Callable[[], Format]:
    return lambda: _FORMATS[name]


OVERLOADS = [
    *(overload(f"format.{name}", "() -> Format", _constant(name)) for name in _FORMATS),
    overload("format.named", "(string) -> optional_type(Format)", _named),
    overload("validate", "Format.(string) -> optional_type(list(string))", _validate),
]
