"""Warnings for volumes whose files would overwrite each other."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Object = Mapping[str, Any]


class _Place(NamedTuple):
    path: str
    source: str

    def __str__(self) -> str:
        return f'"{self.path}" ({self.source})' if self.source else f'"{self.path}"'


def warn_of_overlaps(volumes: Sequence[Object]) -> Iterator[str]:
    for volume in volumes:
        name = volume.get("name", "")
        for kind, described in _plain_sources(volume):
            places = [_Place(path, "") for path in _paths(volume[kind])]
            for overlap in _overlaps(places):
                yield f'volume "{name}" ({described}): overlapping paths: {overlap}'
        projected = volume.get("projected")
        if projected is not None:
            yield from _warn_of_projected(name, projected)


def _plain_sources(volume: Object) -> Iterator[tuple[str, str]]:
    if volume.get("configMap") is not None:
        yield "configMap", f'ConfigMap "{volume["configMap"].get("name", "")}"'
    if volume.get("secret") is not None:
        yield "secret", f'Secret "{volume["secret"].get("secretName", "")}"'
    if volume.get("downwardAPI") is not None:
        yield "downwardAPI", "DownwardAPI"


def _warn_of_projected(name: str, projected: Object) -> Iterator[str]:
    places: list[_Place] = []
    for source in projected.get("sources") or ():
        if not any(content is not None for content in source.values()):
            yield f'volume "{name}" (Projected) has no sources provided'
        places += _projected_places(source)
    for overlap in _overlaps(places):
        yield f'volume "{name}" (Projected): overlapping paths: {overlap}'


def _projected_places(source: Object) -> list[_Place]:
    for kind, called in (("configMap", "ConfigMap"), ("secret", "Secret")):
        content = source.get(kind)
        if content is not None and content.get("items"):
            described = f'{called} "{content.get("name", "")}"'
            return [_Place(path, described) for path in _paths(content)]
    if (content := source.get("downwardAPI")) is not None and content.get("items"):
        return [_Place(path, "DownwardAPI") for path in _paths(content)]
    if (token := source.get("serviceAccountToken")) is not None:
        return [_Place(token.get("path", ""), "ServiceAccountToken")]
    return []


def _paths(content: Object) -> list[str]:
    return [item.get("path", "") for item in content.get("items") or ()]


def _overlaps(places: Sequence[_Place]) -> Iterator[str]:
    earlier: list[_Place] = []
    for place in places:
        place = place._replace(path=place.path.rstrip("/"))
        for other in earlier:
            if place.path and other.path and _touch(place.path, other.path):
                yield f"{place} with {other}"
        earlier.append(place)


def _touch(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
