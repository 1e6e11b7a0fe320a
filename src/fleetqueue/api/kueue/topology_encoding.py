"""Packs the domains of a topology assignment into slices, as v1beta2 stores them, and unpacks them.

A slice says once what its domains have in common. Cutting the list where the names of hosts change
their prefix makes more slices, each of which has more in common; the shorter result wins.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from fleetqueue.base import codec

Json = dict[str, Any]

SLICES_MAX = 1000
SLICE_DOMAINS_MAX = 100_000
HOSTNAME = "kubernetes.io/hostname"


def pack(assignment: Json, by_hostname_prefix: bool = True) -> Json:
    """`{levels, domains}` → `{levels, slices}`."""
    levels, domains = assignment["levels"], assignment.get("domains") or []
    packed = {key: value for key, value in assignment.items() if key != "domains"}
    return packed | {"slices": _best_slices(levels, domains, by_hostname_prefix)}


def unpack(assignment: Json) -> Json:
    """`{levels, slices}` → `{levels, domains}`; reads any legal encoding."""
    plain = {key: value for key, value in assignment.items() if key != "slices"}
    slices = assignment.get("slices") or []
    return plain | {"domains": [domain for each in slices for domain in _domains(each)]}


def _best_slices(levels: Sequence[str], domains: list[Json], by_prefix: bool) -> list[Json]:
    if not domains:
        return []
    if not (by_prefix and len(domains) > 1 and levels[-1] == HOSTNAME):
        return [_slice(part) for part in _pieces(domains)]
    cut = [_slice(part) for part in _runs(domains)]
    if len(cut) == 1 or len(domains) > SLICE_DOMAINS_MAX:
        return cut
    whole = [_slice(domains)]
    return whole if len(codec.encode(whole)) < len(codec.encode(cut)) else cut


def _runs(domains: list[Json]) -> list[list[Json]]:
    """Neighbours with the same prefix, the prefixes as long as the number of slices allows."""
    prefixes = [list(_prefixes(domain["values"][-1])) for domain in domains]
    shared = Counter(prefix for each in prefixes for prefix in each)
    useful = [[prefix for prefix in each if shared[prefix] > 1] for each in prefixes]
    depth = max(map(len, useful))
    while True:
        keys = [each[:depth][-1] if each[:depth] else "" for each in useful]
        runs = _grouped(domains, keys)
        if len(runs) <= SLICES_MAX or depth == 0:
            return runs
        depth -= 1


def _grouped(domains: list[Json], keys: Sequence[str]) -> list[list[Json]]:
    pairs = groupby(zip(keys, domains, strict=True), key=lambda pair: pair[0])
    return [piece for _, run in pairs for piece in _pieces([domain for _, domain in run])]


def _prefixes(name: str) -> Iterator[str]:
    """ "a-b-c" → "a-", "a-b-"."""
    for index, letter in enumerate(name):
        if letter == "-":
            yield name[: index + 1]


def _pieces(domains: list[Json]) -> list[list[Json]]:
    starts = range(0, len(domains), SLICE_DOMAINS_MAX)
    return [domains[start : start + SLICE_DOMAINS_MAX] for start in starts]


def _slice(domains: list[Json]) -> Json:
    levels = zip(*(domain["values"] for domain in domains), strict=True)
    counts = [domain["count"] for domain in domains]
    return {
        "domainCount": len(domains),
        "valuesPerLevel": [_pack_values(values) for values in levels],
        "podCounts": {"universal": counts[0]} if len(set(counts)) == 1 else {"individual": counts},
    }


def _pack_values(values: Sequence[str]) -> Json:
    if len(set(values)) == 1:
        return {"universal": values[0]}
    suffix = _common_start([value[::-1] for value in values])[::-1]
    # The suffix was taken first, so the prefix gives way where they would overlap.
    prefix = _common_start(values)[: min(map(len, values)) - len(suffix)]
    roots = [value[len(prefix) : len(value) - len(suffix)] for value in values]
    parts = {"prefix": prefix, "suffix": suffix}
    return {"individual": {name: part for name, part in parts.items() if part} | {"roots": roots}}


def _common_start(values: Iterable[str]) -> str:
    """What all begin with: as far as the first and the last in order agree, all others do too."""
    first, last = min(values), max(values)
    for index, letter in enumerate(first):
        if letter != last[index]:
            return first[:index]
    return first


def _domains(each: Json) -> Iterator[Json]:
    count = each["domainCount"]
    levels = [_unpack_values(values, count) for values in each["valuesPerLevel"]]
    for values, pods in zip(zip(*levels, strict=True), _counts(each, count), strict=True):
        yield {"values": list(values), "count": pods}


def _unpack_values(values: Json, count: int) -> Iterable[str]:
    if "individual" not in values:
        return [values.get("universal", "")] * count
    individual = values["individual"]
    prefix, suffix = individual.get("prefix", ""), individual.get("suffix", "")
    return [f"{prefix}{root}{suffix}" for root in individual["roots"]]


def _counts(each: Json, count: int) -> Iterable[int]:
    counts = each["podCounts"]
    found: Iterable[int] = counts.get("individual") or [counts.get("universal", 0)] * count
    return found
