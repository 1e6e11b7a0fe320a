"""Policy rules of RBAC: what one rule allows, and whether some rules cover others."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from fleetqueue.apiserver.access.attributes import Attributes, quote_all

Strings = tuple[str, ...]
PIECES_MAX = 20_000
"""More of them would keep everybody waiting."""


class TooManyPieces(ValueError):
    """Rules name more combinations than are looked at one by one."""


class Rule(NamedTuple):
    """A rule about resources, or (with `urls`) about paths that are no resource."""

    verbs: Strings
    groups: Strings = ()
    resources: Strings = ()
    names: Strings = ()
    urls: Strings = ()

    @classmethod
    def decode(cls, obj: Mapping[str, Any]) -> "Rule":
        return cls(*(tuple(obj.get(key) or ()) for key in _KEYS))

    def encode(self) -> dict[str, Any]:
        pairs = zip(_KEYS, self, strict=True)
        return {key: list(values) for key, values in pairs if values or key == "verbs"}

    def allows_resource(self, attributes: Attributes) -> bool:
        """All but the name, which `names` narrows."""
        return (
            _has(self.verbs, attributes.verb)
            and _has(self.groups, attributes.group)
            and _resource_matches(self.resources, attributes)
        )

    def allows_path(self, verb: str, path: str) -> bool:
        return _has(self.verbs, verb) and any(_url_covers(url, path) for url in self.urls)

    def __str__(self) -> str:
        """As a refused escalation lists it."""
        parts = (
            ("APIGroups", self.groups),
            ("Resources", self.resources),
            ("NonResourceURLs", self.urls),
            ("ResourceNames", self.names),
            ("Verbs", self.verbs),
        )
        return "{" + ", ".join(f"{key}:{quote_all(value)}" for key, value in parts if value) + "}"


_KEYS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


def decode_rules(obj: Mapping[str, Any] | None) -> tuple[Rule, ...]:
    """The rules of a Role or ClusterRole."""
    return tuple(Rule.decode(rule) for rule in (obj or {}).get("rules") or ())


def uncovered(owned: Iterable[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """The smallest pieces of `wanted` that no owned rule allows."""
    owned = tuple(owned)
    open_rules = [rule for rule in wanted if not any(_covers(each, rule) for each in owned)]
    if sum(map(_pieces, open_rules)) > PIECES_MAX:
        raise TooManyPieces(
            f"the rules name more than {PIECES_MAX} combinations of verbs, groups, resources and "
            "names, too many to look whether each is held: write fewer, or with fewer names"
        )
    pieces = [piece for rule in open_rules for piece in _break_down(rule)]
    return [piece for piece in pieces if not any(_covers(rule, piece) for rule in owned)]


def compact(rules: Iterable[Rule]) -> list[Rule]:
    """Pieces about one resource joined again, so that each is said once with all its verbs."""
    kept: list[Rule] = []
    verbs: dict[tuple[str, str, Strings], list[str]] = {}
    for rule in rules:
        if rule.urls or len(rule.names) > 1 or len(rule.groups) != 1 or len(rule.resources) != 1:
            kept.append(rule)
            continue
        verbs.setdefault((rule.groups[0], rule.resources[0], rule.names), []).extend(rule.verbs)
    joined = [
        Rule(tuple(told), (group,), (resource,), names)
        for (group, resource, names), told in verbs.items()
    ]
    return kept + joined


def _pieces(rule: Rule) -> int:
    named = len(rule.groups) * len(rule.resources) * max(1, len(rule.names))
    return len(rule.verbs) * (named + len(rule.urls))


def _break_down(rule: Rule) -> Iterator[Rule]:
    """Rules of one verb, one group, one resource and at most one name, or of one verb and path."""
    each_name: list[Strings] = [(name,) for name in rule.names] or [()]
    for group, resource, verb in product(rule.groups, rule.resources, rule.verbs):
        for names in each_name:
            yield Rule((verb,), (group,), (resource,), names)
    for url, verb in product(rule.urls, rule.verbs):
        yield Rule((verb,), urls=(url,))


def _covers(owner: Rule, piece: Rule) -> bool:
    return (
        _has_all(owner.verbs, piece.verbs)
        and _has_all(owner.groups, piece.groups)
        and all(_resource_covers(owner.resources, resource) for resource in piece.resources)
        and (not owner.names or (bool(piece.names) and set(piece.names) <= set(owner.names)))
        and all(any(_url_covers(url, path) for url in owner.urls) for path in piece.urls)
    )


def _resource_matches(resources: Strings, attributes: Attributes) -> bool:
    if _has(resources, attributes.combined_resource):
        return True
    return bool(attributes.subresource) and f"*/{attributes.subresource}" in resources


def _resource_covers(resources: Strings, wanted: str) -> bool:
    _, slash, subresource = wanted.partition("/")
    return _has(resources, wanted) or (bool(slash) and f"*/{subresource}" in resources)


def _url_covers(url: str, path: str) -> bool:
    if url == path:
        return True
    return url.endswith("*") and path.startswith(url.rstrip("*"))


def _has(words: Strings, word: str) -> bool:
    return word in words or "*" in words


def _has_all(owned: Strings, wanted: Strings) -> bool:
    return "*" in owned or set(wanted) <= set(owned)
