"""A LeaderWorkerSet's status in the making: groups that are ready and updated, and conditions."""

from collections.abc import Sequence
from datetime import datetime

from fleetqueue.api.times import format_time
from fleetqueue.kube.plan import Note
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.amounts import number, told
from fleetqueue.runtime.operators import leader_worker_spec as keys
from fleetqueue.runtime.operators.leader_worker_rollout import Group
from fleetqueue.runtime.operators.leader_worker_spec import LeaderWorkerSet

_TEXTS = {
    "Available": ("AllGroupsReady", "All replicas are ready"),
    "Progressing": ("GroupsProgressing", "Replicas are progressing"),
    "UpdateInProgress": ("GroupsUpdating", "Rolling Upgrade is in progress"),
}


class Draft:
    """Starts as the status that is."""

    def __init__(self, whole: LeaderWorkerSet, now: datetime) -> None:
        self._whole = whole
        self._now = format_time(now)
        self._generation = int(whole.obj["metadata"].get("generation") or 0)
        self.status: Object = dict(whole.obj.get("status") or {})
        self.notes: list[Note] = []
        self.is_done = False
        """Whether every group is updated and ready, so that nobody needs old revisions."""

    def count(self, leaders: Object | None, groups: Sequence[Group], revision: str) -> None:
        whole = self._whole
        there = [group for group in groups if group.is_whole]
        ready = [group for group in there if group.is_ready]
        updated = [group for group in there if group.is_updated(revision)]
        selector = f"{keys.NAME_KEY}={whole.name},{keys.WORKER_KEY}=0"
        counts = {
            "replicas": number(leaders or {}, "status", "replicas"),
            "readyReplicas": len(ready),
            "updatedReplicas": len(updated),
            "hpaPodSelector": self.status.get("hpaPodSelector") or selector,
            "observedGeneration": self._generation,
        }
        kept = {"conditions": self.status.get("conditions")}
        self.status = told({**kept, **counts})
        self._judge(there, ready, updated)

    def _judge(self, there: list[Group], ready: list[Group], updated: list[Group]) -> None:
        """Surge groups, and those below the partition, do not count."""
        whole = self._whole
        wanted = [group for group in there if whole.partition <= group.index < whole.replicas]
        late = [group for group in wanted if group not in updated]
        done = [group for group in wanted if group in ready and group in updated]
        ready_count = sum(group.index < whole.replicas for group in ready)
        self.is_done = not whole.partition and len(done) == whole.replicas
        if late:
            types = ["UpdateInProgress", "Progressing"]
        elif ready_count == whole.replicas and len(done) == len(wanted):
            types = ["Available"]
        else:
            types = ["Progressing"]
        before = self.status.get("conditions") or []
        self.status["conditions"] = self._conditions(before, types)
        if self.status["conditions"] != before:
            reason, text = _TEXTS[types[0]]
            counts = f"with {len(ready)} groups ready of total {whole.replicas} groups"
            self.notes.append(Note(reason, f"{text}, {counts}"))

    def _conditions(self, before: Sequence[Object], types: list[str]) -> list[Object]:
        """Available excludes the other two."""
        made = []
        for each in before:
            is_old = each.get("observedGeneration") != self._generation
            if each["type"] in types and (is_old or each["status"] == "False"):
                each = self._condition(each["type"])
            elif _excludes(each["type"], types) and each["status"] == "True":
                each = {**each, "status": "False", "lastTransitionTime": self._now}
            made.append({**each, "observedGeneration": self._generation})
        known = {each["type"] for each in before}
        return made + [self._condition(type) for type in types if type not in known]

    def _condition(self, type: str) -> Object:
        reason, text = _TEXTS[type]
        return {
            "type": type,
            "status": "True",
            "reason": reason,
            "message": text,
            "lastTransitionTime": self._now,
            "observedGeneration": self._generation,
        }


def _excludes(type: str, types: list[str]) -> bool:
    return ("Available" in types) != (type == "Available")
