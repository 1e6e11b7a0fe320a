"""What a placement's selectors ask for, and what comes of the objects that were found."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fleetqueue.api import selectors
from fleetqueue.api.fleet import labels, naming
from fleetqueue.api.fleet.strategy import ApplyStrategyType
from fleetqueue.errors import UserError
from fleetqueue.fleet.decide import order, propagation
from fleetqueue.fleet.decide.delivery import job_ends
from fleetqueue.fleet.decide.stripping import strip

Json = dict[str, Any]
WITH_RESOURCES = "NamespaceWithResources"
WITH_SELECTORS = "NamespaceWithResourceSelectors"
MULTIKUEUE = "kueue.x-k8s.io/multikueue"
_MANAGED_BY = (("managedBy",), ("runPolicy", "managedBy"))
"""Where the kinds of jobs name their controller, under `spec`."""


@dataclass(frozen=True, slots=True)
class Selected:
    """What a placement delivers, in its order."""

    manifests: Sequence[Json]
    """Stripped of what belongs to the hub."""
    identities: Sequence[Json]
    """As `status.selectedResources` lists them."""
    envelopes: int
    """How many of them wrap others."""
    hash: str
    """Over all manifests."""
    dispatched: Sequence[Json] = ()
    """Jobs that MultiKueue sends to a cluster, which are therefore left alone."""
    unmarked: Sequence[Json] = ()
    """Jobs of which the hub does not know yet that members run them."""


def selected(objects: Iterable[Json], *, is_job_aware: bool) -> Selected:
    """From the objects as the hub has them; one that was found twice is the user's mistake."""
    whole = list(objects)
    dispatched = [obj for obj in whole if is_job_aware and is_dispatched(obj)]
    skipped = {id(obj) for obj in dispatched}
    kept = order.ordered(obj for obj in whole if id(obj) not in skipped)
    identities = [identity(obj) for obj in kept]
    _refuse_duplicates(identities)
    manifests = [strip(obj, is_job_aware=is_job_aware) for obj in kept]
    return Selected(
        manifests,
        identities,
        envelopes=sum((each["apiVersion"], each["kind"]) in propagation.ENVELOPES for each in kept),
        hash=manifests_hash(manifests),
        dispatched=dispatched,
        unmarked=[obj for obj in kept if _is_unmarked(obj)],
    )


def manifests_hash(manifests: Sequence[Json]) -> str:
    return naming.content_hash({"selectedResources": list(manifests)})


def identity(obj: Json) -> Json:
    """Which object it is; empty parts are left out."""
    group, _, version = str(obj["apiVersion"]).rpartition("/")
    metadata = obj["metadata"]
    found = {
        "group": group,
        "version": version,
        "kind": obj["kind"],
        "namespace": metadata.get("namespace") or "",
        "name": metadata["name"],
    }
    return {name: value for name, value in found.items() if value}


def is_dispatched(obj: Json) -> bool:
    """Whether MultiKueue decides on which cluster this job runs."""
    spec = obj.get("spec")
    for path in _MANAGED_BY if isinstance(spec, dict) else ():
        found: Any = spec
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        if found == MULTIKUEUE:
            return True
    return False


def is_placing(placement: Json) -> bool:
    """Whether it brings objects to members, or only tells how they differ there."""
    strategy = (placement["spec"].get("strategy") or {}).get("applyStrategy") or {}
    return bool(strategy.get("type") != ApplyStrategyType.REPORT_DIFF)


def _is_unmarked(obj: Json) -> bool:
    group = str(obj["apiVersion"]).rpartition("/")[0]
    annotations = obj["metadata"].get("annotations") or {}
    is_ours = job_ends.is_job(group, obj["kind"]) and not is_dispatched(obj)
    is_known = (obj.get("spec") or {}).get("managedBy") == labels.JOB_MANAGER
    return is_ours and not is_known and labels.PLACED not in annotations


def is_namespace(term: Json) -> bool:
    """Whether a selector picks namespaces."""
    return (term.get("group") or "", term.get("version"), term.get("kind")) == (
        "",
        "v1",
        "Namespace",
    )


def selection_scope(term: Json) -> str:
    return str(term.get("selectionScope") or WITH_RESOURCES)


def home(terms: Iterable[Json]) -> str:
    """The one namespace whose objects the other selectors pick; "" where none is asked for."""
    for term in terms:
        if is_namespace(term) and selection_scope(term) == WITH_SELECTORS:
            return str(term.get("name") or "")
    return ""


def matches(term: Json, obj: Json) -> bool:
    """Whether a selector of this kind picks the object; without name and labels it picks all."""
    if term.get("name"):
        return bool(obj["metadata"]["name"] == term["name"])
    if term.get("labelSelector") is None:
        return True
    wanted = selectors.labels_from_object(term["labelSelector"])
    return wanted.matches(obj["metadata"].get("labels") or {})


def display_name(placement: Json) -> str:
    """A placement as messages name it."""
    metadata = placement["metadata"]
    namespace = metadata.get("namespace") or ""
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


def _refuse_duplicates(identities: Iterable[Json]) -> None:
    seen: set[tuple[str, ...]] = set()
    for each in identities:
        key = tuple(
            each.get(part, "") for part in ("group", "version", "kind", "namespace", "name")
        )
        if key in seen:
            raise UserError(f"found duplicate resource {_shown(each)}")
        seen.add(key)


def _shown(found: Json) -> str:
    parts = ("Group", "Version", "Kind", "Name", "Namespace")
    shown = " ".join(f"{part}:{found.get(part.lower(), '')}" for part in parts)
    return f"{{{shown} Envelope:<nil>}}"
