"""What a placement is made into, in words of our own: how snapshots, bindings, Works and the status
of the placement look at each step of a roll-out, in KubeFleet's mode and in ours.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support import golden_steps as steps
from tests.support import recorder
from tests.support.golden import Event, Maybe
from tests.support.golden_placement import MEMBERS, Life, compact
from tests.support.golden_steps import Step
from tests.support.recorder import Facts

from fleetqueue.kube.resources import Object

FLEET = "kubernetes-fleet.io"
OF_NOTHING = "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"
"""What the list of overrides hashes to where there are none: the JSON null."""
WORKING = f"{FLEET}/work-cleanup"
GONE: Facts = {"gone": True}
MAY_BE_GONE = Maybe(GONE)
"""After the end of the recording."""
GOING = {"deletionTimestamp": "<t>", "deletionGracePeriodSeconds": 0}
APPLY = {
    "comparisonOption": "PartialComparison",
    "type": "ClientSideApply",
    "whenToApply": "Always",
    "whenToTakeOver": "Always",
}
PICK_ALL = "8cc57dee59684ff88766e26936c8fb125f4bde234a2beb5c54aded4569db0d5a"
"""What that policy hashes to."""
BARE_NAMESPACE = "07a0abe3d66e0da0c58ee7977e6856f66274bc85b5cb5b55215ee677b300b29d"
"""What a namespace hashes to, whatever its name."""
ONLY_A = {
    "1": "0cb3c50b8f4b477bc2be73c0bed8762a8acb5cf1d829e11cfc7c247f3016c18a",
    "2": "a6fb130df96eecf7f3acc8d10b1b2c797d2e577d72360036808a22d9bdf35968",
}
"""What a ConfigMap hashes to whose only key `a` has that value."""
UNASKED = {"generation": 2, "spec.strategy.type": "RollingUpdate"}
"""What a namespaced placement without a strategy gets with its first finalizer."""
SUPERSEDED = {f"labels.{FLEET}/is-latest-snapshot": "false"}
WITH_RESOURCES = {"selectionScope": "NamespaceWithResources"}
PLURALS = {"Namespace": "namespaces", "ConfigMap": "configmaps", "Job": "jobs"}


EVENTS = {
    "PlacementRolloutStarted": "Started rolling out the latest resources",
    "PlacementOverriddenSucceeded": "Placement has been successfully overridden",
    "PlacementWorkSynchronized": (
        "Work(s) have been created or updated successfully for the selected cluster(s)"
    ),
    "PlacementApplied": "Resources have been applied to the selected cluster(s)",
    "PlacementAvailable": "Resources are available on the selected cluster(s)",
    "PlacementRolloutCompleted": (
        "Placement has finished the rollout process and reached the desired status"
    ),
    "PlacementCleanupFinalizerRemoved": (
        "Deleted the snapshots and removed the placement cleanup finalizer"
    ),
}
"""In their order."""
ROLLED_OUT = tuple(EVENTS)[:6]


@dataclass(frozen=True)
class Placed:
    """One placement, and all that is made of it."""

    name: str
    manifests: Sequence[Object]
    """What is selected, stripped and in its order."""
    space: str = ""
    generation: int = 1
    clusters: Sequence[str] = MEMBERS
    scores: Mapping[str, int] | None = field(default_factory=dict)
    """The affinity score of a cluster where it is not 0; None: there are none."""
    apply: Mapping[str, str] = field(default_factory=dict)
    """How it differs from the usual way to apply."""
    started: Step = steps.STARTED
    overridden: Step = steps.NOT_OVERRIDDEN
    is_compatible: bool = True

    # Names

    @property
    def work(self) -> str:
        return f"{self.space}.{self.name}-work" if self.space else f"{self.name}-work"

    @property
    def strategy(self) -> Object:
        return {**APPLY, **self.apply}

    def title(self, kind: str, suffix: str = "") -> str:
        scope = f"{self.space}/" if self.space else ""
        return f"{self._kind(kind)} {scope}{self.name}{suffix}"

    def _kind(self, kind: str) -> str:
        return kind if self.space else f"Cluster{kind}"

    def _owner(self) -> Facts:
        return {f"owner {self._kind('ResourcePlacement')} {self.name}": True}

    # The placement

    def placement(
        self,
        spec: Object,
        says: Sequence[Any],
        clusters: Mapping[str, Sequence[Any]],
        *after: Facts,
        kept: Facts | None = None,
    ) -> dict[str, Life]:
        """`after`: what it was told once both finalizers were there; `kept`: what was filled in
        with the first of them.
        """
        first, both = f"{FLEET}/crp-cleanup", f"{FLEET}/scheduler-cleanup"
        told = [
            facts(spec=self.asked(**spec), generation=1),
            {"finalizers": [first], **(kept or {})},
            {"finalizers": [first, both]},
            *after,
        ]
        return {self.title("ResourcePlacement"): Life(told, says, clusters)}

    def asked(self, **spec: Any) -> Object:
        """The spec as it is stored."""
        strategy = {
            "type": "RollingUpdate",
            "rollingUpdate": {
                "maxSurge": "25%",
                "maxUnavailable": "25%",
                "unavailablePeriodSeconds": 60,
                **spec.pop("rolling", {}),
            },
            "applyStrategy": self.strategy,
        }
        return {
            "policy": {"placementType": "PickAll"},
            "revisionHistoryLimit": 10,
            "statusReportingScope": "ClusterScopeOnly",
            "strategy": strategy,
            **spec,
        }

    def top(self, step: Step, count: int | None = None, index: str = "0", **more: Any) -> Object:
        """Its status once this is the last thing that is said; `count`: of how many clusters, if
        not of all.
        """
        overridden = (
            steps.NOT_OVERRIDDEN
            if self.overridden == steps.NOT_OVERRIDDEN
            else steps.ALL_OVERRIDDEN
        )
        scheduled = more.pop("scheduled", steps.FULFILLED)
        done = [scheduled, steps.ALL_STARTED, overridden, steps.ALL_SYNCED, steps.ALL_APPLIED]
        said = [
            f"{self._kind('ResourcePlacement')}{line}"
            for line in (
                *(self._counted(each, len(self.clusters)) for each in _before(step, done)),
                self._counted(step, len(self.clusters) if count is None else count),
            )
        ]
        listed = more.pop("selected", self.manifests)
        return {
            "conditions": said,
            **({"observedResourceIndex": index} if index else {}),
            **({"selectedResources": [identity(each) for each in listed]} if listed else {}),
        }

    def _counted(self, step: Step, count: int) -> str:
        return line(step._replace(message=step.message.replace("%d", str(count))), self.generation)

    def on(self, cluster: str, step: Step, index: str = "0", **more: Any) -> Object:
        """The same of one cluster; `more`: what is listed."""
        picked = Step("Scheduled", "True", "Scheduled", self.picked(cluster))
        return {
            "conditions": [line(picked, self.generation), *self._chain(step, self.generation)],
            **({"observedResourceIndex": index} if index else {}),
            **more,
        }

    def picked(self, cluster: str) -> str:
        score = ""
        if self.scores is not None:
            affinity = self.scores.get(cluster, 0)
            score = f" (affinity score: {affinity}, topology spread score: 0)"
        return (
            f'Successfully scheduled resources for placement in "{cluster}"{score}: '
            "picked by scheduling policy"
        )

    def _chain(self, step: Step, at: int) -> list[str]:
        done = [self.started, self.overridden, steps.SYNCED, steps.APPLIED]
        return [line(self._named(each), at) for each in (*_before(step, done), step)]

    def _named(self, step: Step) -> Step:
        return step._replace(message=step.message.replace("%s", self.work))

    # How they go through a roll-out

    def top_round(
        self, end: Step = steps.ALL_AVAILABLE, index: str = "0", **more: Any
    ) -> list[Any]:
        """From the scheduling to the end; who is how far is chance."""
        every = len(self.clusters)
        under_way = steps.SOME_FAILED if self.is_compatible else steps.SOME_APPLYING
        told: list[Any] = [self.top(steps.SOME_UNDECIDED, every, index, **more)]
        for step in (steps.SOME_UNDECIDED, steps.SOME_OVERRIDING, under_way):
            first = every if step is not steps.SOME_UNDECIDED else every - 1
            told += [Maybe(self.top(step, n, index, **more)) for n in range(first, 0, -1)]
        return [*told, self.top(end, None, index, **more)]

    def cluster_round(
        self, cluster: str, end: Step = steps.AVAILABLE, index: str = "0", **more: Any
    ) -> list[Any]:
        middle = [steps.BEGUN, Maybe(steps.UNFINISHED)] if self.is_compatible else [steps.APPLYING]
        return [
            self.on(cluster, steps.UNDECIDED, index),
            *(
                Maybe(self.on(cluster, each.state, index, **more))
                if isinstance(each, Maybe)
                else self.on(cluster, each, index, **more)
                for each in (Maybe(steps.OVERRIDING), *middle, end)
            ),
        ]

    # How they go through another, where one cluster has to wait for the other

    def top_change(self) -> list[Any]:
        return [
            self.top(steps.SOME_UNDECIDED, 2, "1"),
            Maybe(self.top(steps.SOME_UNDECIDED, 1, "1")),
            self.top(steps.SOME_BLOCKED, 1, "1"),
            *self.top_round(index="1")[1:],
        ]

    def cluster_change(self, cluster: str, *, waits: bool = False) -> list[Any]:
        blocked = [
            self.on(cluster, steps.UNDECIDED, "1"),
            self.on(cluster, steps.BLOCKED, "1"),
            Maybe(self.on(cluster, steps.UNDECIDED, "1")),
        ]
        first, *others = self.cluster_round(cluster, index="1")
        return [*(blocked if waits else [first]), *others]

    def binding_change(self, *, waits: bool = False) -> list[Any]:
        kept_back = self.binds(steps.AVAILABLE, first=steps.KEPT_BACK)
        again = self.binding_round(at=4, after=steps.AVAILABLE)
        return [kept_back, *again] if waits else again

    # Snapshots

    def policy(
        self,
        hash: str = PICK_ALL,
        says: Sequence[Any] | None = None,
        *after: Facts,
        **spec: Any,
    ) -> dict[str, Life]:
        """Of a placement that asks for no policy the snapshot has none either."""
        notes = {f"{FLEET}/CRP-generation": str(self.generation), **spec.pop("notes", {})}
        labels = {f"{FLEET}/policy-index": "0", **self._latest()}
        policy = {"placementType": "PickAll", **spec} if hash != OF_NOTHING else None
        told = facts(
            spec={"policy": policy, "policyHash": coded(hash)},
            labels=labels,
            annotations=notes,
            generation=1,
        )
        said = [self.decided()] if says is None else says
        title = self.title("SchedulingPolicySnapshot", "-0")
        return {title: Life([{**self._owner(), **told}, *after], said)}

    def decided(
        self, step: Step = steps.FULFILLED, others: Sequence[Object] = (), count: int | None = None
    ) -> Object:
        """`others`: the decisions against clusters."""
        found = len(self.clusters) if count is None else count
        message = step.message.replace("%d", str(found))
        decisions = [*(self._decision(each) for each in self.clusters), *others]
        return {
            "conditions": [line(step._replace(message=message), 1)],
            "observedCRPGeneration": self.generation,
            **({"targetClusters": decisions} if decisions else {}),
        }

    def _decision(self, cluster: str) -> Object:
        made: Object = {
            "clusterName": cluster,
            "reason": self.picked(cluster),
            "selected": True,
        }
        if self.scores is not None:
            score = {"affinityScore": self.scores.get(cluster, 0), "priorityScore": 0}
            made["clusterScore"] = score
        return made

    def _latest(self) -> Object:
        return {f"{FLEET}/is-latest-snapshot": "true", f"{FLEET}/parent-CRP": self.name}

    def snapshot(
        self, hash: Any, *after: Facts, index: int = 0, manifests: Sequence[Object] | None = None
    ) -> dict[str, Life]:
        listed = self.manifests if manifests is None else manifests
        told = facts(
            spec={"selectedResources": compact(list(listed))},
            labels={f"{FLEET}/resource-index": str(index), **self._latest()},
            annotations={
                f"{FLEET}/number-of-enveloped-object": "0",
                f"{FLEET}/number-of-resource-snapshots": "1",
                f"{FLEET}/resource-hash": hash,
            },
            generation=1,
        )
        title = self.title("ResourceSnapshot", f"-{index}-snapshot")
        return {title: Life([{**self._owner(), **told}, *after])}

    # Bindings

    def binding(self, cluster: str, says: Sequence[Any], *after: Facts) -> dict[str, Life]:
        """`after`: what it was told once it was made."""
        spec = {
            "clusterDecision": self._decision(cluster),
            "resourceSnapshotName": "",
            "schedulingPolicySnapshotName": f"{self.name}-0",
            "state": "Scheduled",
            "targetCluster": cluster,
        }
        made = facts(
            spec=spec,
            labels={f"{FLEET}/parent-CRP": self.name},
            finalizers=[f"{FLEET}/scheduler-crb-cleanup"],
            generation=1,
        )
        title = self.title("ResourceBinding", f"-{cluster}-*")
        return {title: Life([made, *after], says)}

    def bound(self, **more: Any) -> list[Facts]:
        """It is told how to apply, then what; `more`: the overrides."""
        snapshot = f"{self.name}-0-snapshot"
        return [
            {"generation": 2, **facts(spec={"applyStrategy": self.strategy})},
            {
                "generation": 3,
                **facts(spec={"resourceSnapshotName": snapshot, "state": "Bound", **more}),
            },
            {"finalizers": [f"{FLEET}/scheduler-crb-cleanup", WORKING]},
        ]

    def updated(self, index: int = 1, generation: int = 4) -> Facts:
        name = f"{self.name}-{index}-snapshot"
        return {"generation": generation, "spec.resourceSnapshotName": name}

    def binds(
        self, step: Step, at: int = 3, *, first: Step | None = None, newer: int = 0, **more: Any
    ) -> Object:
        """What it says at that generation; `first`: what it says of the roll-out meanwhile, and
        `newer`: at which generation.
        """
        said = self._chain(step, at)
        if first or newer:
            said = [line(first or self.started, newer or at), *said[1:]]
        return {"conditions": said, **more}

    def binding_round(
        self, end: Step = steps.AVAILABLE, at: int = 3, *, after: Step | None = None, **more: Any
    ) -> list[Any]:
        """`after`: how the round before ended, one generation ago."""
        first = self.binds(self.started, at)
        if after is not None:
            first = self.binds(after, at - 1, newer=at)
        unfinished = self.binds(steps.UNFINISHED, at)
        middle = [self.binds(steps.BEGUN, at), Maybe(unfinished)]
        if not self.is_compatible:
            middle = [self.binds(steps.UNFINISHED._replace(status="Unknown"), at)]
        return [first, *middle, self.binds(end, at, **more)]

    # Works

    def in_work(
        self,
        cluster: str,
        says: Sequence[Any],
        *after: Facts,
        manifests: Sequence[Object] | None = None,
        hashes: tuple[str, str] = (OF_NOTHING, OF_NOTHING),
    ) -> dict[str, Life]:
        """`hashes`: of the cluster-scoped and the namespaced overrides."""
        listed = self.manifests if manifests is None else manifests
        workload = {"manifests": compact(list(listed))} if listed else {}
        labels = {
            f"{FLEET}/parent-CRP": self.name,
            f"{FLEET}/parent-resource-binding": f"{self.name}-{cluster}-*",
            f"{FLEET}/parent-resource-snapshot-index": "0",
        }
        if self.space:
            labels[f"{FLEET}/parent-placement-namespace"] = self.space
        notes = {
            f"{FLEET}/parent-cluster-resource-override-snapshot-hash": hashes[0],
            f"{FLEET}/parent-resource-override-snapshot-hash": hashes[1],
            f"{FLEET}/parent-resource-snapshot-name": f"{self.name}-0-snapshot",
        }
        spec = {"workload": workload, "applyStrategy": self.strategy}
        made = facts(spec=spec, labels=labels, annotations=notes, generation=1)
        title = f"Work fleet-member-{cluster}/{self.work}"
        return {title: Life([made, {"finalizers": [WORKING]}, *after], says)}

    def new_manifests(self, *manifests: Object, index: int = 1, generation: int = 2) -> Facts:
        return {
            "generation": generation,
            f"labels.{FLEET}/parent-resource-snapshot-index": str(index),
            f"annotations.{FLEET}/parent-resource-snapshot-name": f"{self.name}-{index}-snapshot",
            "spec.workload.manifests": compact(list(manifests)),
        }

    def applied_work(self, cluster: str, *after: Facts, listed: Any = None) -> dict[str, Life]:
        """`listed`: its manifests, if not all that are selected."""
        spec = {"workName": self.work, "workNamespace": f"fleet-member-{cluster}"}
        manifests = self.manifests if listed is None else listed
        entries = [
            {**identity(each), "ordinal": number, "resource": PLURALS[each["kind"]], "uid": "<uid>"}
            for number, each in enumerate(manifests)
        ]
        says = [{"appliedResources": entries}] if entries else []
        return {f"AppliedWork {self.work}": Life([facts(spec=spec, generation=1), *after], says)}

    def arrived(self, manifest: Object, hash: Any) -> Facts:
        """An object as it is on a member: with its owner, and notes for the next time."""
        return {
            **facts(**manifest),
            f"owner AppliedWork {self.work}": False,
            f"annotations.{FLEET}/spec-hash": hash,
            f"annotations.{FLEET}/last-applied-configuration": self._applied(manifest, hash),
        }

    def changed(self, manifest: Object, hash: Any) -> Facts:
        """What arrives of a ConfigMap that is there."""
        whole = self.arrived(manifest, hash)
        return {key: whole[key] for key in whole if key.startswith(("annotations.", "data."))}

    def _applied(self, manifest: Object, hash: Any) -> Any:
        if not isinstance(hash, str):
            return hash
        owner = {
            "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
            "blockOwnerDeletion": True,
            "kind": "AppliedWork",
            "name": self.work,
            "uid": "<uid>",
        }
        notes = {f"{FLEET}/spec-hash": hash}
        metadata = {**manifest["metadata"], "annotations": notes, "ownerReferences": [owner]}
        whole = {**manifest, "metadata": metadata}
        return json.dumps(whole, sort_keys=True, separators=(",", ":")) + "\n"

    def namespace(self, *after: Any, hash: str = BARE_NAMESPACE, phases: str = "Active") -> Life:
        """The first manifest, on a member."""
        says = [{"phase": phase} for phase in phases.split()]
        return Life([self.arrived(self.manifests[0], hash), *after], says)

    # Events

    def events(self, *reasons: str) -> list[Event]:
        about, by = f"{self._kind('ResourcePlacement')} {self.name}", "placement-controller"
        return [(about, "Normal", each, EVENTS[each], by, "") for each in reasons]


def prepared(*manifests: Object, at: int = 1) -> Object:
    """What a Work says before anything is done for it."""
    return work_says([], at, *((each, [steps.MANIFEST_PREPARED], at) for each in manifests))


def applied(*manifests: Object, at: int = 1) -> Object:
    done = [steps.MANIFEST_APPLIED, steps.MANIFEST_AVAILABLE]
    all_done = [steps.ALL_MANIFESTS_APPLIED, steps.ALL_MANIFESTS_AVAILABLE]
    return work_says(all_done, at, *((each, done, 0) for each in manifests))


def work_says(
    said: Sequence[Step], at: int, *of: tuple[Object, Sequence[Step], int], **more: Any
) -> Object:
    """`of`: its manifests, what is said of each and at which generation of the object."""
    entries = [
        {
            "conditions": [line(step, seen) for step in known],
            "identifier": {
                **identity(manifest),
                "ordinal": number,
                "resource": PLURALS[manifest["kind"]],
            },
            **more,
        }
        for number, (manifest, known, seen) in enumerate(of)
    ]
    told = {"manifestConditions": entries} if entries else {}
    return {"conditions": [line(step, at) for step in said], **told}


def identity(manifest: Object) -> Object:
    group, _, version = str(manifest["apiVersion"]).rpartition("/")
    metadata = manifest["metadata"]
    found = {"kind": manifest["kind"], "version": version, "name": metadata["name"]}
    if group:
        found["group"] = group
    if metadata.get("namespace"):
        found["namespace"] = metadata["namespace"]
    return found


def coded(hash: str) -> str:
    """As bytes are in JSON."""
    return base64.b64encode(hash.encode()).decode()


def line(step: Step, at: int) -> str:
    """As a condition is told; `at`: the generation, 0 where there is none."""
    seen = f" @{at}" if at else ""
    return f"{step.type} {step.status} {step.reason}{seen}: {step.message}"


def _before(step: Step, done: Sequence[Step]) -> Sequence[Step]:
    """All that is done before this can be said."""
    order = ["Scheduled", "RolloutStarted", "Overridden", "WorkSynchronized", "Applied"]
    later = {"Available": 5, "DiffReported": 4}
    at = later[step.type] if step.type in later else order.index(step.type)
    return done[: at - (len(order) - len(done))]


def facts(spec: Object | None = None, **rest: Any) -> Facts:
    """Flat, as a recorder tells them; fields that are not an object's own are of its metadata."""
    own = {key: rest.pop(key) for key in ("data", "kind", "apiVersion") if key in rest}
    metadata = {**rest.pop("metadata", {}), **rest}
    obj = {"kind": "", **own, "metadata": metadata, "spec": spec or {}}
    return recorder.facts(obj)


# Manifests


def namespace(name: str, **labels: str) -> Object:
    """As it is taken from a hub."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"labels": {**labels, "kubernetes.io/metadata.name": name}, "name": name},
        "spec": {"finalizers": ["kubernetes"]},
    }


def config_map(name: str, space: str, *, labels: Object | None = None, **data: str) -> Object:
    metadata: Object = {"name": name, "namespace": space}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
