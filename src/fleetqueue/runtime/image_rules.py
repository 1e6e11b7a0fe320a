"""Rules that map references of images to environments, and how references are written."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from fleetqueue.errors import InvalidInput
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.preparation import NotReady

KINDS = ("host", "venv", "conda", "path", "root", "environment", "reject")
_FIELDS = {*KINDS, "match", "entrypoint", "cmd", "workdir", "env", "user"}
_REFERENCE = re.compile(
    r"(?:[A-Za-z0-9.-]+(?::\d+)?/)?[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*"
    r"(?::[\w][\w.-]{0,127})?(?:@[A-Za-z][\w.+-]*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern of references, and the environment that stands for them."""

    match: str
    """A glob; or a text that begins with `exact:`, `prefix:`, `glob:` or `regex:`."""
    kind: str = "host"
    places: tuple[str, ...] = ()
    """Directories; the name of an environment for `conda` and `environment`."""
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    workdir: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    user: int | None = None
    programs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Programs that the image has and the machine does not, and what runs in their place."""

    def fits(self, reference: str) -> bool:
        return any(_fits(self.match, form) for form in forms(reference))


def read_rule(entry: Object, place: str) -> Rule:
    """Raises InvalidInput; `place` says where in the file the rule stands."""
    if not isinstance(entry, dict) or not entry.get("match"):
        raise InvalidInput(f'{place} needs a "match"')
    for unknown in sorted(set(entry) - _FIELDS):
        raise InvalidInput(f'{place} has the unknown field "{unknown}"')
    chosen = [kind for kind in KINDS if entry.get(kind)]
    if len(chosen) > 1:
        raise InvalidInput(f"{place} names both {chosen[0]} and {chosen[1]}")
    _check_pattern(entry["match"], place)
    kind = chosen[0] if chosen else "host"
    return Rule(
        entry["match"],
        kind,
        _read_places(kind, entry.get(kind)),
        tuple(map(str, entry.get("entrypoint") or ())),
        tuple(map(str, entry.get("cmd") or ())),
        str(entry.get("workdir") or ""),
        {str(key): str(value) for key, value in (entry.get("env") or {}).items()},
        entry.get("user"),
    )


def _read_places(kind: str, value: object) -> tuple[str, ...]:
    places = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    if kind in ("venv", "path", "root"):
        return tuple(str(Path(each).expanduser()) for each in places)
    return tuple(map(str, places))


def _check_pattern(match: str, place: str) -> None:
    try:
        re.compile(match.removeprefix("regex:") if match.startswith("regex:") else "")
    except re.error as wrong:
        text = f'{place}.match "{match}" is no regular expression: {wrong}'
        raise InvalidInput(text) from None


def check_reference(reference: str) -> None:
    """Raises NotReady where the text names no image."""
    if _REFERENCE.fullmatch(reference):
        return
    why = "invalid reference format"
    if _REFERENCE.fullmatch(reference.lower()):
        name = repository(reference)
        path = name if "/" in name else f"library/{name}"
        why += f": repository name ({path}) must be lowercase"
    text = f'couldn\'t parse image name "{reference}": {why}'
    whole = f'Failed to apply default image tag "{reference}": {text}'
    raise NotReady("InvalidImageName", whole)


def repository(reference: str) -> str:
    """A reference without its tag and digest."""
    head, slash, last = reference.partition("@")[0].rpartition("/")
    return head + slash + last.partition(":")[0]


def forms(reference: str) -> tuple[str, ...]:
    """A reference in full, without its digest, without its tag, and without the usual registry."""
    whole = [reference, reference.partition("@")[0], repository(reference)]
    usual = ("docker.io/library/", "index.docker.io/library/", "docker.io/", "library/")
    short = [
        form.removeprefix(start) for start in usual for form in whole if form.startswith(start)
    ]
    return tuple(dict.fromkeys(whole + short))


def _fits(match: str, form: str) -> bool:
    how, colon, pattern = match.partition(":")
    if colon and how == "exact":
        return form == pattern
    if colon and how == "prefix":
        return form.startswith(pattern)
    if colon and how == "regex":
        return re.fullmatch(pattern, form) is not None
    return fnmatchcase(form, pattern if colon and how == "glob" else match)
