"""What a hub and a member are given on a foreign cluster."""

import pytest

from fleetqueue.fleet.attached import installation
from fleetqueue.fleet.decide import membership
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kube.webhook_serving import Reach

pytestmark = pytest.mark.rule("kubefleet 10.5")
SERVICE = Reach("", "fleetwebhook", "fleet-system")
URL = Reach("https://hub:9443")


def kinds(settings: HubSettings, reach: Reach) -> list[str]:
    found = [each["kind"] for each in installation.hub_objects(settings, reach)]
    return [kind for kind in found if kind != "CustomResourceDefinition"]


def test_a_hub_has_its_kinds_its_account_and_its_webhooks() -> None:
    assert kinds(HubSettings(), SERVICE) == [
        "Namespace",
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "Service",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ]


def test_webhooks_at_a_url_need_no_service_and_a_hub_may_do_without_any() -> None:
    assert "Service" not in kinds(HubSettings(), URL)
    assert "Service" not in kinds(HubSettings(enable_webhook=False), SERVICE)
    guarded = kinds(HubSettings(enable_guard_rail=True), URL)
    assert guarded.count("ValidatingWebhookConfiguration") == 2


def test_a_member_has_applied_works_and_none_of_the_hubs_kinds() -> None:
    found = list(installation.member_objects())
    crds = [each for each in found if each["kind"] == "CustomResourceDefinition"]
    assert [each["spec"]["names"]["kind"] for each in crds] == ["AppliedWork"]
    hub = {
        each["spec"]["names"]["kind"]
        for each in installation.hub_objects(HubSettings(), URL)
        if each["kind"] == "CustomResourceDefinition"
    }
    assert "AppliedWork" not in hub
    assert {"MemberCluster", "Work", "ClusterProfile", "ClusterStagedUpdateRun"} <= hub


def test_a_hub_has_what_it_grants() -> None:
    """Else an API server refuses the roles that it makes for its members."""
    held = installation.hub_rules()
    for granted in membership.rules():
        assert any(
            each["apiGroups"] == granted["apiGroups"]
            and (each["resources"] == ["*"] or each["resources"] == granted["resources"])
            and (each["verbs"] == ["*"] or set(granted["verbs"]) <= set(each["verbs"]))
            for each in held
        ), granted
