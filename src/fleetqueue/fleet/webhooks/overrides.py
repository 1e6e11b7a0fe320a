"""What a hub refuses in overrides: too many, selectors that select wrongly or twice, and patches of
what must not be patched. All that is wrong with one is told together.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fleetqueue.api.field_errors import aggregate
from fleetqueue.api.fleet import text
from fleetqueue.api.requirements import SelectorError
from fleetqueue.api.selectors import labels_from_object
from fleetqueue.fleet import kinds
from fleetqueue.fleet.webhooks.declared import Around
from fleetqueue.kube.resources import Object
from fleetqueue.kube.reviews import Review

COUNT_MAX = 100
Json = dict[str, Any]
TYPE_META = ("/kind", "/apiVersion")
OPEN_METADATA = ("annotations", "labels")


def refuse_cluster_override(review: Review, around: Around) -> str:
    others = around.source.all(kinds.CLUSTER_OVERRIDE, "")
    if review.operation == "CREATE" and len(others) >= COUNT_MAX:
        return (
            f"clusterResourceOverride limit has been reached: at most {COUNT_MAX} cluster resources"
            " can be created."
        )
    selectors = _spec(review.object).get("clusterResourceSelectors") or []
    errors = [
        *_cluster_selector_errors(selectors),
        *_shared(review, selectors, others, "clusterResourceSelectors", text.resource_selector),
        *_rule_errors(_spec(review.object)),
    ]
    return aggregate(errors) if errors else ""


def refuse_override(review: Review, around: Around) -> str:
    if review.operation == "CREATE" and len(around.source.all(kinds.OVERRIDE, "")) >= COUNT_MAX:
        return (
            f"resourceOverride limit has been reached: at most {COUNT_MAX} resources can be"
            " created."
        )
    others = around.source.all(kinds.OVERRIDE, review.namespace)
    selectors = _spec(review.object).get("resourceSelectors") or []
    errors = [
        *_repeated(selectors, text.override_selector),
        *_shared(review, selectors, others, "resourceSelectors", text.override_selector),
        *_rule_errors(_spec(review.object)),
    ]
    return aggregate(errors) if errors else ""


def path_error(path: str) -> str:
    """Why a patch must not touch what is at this path, "" where it may."""
    if not path:
        return "path cannot be empty"
    if not path.startswith("/"):
        return "path must start with /"
    parts = path[1:].split("/")
    if path in TYPE_META or f"/{parts[0]}" in TYPE_META:
        return "cannot override typeMeta fields"
    if path == "/metadata":
        return "cannot override field metadata"
    if parts[0] == "metadata" and parts[1] not in OPEN_METADATA:
        return "cannot override metadata fields except annotations and labels"
    if parts[0] == "status":
        return "cannot override status fields"
    if "" in parts:
        return "path cannot contain empty string"
    return ""


def _cluster_selector_errors(selectors: Sequence[Json]) -> Iterator[str]:
    seen: list[Json] = []
    for selector in selectors:
        shown = text.resource_selector(selector)
        if selector.get("labelSelector") is not None:
            yield f"label selector is not supported for resource selection {shown}"
        elif not selector.get("name"):
            yield f"resource name is required for resource selection {shown}"
        if selector in seen:
            yield f"resource selector {shown} already exists, and must be unique"
        seen.append(selector)


def _repeated(selectors: Sequence[Json], show: Callable[[Json], str]) -> Iterator[str]:
    for index, selector in enumerate(selectors):
        if selector in selectors[:index]:
            yield f"resource selector {show(selector)} already exists, and must be unique"


def _shared(
    review: Review,
    selectors: Sequence[Json],
    others: Sequence[Object],
    field: str,
    show: Callable[[Json], str],
) -> Iterator[str]:
    """An object has one override of a kind, so that nobody has to guess their order."""
    for other in others:
        name = other["metadata"]["name"]
        theirs = _spec(other).get(field) or []
        for selector in selectors if name != review.name else ():
            if selector in theirs:
                yield (
                    f"invalid resource selector {show(selector)}: the resource has been selected by"
                    f" both {review.name} and {name}, which is not supported"
                )


def _rule_errors(spec: Json) -> Iterator[str]:
    for rule in (spec.get("policy") or {}).get("overrideRules") or []:
        terms = (rule.get("clusterSelector") or {}).get("clusterSelectorTerms") or []
        for term in terms:
            yield from _term_errors(term)
        yield from _patch_errors(rule)


def _term_errors(term: Json) -> Iterator[str]:
    shown = text.cluster_selector_term(term)
    if term.get("propertySelector") is not None or term.get("propertySorter") is not None:
        yield f"invalid clusterSelector {shown}: only labelSelector is supported"
    elif term.get("labelSelector") is None:
        yield f"invalid clusterSelector {shown}: labelSelector is required"
    else:
        try:
            labels_from_object(term["labelSelector"])
        except SelectorError as error:
            yield f"the labelSelector in cluster selector {shown} is invalid: {error}"


def _patch_errors(rule: Json) -> Iterator[str]:
    patches = rule.get("jsonPatchOverrides") or []
    lead = "invalid JSONPatchOverrides: JSONPatchOverrides cannot be"
    if rule.get("overrideType") == "Delete":
        if patches:
            yield f"{lead} set when the override type is Delete"
        return
    if not patches:
        yield f"{lead} empty"
    for patch in patches:
        shown = text.json_patch(patch)
        if patch.get("op") == "remove" and "value" in patch:
            yield f"invalid JSONPatchOverride {shown}: remove operation cannot have value"
        if problem := path_error(str(patch.get("path") or "")):
            yield f"invalid JSONPatchOverride {shown}: {problem}"


def _spec(obj: Object | None) -> Json:
    return (obj or {}).get("spec") or {}
