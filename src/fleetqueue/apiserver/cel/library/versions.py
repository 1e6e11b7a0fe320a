"""Semantic versions in expressions."""

import re
from dataclasses import dataclass

from fleetqueue.apiserver.cel.errors import CelError
from fleetqueue.apiserver.cel.overloads import overload
from fleetqueue.apiserver.cel.values import register

_IDENTIFIER = re.compile(r"[0-9A-Za-z-]+")


@dataclass(frozen=True, slots=True)
class Semver:
    """Equality and order leave the build out, as the specification says."""

    numbers: tuple[int, int, int]
    prerelease: tuple[str, ...] = ()

    def compare(self, other: "Semver") -> int:
        left, right = _order(self), _order(other)
        return (left > right) - (left < right)


register(Semver, "kubernetes.Semver")


def _order(version: Semver) -> tuple[object, ...]:
    """A prerelease comes before its release; numbers come before words."""
    parts = tuple((0, int(p), "") if p.isdecimal() else (1, 0, p) for p in version.prerelease)
    return version.numbers, not version.prerelease, parts


def parse(text: str, is_lenient: bool = False) -> Semver:
    if is_lenient:
        text = _normalised(text)
    if not text:
        raise CelError("Version string empty")
    core, _, build = text.partition("+")
    core, _, prerelease = core.partition("-")
    numbers = core.split(".", 2)
    if len(numbers) != 3:
        raise CelError("No Major.Minor.Patch elements found")
    for name, number in zip(("major", "minor", "patch"), numbers, strict=True):
        _check_number(name, number)
    parts = tuple(prerelease.split(".")) if "-" in text.partition("+")[0] else ()
    for part in parts:
        _check_part(part)
    if "+" in text:
        for part in build.split("."):
            if not _IDENTIFIER.fullmatch(part):
                what = (
                    "Build meta data is empty"
                    if not part
                    else f'Invalid character(s) found in build meta data "{part}"'
                )
                raise CelError(what)
    major, minor, patch = (int(number) for number in numbers)
    return Semver((major, minor, patch), parts)


def _check_number(name: str, number: str) -> None:
    if not re.fullmatch(r"[0-9]+", number):
        raise CelError(f'Invalid character(s) found in {name} number "{number}"')
    if len(number) > 1 and number.startswith("0"):
        raise CelError(f'{name.title()} number must not contain leading zeroes "{number}"')


def _check_part(part: str) -> None:
    if not part:
        raise CelError("Prerelease is empty")
    if part.isdecimal() and len(part) > 1 and part.startswith("0"):
        raise CelError(f'Numeric PreRelease version must not contain leading zeroes "{part}"')
    if not _IDENTIFIER.fullmatch(part):
        raise CelError(f'Invalid character(s) found in prerelease "{part}"')


def _normalised(text: str) -> str:
    """`v1.02` becomes `1.2.0`."""
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1:
            bare = part.lstrip("0")
            parts[index] = bare if bare[:1].isdecimal() else f"0{bare}"
    if len(parts) < 3 and re.search(r"[+-]", parts[-1]):
        raise CelError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][:3])


def _is_semver(text: str, is_lenient: bool = False) -> bool:
    try:
        parse(text, is_lenient)
    except CelError:
        return False
    return True


OVERLOADS = [
    overload("semver", "(string) -> Semver", parse),
    overload("semver", "(string, bool) -> Semver", parse),
    overload("isSemver", "(string) -> bool", _is_semver),
    overload("isSemver", "(string, bool) -> bool", _is_semver),
    overload("isGreaterThan", "Semver.(Semver) -> bool", lambda a, b: a.compare(b) > 0),
    overload("isLessThan", "Semver.(Semver) -> bool", lambda a, b: a.compare(b) < 0),
    overload("compareTo", "Semver.(Semver) -> int", lambda a, b: a.compare(b)),
    overload("major", "Semver.() -> int", lambda version: version.numbers[0]),
    overload("minor", "Semver.() -> int", lambda version: version.numbers[1]),
    overload("patch", "Semver.() -> int", lambda version: version.numbers[2]),
]
