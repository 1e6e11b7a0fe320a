"""What a manager is given on a worker."""

import base64

import pytest

from fleetqueue.base import documents
from fleetqueue.jobs import registry
from fleetqueue.kube.resources import Resource
from fleetqueue.kube.secure_kubeconfig import read
from fleetqueue.multikueue import worker_access

EVERY = [kind.resource for kind in registry.all_kinds()]


def verbs(rules: list[worker_access.Rule], group: str, resource: str) -> set[str]:
    return {
        verb
        for rule in rules
        if group in rule["apiGroups"] and resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.rule("RBAC-1")
@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.kind)
def test_every_kind_of_job_can_be_made_changed_and_read(kind: Resource) -> None:
    rules = worker_access.rules(EVERY, reaches_pods=False)

    assert verbs(rules, kind.group, kind.plural) == set(worker_access.ALL)
    assert verbs(rules, kind.group, f"{kind.plural}/status") == {"get"}


@pytest.mark.rule("RBAC-1")
def test_a_kind_of_somebody_else_gets_the_same_rights() -> None:
    rules = worker_access.rules([*EVERY, Resource("example.com", "v1", "foos", "Foo")])

    assert verbs(rules, "example.com", "foos") == set(worker_access.ALL)
    assert verbs(rules, "example.com", "foos/status") == {"get"}


@pytest.mark.rule("RBAC-1")
def test_a_role_for_some_kinds_has_no_rights_to_others() -> None:
    jobs = [kind for kind in EVERY if kind.kind == "Job"]
    groups = {group for rule in worker_access.rules(jobs) for group in rule["apiGroups"]}

    assert groups == {"", "batch", "kueue.x-k8s.io"}


@pytest.mark.rule("RBAC-2")
def test_of_our_own_kinds_workloads_can_be_written_and_queues_only_read() -> None:
    rules = worker_access.rules([], reaches_pods=False)

    assert verbs(rules, "kueue.x-k8s.io", "workloads") == set(worker_access.ALL)
    assert verbs(rules, "kueue.x-k8s.io", "workloads/status") == {"get", "patch", "update"}
    for queues in ("clusterqueues", "localqueues"):
        assert verbs(rules, "kueue.x-k8s.io", queues) == {"get", "list", "watch"}
    assert len(rules) == 3


def test_secrets_of_a_worker_are_nobodys_business() -> None:
    for rule in worker_access.rules(EVERY):
        assert "secrets" not in rule["resources"]
        assert "*" not in [*rule["resources"], *rule["verbs"], *rule["apiGroups"]]


def test_events_can_be_read_by_who_reaches_pods() -> None:
    assert verbs(worker_access.rules(EVERY), "", "events") == {"get", "list"}
    assert not verbs(worker_access.rules(EVERY, reaches_pods=False), "", "events")


def test_the_role_is_bound_to_the_account_whose_token_is_asked_for() -> None:
    namespace, account, role, binding, token = worker_access.objects(EVERY)

    assert namespace["metadata"]["name"] == account["metadata"]["namespace"] == "kueue-system"
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"][0]["name"] == account["metadata"]["name"]
    assert token["type"] == "kubernetes.io/service-account-token"
    named = token["metadata"]["annotations"]["kubernetes.io/service-account.name"]
    assert named == account["metadata"]["name"]


def test_the_kubeconfig_passes_our_own_checks() -> None:
    text = worker_access.kubeconfig("https://worker:6443", b"an authority", "a token")

    assert read(text.encode()).token == "a token"
    made = documents.load(text)
    assert made["users"][0]["user"] == {"token": "a token"}
    cluster = made["clusters"][0]["cluster"]
    assert base64.b64decode(cluster["certificate-authority-data"]) == b"an authority"
    secret = worker_access.secret("w", text)
    assert base64.b64decode(secret["data"]["kubeconfig"]).decode() == text
