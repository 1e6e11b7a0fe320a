"""What is made on a foreign cluster so that people can look, and may."""

from random import Random
from typing import Any

import pytest

from fleetqueue import attached, installation, kueue
from fleetqueue.api.kueue.roles import ADMIN, USER, JobKind, roles
from fleetqueue.base.clock import SystemClock
from fleetqueue.jobs import registry
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.transport import InProcessTransport
from fleetqueue.kube.webhook_serving import Reach

pytestmark = pytest.mark.rule("kueue 10.4")
TO = "rbac.authorization.k8s.io/aggregate-to-"
MADE = {each["metadata"]["name"]: each for each in roles([JobKind("batch", "jobs", "Job")])}


@pytest.mark.parametrize(
    ("name", "labels", "builtin"),
    [
        ("clusterqueue-viewer-role", {ADMIN}, {"admin"}),
        ("cohort-viewer-role", {ADMIN}, {"admin"}),
        ("resourceflavor-viewer-role", {ADMIN}, {"admin"}),
        ("topology-viewer-role", {ADMIN}, {"admin"}),
        ("localqueue-viewer-role", {ADMIN, USER}, {"admin", "edit", "view"}),
        ("workload-viewer-role", {ADMIN, USER}, {"admin", "edit", "view"}),
        ("job-viewer-role", {ADMIN, USER}, {"admin", "edit", "view"}),
        ("clusterqueue-editor-role", {ADMIN}, set()),
        ("localqueue-editor-role", {ADMIN}, set()),
        ("workload-editor-role", {ADMIN}, set()),
        ("job-editor-role", {ADMIN, USER}, set()),
        ("pending-workloads-cq-viewer-role", {ADMIN}, {"admin", "edit", "view"}),
        ("pending-workloads-lq-viewer-role", {ADMIN, USER}, {"admin", "edit", "view"}),
        ("metrics-reader", set(), set()),
    ],
)
def test_each_piece_goes_to_the_roles_that_it_is_for(
    name: str, labels: set[str], builtin: set[str]
) -> None:
    marks = set(MADE[f"kueue-{name}"]["metadata"].get("labels", {}))

    assert marks == labels | {f"{TO}{role}" for role in builtin}


def test_the_two_roles_of_people_are_put_together_by_label() -> None:
    for name, label in (("batch-admin-role", ADMIN), ("batch-user-role", USER)):
        [selector] = MADE[f"kueue-{name}"]["aggregationRule"]["clusterRoleSelectors"]
        assert selector == {"matchLabels": {label: "true"}}


def test_the_pieces_for_looking_allow_to_get_alone() -> None:
    for name, group, resource in (
        ("pending-workloads-cq", "visibility.kueue.x-k8s.io", "clusterqueues/pendingworkloads"),
        ("pending-workloads-lq", "visibility.kueue.x-k8s.io", "localqueues/pendingworkloads"),
        ("workload-explanation", "visibility.fleetqueue.io", "workloads/explanation"),
    ):
        rules = MADE[f"kueue-{name}-viewer-role"]["rules"]
        assert rules == [{"apiGroups": [group], "resources": [resource], "verbs": ["get"]}]
    rules = MADE["kueue-metrics-reader"]["rules"]
    assert rules == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]


@pytest.mark.rule("kueue 11.1")
def test_groups_are_registered_behind_a_service() -> None:
    made = list(installation.visibility_services("kueue-system", Reach(service="x"), 8082))
    services = {
        each["metadata"]["name"]: each["spec"] for each in made if each["kind"] == "Service"
    }
    assert set(services) == {"kueue-visibility-server"}
    registered = {
        each["metadata"]["name"]: each["spec"] for each in made if each["kind"] == "APIService"
    }

    [port] = services["kueue-visibility-server"]["ports"]
    assert (port["port"], port["targetPort"]) == (443, 8082)
    assert set(registered) == {
        "v1beta1.visibility.kueue.x-k8s.io",
        "v1beta2.visibility.kueue.x-k8s.io",
        "v1alpha1.visibility.fleetqueue.io",
    }
    new, old = (registered[f"v1beta{n}.visibility.kueue.x-k8s.io"] for n in (2, 1))
    assert new["versionPriority"] > old["versionPriority"]
    where = {"name": "kueue-visibility-server", "namespace": "kueue-system", "port": 443}
    assert new["service"] == where


def test_a_controller_outside_is_reached_at_its_host() -> None:
    reach = Reach("https://queues.example.com:9443")
    [service, *registered] = installation.visibility_services("kueue-system", reach, 8082)

    assert service["spec"]["externalName"] == "queues.example.com"
    assert {each["spec"]["service"]["port"] for each in registered} == {8082}


# What the controllers may do themselves

OPTIONS = attached.AttachOptions(kueue.read_options())
ALL = list(installation.objects(attached.wanted(OPTIONS)))


def named(kind: str) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in ALL if each["kind"] == kind}


def may(verb: str, group: str, resource: str) -> bool:
    """By the manager's role, for any name."""
    return any(
        verb in rule["verbs"] and group in rule["apiGroups"] and resource in rule["resources"]
        for rule in named("ClusterRole")["kueue-manager-role"]["rules"]
        if "resourceNames" not in rule
    )


def test_all_that_tests_rely_on_has_its_name() -> None:
    assert named("Namespace").keys() == {"kueue-system"}
    assert named("ServiceAccount").keys() == {"kueue-controller-manager"}
    assert named("Service").keys() == {
        "kueue-webhook-service",
        "kueue-visibility-server",
        "kueue-controller-manager-metrics-service",
    }
    for name in ("manager-role", "metrics-auth-role", "metrics-reader", "batch-admin-role"):
        assert f"kueue-{name}" in named("ClusterRole")
    assert "kueue-leader-election-role" in named("Role")
    config = named("ConfigMap")["kueue-manager-config"]["data"]["controller_manager_config.yaml"]
    assert kueue.read_options(config).config == OPTIONS.kueue.config


def test_behind_a_service_webhooks_name_it_and_outside_their_url() -> None:
    [port] = named("Service")["kueue-webhook-service"]["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (443, 9443)
    hooks = named("MutatingWebhookConfiguration")["kueue-mutating-webhook-configuration"]
    assert all(
        each["clientConfig"]["service"]["name"] == "kueue-webhook-service"
        for each in hooks["webhooks"]
    )
    outside = attached.AttachOptions(kueue.read_options(), url="https://queues.example.com:9443")
    made = list(installation.objects(attached.wanted(outside)))
    assert "kueue-webhook-service" not in {each["metadata"]["name"] for each in made}
    [hooks] = [each for each in made if each["kind"] == "MutatingWebhookConfiguration"]
    assert all(
        each["clientConfig"]["url"].startswith("https://queues.example.com:9443/mutate-")
        for each in hooks["webhooks"]
    )


async def nobody(request: Any) -> Any:
    raise AssertionError("nothing is asked")


async def test_every_kind_that_is_followed_may_be_read() -> None:
    transport = InProcessTransport(nobody)
    cluster = Cluster(Client(transport, random=Random(1)), clock=SystemClock(), random=Random(1))
    kueue.install(Manager(cluster, random=Random(1)), OPTIONS.kueue, lambda kind: True)
    missing = [
        f"{verb} {kind}"
        for kind in cluster.kinds()
        for verb in ("get", "list", "watch")
        if not may(verb, kind.group, kind.plural)
    ]
    assert missing == []


def test_every_kind_of_job_may_be_changed_and_deleted() -> None:
    for kind in attached.wanted(OPTIONS).jobs:
        for verb in ("patch", "delete"):
            assert may(verb, kind.group, kind.plural), (verb, kind)
        assert may("update", kind.group, f"{kind.plural}/finalizers")


def test_nothing_is_given_away_wholesale() -> None:
    for role in (*named("ClusterRole").values(), *named("Role").values()):
        for rule in role.get("rules") or ():
            granted = [*rule["verbs"], *rule.get("apiGroups", ()), *rule.get("resources", ())]
            assert "*" not in granted, role["metadata"]["name"]
    rules = named("ClusterRole")["kueue-manager-role"]["rules"]
    assert not any("secrets" in rule["resources"] for rule in rules)
    patched = {
        resource: rule.get("resourceNames")
        for rule in rules
        for resource in rule["resources"]
        if "patch" in rule["verbs"]
    }
    for resource in (
        "customresourcedefinitions",
        "apiservices",
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
    ):
        assert patched[resource], "only those that are ours"


def test_the_account_is_bound_to_its_roles() -> None:
    account = {
        "kind": "ServiceAccount",
        "name": "kueue-controller-manager",
        "namespace": "kueue-system",
    }
    bound = {**named("ClusterRoleBinding"), **named("RoleBinding")}
    assert all(each["subjects"] == [account] for each in bound.values())
    assert {each["roleRef"]["name"] for each in bound.values()} == {
        "kueue-manager-role",
        "kueue-metrics-auth-role",
        "kueue-metrics-reader",
        "kueue-leader-election-role",
        "kueue-manager-secrets-role",
        "extension-apiserver-authentication-reader",
    }
    reader = bound["kueue-visibility-server-auth-reader"]
    assert reader["metadata"]["namespace"] == "kube-system"


@pytest.mark.rule("HAR-1")
def test_with_an_image_the_controllers_run_in_the_cluster() -> None:
    options = attached.AttachOptions(kueue.read_options(None), image="made/here:1", replicas=2)

    [made] = [
        each
        for each in installation.objects(attached.wanted(options))
        if each["kind"] == "Deployment"
    ]

    assert made["metadata"]["name"] == "kueue-controller-manager"
    assert made["metadata"]["namespace"] == "kueue-system"
    assert made["spec"]["replicas"] == 2
    pod = made["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "kueue-controller-manager"
    [container] = pod["containers"]
    assert (container["name"], container["image"]) == ("manager", "made/here:1")
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "probes"}
    assert pod["volumes"] == [
        {"name": "configuration", "configMap": {"name": "kueue-manager-config"}}
    ]
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert ports == {"webhooks": 9443, "visibility": 8082, "probes": 8081}


def test_without_an_image_they_run_elsewhere() -> None:
    options = attached.AttachOptions(kueue.read_options(None))
    kinds = {each["kind"] for each in installation.objects(attached.wanted(options))}
    assert "Deployment" not in kinds


# What the configuration says

HEAD = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"


def installed(text: str, **parts: Any) -> dict[tuple[str, str], dict[str, Any]]:
    """By kind and name."""
    options = attached.AttachOptions(kueue.read_options(HEAD + text), **parts)
    made = installation.objects(attached.wanted(options))
    return {(each["kind"], each["metadata"]["name"]): each for each in made}


def test_people_get_rights_to_every_kind_of_job_queued_or_not() -> None:
    made = installed("integrations: {frameworks: [batch/job]}\n")

    for kind in registry.all_kinds():
        for part in ("editor", "viewer"):
            assert ("ClusterRole", f"kueue-{kind.resource.kind.lower()}-{part}-role") in made
    embedded = {each["metadata"]["name"] for each in kueue.cluster_roles()}
    assert "kueue-pytorchjob-editor-role" in embedded
    rules = made["ClusterRole", "kueue-manager-role"]["rules"]
    assert not any("pytorchjobs" in rule["resources"] for rule in rules), "nobody queues them"


@pytest.mark.rule("kueue 10.1")
@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("", 8443),
        ('metrics: {bindAddress: ":9999"}\n', 9999),
        ("metrics: {bindAddress: '0'}", None),
    ],
)
def test_metrics_are_found_where_they_are_served(text: str, target: int | None) -> None:
    found = installed(text).get(("Service", "kueue-controller-manager-metrics-service"))

    if target is None:
        assert found is None
        return
    assert found is not None
    [port] = found["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (8443, target)


@pytest.mark.rule("kueue 10.1")
def test_probes_ask_at_the_names_of_the_configuration() -> None:
    text = "health: {readinessEndpointName: up, livenessEndpointName: /here/alive}\n"
    made = installed(text, image="made/here:1")
    pod = made["Deployment", "kueue-controller-manager"]["spec"]["template"]["spec"]

    [container] = pod["containers"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/up"
    assert container["livenessProbe"]["httpGet"]["path"] == "/here/alive"


@pytest.mark.rule("kueue 10.1")
def test_the_lease_may_be_written_where_it_is() -> None:
    made = installed("leaderElection: {resourceNamespace: elsewhere}\n")

    for kind, name in (("Role", "role"), ("RoleBinding", "rolebinding")):
        found = made[kind, f"kueue-leader-election-{name}"]
        assert found["metadata"]["namespace"] == "elsewhere"
    [subject] = made["RoleBinding", "kueue-leader-election-rolebinding"]["subjects"]
    assert subject["namespace"] == "kueue-system"
    assert made["Role", "kueue-manager-secrets-role"]["metadata"]["namespace"] == "kueue-system"


@pytest.mark.rule("kueue 10.1")
@pytest.mark.parametrize(
    ("more", "folder"),
    [("", "/tmp/k8s-webhook-server/serving-certs"), ("webhook: {certDir: /certs}\n", "/certs")],
)
def test_a_certificate_of_others_is_mounted_where_it_is_read(more: str, folder: str) -> None:
    text = f"internalCertManagement: {{enable: false, webhookSecretName: theirs}}\n{more}"
    made = installed(text, image="made/here:1")
    pod = made["Deployment", "kueue-controller-manager"]["spec"]["template"]["spec"]

    assert {"name": "certificates", "secret": {"secretName": "theirs"}} in pod["volumes"]
    [container] = pod["containers"]
    mount = {"name": "certificates", "mountPath": folder, "readOnly": True}
    assert mount in container["volumeMounts"]
