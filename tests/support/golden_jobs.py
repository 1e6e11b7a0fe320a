"""A suspended Job that is placed on one member, in recordings of KubeFleet: what it looks like on
its way, how it runs there, and what is said of it that is not so.
"""

from collections.abc import Iterable
from typing import Any
from unittest.mock import ANY

from tests.support import golden_placed as placed
from tests.support import golden_steps as steps
from tests.support.golden_placed import Placed, facts, identity
from tests.support.golden_placement import Life, Replay
from tests.support.golden_steps import Step
from tests.support.placed import placement
from tests.support.recorder import Facts

from fleetqueue.kube.resources import Object
from fleetqueue.testing import namespace

ROLLING = {"unavailablePeriodSeconds": 1}
UIDS = (
    "/spec/selector/matchLabels/batch.kubernetes.io~1controller-uid",
    "/spec/template/metadata/labels/batch.kubernetes.io~1controller-uid",
    "/spec/template/metadata/labels/controller-uid",
)
"""What every API server fills in anew."""
SUSPEND = "/spec/suspend"
DRIFTED = "cannot apply manifest: drifts are found between the manifest and the object from the"
DRIFTED += " member cluster"
DEGRADED = (
    f"{DRIFTED} in degraded mode (full comparison is performed instead of partial comparison, as "
    "the manifest object is considered to be invalid by the member cluster API server)"
)
NONE_APPLIED = Step(
    "Applied",
    "False",
    "SomeManifestsAreNotApplied",
    "Failed to apply all manifests (0 of 1 manifests are applied)",
)
NOT_TRACKABLE = Step(
    "Available",
    "True",
    "WorkNotTrackable",
    "Some of the applied manifests cannot be tracked for availability",
)
JOB_NOT_TRACKABLE = Step(
    "Available",
    "True",
    "NotTrackable",
    "Manifest's availability is not trackable; Fleet assumes that the applied manifest is "
    "available",
)


# The Job


def job(name: str, space: str, **more: Any) -> Object:
    """As a user writes it; `more`: of its spec, `notes` and `args` of its pods."""
    container: Object = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
    if "args" in more:
        container["args"] = more.pop("args")
    template: Object = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    if "notes" in more:
        template["metadata"] = {"annotations": more.pop("notes")}
    spec = {"suspend": True, "parallelism": 1, "completions": 1, "template": template, **more}
    metadata = {"name": name, "namespace": space}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def stripped(made: Object, **labels: str) -> Object:
    """As it leaves the hub: without what makes it the hub's, but with the places of it."""
    names = {"batch.kubernetes.io/job-name": made["metadata"]["name"]}
    names["job-name"] = made["metadata"]["name"]
    uids = {"batch.kubernetes.io/controller-uid": "<uid>", "controller-uid": "<uid>"}
    template = made["spec"]["template"]
    [container] = template["spec"]["containers"]
    kept = {**(template.get("metadata") or {}), "labels": names}
    spec = {**template["spec"], "containers": [{**container, "imagePullPolicy": "Always"}]}
    return {
        **made,
        "metadata": {**made["metadata"], "labels": {**uids, **names, **labels}},
        "spec": {
            **made["spec"],
            "backoffLimit": 6,
            "completionMode": "NonIndexed",
            "manualSelector": False,
            "podReplacementPolicy": "TerminatingOrFailed",
            "selector": {"matchLabels": {}},
            "template": {"metadata": kept, "spec": spec},
        },
    }


def stored(manifest: Object) -> Object:
    """As an API server keeps it: it has its own uid in all the places."""
    spec, uid = manifest["spec"], "batch.kubernetes.io/controller-uid"
    template = spec["template"]
    labels = {**template["metadata"]["labels"], uid: "<uid>", "controller-uid": "<uid>"}
    made = {**template, "metadata": {**template["metadata"], "labels": labels}}
    return {
        **manifest,
        "spec": {**spec, "selector": {"matchLabels": {uid: "<uid>"}}, "template": made},
    }


def arrived(told: Placed, manifest: Object) -> Facts:
    """On the member. What it hashes to rests on the uid of the hub's Job."""
    return {"generation": 1, **told.arrived(stored(manifest), ANY)}


def touched(told: Placed, manifest: Object) -> Facts:
    """What arrives of a label that was added on the hub."""
    whole = arrived(told, manifest)
    notes = {key: whole[key] for key in whole if key.startswith("annotations.")}
    return {"labels.touched": "yes", **notes}


RUN_BY_HAND: Facts = {"generation": 2, "spec.suspend": False}
SUSPENDED = {
    "conditions": ["Suspended True JobSuspended: Job suspended"],
    "ready": 0,
    "terminating": 0,
    "uncountedTerminatedPods": {},
}
RESUMED = {
    **SUSPENDED,
    "conditions": ["Suspended False JobResumed: Job resumed"],
    "active": 1,
    "startTime": "<t>",
}
RUNNING = [SUSPENDED, RESUMED, {**RESUMED, "ready": 1}]
STOPPED = [
    {**SUSPENDED, "startTime": "<t>", "terminating": 1},
    {**SUSPENDED, "startTime": "<t>"},
]
_REACHED = "True CompletionsReached: Reached expected number of succeeded pods"
_ENDED = {
    "conditions": [*RESUMED["conditions"], f"SuccessCriteriaMet {_REACHED}"],
    "ready": 0,
    "startTime": "<t>",
    "terminating": 0,
    "uncountedTerminatedPods": {"succeeded": ["<uid>"]},
}
COMPLETED = [
    _ENDED,
    {
        **_ENDED,
        "conditions": [*_ENDED["conditions"], f"Complete {_REACHED}"],
        "completionTime": "<t>",
        "succeeded": 1,
        "uncountedTerminatedPods": {},
    },
]


# What is said of it


def drifts(paths: Iterable[str]) -> list[Object]:
    return [
        {"path": path, "valueInHub": "true", "valueInMember": "false"}
        if path == SUSPEND
        else {"path": path, "valueInMember": "<uid>"}
        for path in sorted(paths)
    ]


def refused(paths: Iterable[str]) -> Step:
    """With the uids among the paths the whole Job was compared."""
    is_degraded = set(paths) >= set(UIDS)
    reason = "FoundDriftsInDegradedMode" if is_degraded else "FoundDrifts"
    cause = DEGRADED if is_degraded else DRIFTED
    return Step("Applied", "False", reason, f"Failed to apply the manifest (error: {cause})")


def in_trouble(manifest: Object, at: int, *paths: str) -> Object:
    """What bindings and placements list; `at`: the generation on the member."""
    drifted = {
        **identity(manifest),
        "firstDriftedObservedTime": "<t>",
        "observationTime": "<t>",
        "observedDrifts": drifts(paths),
        "targetClusterObservedGeneration": at,
    }
    failed = {**identity(manifest), "condition": placed.line(refused(paths), at)}
    return {"driftedPlacements": [drifted], "failedPlacements": [failed]}


def work_in_trouble(manifest: Object, at: int, *paths: str, generation: int = 1) -> Object:
    details = {
        "firstDriftedObservedTime": "<t>",
        "observationTime": "<t>",
        "observedDrifts": drifts(paths),
        "observedInMemberClusterGeneration": at,
    }
    of = manifest, [refused(paths)], at
    return placed.work_says([NONE_APPLIED], generation, of, driftDetails=details)


def work_applied(manifest: Object, at: int = 1, *, generation: int = 1) -> Object:
    said = [steps.ALL_MANIFESTS_APPLIED, NOT_TRACKABLE]
    known = [steps.MANIFEST_APPLIED, JOB_NOT_TRACKABLE]
    return placed.work_says(said, generation, (manifest, known, at))


# Around it


def selector(manifest: Object) -> Object:
    name = manifest["metadata"]["name"]
    return {"group": "batch", "version": "v1", "kind": "Job", "name": name}


def asked(manifest: Object, cluster: str) -> Object:
    return {
        "resourceSelectors": [{**selector(manifest), **placed.WITH_RESOURCES}],
        "policy": {"placementType": "PickFixed", "clusterNames": [cluster]},
        "rolling": ROLLING,
    }


def job_placement(name: str, manifest: Object, cluster: str, when: str) -> Object:
    return placement(
        name,
        selector(manifest),
        namespace=manifest["metadata"]["namespace"],
        policy={"placementType": "PickFixed", "clusterNames": [cluster]},
        strategy={
            "type": "RollingUpdate",
            "rollingUpdate": ROLLING,
            "applyStrategy": {"whenToApply": when},
        },
    )


async def begin(replay: Replay, space: str) -> None:
    """The namespace, everywhere."""
    for side in (replay.hub, *replay.world.members.values()):
        await side.create(namespace(space))
    await replay.passes(1)


def hub_job(made: Object) -> Life:
    return Life([{"generation": 1, **facts(**stored(stripped(made)))}], [SUSPENDED])
