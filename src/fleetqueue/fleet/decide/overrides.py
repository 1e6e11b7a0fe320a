"""Which override snapshots change what a placement delivers to a cluster, and what they make of an
object on its way.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetqueue.api import selectors
from fleetqueue.api.fleet.override import OverrideType, PatchOperation, PlacementScope
from fleetqueue.api.patches import PatchFailed, apply_json_patch
from fleetqueue.fleet.decide import envelopes, placeholders
from fleetqueue.fleet.decide.envelopes import metadata_of

Json = dict[str, Any]
Identity = tuple[str, str, str, str, str]
"""Group, version, kind, namespace and name."""


class OverrideFailed(Exception):
    """A rule does not fit the object that it is for; the text is what people are told."""


@dataclass(frozen=True, slots=True)
class Applicable:
    """The snapshots that a cluster gets, in the order in which they are applied."""

    cluster: tuple[str, ...] = ()
    """Names of ClusterResourceOverrideSnapshots."""
    namespaced: tuple[tuple[str, str], ...] = ()
    """Namespaces and names of ResourceOverrideSnapshots."""

    @property
    def binding_fields(self) -> Json:
        """The same as a binding's spec, and the cluster of an update run, say it."""
        return {
            "clusterResourceOverrideSnapshots": list(self.cluster),
            "resourceOverrideSnapshots": [
                {"name": name, "namespace": namespace} for namespace, name in self.namespaced
            ],
        }


NONE = Applicable()


@dataclass(frozen=True, slots=True)
class Candidates:
    """Snapshots that concern a placement, whatever the cluster; each list in order."""

    cluster: tuple[Json, ...] = ()
    namespaced: tuple[Json, ...] = ()

    def on(self, member_cluster: Json) -> Applicable:
        """Those with a rule for this member."""
        if not self.cluster and not self.namespaced:
            return NONE
        return Applicable(
            tuple(_name(each) for each in self.cluster if _has_rule_for(each, member_cluster)),
            tuple(_place(each) for each in self.namespaced if _has_rule_for(each, member_cluster)),
        )


def candidates(
    placement_namespace: str,
    placement_name: str,
    selected: Iterable[Json],
    cluster_snapshots: Iterable[Json],
    snapshots: Iterable[Json],
) -> Candidates:
    """Before the member is looked at. `selected`: the manifests of all shards. The snapshots are
    the newest of each override.
    """
    where = (placement_namespace, placement_name)
    of_cluster = [each for each in cluster_snapshots if _is_for(each, *where)]
    of_namespaces = [each for each in snapshots if _is_for(each, *where)]
    if not of_cluster and not of_namespaces:
        return Candidates()
    objects = set(_identities(selected))
    spaces = {identity[3] for identity in objects if identity[3]}
    return Candidates(
        tuple(
            sorted(
                (each for each in of_cluster if _selects_cluster_wide(each, objects, spaces)),
                key=_name,
            )
        ),
        tuple(sorted((each for each in of_namespaces if _selects(each, objects)), key=_place)),
    )


@dataclass(frozen=True, slots=True)
class Overrides:
    """The snapshots of one binding, and the member that it is for."""

    member_cluster: Json
    cluster: Sequence[Json] = ()
    namespaced: Sequence[Json] = ()

    def applied_to(self, manifest: Json) -> Json | None:
        """The object as this member gets it; None where it gets none. The one given stays as it
        is. Raises OverrideFailed.
        """
        identity = identity_of(manifest)
        for snapshot in self.cluster:
            if not _touches_cluster_wide(snapshot, identity, manifest):
                continue
            changed = self._changed(manifest, snapshot, identity)
            if changed is None:
                return None
            manifest = changed
        for snapshot in self.namespaced:
            if not _selects(snapshot, {identity}):
                continue
            changed = self._changed(manifest, snapshot, identity)
            if changed is None:
                return None
            manifest = changed
        return manifest

    def _changed(self, manifest: Json, snapshot: Json, identity: Identity) -> Json | None:
        try:
            return _by_rules(manifest, _rules(snapshot), self.member_cluster)
        except (PatchFailed, placeholders.PlaceholderError) as error:
            kind, space, name = identity[2:]
            raise OverrideFailed(
                f'{snapshot["kind"]} "{_name(snapshot)}" failed to apply on {kind} "{name}"'
                f' in namespace "{space}": {error}'
            ) from None


def identity_of(manifest: Json) -> Identity:
    group, _, version = str(manifest.get("apiVersion") or "").rpartition("/")
    metadata = metadata_of(manifest)
    space, name = str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
    return group, version, str(manifest.get("kind") or ""), space, name


def placement_reference(override_spec: Json) -> tuple[PlacementScope, str] | None:
    """The placement that an override names; None where it is for all."""
    named = override_spec.get("placement")
    if not named:
        return None
    scope = PlacementScope(named.get("scope") or PlacementScope.CLUSTER)
    return scope, str(named.get("name") or "")


def matches(rule: Json, member_cluster: Json) -> bool:
    """No selector: no cluster. A selector without terms: every cluster. Else any term will do."""
    selector = rule.get("clusterSelector")
    if selector is None:
        return False
    terms = selector.get("clusterSelectorTerms") or ()
    labels = (member_cluster["metadata"].get("labels")) or {}
    return not terms or any(_term_matches(each, labels) for each in terms)


def _term_matches(term: Json, labels: Mapping[str, str]) -> bool:
    return selectors.labels_from_object(term.get("labelSelector")).matches(labels)


def _by_rules(manifest: Json, rules: Iterable[Json], member_cluster: Json) -> Json | None:
    for rule in rules:
        if not matches(rule, member_cluster):
            continue
        if rule.get("overrideType") == OverrideType.DELETE:
            return None
        manifest = _patched(manifest, rule.get("jsonPatchOverrides") or (), member_cluster)
    return manifest


def _patched(manifest: Json, patches: Iterable[Json], member_cluster: Json) -> Json:
    name = _name(member_cluster)
    labels = member_cluster["metadata"].get("labels") or {}
    for patch in patches:
        step = dict(patch)
        if "value" in step:
            step["value"] = placeholders.filled(step["value"], name, labels)
        _check_key(manifest, step)
        manifest = apply_json_patch(manifest, [step])
    return manifest


def _check_key(manifest: Json, step: Json) -> None:
    """A member of an object is replaced only where it is there."""
    path = str(step.get("path") or "")
    if step.get("op") != PatchOperation.REPLACE or not path:
        return
    parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
    found: Any = manifest
    for part in parts[:-1]:
        found = found.get(part) if isinstance(found, dict) else _item(found, part)
    if isinstance(found, dict) and parts[-1] not in found:
        raise PatchFailed(
            f"replace operation does not apply: doc is missing key: {path}: missing value"
        )


def _item(found: Any, part: str) -> Any:
    if isinstance(found, list) and part.isdecimal() and int(part) < len(found):
        return found[int(part)]
    return None


def _is_for(snapshot: Json, namespace: str, name: str) -> bool:
    named = placement_reference(_spec(snapshot))
    if named is None:
        return True
    scope, placement = named
    if placement != name:
        return False
    if scope == PlacementScope.CLUSTER:
        return not namespace
    return bool(namespace) and namespace == snapshot["metadata"].get("namespace")


def _has_rule_for(snapshot: Json, member_cluster: Json) -> bool:
    return any(matches(rule, member_cluster) for rule in _rules(snapshot))


def _selects_cluster_wide(snapshot: Json, objects: set[Identity], spaces: set[str]) -> bool:
    return any(
        wanted in objects or (_is_namespace(wanted) and wanted[4] in spaces)
        for wanted in _cluster_wide(snapshot)
    )


def _touches_cluster_wide(snapshot: Json, identity: Identity, manifest: Json) -> bool:
    """Of a Namespace that is selected, all that stands in it is meant too; but not an envelope,
    which itself goes nowhere.
    """
    space = "" if envelopes.is_envelope(manifest) else identity[3]
    return _selects_cluster_wide(snapshot, {identity}, {space} if space else set())


def _cluster_wide(snapshot: Json) -> Iterable[Identity]:
    for selector in _spec(snapshot).get("clusterResourceSelectors") or ():
        yield _selected(selector, "")


def _selects(snapshot: Json, objects: set[Identity]) -> bool:
    space = str(snapshot["metadata"].get("namespace") or "")
    chosen = _spec(snapshot).get("resourceSelectors") or ()
    return any(_selected(each, space) in objects for each in chosen)


def _selected(selector: Json, namespace: str) -> Identity:
    names = (selector.get(part) or "" for part in ("group", "version", "kind"))
    group, version, kind = map(str, names)
    return group, version, kind, namespace, str(selector.get("name") or "")


def _is_namespace(identity: Identity) -> bool:
    return identity[:3] == ("", "v1", "Namespace")


def _identities(manifests: Iterable[Json]) -> Iterable[Identity]:
    """Those in envelopes too: they are overridden by their own names."""
    for manifest in manifests:
        yield identity_of(manifest)
        for inner in envelopes.contents(manifest):
            yield identity_of(inner)


def _spec(snapshot: Json) -> Json:
    found: Json = snapshot["spec"].get("overrideSpec") or {}
    return found


def _rules(snapshot: Json) -> Sequence[Json]:
    rules: Sequence[Json] = (_spec(snapshot).get("policy") or {}).get("overrideRules") or ()
    return rules


def _name(obj: Json) -> str:
    return str(obj["metadata"]["name"])


def _place(obj: Json) -> tuple[str, str]:
    return str(obj["metadata"].get("namespace") or ""), _name(obj)
