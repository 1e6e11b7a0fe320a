"""Which placements a changed object concerns: an index over their selectors, so that one change is
not held against every placement.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from fleetqueue.api import selectors
from fleetqueue.api.meta import Key
from fleetqueue.api.requirements import SelectorError
from fleetqueue.fleet.decide import selection

Json = dict[str, Any]
_Place = tuple[str, str, str]
"""Namespace, group and kind of what is selected."""
_VOLATILE = frozenset({"resourceVersion", "generation", "managedFields", "selfLink"})


class _Bucket:
    """The selectors of one kind in one place."""

    def __init__(self) -> None:
        self.named: dict[str, set[Key]] = {}
        self.labelled: dict[tuple[str, str], dict[Key, list[Json]]] = {}
        """By one label that the selector insists on."""
        self.others: dict[Key, list[Json]] = {}

    def add(self, key: Key, term: Json) -> None:
        if term.get("name"):
            self.named.setdefault(term["name"], set()).add(key)
            return
        label = _insisted(term)
        kept = self.others if label is None else self.labelled.setdefault(label, {})
        kept.setdefault(key, []).append(term)

    def remove(self, key: Key, term: Json) -> None:
        label = _insisted(term)
        if term.get("name"):
            _discard(self.named, term["name"], key)
        elif label is None:
            self.others.pop(key, None)
        else:
            _discard(self.labelled, label, key)

    def matching(self, obj: Json) -> Iterator[Key]:
        metadata = obj["metadata"]
        yield from self.named.get(metadata["name"], ())
        for label in (metadata.get("labels") or {}).items():
            yield from _matching(self.labelled.get(label, {}), obj)
        yield from _matching(self.others, obj)

    def all(self) -> Iterator[Key]:
        for keys in self.named.values():
            yield from keys
        for terms in self.labelled.values():
            yield from terms
        yield from self.others


class Interests:
    """Of the placements of one scope."""

    def __init__(self) -> None:
        self._places: dict[_Place, _Bucket] = {}
        self._kinds: dict[tuple[str, str], dict[_Place, None]] = {}
        self._contents = _Bucket()
        """Selectors of namespaces that are taken with what is in them."""
        self._said: dict[Key, list[tuple[_Place | None, Json]]] = {}

    def put(self, key: Key, terms: Iterable[Json]) -> None:
        """A placement with its selectors, in place of those it had."""
        left = self._take_out(key)
        said = self._said[key] = list(_places(key, list(terms)))
        for place, term in said:
            self._bucket(place).add(key, term)
        self._forget_empty(left)

    def drop(self, key: Key) -> None:
        self._forget_empty(self._take_out(key))

    def of(self, group: str, kind: str, obj: Json, namespace: Json | None) -> set[Key]:
        """Who selects this object; `namespace` is the one it is in, where that is known."""
        where = str(obj["metadata"].get("namespace") or "")
        found: set[Key] = set()
        bucket = self._places.get((where, group, kind))
        if bucket is not None:
            found.update(bucket.matching(obj))
        if where:
            home = {"metadata": {"name": where}} if namespace is None else namespace
            found.update(self._contents.matching(home))
        return found

    def of_kind(self, group: str, kind: str, *, is_namespaced: bool) -> set[Key]:
        """Who might select any object of a kind."""
        places = self._kinds.get((group, kind), {})
        found = {key for place in places for key in self._places[place].all()}
        return found.union(self._contents.all()) if is_namespaced else found

    def _take_out(self, key: Key) -> set[_Place]:
        """The places where it was."""
        said = self._said.pop(key, ())
        for place, term in said:
            self._bucket(place).remove(key, term)
        return {place for place, _ in said if place is not None}

    def _forget_empty(self, places: Iterable[_Place]) -> None:
        for place in places:
            if not any(self._places[place].all()):
                del self._places[place]
                del self._kinds[place[1:]][place]
                if not self._kinds[place[1:]]:
                    del self._kinds[place[1:]]

    def _bucket(self, place: _Place | None) -> _Bucket:
        if place is None:
            return self._contents
        self._kinds.setdefault(place[1:], {})[place] = None
        return self._places.setdefault(place, _Bucket())


def matters(old: Json | None, new: Json | None) -> bool:
    """Whether a change could be seen by members; what is stripped anyway, and status, is not."""
    if old is None or new is None:
        return True
    if old["metadata"].get("uid") != new["metadata"].get("uid"):
        return True
    return _visible(old["metadata"]) != _visible(new["metadata"]) or _body(old) != _body(new)


def _visible(metadata: Json) -> Json:
    return {name: value for name, value in metadata.items() if name not in _VOLATILE}


def _body(obj: Json) -> Json:
    return {name: value for name, value in obj.items() if name not in ("metadata", "status")}


def _places(key: Key, terms: list[Json]) -> Iterator[tuple[_Place | None, Json]]:
    """Where each selector looks; None: in every namespace that it selects."""
    home = "" if key.namespace else selection.home(terms)
    for term in terms:
        group, kind = term.get("group") or "", term["kind"]
        yield (key.namespace, group, kind), term
        if home:
            yield (home, group, kind), term
        if selection.is_namespace(term) and _is_whole(term):
            yield None, term


def _is_whole(term: Json) -> bool:
    return selection.selection_scope(term) == selection.WITH_RESOURCES


def _insisted(term: Json) -> tuple[str, str] | None:
    """A label, with its value, without which the selector matches nothing."""
    wanted = (term.get("labelSelector") or {}).get("matchLabels") or {}
    return min(wanted.items(), default=None)


def _matching(terms: dict[Key, list[Json]], obj: Json) -> Iterator[Key]:
    labels = obj["metadata"].get("labels") or {}
    for key, each in terms.items():
        if any(_picks(term.get("labelSelector"), labels) for term in each):
            yield key


def _picks(selector: Json | None, labels: dict[str, str]) -> bool:
    """A selector that makes no sense picks nothing; its placement says so itself."""
    if selector is None:
        return True
    try:
        return selectors.labels_from_object(selector).matches(labels)
    except SelectorError:
        return False


def _discard(entries: dict[Any, Any], name: Any, key: Key) -> None:
    held = entries.get(name)
    if held is None:
        return
    if isinstance(held, set):
        held.discard(key)
    else:
        held.pop(key, None)
    if not held:
        del entries[name]
