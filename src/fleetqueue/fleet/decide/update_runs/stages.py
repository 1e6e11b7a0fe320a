"""The stages of a run: which clusters are in which, in which order, how many change at a time, and
what is waited for.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from fleetqueue.api import selectors
from fleetqueue.api.fleet import labels as names
from fleetqueue.api.fleet import naming
from fleetqueue.api.fleet.text import client_error, object_name
from fleetqueue.api.fleet.update_strategy import StageTaskType
from fleetqueue.api.requirements import SelectorError
from fleetqueue.api.times import parse_duration

Json = dict[str, Any]
Labels = Mapping[str, str]
SHOWN_MAX = 10


class Invalid(Exception):
    """A run that cannot go on; the text says why."""


def staged(run: str, strategy: Json, clusters: Mapping[str, Labels]) -> list[Json]:
    """The stages as a run begins them; `clusters`: those to change, with their labels."""
    where = object_name(str(strategy["metadata"].get("namespace") or ""), _name(strategy))
    taken: set[str] = set()
    stages = []
    for config in strategy["spec"].get("stages") or ():
        _check_tasks(where, config)
        chosen = _chosen(where, config, clusters)
        for each in chosen:
            if each in taken:
                text = f"cluster `{each}` appears in more than one stages"
                raise Invalid(client_error(text))
            taken.add(each)
        stages.append(_stage(run, config, _sorted(config, chosen, clusters)))
    left = sorted(set(clusters) - taken)
    if left:
        shown = ", ".join(left[:SHOWN_MAX])
        raise Invalid(
            client_error(
                f"some clusters are not placed in any stage, total {len(left)}, showing up to"
                f" {SHOWN_MAX}: {shown}"
            )
        )
    return stages


def deletion(clusters: Iterable[str]) -> Json:
    """The last stage, which takes clusters away."""
    return {
        "stageName": names.DELETE_STAGE,
        "clusters": [{"clusterName": name} for name in sorted(clusters)],
    }


def concurrency(config: Json, count: int) -> int:
    """How many of so many clusters change at a time."""
    told = config.get("maxConcurrency")
    if told is None:
        return 1
    text = str(told)
    if text.endswith("%"):
        return max(1, count * int(text[:-1]) // 100)
    return max(1, int(text))


def wait(task: Json) -> timedelta:
    return parse_duration(str(task.get("waitTime") or "0s"))


def _chosen(strategy: str, config: Json, clusters: Mapping[str, Labels]) -> list[str]:
    """No selector picks no cluster, an empty one all."""
    try:
        wanted = selectors.labels_from_object(config.get("labelSelector"))
    except SelectorError as error:
        where = f"updateStrategy: `{strategy}`, stage: {config['name']}"
        text = f"the stage label selector is invalid, {where}, err: {error}"
        raise Invalid(client_error(text)) from None
    return [name for name, found in clusters.items() if wanted.matches(found)]


def _sorted(config: Json, chosen: Sequence[str], clusters: Mapping[str, Labels]) -> list[str]:
    key = config.get("sortingLabelKey")
    if not key:
        return sorted(chosen)
    ranks = {name: _rank(key, name, clusters[name].get(key, "")) for name in chosen}
    return sorted(chosen, key=lambda name: (ranks[name], name))


def _rank(key: str, cluster: str, value: str) -> int:
    digits = value[1:] if value[:1] in ("+", "-") else value
    if digits.isascii() and digits.isdecimal():
        return int(value)
    raise Invalid(
        client_error(
            f"the sorting label `{key}:{value}` on cluster `{cluster}` is not valid:"
            f' strconv.Atoi: parsing "{value}": invalid syntax'
        )
    )


def _stage(run: str, config: Json, clusters: Sequence[str]) -> Json:
    name = str(config["name"])
    stage: Json = {
        "stageName": name,
        "clusters": [{"clusterName": each} for each in clusters],
    }
    before = [_task(each, naming.approval_before(run, name)) for each in _tasks(config, "before")]
    after = [_task(each, naming.approval_after(run, name)) for each in _tasks(config, "after")]
    if before:
        stage["beforeStageTaskStatus"] = before
    if after:
        stage["afterStageTaskStatus"] = after
    return stage


def _tasks(config: Json, when: str) -> Sequence[Json]:
    found: Sequence[Json] = config.get(f"{when}StageTasks") or ()
    return found


def _task(task: Json, request: str) -> Json:
    if task["type"] == StageTaskType.APPROVAL:
        return {"type": task["type"], "approvalRequestName": request}
    return {"type": task["type"]}


def _check_tasks(strategy: str, config: Json) -> None:
    for when in ("before", "after"):
        if problem := _task_problem(when, _tasks(config, when)):
            raise Invalid(
                client_error(
                    f"the {when} stage tasks are invalid, updateStrategy: `{strategy}`,"
                    f" stage: {config['name']}, err: {problem}"
                )
            )


def _task_problem(when: str, tasks: Sequence[Json]) -> str:
    seen: set[str] = set()
    for at, task in enumerate(tasks):
        kind = str(task["type"])
        if kind in seen:
            return f"{when}StageTasks cannot have two tasks of the same type: {kind}"
        seen.add(kind)
        if kind == StageTaskType.APPROVAL and task.get("waitTime"):
            return f"task {at} of type Approval cannot have wait duration set"
        if kind == StageTaskType.TIMED_WAIT:
            if when == "before":
                return f"task {at} of type TimedWait is not allowed before a stage"
            if wait(task) <= timedelta():
                return f"task {at} of type TimedWait has wait duration <= 0"
    return ""


def _name(obj: Json) -> str:
    return str(obj["metadata"]["name"])
