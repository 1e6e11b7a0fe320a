"""Stories of apps/v1, budgets and endpoints: whole objects are compared, but for names and times
that chance decides."""

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from differential import progress
from differential.harness import Object, Side, Story, path_of

STORIES: dict[str, Callable[[Story], None]] = {}
NAME = "web"
LABELS = {"app": "web"}
SEEN = {
    "replica-set": ("ReplicaSet", "Pod"),
    "deployment": ("Deployment", "ReplicaSet", "Pod"),
    "stateful-set": ("StatefulSet", "ControllerRevision", "Pod", "PersistentVolumeClaim"),
    "daemon-set": ("DaemonSet", "ControllerRevision", "Pod"),
    "budget": ("PodDisruptionBudget", "ReplicaSet", "Deployment", "Pod"),
    "service": ("EndpointSlice", "Endpoints"),
}
"""What is looked at, by what the story is about."""
_HASH_LABELS = (
    "pod-template-hash",
    "controller.kubernetes.io/hash",
    "controller-revision-hash",
)
_DROPPED = ("uid", "resourceVersion", "managedFields", "creationTimestamp")
_TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"
_SUFFIX = re.compile(r"(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_GONE = re.compile(r"(?<=\bweb-)[bcdfghjklmnpqrstvwxz2456789]{8,10}\b")
"""The hash of a ReplicaSet that is no more, in an event."""
_OBSERVERS = ("ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "PodDisruptionBudget")
_TOLD_AGAIN = ("FailedCreate", "NoPods", "CalculateExpectedPodCountFailed", "UnmanagedPods")
_DELETING_AGAIN = ("statefulset-controller", "daemonset-controller")


def story(told: Callable[[Story], None]) -> Callable[[Story], None]:
    STORIES[told.__name__] = told
    return told


# What is compared


def seen(side: Side) -> Any:
    """Every object of the story, whole."""
    kinds = next(kinds for what, kinds in SEEN.items() if side.namespace.startswith(what))
    found = {kind: side.all(kind) for kind in kinds}
    if _is_behind(found):
        return f"{side.name} has not seen it yet"
    names = _hashes(found)
    return {
        kind: sorted((_scrubbed(_timeless(kind, each), names) for each in objects), key=_in_order)
        for kind, objects in found.items()
    }


def _is_behind(found: dict[str, list[Object]]) -> bool:
    """A controller still has to look: two that are slow agree on nothing."""
    return any(
        (obj.get("status") or {}).get("observedGeneration", 0) < obj["metadata"]["generation"]
        for kind in _OBSERVERS
        for obj in found.get(kind, ())
    )


def _timeless(kind: str, obj: Object) -> Object:
    """In how many steps a roll-out or a slice gets there depends on who is faster."""
    if kind == "Deployment":
        return progress.timeless(obj)
    if kind not in ("ReplicaSet", "EndpointSlice"):
        return obj
    made = {**obj, "metadata": {**obj["metadata"], "generation": 0}}
    if "status" in obj:
        made["status"] = {**obj["status"], "observedGeneration": 0}
    return made


def _in_order(obj: Object) -> str:
    return json.dumps(obj, sort_keys=True)


def events(side: Side) -> Any:
    names = _hashes({kind: side.all(kind) for kind in ("ReplicaSet", "ControllerRevision")})
    found: Counter[Any] = Counter()
    for event in side.all("Event"):
        what = (
            event["involvedObject"]["kind"],
            event["type"],
            event["reason"],
            _named(event["message"], names),
            event["source"].get("component"),
        )
        found[what] = 1 if _is_told_again(event) else found[what] + (event.get("count") or 1)
    return sorted(found.items())


def _is_told_again(event: Object) -> bool:
    """By chance: at each try, or where a cache did not show yet that a pod was asked to go. (These
    controllers delete once more then; the pods that they make instead are counted.)"""
    source, reason = event["source"].get("component"), event["reason"]
    is_late = source in _DELETING_AGAIN and reason == "SuccessfulDelete"
    return is_late or reason in _TOLD_AGAIN


def _hashes(found: dict[str, list[Object]]) -> dict[str, str]:
    """What each hash stands for: the image of its template."""
    names = {}
    for obj in [*found.get("ReplicaSet", ()), *found.get("ControllerRevision", ())]:
        template = (obj.get("spec") or obj["data"]["spec"])["template"]
        image = template["spec"]["containers"][0]["image"]
        for label in _HASH_LABELS:
            hashed = (obj["metadata"].get("labels") or {}).get(label)
            if hashed:
                names[hashed] = f"<{image}>"
    return names


def _scrubbed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        if "subsets" in value:
            value = {**value, "subsets": sorted(value["subsets"], key=_in_order)}
        return {
            _named(key, names): "time" if _is_time(key) else _scrubbed(each, names)
            for key, each in value.items()
            if key not in _DROPPED and key != _TRIGGER and not (key == "annotations" and _nil(each))
        }
    if isinstance(value, list):
        return [_scrubbed(each, names) for each in value]
    return _named(value, names) if isinstance(value, str) else value


def _nil(annotations: Any) -> bool:
    return set(annotations or ()) <= {_TRIGGER}


def _is_time(key: str) -> bool:
    return key.endswith(("Time", "Timestamp", "edAt"))


def _named(text: str, names: dict[str, str]) -> str:
    for hashed, name in names.items():
        text = text.replace(hashed, name)
    return _SUFFIX.sub("?????", _GONE.sub("<gone>", text))


def check(story: Story, what: str = "") -> Any:
    return story.agree(seen, what)


def finish(story: Story) -> None:
    story.agree(seen)
    story.agree(events, "events")
    story.both(progress.assert_followed)


# What is done


def template(image: str = "one", **more: Any) -> Object:
    metadata = {"labels": LABELS, **more.pop("metadata", {})}
    container = {"name": "main", "image": image, **more.pop("container", {})}
    return {"metadata": metadata, "spec": {"containers": [container], **more}}


def workload(kind: str, **spec: Any) -> Object:
    metadata = {"name": NAME, **spec.pop("metadata", {})}
    whole = {"selector": {"matchLabels": LABELS}, "template": template(), **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": whole}


def create(story: Story, obj: Object) -> None:
    def act(side: Side) -> None:
        created = side.create(obj)
        if obj["kind"] == "Deployment":
            side.record(created)

    story.both(act)


def change(story: Story, kind: str, spec: Object, name: str = NAME) -> None:
    story.both(lambda side: side.patch(kind, name, {"spec": spec}))


def annotate(story: Story, kind: str, **annotations: str | None) -> None:
    told = {key.replace("__", "/").replace("_", "-"): each for key, each in annotations.items()}
    patch = {"metadata": {"annotations": told}}
    story.both(lambda side: side.patch(kind, NAME, patch))


def _image(pod: Object) -> str:
    return str(pod["spec"]["containers"][0]["image"])


def start(story: Story, count: int = 1000, *, ready: bool = True) -> None:
    """So many pods that do not run yet do, and are ready; of the latest image that has some: a
    roll-out that goes on meanwhile may take away older ones.
    """

    def act(side: Side) -> None:
        waiting = [
            pod
            for pod in side.pods()
            if pod["status"]["phase"] == "Pending" and "deletionTimestamp" not in pod["metadata"]
        ]
        latest = max(map(_image, waiting), default="")
        for pod in [each for each in waiting if _image(each) == latest][:count]:
            try:
                side.start(pod, ready=ready)
            except AssertionError:
                # A roll-out goes on while pods are started, and may take one of these away.
                if pod["metadata"]["name"] in {each["metadata"]["name"] for each in _live(side)}:
                    raise

    story.both(act)


def remove_deleted(story: Story) -> None:
    story.both(_remove_deleted)


def _remove_deleted(side: Side) -> None:
    for pod in side.pods():
        if "deletionTimestamp" in pod["metadata"]:
            side.remove(pod)


def _seen_without_deleted(side: Side) -> Any:
    """Whenever they were deleted: one side may be late."""
    _remove_deleted(side)
    return seen(side)


def fail_first(story: Story) -> None:
    story.both(lambda side: side.fail(_live(side)[0]))


def _live(side: Side) -> list[Object]:
    return side.pods(
        lambda pod: (
            pod["status"]["phase"] in ("Pending", "Running")
            and "deletionTimestamp" not in pod["metadata"]
        )
    )


def roll(story: Story, steps: int = 12, count: int = 1000) -> None:
    """Deleted pods go and new ones become ready, so many at a time, until both are at rest."""
    before = None
    for _ in range(steps):
        now = check(story)
        if now == before:
            return
        before = now
        story.agree(_seen_without_deleted)
        start(story, count=count)


# ReplicaSets


@story
def replica_set_is_resized(story: Story) -> None:
    create(story, workload("ReplicaSet", replicas=2))
    check(story, "two pods")
    start(story, count=1)
    check(story, "one is ready")
    start(story)
    change(story, "ReplicaSet", {"replicas": 4})
    check(story, "four pods, two of them ready")
    change(story, "ReplicaSet", {"replicas": 2})
    check(story, "those that are not ready went")
    change(story, "ReplicaSet", {"replicas": 0})
    check(story)
    remove_deleted(story)
    finish(story)


@story
def replica_set_replaces_ended_pods(story: Story) -> None:
    create(story, workload("ReplicaSet", replicas=2))
    check(story)
    start(story)
    check(story)
    fail_first(story)
    check(story, "one failed")
    start(story)
    check(story)
    story.both(lambda side: side.succeed(_live(side)[0]))
    finish(story)


@story
def replica_set_adopts_and_releases(story: Story) -> None:
    alone = {"apiVersion": "v1", "kind": "Pod", **template("one")}
    alone["metadata"] = {"name": "alone", "labels": LABELS}
    create(story, alone)
    create(story, workload("ReplicaSet", replicas=2))
    check(story, "one was there")
    patch = {"metadata": {"labels": {"app": "other"}}}
    story.both(lambda side: side.patch("Pod", "alone", patch))
    check(story, "it is let go")
    back = {"metadata": {"labels": {"app": "web"}}}
    story.both(lambda side: side.patch("Pod", "alone", back))
    finish(story)


@story
def replica_set_waits_for_availability(story: Story) -> None:
    create(story, workload("ReplicaSet", replicas=2, minReadySeconds=3600))
    check(story)
    start(story)
    check(story, "ready, but not for an hour")
    change(story, "ReplicaSet", {"minReadySeconds": 10})
    finish(story)


@story
def replica_set_meets_a_quota(story: Story) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few"},
        "spec": {"hard": {"pods": "1"}},
    }
    create(story, quota)
    story.until(
        lambda side: bool((side.get("ResourceQuota", "few") or {}).get("status", {}).get("hard")),
        "the quota is counted",
    )
    create(story, workload("ReplicaSet", replicas=2))
    check(story, "one pod, and a condition")
    story.both(lambda side: side.patch("ResourceQuota", "few", {"spec": {"hard": {"pods": "5"}}}))
    check(story, "the condition is gone")


@story
def replica_set_obeys_deletion_costs(story: Story) -> None:
    create(story, workload("ReplicaSet", replicas=3))
    check(story)
    start(story)
    check(story)

    def act(side: Side) -> None:
        for cost, pod in enumerate(side.pods()):
            told = {"controller.kubernetes.io/pod-deletion-cost": str(cost * 10)}
            side.patch("Pod", pod["metadata"]["name"], {"metadata": {"annotations": told}})

    story.both(act)
    check(story)
    change(story, "ReplicaSet", {"replicas": 1})
    finish(story)


# Deployments


@story
def deployment_is_rolled_out(story: Story) -> None:
    create(story, workload("Deployment", replicas=3))
    check(story, "made")
    for _ in range(3):
        start(story, count=1)
        check(story, "one more is ready")
    finish(story)


@story
def deployment_is_updated_step_by_step(story: Story) -> None:
    rolling = {"maxSurge": 1, "maxUnavailable": 1}
    create(
        story,
        workload(
            "Deployment",
            replicas=4,
            strategy={"type": "RollingUpdate", "rollingUpdate": rolling},
        ),
    )
    check(story)
    start(story)
    check(story)
    change(story, "Deployment", {"template": template("two")})
    roll(story, 20, count=1)
    finish(story)


@story
def deployment_replaces_sick_pods_first(story: Story) -> None:
    create(story, workload("Deployment", replicas=4))
    check(story)
    start(story, count=2)
    check(story)
    change(story, "Deployment", {"template": template("two")})
    check(story, "old pods that never got ready go at once")
    roll(story, 20, count=1)
    finish(story)


@story
def deployment_is_recreated(story: Story) -> None:
    create(story, workload("Deployment", replicas=2, strategy={"type": "Recreate"}))
    check(story)
    start(story)
    check(story)
    change(story, "Deployment", {"template": template("two")})
    check(story, "old pods are asked to go, no new one is made")
    remove_deleted(story)
    check(story, "new pods")
    start(story)
    finish(story)


@story
def deployment_is_paused_and_resumed(story: Story) -> None:
    create(story, workload("Deployment", replicas=2))
    check(story)
    start(story)
    check(story)
    change(story, "Deployment", {"paused": True})
    check(story, "paused")
    change(story, "Deployment", {"template": template("two")})
    check(story, "nothing happens")
    change(story, "Deployment", {"replicas": 3})
    check(story, "but it can be resized")
    change(story, "Deployment", {"paused": None})
    check(story, "resumed")
    roll(story)
    finish(story)


@story
def deployment_made_paused(story: Story) -> None:
    create(story, workload("Deployment", replicas=2, paused=True))
    check(story)
    change(story, "Deployment", {"paused": False})
    check(story)
    start(story)
    finish(story)


@story
def deployment_is_resized_in_the_middle(story: Story) -> None:
    rolling = {"maxSurge": 3, "maxUnavailable": 2}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    create(story, workload("Deployment", replicas=10, strategy=strategy))
    check(story)
    start(story)
    check(story)
    change(story, "Deployment", {"template": template("two")})
    check(story)
    remove_deleted(story)
    check(story, "eight old, five new")
    change(story, "Deployment", {"replicas": 15})
    check(story, "both grow")
    change(story, "Deployment", {"replicas": 6})
    check(story, "both shrink")
    roll(story, 30, count=1)
    finish(story)


@story
def deployment_goes_back(story: Story) -> None:
    create(story, workload("Deployment", replicas=1))
    check(story)
    start(story)
    check(story)
    for image in ("two", "one", "two"):
        change(story, "Deployment", {"template": template(image)})
        roll(story)
    finish(story)


@story
def deployment_goes_back_by_annotation(story: Story) -> None:
    create(story, workload("Deployment", replicas=1))
    check(story)
    start(story)
    check(story)
    annotate(story, "Deployment", kubernetes_io__change_cause="second")
    change(story, "Deployment", {"template": template("two")})
    roll(story)
    for target in ("1", "7", "0"):
        key = "deprecated.deployment.rollback.to"
        patch = {"metadata": {"annotations": {key: target}}}
        story.both(lambda side, patch=patch: side.patch("Deployment", NAME, patch))  # type: ignore[misc]
        roll(story)
    finish(story)


@story
def deployment_misses_its_deadline(story: Story) -> None:
    create(story, workload("Deployment", replicas=2, progressDeadlineSeconds=3))
    check(story)
    story.until(
        lambda side: "ProgressDeadlineExceeded" in repr(side.get("Deployment", NAME)), "too late"
    )
    check(story, "too late")
    start(story, count=1)
    check(story, "progress again")
    start(story)
    finish(story)


@story
def deployment_without_a_deadline(story: Story) -> None:
    create(story, workload("Deployment", replicas=1, progressDeadlineSeconds=2**31 - 1))
    check(story)
    start(story)
    finish(story)


@story
def deployment_forgets_old_revisions(story: Story) -> None:
    create(story, workload("Deployment", replicas=1, revisionHistoryLimit=1))
    check(story)
    start(story)
    for image in ("two", "three", "four"):
        change(story, "Deployment", {"template": template(image)})
        roll(story)
    finish(story)


@story
def deployment_hands_on_annotations_and_waits(story: Story) -> None:
    made = workload("Deployment", replicas=1)
    made["metadata"]["annotations"] = {"kubernetes.io/change-cause": "first"}
    create(story, made)
    check(story)
    annotate(story, "Deployment", kubernetes_io__change_cause="changed", team="a")
    change(story, "Deployment", {"minReadySeconds": 5})
    check(story)
    start(story)
    finish(story)


@story
def deployment_of_nothing(story: Story) -> None:
    create(story, workload("Deployment", replicas=0))
    check(story)
    change(story, "Deployment", {"template": template("two")})
    check(story)
    change(story, "Deployment", {"replicas": 1})
    check(story)
    start(story)
    finish(story)


@story
def deployment_tells_of_failing_pods(story: Story) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none"},
        "spec": {"hard": {"pods": "0"}},
    }
    create(story, quota)
    story.until(
        lambda side: bool((side.get("ResourceQuota", "none") or {}).get("status", {}).get("hard")),
        "the quota is counted",
    )
    create(story, workload("Deployment", replicas=1))
    story.until(lambda side: "ReplicaFailure" in repr(side.get("Deployment", NAME)), "it is told")
    check(story)


@story
def deployment_takes_in_a_replica_set(story: Story) -> None:
    create(story, workload("ReplicaSet", replicas=1, metadata={"labels": LABELS}))
    check(story)
    start(story)
    check(story)
    create(story, workload("Deployment", replicas=2))
    check(story)
    start(story)
    finish(story)


# StatefulSets


@story
def stateful_set_is_made_in_order(story: Story) -> None:
    create(story, workload("StatefulSet", replicas=3, serviceName="web"))
    for _ in range(3):
        check(story, "one more")
        start(story)
    check(story, "all there")
    change(story, "StatefulSet", {"replicas": 1})
    for _ in range(2):
        check(story, "the last one goes")
        remove_deleted(story)
    finish(story)


@story
def stateful_set_waits_for_a_sick_pod(story: Story) -> None:
    create(story, workload("StatefulSet", replicas=3, serviceName="web"))
    check(story)
    start(story)
    check(story)
    start(story, ready=False)
    check(story, "the second is not ready, no third")
    change(story, "StatefulSet", {"replicas": 1})
    check(story, "but it may go")
    remove_deleted(story)
    finish(story)


@story
def stateful_set_in_parallel(story: Story) -> None:
    made = workload("StatefulSet", replicas=3, serviceName="web", podManagementPolicy="Parallel")
    create(story, made)
    check(story, "all at once")
    start(story)
    check(story)
    change(story, "StatefulSet", {"replicas": 1})
    check(story)
    remove_deleted(story)
    change(story, "StatefulSet", {"template": template("two")})
    roll(story)
    finish(story)


@story
def stateful_set_is_updated_behind_a_partition(story: Story) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    create(story, workload("StatefulSet", replicas=3, serviceName="web", updateStrategy=strategy))
    roll(story)
    change(story, "StatefulSet", {"template": template("two")})
    check(story, "the last one goes")
    roll(story)
    story.both(lambda side: side.delete("Pod", "web-0", gracePeriodSeconds=0))
    roll(story)
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    change(story, "StatefulSet", {"updateStrategy": strategy})
    check(story)
    roll(story)
    finish(story)


@story
def stateful_set_is_updated_by_hand(story: Story) -> None:
    strategy = {"type": "OnDelete"}
    create(story, workload("StatefulSet", replicas=2, serviceName="web", updateStrategy=strategy))
    roll(story)
    change(story, "StatefulSet", {"template": template("two")})
    check(story, "nothing happens")
    story.both(lambda side: side.delete("Pod", "web-1", gracePeriodSeconds=0))
    roll(story)
    finish(story)


@story
def stateful_set_replaces_ended_pods(story: Story) -> None:
    create(story, workload("StatefulSet", replicas=2, serviceName="web"))
    roll(story)
    fail_first(story)
    check(story, "it is taken away")
    remove_deleted(story)
    roll(story)
    story.both(lambda side: side.succeed(side.pods()[1]))
    check(story)
    remove_deleted(story)
    roll(story)
    finish(story)


def _claim_template(name: str = "data") -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": {"name": name, "labels": {"kind": "disk"}}, "spec": spec}


@story
def stateful_set_has_claims(story: Story) -> None:
    made = workload(
        "StatefulSet",
        replicas=2,
        serviceName="web",
        ordinals={"start": 5},
        volumeClaimTemplates=[_claim_template()],
    )
    made["spec"]["template"]["spec"]["volumes"] = [
        {"name": "data", "emptyDir": {}},
        {"name": "more", "emptyDir": {}},
    ]
    create(story, made)
    roll(story)
    change(story, "StatefulSet", {"replicas": 1})
    roll(story)
    finish(story)


@story
def stateful_set_removes_its_claims(story: Story) -> None:
    made = workload(
        "StatefulSet",
        replicas=2,
        serviceName="web",
        persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete", "whenScaled": "Delete"},
        volumeClaimTemplates=[_claim_template()],
    )
    create(story, made)
    roll(story)
    change(story, "StatefulSet", {"replicas": 1})
    check(story, "the claim is the pod's")
    remove_deleted(story)
    story.until(lambda side: side.get("PersistentVolumeClaim", "data-web-1") is None, "it goes")
    check(story)
    policy = {"whenDeleted": "Retain", "whenScaled": "Retain"}
    change(story, "StatefulSet", {"persistentVolumeClaimRetentionPolicy": policy})
    finish(story)


@story
def stateful_set_goes_back(story: Story) -> None:
    create(story, workload("StatefulSet", replicas=2, serviceName="web", revisionHistoryLimit=1))
    roll(story)
    for image in ("two", "three", "one", "four"):
        change(story, "StatefulSet", {"template": template(image)})
        roll(story, 16)
    finish(story)


@story
def stateful_set_waits_for_availability(story: Story) -> None:
    create(story, workload("StatefulSet", replicas=2, serviceName="web", minReadySeconds=3600))
    check(story)
    start(story)
    check(story, "ready, but the next one waits")
    change(story, "StatefulSet", {"minReadySeconds": 10})
    roll(story)
    finish(story)


# DaemonSets


def node(story: Story, name: str, labels: Object | None = None, **spec: Any) -> str:
    """Nodes are shared by all stories, so each has names and labels of its own."""
    whole = f"{story.ours.namespace}-{name}"
    metadata = {"name": whole, "labels": {"story": story.ours.namespace, **(labels or {})}}
    made = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec}
    story.both(lambda side: side.send("POST", path_of("Node"), made))
    # kube-apiserver taints new nodes as not ready; nobody is there to take that away.
    story.both(lambda side: _patch_node(side, whole, {"spec": {"taints": spec.get("taints", [])}}))
    return whole


def _patch_node(side: Side, name: str, patch: Object) -> None:
    headers = {"Content-Type": "application/merge-patch+json"}
    side.send("PATCH", path_of("Node", "", name), patch, headers)


def change_node(story: Story, name: str, patch: Object) -> None:
    story.both(lambda side: _patch_node(side, name, patch))


def daemon_set(story: Story, image: str = "one", **spec: Any) -> Object:
    chosen = template(image, nodeSelector={"story": story.ours.namespace})
    return workload("DaemonSet", template=chosen, **spec)


def run_daemons(side: Side) -> None:
    """As a scheduler and kubelets would: each pod to the node that it was made for."""
    for pod in side.pods():
        name = pod["metadata"]["name"]
        if "deletionTimestamp" in pod["metadata"]:
            side.remove(pod)
        elif not pod["spec"].get("nodeName"):
            required = "requiredDuringSchedulingIgnoredDuringExecution"
            terms = pod["spec"]["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"]
            binding = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": name},
                "target": {"kind": "Node", "name": terms[0]["matchFields"][0]["values"][0]},
            }
            side.send("POST", path_of("Pod", side.namespace, name, "binding"), binding)
            side.start(side.get("Pod", name) or pod)


def settle_daemons(story: Story, steps: int = 10) -> None:
    before = None
    for _ in range(steps):
        now = check(story)
        if now == before:
            return
        before = now
        story.both(run_daemons)


def update_daemons(story: Story, image: str) -> None:
    """Which node is first is left to chance, so only the end is compared."""
    change(story, "DaemonSet", {"template": daemon_set(story, image)["spec"]["template"]})

    def is_done(side: Side) -> bool:
        run_daemons(side)
        found = side.get("DaemonSet", NAME) or {}
        status = found.get("status") or {}
        counts = {status.get(name) for name in ("updatedNumberScheduled", "numberAvailable")}
        is_seen = status.get("observedGeneration") == found["metadata"]["generation"]
        return is_seen and counts == {status["desiredNumberScheduled"]}

    story.until(is_done, "all are updated")
    settle_daemons(story)


@story
def daemon_set_follows_nodes(story: Story) -> None:
    first = node(story, "a")
    node(story, "b")
    create(story, daemon_set(story))
    settle_daemons(story)
    node(story, "c")
    settle_daemons(story)
    change_node(story, first, {"metadata": {"labels": {"story": "another"}}})
    settle_daemons(story)
    finish(story)


@story
def daemon_set_respects_taints(story: Story) -> None:
    taints = [{"key": "only", "value": "gpu", "effect": "NoSchedule"}]
    first = node(story, "a", taints=taints)
    second = node(story, "b", unschedulable=True)
    create(story, daemon_set(story))
    settle_daemons(story)
    change_node(story, first, {"spec": {"taints": []}})
    settle_daemons(story)
    change_node(story, first, {"spec": {"taints": taints}})
    leave = [{"key": "out", "effect": "NoExecute"}]
    change_node(story, second, {"spec": {"taints": leave}})
    settle_daemons(story)
    finish(story)


@story
def daemon_set_is_updated(story: Story) -> None:
    for name in ("a", "b", "c"):
        node(story, name)
    create(story, daemon_set(story))
    settle_daemons(story)
    update_daemons(story, "two")
    finish(story)


@story
def daemon_set_is_updated_with_surge(story: Story) -> None:
    for name in ("a", "b"):
        node(story, name)
    rolling = {"maxSurge": 1, "maxUnavailable": 0}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    create(story, daemon_set(story, updateStrategy=strategy))
    settle_daemons(story)
    update_daemons(story, "two")
    finish(story)


@story
def daemon_set_replaces_failed_pods(story: Story) -> None:
    node(story, "a")
    create(story, daemon_set(story, revisionHistoryLimit=0, updateStrategy={"type": "OnDelete"}))
    settle_daemons(story)
    fail_first(story)
    check(story)
    remove_deleted(story)
    settle_daemons(story)
    change(story, "DaemonSet", {"template": daemon_set(story, "two")["spec"]["template"]})
    check(story)
    story.both(lambda side: side.delete("Pod", _live(side)[0]["metadata"]["name"]))
    settle_daemons(story)
    finish(story)


# Disruption budgets


def budget(**spec: Any) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "few"},
        "spec": {"selector": {"matchLabels": LABELS}, **spec},
    }


@story
def budget_of_available_pods(story: Story) -> None:
    create(story, budget(minAvailable=2))
    check(story, "no pods")
    create(story, workload("ReplicaSet", replicas=3))
    check(story)
    start(story, count=2)
    check(story, "two are enough, none to spare")
    start(story)
    check(story, "one to spare")
    change(story, "PodDisruptionBudget", {"minAvailable": "100%"}, "few")
    finish(story)


@story
def budget_of_unavailable_pods(story: Story) -> None:
    create(story, budget(maxUnavailable="30%"))
    create(story, workload("Deployment", replicas=4))
    check(story)
    start(story)
    check(story)
    evict = {"apiVersion": "policy/v1", "kind": "Eviction"}

    def act(side: Side) -> None:
        name = side.pods()[0]["metadata"]["name"]
        path = path_of("Pod", side.namespace, name, "eviction")
        side.send("POST", path, {**evict, "metadata": {"name": name}})

    story.both(act)
    check(story, "one was evicted")
    remove_deleted(story)
    start(story)
    check(story)


@story
def budget_of_unmanaged_pods(story: Story) -> None:
    create(story, _pod("loose"))
    create(story, budget(maxUnavailable=1))
    check(story)
    change(story, "PodDisruptionBudget", {"maxUnavailable": None, "minAvailable": 1}, "few")
    start(story)
    finish(story)


# Endpoints


def service(**spec: Any) -> Object:
    metadata = {"name": "front", "labels": {"of": "us"}}
    whole = {"selector": LABELS, **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": whole}


def _pod(name: str, **more: Any) -> Object:
    made = template("one", **more)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": LABELS},
        "spec": made["spec"],
    }


def lead(story: Story, name: str, address: str, *, ready: bool = True, zone: str = "") -> None:
    """A pod on the story's node, with an address."""
    where = f"{story.ours.namespace}-node"
    if story.ours.get("Pod", name) is None:
        create(story, _pod(name))
    story.both(lambda side: _run(side, name, where, address, ready))


def _run(side: Side, name: str, where: str, address: str, ready: bool) -> None:
    pod = side.get("Pod", name)
    assert pod is not None
    if not pod["spec"].get("nodeName"):
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"kind": "Node", "name": where},
        }
        side.send("POST", path_of("Pod", side.namespace, name, "binding"), binding)
        pod = side.get("Pod", name)
        assert pod is not None
    side.start(pod, ready=ready)
    ips = {"podIP": address, "podIPs": [{"ip": address}]}
    side.patch("Pod", name, {"status": ips}, "status")


@story
def service_leads_to_pods(story: Story) -> None:
    node(story, "node", {"topology.kubernetes.io/zone": "here"})
    create(story, service(ports=[{"port": 80, "targetPort": 8080}]))
    check(story, "an empty slice")
    lead(story, "a", "10.1.0.1")
    check(story)
    lead(story, "b", "10.1.0.2", ready=False)
    check(story, "one is not ready")
    lead(story, "b", "10.1.0.2")
    check(story)
    story.both(lambda side: side.delete("Pod", "a"))
    check(story, "one is on its way out")
    remove_deleted(story)
    check(story)
    story.both(lambda side: side.succeed(side.pods()[0]))
    finish(story)


@story
def service_without_a_head(story: Story) -> None:
    node(story, "node")
    named = {"ports": [{"name": "http", "containerPort": 8000}]}
    create(
        story,
        service(
            clusterIP="None",
            publishNotReadyAddresses=True,
            ports=[{"name": "http", "port": 80, "targetPort": "http"}],
        ),
    )
    create(story, _pod("a", hostname="alpha", subdomain="front", container=named))
    lead(story, "a", "10.1.0.1", ready=False)
    check(story)
    other = {"ports": [{"name": "http", "containerPort": 9000}]}
    create(story, _pod("b", container=other))
    lead(story, "b", "10.1.0.2")
    check(story, "the same name, another port")
    story.both(lambda side: side.patch("Service", "front", {"metadata": {"labels": {"of": "all"}}}))
    check(story)
    lead(story, "c", "10.1.0.3")
    check(story, "no port of that name")
    story.both(lambda side: side.patch("Service", "front", {"spec": {"selector": {"app": "x"}}}))
    finish(story)


@story
def service_without_a_head_or_ports(story: Story) -> None:
    node(story, "node")
    create(story, service(clusterIP="None"))
    lead(story, "a", "10.1.0.1")
    check(story)
    story.both(lambda side: side.delete("Service", "front"))
    story.until(lambda side: side.get("Endpoints", "front") is None, "they go with it")
    finish(story)
