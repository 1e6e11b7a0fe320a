"""The overrides of recordings of KubeFleet: one of a namespace for one region, one that fills in
names, and one that keeps a ConfigMap away from a region; and what becomes of them on a hub.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.support import golden_placed as placed
from tests.support import golden_steps as steps
from tests.support.golden_placed import FLEET, Placed, facts
from tests.support.golden_placement import MEMBERS, ONE, TWO, Life, Replay
from tests.support.placed import placement
from tests.support.recorder import Facts

from fleetqueue.fleet import kinds
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.testing import named

API = "placement.kubernetes-fleet.io/v1"
REGIONS = {ONE: "east", TWO: "west"}
ROLLING = {"unavailablePeriodSeconds": 1}
EVERYWHERE: Object = {"clusterSelectorTerms": []}
BROKEN = {
    "clusterSelector": EVERYWHERE,
    "jsonPatchOverrides": [{"op": "replace", "path": "/data/missing/deep", "value": "x"}],
}
OVERRIDE = Resource("placement.kubernetes-fleet.io", "v1", "resourceoverrides", "ResourceOverride")
SOME_NOT_OVERRIDDEN = steps.Step(
    "Overridden", "False", "OverriddenFailed", "Failed to override resources in %d cluster(s)"
)


def region(name: str) -> Object:
    return {"clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"region": name}}}]}


@dataclass(frozen=True)
class Overriding:
    """Three overrides of what one placement selects."""

    space: str
    placement: str
    hashes: Sequence[str]
    """Of the override of the namespace, of the one that fills in (first and second) and of the one
    that keeps away."""

    @property
    def selector(self) -> Object:
        return {"group": "", "version": "v1", "kind": "Namespace", "name": self.space}

    async def begin(self, replay: Replay, *objs: Object) -> None:
        """What is there before the overrides."""
        for name, value in REGIONS.items():
            labels = {"metadata": {"labels": {"region": value}}}
            await replay.hub.client.patch(kinds.MEMBER_CLUSTER, name, labels)
        await replay.hub.create(*objs)
        await replay.passes(1)

    async def place(self, replay: Replay) -> None:
        """The overrides are there when the placement comes; one of them is broken later."""
        for obj in self.made():
            await replay.hub.create(obj)
        strategy = {"type": "RollingUpdate", "rollingUpdate": ROLLING}
        policy = {"placementType": "PickAll"}
        await replay.hub.create(
            placement(self.placement, self.selector, policy=policy, strategy=strategy)
        )
        await replay.passes(3)
        broken = {"spec": {"policy": {"overrideRules": [BROKEN]}}}
        await replay.hub.client.patch(OVERRIDE, "c6-ro", broken, self.space)
        await replay.passes(3)

    def made(self) -> list[Object]:
        labelled = {"op": "add", "path": "/metadata/labels/where", "value": "east"}
        filled = [
            {"op": "replace", "path": "/data/a", "value": "${MEMBER-CLUSTER-NAME}"},
            {"op": "add", "path": "/data/region", "value": "${MEMBER-CLUSTER-LABEL-KEY-region}"},
        ]
        whole = {"clusterSelector": region("east"), "jsonPatchOverrides": [labelled]}
        each = {"clusterSelector": EVERYWHERE, "jsonPatchOverrides": filled}
        away = {"clusterSelector": region("west"), "overrideType": "Delete"}
        spec = {"clusterResourceSelectors": [self.selector], **self._policy(whole)}
        return [
            named("ClusterResourceOverride", API, f"{self.space}-cro", spec=spec),
            self._override("c6-ro", "conf", each),
            self._override("c6-del", "only-one", away),
        ]

    def _override(self, name: str, target: str, rule: Object) -> Object:
        selector = {"group": "", "version": "v1", "kind": "ConfigMap", "name": target}
        spec = {"resourceSelectors": [selector], **self._policy(rule)}
        return named("ResourceOverride", API, name, self.space, spec=spec)

    def _policy(self, rule: Object) -> Object:
        return {"placement": {"name": self.placement}, "policy": {"overrideRules": [rule]}}

    # What becomes of them

    def lives(self) -> dict[str, Life]:
        whole, each, away = (self._stored(obj) for obj in self.made())
        broken = {**each, "policy": {"overrideRules": [{**BROKEN, "overrideType": "JSONPatch"}]}}
        changed = {"generation": 2, **facts(spec={"policy": broken["policy"]})}
        first, filled, again, kept = self.hashes
        return {
            **_override("ClusterResourceOverride", f"{self.space}-cro", whole),
            **_override("ResourceOverride", f"{self.space}/c6-ro", each, changed),
            **_override("ResourceOverride", f"{self.space}/c6-del", away),
            **_snapshot("ClusterResourceOverride", f"{self.space}-cro", whole, first),
            **_snapshot(
                "ResourceOverride", f"{self.space}/c6-ro", each, filled, 0, placed.SUPERSEDED
            ),
            **_snapshot("ResourceOverride", f"{self.space}/c6-ro", broken, again, 1),
            **_snapshot("ResourceOverride", f"{self.space}/c6-del", away, kept),
        }

    def _stored(self, obj: Object) -> Object:
        """Its spec with what is filled in."""
        spec = dict(obj["spec"])
        [rule] = spec["policy"]["overrideRules"]
        if obj["kind"] == "ClusterResourceOverride":
            spec["clusterResourceSelectors"] = [{**self.selector, **placed.WITH_RESOURCES}]
        return {
            **spec,
            "placement": {"name": self.placement, "scope": "Cluster"},
            "policy": {"overrideRules": [{"overrideType": "JSONPatch", **rule}]},
        }

    # What they mean for a cluster

    def listed(self, cluster: str, version: int = 0) -> Object:
        """Those that apply, as a status lists them; `version`: of the one that changes."""
        names = [f"c6-ro-{version}"] if cluster == ONE else ["c6-del-0", f"c6-ro-{version}"]
        found: Object = {
            "applicableResourceOverrides": [
                {"name": each, "namespace": self.space} for each in names
            ]
        }
        if cluster == ONE:
            found["applicableClusterResourceOverrides"] = [f"{self.space}-cro-0"]
        return found

    def bound(self, told: Placed, cluster: str) -> list[Facts]:
        """The binding is told how to apply, then what with which overrides."""
        listed = self.listed(cluster)
        spec = {"resourceOverrideSnapshots": listed["applicableResourceOverrides"]}
        if cluster == ONE:
            found = listed["applicableClusterResourceOverrides"]
            spec["clusterResourceOverrideSnapshots"] = found
        return told.bound(**spec)

    def rebound(self) -> Facts:
        """That of the first cluster, when the override has changed."""
        lists = "spec.resourceOverrideSnapshots"
        return {
            "generation": 4,
            f"{lists}[c6-ro-0].namespace": None,
            f"{lists}[c6-ro-1].namespace": self.space,
        }

    def asked(self) -> Object:
        selector = {**self.selector, **placed.WITH_RESOURCES}
        return {"resourceSelectors": [selector], "rolling": ROLLING}

    def filled(self, manifest: Object, cluster: str) -> Object:
        """A ConfigMap with what the override puts into it."""
        data = {"a": cluster, "region": REGIONS[cluster]}
        return {**manifest, "data": data}


def failed(text: str) -> steps.Step:
    message = f"Failed to apply the override rules on the resources: {text}"
    return steps.Step("Overridden", "False", "OverriddenFailed", message)


def everywhere(of: Any) -> dict[str, Any]:
    return {name: of(name) for name in MEMBERS}


def _override(kind: str, name: str, spec: Object, *after: Facts) -> dict[str, Life]:
    kept = {"finalizers": [f"{FLEET}/override-cleanup"]}
    return {f"{kind} {name}": Life([facts(spec=spec, generation=1), kept, *after])}


def _snapshot(
    kind: str, name: str, spec: Object, hash: str, index: int = 0, *after: Facts
) -> dict[str, Life]:
    plain = name.rpartition("/")[2]
    labels = {
        f"{FLEET}/is-latest-snapshot": "true",
        f"{FLEET}/override-index": str(index),
        f"{FLEET}/parent-resource-override": plain,
    }
    told = facts(
        spec={"overrideHash": placed.coded(hash), "overrideSpec": spec}, labels=labels, generation=1
    )
    owned = {f"owner {kind} {plain}": True, **told}
    return {f"{kind}Snapshot {name}-{index}": Life([owned, *after])}
