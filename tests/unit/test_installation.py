"""What is made on a foreign cluster so that people can look, and may."""

import pytest

from fleetqueue import installation
from fleetqueue.api.kueue.roles import ADMIN, USER, JobKind, roles
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
    registered = {
        each["metadata"]["name"]: each["spec"] for each in made if each["kind"] == "APIService"
    }

    assert set(services) == {"kueue-visibility-server", "kueue-controller-manager-metrics-service"}
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
