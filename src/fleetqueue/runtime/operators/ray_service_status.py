"""What a RayService says of itself: its clusters, endpoints and conditions."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from fleetqueue.api.times import format_duration, format_time, parse_time
from fleetqueue.kube.plan import Note
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions
from fleetqueue.runtime.operators import ray_cluster_status as states
from fleetqueue.runtime.operators.ray_service_rules import initializing_timeout

READY, UPGRADING = "Ready", "UpgradeInProgress"
SUSPENDING, SUSPENDED = "Suspending", "Suspended"
_INITIALIZING, _TIMEOUT = "Initializing", "InitializingTimeout"


class Draft:
    """The status as it is to become."""

    def __init__(self, service: Object, now: datetime) -> None:
        self.service, self.now = service, now
        self.old: Object = service.get("status") or {}
        self.status: Object = {**self.old}
        self.status["observedGeneration"] = service["metadata"].get("generation")
        self.conditions: list[Object] = list(self.old.get("conditions") or ())
        self.active: Object = dict(self.old.get("activeServiceStatus") or {})
        self.pending: Object = dict(self.old.get("pendingServiceStatus") or {})
        self.notes: list[Note] = []

    def is_true(self, type: str) -> bool:
        found = conditions.find(self.conditions, type)
        return found is not None and found.get("status") == "True"

    @property
    def has_timed_out(self) -> bool:
        found = conditions.find(self.conditions, READY)
        return found is not None and found.get("reason") == _TIMEOUT

    @property
    def seconds_left(self) -> float | None:
        """To become ready for the first time; None where nothing hurries."""
        limit, found = initializing_timeout(self.service), conditions.find(self.conditions, READY)
        if limit is None or found is None or found.get("reason") != _INITIALIZING:
            return None
        return (parse_time(found["lastTransitionTime"]) + limit - self.now).total_seconds()

    def set(self, type: str, status: bool, reason: str, message: str) -> None:
        new: Object = {
            "type": type,
            "status": str(status),
            "reason": reason,
            "message": message,
            "lastTransitionTime": format_time(self.now),
        }
        generation = self.service["metadata"].get("generation")
        if generation:
            new["observedGeneration"] = generation
        self.conditions = conditions.settled(self.conditions, new)

    def describe(self, endpoints: int) -> None:
        """Endpoints and the conditions that follow from all there is."""
        if not self.conditions:
            text = "RayService is initializing"
            self.set(READY, False, _INITIALIZING, text)
            self.set(UPGRADING, False, _INITIALIZING, text)
        self.status["numServeEndpoints"] = endpoints
        if endpoints > 0:
            text = "Number of serve endpoints is greater than 0"
            self.set(READY, True, "NonZeroServeEndpoints", text)
        elif self.is_true(READY):
            text = "Number of serve endpoints dropped to 0"
            self.set(READY, False, "ZeroServeEndpoints", text)
        else:
            self._check_timeout()
        self._describe_upgrade()

    def finish(self) -> Object | None:
        """The whole status, or None where it tells no news."""
        ready = self.is_true(READY)
        whole: Object = {**self.status, "serviceStatus": "Running" if ready else ""}
        whole["conditions"] = self.conditions
        whole["activeServiceStatus"] = _told(self.active)
        whole["pendingServiceStatus"] = _told(self.pending)
        whole = {key: value for key, value in whole.items() if value not in ("", 0, None, [])}
        if _essence(whole) == _essence(self.old):
            return None
        return {**whole, "lastUpdateTime": format_time(self.now)}

    def _check_timeout(self) -> None:
        limit, left = initializing_timeout(self.service), self.seconds_left
        if limit is None or left is None or left > 0:
            return
        self.active.pop("rayClusterName", None)
        self.pending.pop("rayClusterName", None)
        allowed, shown = format_duration(limit), format_duration(limit - timedelta(seconds=left))
        text = (
            f"RayService failed to become ready within the configured timeout of {allowed}."
            f" Time spent initializing: {shown}"
        )
        self.set(READY, False, _TIMEOUT, text)
        text = (
            f"RayService initializing timeout exceeded after {shown}"
            f" (configured timeout: {allowed})"
        )
        self.notes.append(Note("RayServiceInitializingTimeout", text, "Warning"))

    def _describe_upgrade(self) -> None:
        active, pending = self.active.get("rayClusterName"), self.pending.get("rayClusterName")
        known = (conditions.find(self.conditions, UPGRADING) or {}).get("reason")
        if active and pending:
            text = "Both active and pending Ray clusters exist"
            self.set(UPGRADING, True, "BothActivePendingClustersExist", text)
        elif active:
            text = "Active Ray cluster exists and no pending Ray cluster"
            self.set(UPGRADING, False, "NoPendingCluster", text)
        elif known not in (_INITIALIZING, _TIMEOUT):
            text = "No active Ray cluster exists, and the RayService is not initializing."
            self.set(UPGRADING, False, "NoActiveCluster", text)


def applications_of(told: Mapping[str, Any]) -> dict[str, Object]:
    """What a dashboard says of applications, as the status shows it."""
    return {
        name or "default": _health(
            each,
            serveDeploymentStatuses={
                part: _health(state) for part, state in (each.get("deployments") or {}).items()
            },
        )
        for name, each in told.items()
    }


def assumed_applications(service: Object) -> dict[str, Object]:
    """Those of the config, all well: what there is to tell where there is no Ray to ask."""
    found = {}
    for each in (serve_config(service).get("applications")) or ():
        parts = {
            str(part.get("name")): {"status": "HEALTHY"} for part in each.get("deployments") or ()
        }
        whole: Object = {"status": "RUNNING"} | (
            {"serveDeploymentStatuses": parts} if parts else {}
        )
        found[str(each.get("name") or "default")] = whole
    return found


def serve_config(service: Object) -> Object:
    import yaml  # slow to load, and seldom needed

    try:
        config = yaml.safe_load(service["spec"].get("serveConfigV2") or "")
    except yaml.YAMLError:
        return {}
    return config if isinstance(config, dict) else {}


def all_run(applications: Mapping[str, Object]) -> bool:
    running = [each.get("status") == "RUNNING" for each in applications.values()]
    return bool(running) and all(running)


def _health(told: Mapping[str, Any], **more: Any) -> Object:
    whole = {"status": told.get("status"), "message": told.get("message"), **more}
    return {key: value for key, value in whole.items() if value}


def _told(one: Object) -> Object:
    whole = {"rayClusterStatus": dict(states.EMPTY), **one}
    return {key: value for key, value in whole.items() if value not in (None, "", {})}


def _essence(status: Object) -> Object:
    """What makes it worth writing: not that a cluster's own status moved, nor when."""
    essence = {
        key: value
        for key, value in status.items()
        if key not in ("lastUpdateTime", "observedGeneration")
    }
    for key in ("activeServiceStatus", "pendingServiceStatus"):
        one = essence.get(key) or {}
        essence[key] = {name: value for name, value in one.items() if name != "rayClusterStatus"}
    return essence
