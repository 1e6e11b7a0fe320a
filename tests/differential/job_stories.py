"""Stories of Jobs: each does something to a Job and its pods, on whichever side it is told."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from differential.harness import Object, Side, Story

STORIES: dict[str, Callable[[Story], None]] = {}
NAME = "work"
INDEX = "batch.kubernetes.io/job-completion-index"
_GENERATED = re.compile(r"(work[-a-z]*(?:-\d+)?)-[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_TOLD_AGAIN = ("FailedCreate", "UnexpectedJob")
"""Events whose number depends on how often a controller tries."""


def story(told: Callable[[Story], None]) -> Callable[[Story], None]:
    STORIES[told.__name__] = told
    return told


# What is compared


def seen(side: Side, name: str = NAME) -> Any:
    """The status of the Job, and its pods, without what chance and time decide."""
    job = side.get("Job", name)
    pods = [_pod(pod) for pod in side.pods()]
    return (job and _status(job), sorted(pods, key=repr))


def _uncounted(side: Side) -> Any:
    """Of a Job that is deleted with its pods: they count as failed where the garbage collector came
    first, and not at all where the Job's controller did.
    """
    status, pods = seen(side)
    return ({name: value for name, value in (status or {}).items() if name != "failed"}, pods)


def events(side: Side) -> Any:
    found: Counter[Any] = Counter()
    for event in side.all("Event"):
        what = (
            event["involvedObject"]["kind"],
            event["type"],
            event["reason"],
            _named(event["message"]),
            event["source"].get("component"),
        )
        if event["reason"] in _TOLD_AGAIN:
            found[what] = 1
        else:
            found[what] += event.get("count") or 1
    return sorted(found.items())


def _status(job: Object) -> Object:
    status = dict(job["status"])
    for time in ("startTime", "completionTime"):
        status[time] = time in status
    status["conditions"] = [
        (each["type"], each["status"], each.get("reason"), _named(each.get("message") or ""))
        for each in status.get("conditions") or ()
    ]
    return status


def _pod(pod: Object) -> Object:
    metadata = pod["metadata"]
    owner = (metadata.get("ownerReferences") or [{}])[0]
    labels = {
        key: "uid" if key.endswith("controller-uid") else value
        for key, value in (metadata.get("labels") or {}).items()
    }
    return {
        "name": _named(metadata["name"]),
        "generateName": metadata.get("generateName"),
        "labels": labels,
        "annotations": metadata.get("annotations"),
        "finalizers": metadata.get("finalizers"),
        "owner": {key: value for key, value in owner.items() if key != "uid"},
        "deleted": "deletionTimestamp" in metadata,
        "phase": pod["status"]["phase"],
        "hostname": pod["spec"].get("hostname"),
        "env": [
            (each["name"], each.get("env"))
            for kind in ("initContainers", "containers")
            for each in pod["spec"].get(kind) or ()
        ],
    }


def _named(text: str) -> str:
    return _GENERATED.sub(r"\1-?????", text)


# What is done


def job(name: str = NAME, **spec: Any) -> Object:
    restart_policy = spec.pop("restartPolicy", "Never")
    pod = {
        "restartPolicy": restart_policy,
        "containers": [{"name": "main", "image": "example"}],
        **spec.pop("pod", {}),
    }
    template = {"metadata": spec.pop("templateMetadata", {}), "spec": pod}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": template, **spec},
    }


def begin(story: Story, made: Object) -> None:
    story.both(lambda side: side.create(made))
    story.agree(seen, "created")


def move(story: Story, act: Callable[[Side], Any], what: str) -> None:
    story.both(act)
    story.agree(seen, what)


def end(story: Story) -> None:
    story.agree(events, "events")


def one(side: Side, phase: str = "Pending", index: int | None = None) -> Object:
    """A pod in that phase that nobody deleted, of an index where it matters."""
    return many(side, phase, index)[0]


def many(side: Side, phase: str = "Pending", index: int | None = None) -> list[Object]:
    return side.pods(
        lambda pod: (
            pod["status"]["phase"] == phase
            and "deletionTimestamp" not in pod["metadata"]
            and (index is None or pod["metadata"]["labels"].get(INDEX) == str(index))
        )
    )


def start_all(side: Side) -> None:
    for pod in many(side):
        side.start(pod)


def remove_deleted(side: Side) -> None:
    for pod in side.pods(lambda pod: "deletionTimestamp" in pod["metadata"]):
        side.remove(pod)


def edit(**spec: Any) -> Callable[[Side], Any]:
    return lambda side: side.patch("Job", NAME, {"spec": spec})


# Success


@story
def one_pod_succeeds(story: Story) -> None:
    begin(story, job())
    move(story, lambda side: side.start(one(side), ready=False), "running")
    move(story, lambda side: side.start(one(side, "Running")), "ready")
    move(story, lambda side: side.succeed(one(side, "Running")), "succeeded")
    end(story)


@story
def several_succeed_one_after_the_other(story: Story) -> None:
    begin(story, job(completions=4, parallelism=2))
    for number in range(4):
        move(story, lambda side: side.succeed(one(side)), f"{number} succeeded")
    end(story)


@story
def a_work_queue_ends_when_all_have_ended(story: Story) -> None:
    begin(story, job(parallelism=3))
    move(story, start_all, "running")
    move(story, lambda side: side.succeed(one(side, "Running")), "one succeeded")
    move(story, lambda side: side.fail(one(side, "Running")), "one failed")
    move(story, lambda side: side.succeed(one(side, "Running")), "the last succeeded")
    end(story)


@story
def nothing_to_complete(story: Story) -> None:
    begin(story, job(completions=0))
    end(story)


@story
def more_succeed_than_asked_for(story: Story) -> None:
    begin(story, job(completions=2, parallelism=2))
    move(story, edit(parallelism=1), "fewer")
    move(story, lambda side: side.succeed(one(side)), "one succeeded")
    move(story, lambda side: side.succeed(one(side)), "two succeeded")
    end(story)


# Failure


@story
def no_failure_is_allowed(story: Story) -> None:
    begin(story, job(backoffLimit=0))
    move(story, lambda side: side.fail(one(side)), "failed")
    end(story)


@story
def too_many_failures(story: Story) -> None:
    begin(story, job(backoffLimit=2))
    for number in range(3):
        move(story, lambda side: side.fail(one(side)), f"{number} failed")
    end(story)


@story
def a_failure_then_success(story: Story) -> None:
    begin(story, job(backoffLimit=2))
    move(story, lambda side: side.fail(one(side)), "failed")
    move(story, lambda side: side.succeed(one(side)), "succeeded")
    end(story)


@story
def those_at_work_fail_with_the_job(story: Story) -> None:
    begin(story, job(completions=3, parallelism=3, backoffLimit=0))
    move(story, start_all, "running")
    move(story, lambda side: side.fail(one(side, "Running")), "one failed")
    move(story, remove_deleted, "the others are gone")
    end(story)


@story
def the_replacement_waits(story: Story) -> None:
    begin(story, job(completions=2, parallelism=2))
    move(story, start_all, "running")
    # While it waits, the real one says that none is active, and its API server refuses that.
    story.both(lambda side: side.fail(one(side, "Running"), seconds_ago=2))
    story.until(lambda side: len(many(side)) == 1, "replaced after ten seconds")
    story.agree(seen, "replaced")
    end(story)


@story
def containers_restart_too_often(story: Story) -> None:
    begin(story, job(restartPolicy="OnFailure", backoffLimit=2))
    move(story, lambda side: side.start(one(side), restarts=1), "restarted once")
    move(story, lambda side: side.start(one(side, "Running"), restarts=2), "restarted twice")
    move(story, remove_deleted, "gone")
    end(story)


@story
def a_restart_where_none_is_allowed(story: Story) -> None:
    begin(story, job(restartPolicy="OnFailure", backoffLimit=0))
    move(story, lambda side: side.start(one(side), restarts=1), "restarted once")
    move(story, remove_deleted, "gone")
    end(story)


@story
def the_deadline_passes(story: Story) -> None:
    begin(story, job(activeDeadlineSeconds=6))
    move(story, start_all, "running")
    story.until(lambda side: bool(_status(side.get("Job", NAME) or {})["conditions"]), "deadline")
    story.agree(seen, "too late")
    move(story, remove_deleted, "gone")
    end(story)


# Indexed


@story
def indexes_succeed(story: Story) -> None:
    begin(story, job(completionMode="Indexed", completions=5, parallelism=3))
    for index in (2, 0, 3, 4, 1):
        move(story, lambda side, index=index: side.succeed(one(side, index=index)), f"{index}")
    end(story)


@story
def an_index_is_tried_again(story: Story) -> None:
    variable = [{"name": "JOB_COMPLETION_INDEX", "value": "mine"}]
    pod = {
        "initContainers": [{"name": "first", "image": "example"}],
        "containers": [
            {"name": "main", "image": "example", "env": [{"name": "A", "value": "b"}]},
            {"name": "other", "image": "example", "env": variable},
        ],
        "subdomain": "service",
    }
    metadata = {"labels": {"app": "x"}, "annotations": {"note": "y"}}
    spec = {"completionMode": "Indexed", "completions": 2, "parallelism": 2}
    begin(story, job(pod=pod, templateMetadata=metadata, **spec))
    move(story, lambda side: side.fail(one(side, index=1)), "1 failed")
    move(story, lambda side: side.succeed(one(side, index=1)), "1 succeeded")
    move(story, lambda side: side.succeed(one(side, index=0)), "0 succeeded")
    end(story)


@story
def a_long_name_is_cut(story: Story) -> None:
    name = "work-" + "a" * 55
    story.both(
        lambda side: side.create(job(name, completionMode="Indexed", completions=2, parallelism=2))
    )
    story.agree(lambda side: seen(side, name), "created")


@story
def an_index_fails_alone(story: Story) -> None:
    spec = {"completionMode": "Indexed", "completions": 3, "parallelism": 3}
    begin(story, job(backoffLimitPerIndex=1, **spec))
    move(story, lambda side: side.fail(one(side, index=1)), "1 failed")
    move(story, lambda side: side.fail(one(side, index=1)), "1 failed again")
    move(story, lambda side: side.succeed(one(side, index=0)), "0 succeeded")
    move(story, lambda side: side.succeed(one(side, index=2)), "2 succeeded")
    end(story)


@story
def too_many_indexes_fail(story: Story) -> None:
    spec = {"completionMode": "Indexed", "completions": 4, "parallelism": 4}
    begin(story, job(backoffLimitPerIndex=0, maxFailedIndexes=1, **spec))
    move(story, start_all, "running")
    move(story, lambda side: side.fail(one(side, "Running", 3)), "3 failed")
    move(story, lambda side: side.fail(one(side, "Running", 0)), "0 failed")
    move(story, remove_deleted, "the others are gone")
    end(story)


@story
def indexes_come_and_go(story: Story) -> None:
    begin(story, job(completionMode="Indexed", completions=3, parallelism=3))
    move(story, lambda side: side.succeed(one(side, index=2)), "2 succeeded")
    move(story, edit(completions=5, parallelism=5), "more")
    move(story, lambda side: side.succeed(one(side, index=4)), "4 succeeded")
    move(story, edit(completions=2, parallelism=2), "fewer")
    move(story, lambda side: side.succeed(one(side, index=0)), "0 succeeded")
    move(story, lambda side: side.succeed(one(side, index=1)), "1 succeeded")
    end(story)


# Policies


def policy(*rules: Object) -> Object:
    return {"podFailurePolicy": {"rules": list(rules)}}


def exits(action: str, *codes: int, operator: str = "In", **more: Any) -> Object:
    return {"action": action, "onExitCodes": {"operator": operator, "values": codes, **more}}


DISRUPTED = {"type": "DisruptionTarget", "status": "True", "reason": "Evicted", "message": ""}


@story
def a_code_fails_the_job(story: Story) -> None:
    rules = policy(exits("Ignore", 7), exits("FailJob", 42, containerName="main"))
    begin(story, job(completions=2, parallelism=2, **rules))
    move(story, start_all, "running")
    move(story, lambda side: side.fail(one(side, "Running"), 42), "failed with 42")
    move(story, remove_deleted, "the other is gone")
    end(story)


@story
def a_condition_fails_the_job(story: Story) -> None:
    rule = {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}
    begin(story, job(**policy(rule)))
    move(story, lambda side: side.fail(one(side), 1, conditions=[DISRUPTED]), "disrupted")
    end(story)


@story
def a_disruption_is_ignored(story: Story) -> None:
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    begin(story, job(backoffLimit=0, **policy(rule)))
    move(story, lambda side: side.fail(one(side), 1, conditions=[DISRUPTED]), "disrupted")
    story.until(lambda side: len(many(side)) == 1, "replaced")
    move(story, lambda side: side.fail(one(side), 1), "failed")
    end(story)


@story
def other_codes_count(story: Story) -> None:
    rules = policy(exits("Count", 3), exits("FailJob", 1, 2, operator="NotIn"))
    begin(story, job(backoffLimit=3, **rules))
    move(story, lambda side: side.fail(one(side), 3), "counted")
    move(story, lambda side: side.fail(one(side), 2), "not in, so no rule")
    move(story, lambda side: side.fail(one(side), 9), "in no list")
    end(story)


@story
def a_code_fails_the_index(story: Story) -> None:
    spec = {"completionMode": "Indexed", "completions": 2, "parallelism": 2}
    rules = policy(exits("FailIndex", 5), exits("Ignore", 6))
    begin(story, job(backoffLimitPerIndex=3, **spec, **rules))
    move(story, lambda side: side.fail(one(side, index=0), 6), "0 ignored")
    move(story, lambda side: side.fail(one(side, index=0), 1), "0 counted")
    move(story, lambda side: side.fail(one(side, index=0), 5), "0 failed")
    move(story, lambda side: side.succeed(one(side, index=1)), "1 succeeded")
    end(story)


@story
def the_leader_is_enough(story: Story) -> None:
    spec = {"completionMode": "Indexed", "completions": 3, "parallelism": 3}
    rules = {"rules": [{"succeededCount": 3}, {"succeededIndexes": "0"}]}
    begin(story, job(successPolicy=rules, **spec))
    move(story, start_all, "running")
    move(story, lambda side: side.succeed(one(side, "Running", 1)), "1 succeeded")
    move(story, lambda side: side.succeed(one(side, "Running", 0)), "0 succeeded")
    move(story, remove_deleted, "the other is gone")
    end(story)


@story
def any_two_are_enough(story: Story) -> None:
    spec = {"completionMode": "Indexed", "completions": 4, "parallelism": 4}
    rules = {"rules": [{"succeededIndexes": "1-3", "succeededCount": 2}]}
    begin(story, job(successPolicy=rules, **spec))
    move(story, lambda side: side.succeed(one(side, index=0)), "0 succeeded")
    move(story, lambda side: side.succeed(one(side, index=3)), "3 succeeded")
    move(story, lambda side: side.succeed(one(side, index=1)), "1 succeeded")
    end(story)


# Suspension and scale


@story
def begun_suspended(story: Story) -> None:
    begin(story, job(suspend=True, completions=2, parallelism=2))
    move(story, edit(suspend=False), "resumed")
    move(story, lambda side: side.succeed(one(side)), "one succeeded")
    move(story, lambda side: side.succeed(one(side)), "two succeeded")
    end(story)


@story
def suspended_at_work(story: Story) -> None:
    begin(story, job(completions=2, parallelism=2))
    move(story, start_all, "running")
    move(story, edit(suspend=True), "suspended")
    move(story, remove_deleted, "gone")
    move(story, edit(suspend=False), "resumed")
    end(story)


@story
def suspended_after_a_failure(story: Story) -> None:
    begin(story, job(completionMode="Indexed", completions=2, parallelism=2))
    move(story, lambda side: side.fail(one(side, index=0)), "0 failed")
    move(story, lambda side: side.succeed(one(side, index=1)), "1 succeeded")
    move(story, edit(suspend=True), "suspended")
    move(story, edit(suspend=False), "resumed")
    move(story, lambda side: side.succeed(one(side, index=0)), "0 succeeded")
    end(story)


@story
def no_parallelism(story: Story) -> None:
    begin(story, job(parallelism=0, completions=1))
    move(story, edit(parallelism=1), "one")
    move(story, edit(parallelism=0), "none")
    end(story)


@story
def more_and_fewer_at_once(story: Story) -> None:
    begin(story, job(parallelism=2, completions=6))
    move(story, lambda side: side.start(one(side)), "one running")
    move(story, edit(parallelism=4), "more")
    move(story, edit(parallelism=1), "fewer: the running one stays")
    move(story, remove_deleted, "gone")
    end(story)


@story
def fewer_indexes_at_once(story: Story) -> None:
    begin(story, job(completionMode="Indexed", parallelism=3, completions=3))
    move(story, lambda side: side.start(one(side, index=2)), "2 running")
    move(story, edit(parallelism=1), "fewer: the running one stays")
    move(story, edit(parallelism=3), "more")
    end(story)


# Pods that are deleted, and Jobs


@story
def a_deleted_pod_is_replaced_at_once(story: Story) -> None:
    begin(story, job())
    move(story, start_all, "running")

    def delete(side: Side) -> None:
        side.delete("Pod", one(side, "Running")["metadata"]["name"])

    move(story, delete, "deleted: it failed, and the next one waits")
    story.until(lambda side: len(many(side)) == 1, "replaced while the other is ending")
    story.agree(seen, "replaced")
    move(story, remove_deleted, "gone")
    end(story)


@story
def a_deleted_pod_is_replaced_when_it_has_ended(story: Story) -> None:
    begin(story, job(podReplacementPolicy="Failed"))
    move(story, start_all, "running")

    def delete(side: Side) -> None:
        side.delete("Pod", one(side, "Running")["metadata"]["name"])

    def fail(side: Side) -> None:
        for pod in side.pods(lambda pod: "deletionTimestamp" in pod["metadata"]):
            side.fail(pod)

    move(story, delete, "deleted: it holds its place")
    move(story, fail, "ended: it is replaced")
    move(story, remove_deleted, "gone")
    end(story)


@story
def an_indexed_pod_is_replaced_when_it_has_ended(story: Story) -> None:
    spec = {"completionMode": "Indexed", "completions": 2, "parallelism": 2}
    begin(story, job(podReplacementPolicy="Failed", backoffLimitPerIndex=2, **spec))
    move(story, start_all, "running")

    def delete(side: Side) -> None:
        side.delete("Pod", one(side, "Running", 1)["metadata"]["name"])

    def fail(side: Side) -> None:
        for pod in side.pods(lambda pod: "deletionTimestamp" in pod["metadata"]):
            side.fail(pod)

    move(story, delete, "deleted: it holds its place")
    move(story, fail, "ended: it is replaced")
    end(story)


@story
def a_finished_job_is_deleted_at_once(story: Story) -> None:
    story.both(lambda side: side.create(job(ttlSecondsAfterFinished=0)))
    story.agree(seen, "created")
    move(story, lambda side: side.succeed(one(side)), "succeeded")
    story.until(lambda side: side.get("Job", NAME) is None, "gone")
    move(story, remove_deleted, "and its pods")
    end(story)


@story
def a_job_is_deleted_in_the_background(story: Story) -> None:
    begin(story, job(completions=3, parallelism=2))
    move(story, lambda side: side.start(one(side)), "one running")
    move(
        story,
        lambda side: side.delete("Job", NAME, propagationPolicy="Background"),
        "deleted: the running one ends",
    )
    move(story, remove_deleted, "gone")
    end(story)


@story
def a_job_is_deleted_in_the_foreground(story: Story) -> None:
    begin(story, job(completions=3, parallelism=2))
    move(story, start_all, "running")
    story.both(lambda side: side.delete("Job", NAME, propagationPolicy="Foreground"))
    story.agree(_uncounted, "deleted: the Job waits")
    move(story, remove_deleted, "gone")
    end(story)


@story
def a_job_leaves_its_pods_behind(story: Story) -> None:
    begin(story, job(completions=2, parallelism=2))
    move(
        story,
        lambda side: side.delete("Job", NAME, propagationPolicy="Orphan"),
        "deleted: its pods stay, without a finalizer",
    )
    end(story)


# Others


@story
def somebody_else_manages_it(story: Story) -> None:
    begin(story, job(managedBy="example.com/other"))
    end(story)


@story
def an_orphan_is_adopted_and_let_go(story: Story) -> None:
    selector = {"matchLabels": {"app": "x"}}
    own = {"manualSelector": True, "selector": selector}
    orphan = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "orphan", "labels": {"app": "x"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example"}]},
    }
    story.both(lambda side: side.create(orphan))
    metadata = {"labels": {"app": "x"}}
    begin(story, job(completions=2, parallelism=2, templateMetadata=metadata, **own))
    labels = {"metadata": {"labels": {"app": "y"}}}
    move(story, lambda side: side.patch("Pod", "orphan", labels), "let go")
    labels = {"metadata": {"labels": {"app": "x"}}}
    move(story, lambda side: side.patch("Pod", "orphan", labels), "adopted again: one too many")
    end(story)


@story
def a_quota_refuses_a_pod(story: Story) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "quota"},
        "spec": {"hard": {"pods": "1"}},
    }
    story.both(lambda side: side.create(quota))
    story.until(
        lambda side: "used" in ((side.get("ResourceQuota", "quota") or {}).get("status") or {}),
        "counted",
    )
    begin(story, job(completions=3, parallelism=3))
    story.both(lambda side: side.delete("ResourceQuota", "quota"))
    story.until(lambda side: len(many(side)) == 3, "all are made")
    story.agree(seen, "no quota")
    end(story)
