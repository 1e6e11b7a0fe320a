"""What people install of Kueue beside the one that is built in."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fleetqueue.embedded.built_in import free_registration, keep_definition
from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Listed
from fleetqueue.kube.webhook_rules import Asked

pytestmark = [pytest.mark.rule("G-1"), pytest.mark.rule("G-2")]
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def asked(obj: Object, old: Object | None = None) -> Asked:
    return Asked(obj=obj, old=old, now=NOW, source=Listed([]))


def definition(group: str, *versions: str) -> Object:
    spec: dict[str, Any] = {"group": group, "versions": [{"name": each} for each in versions]}
    return {"metadata": {"name": f"things.{group}"}, "spec": spec}


@pytest.mark.parametrize("group", ["kueue.x-k8s.io", "placement.kubernetes-fleet.io"])
def test_a_definition_that_is_built_in_stays(group: str) -> None:
    ours, theirs = definition(group, "v1beta1", "v1beta2"), definition(group, "v1beta1")
    look = asked(theirs, ours)
    keep_definition(look)
    assert theirs["spec"] == ours["spec"]
    assert look.warnings == [
        f"things.{group} is built in: its definition stays as it is, with v1beta1, v1beta2"
    ]


@pytest.mark.parametrize(
    ("group", "old"),
    [
        ("example.com", definition("example.com", "v1", "v2")),
        ("kueue.x-k8s.io", None),
        ("kueue.x-k8s.io", definition("kueue.x-k8s.io", "v1")),
    ],
)
def test_other_definitions_are_people_s(group: str, old: Object | None) -> None:
    look = asked(definition(group, "v1"), old)
    keep_definition(look)
    assert look.obj == definition(group, "v1")
    assert not look.warnings


@pytest.mark.parametrize(
    ("service", "policy"), [("kueue-webhook-service", "Ignore"), ("other", "Fail")]
)
def test_webhooks_of_what_is_built_in_hold_nothing_up(service: str, policy: str) -> None:
    target = {"service": {"namespace": "kueue-system", "name": service}}
    webhook = {"name": "vjob.kb.io", "failurePolicy": "Fail", "clientConfig": target}
    look = asked({"metadata": {"name": "w"}, "webhooks": [webhook]})
    free_registration(look)
    assert webhook["failurePolicy"] == policy
    assert len(look.warnings) == (policy == "Ignore")
