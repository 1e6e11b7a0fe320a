"""Looks without a server, for tests of operators, and what a plan says."""

from datetime import UTC, datetime, timedelta
from typing import Any

from fleetqueue.kube.plan import Create, Delete, Look, Note, Patch, Plan, Status
from fleetqueue.kube.resources import Object, Resource, split_api_version
from fleetqueue.kube.sources import Listed
from fleetqueue.kube.webhook_rules import Asked

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
TIME = "2026-01-01T12:00:00Z"


def look(parent: Object, *others: Object, after: float = 0.0) -> Look:
    return Look(parent, NOW + timedelta(seconds=after), Listed([parent, *others]))


def asked(obj: Object, old: Object | None = None, *others: Object) -> Asked:
    """By one who may do anything, of a server that serves every kind in namespaces."""
    return Asked(obj, old, NOW, Listed(others), may=lambda *wish: True, served=served)


def served(api_version: str, kind: str) -> Resource | None:
    return Resource(*split_api_version(api_version), f"{kind.lower()}s", kind)


def status(plan: Plan) -> Object:
    """The one status of a plan."""
    found = [step.status for step in plan.steps if isinstance(step, Status)]
    assert len(found) == 1
    return found[0]


def conditions(plan: Plan) -> list[tuple[str, str, str, str]]:
    return [
        (each["type"], each["status"], each["reason"], each["message"])
        for each in status(plan).get("conditions") or ()
    ]


def created(plan: Plan) -> list[Object]:
    return [step.obj for step in plan.steps if isinstance(step, Create)]


def created_names(plan: Plan, kind: str) -> list[str]:
    return [obj["metadata"]["name"] for obj in created(plan) if obj["kind"] == kind]


def deleted_names(plan: Plan, kind: str) -> list[str]:
    steps = [step for step in plan.steps if isinstance(step, Delete)]
    return [step.obj["metadata"]["name"] for step in steps if step.obj["kind"] == kind]


def patches(plan: Plan) -> list[tuple[str, Any]]:
    steps = [step for step in plan.steps if isinstance(step, Patch)]
    return [(step.obj["metadata"]["name"], step.patch) for step in steps]


def events(plan: Plan) -> list[tuple[str, str, str]]:
    notes = [step for step in plan.steps if isinstance(step, Note)]
    return [(note.type, note.reason, note.message) for note in notes]


def texts(errors: list[Any]) -> list[str]:
    return [str(error) for error in errors]
