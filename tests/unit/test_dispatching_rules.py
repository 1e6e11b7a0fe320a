"""What configuration, gates and roles say of dispatching."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support import training

from fleetqueue import installation, kueue
from fleetqueue.api.crds import all_crds
from fleetqueue.api.kueue import gates
from fleetqueue.cli.commands.version import version
from fleetqueue.errors import InvalidInput
from fleetqueue.kube.auth import own_namespace
from fleetqueue.kube.webhook_serving import Reach
from fleetqueue.multikueue.settings import read_settings
from fleetqueue.runtime.operators import mpi_job

CONFIG = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
"""


@pytest.mark.rule("CFG-2")
@pytest.mark.parametrize(
    ("said", "around", "namespace"),
    [
        ("namespace: queues\n", "ours", "queues"),
        ("", "ours", "ours"),
        ("", "kueue-system", "kueue-system"),
    ],
)
def test_secrets_are_read_where_we_are(said: str, around: str, namespace: str) -> None:
    options = kueue.read_options(CONFIG + said, namespace=around)
    settings = read_settings(options.config, options.gates, options.jobs)
    assert settings.namespace == namespace


@pytest.mark.rule("CFG-2")
def test_our_namespace_is_that_of_our_account(tmp_path: Path) -> None:
    assert own_namespace({}, tmp_path) == ""
    (tmp_path / "namespace").write_text("of-the-account\n")
    assert own_namespace({}, tmp_path) == "of-the-account"
    assert own_namespace({"POD_NAMESPACE": "of-the-pod"}, tmp_path) == "of-the-pod"


@pytest.mark.rule("GATE-2")
@pytest.mark.parametrize(
    "name",
    [
        "MultiKueueBatchJobWithManagedBy",
        "MultiKueueWaitForWorkloadAdmitted",
        "MultiKueueRedoAdmissionOnEvictionInWorker",
        "MultiKueueAllowInsecureKubeconfigs",
    ],
)
def test_what_is_fixed_by_now_cannot_be_switched(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"unrecognized feature gate: {name}"):
        gates.resolve({name: True})


@pytest.mark.rule("RBAC-3")
def test_the_manager_may_do_what_dispatching_does() -> None:
    wanted = installation.Wanted("kueue-system", [], Reach("", "webhooks", "kueue-system"), [])
    made = list(installation.objects(wanted))
    everywhere = list(_rules(made, "ClusterRole"))
    kueue_group = "kueue.x-k8s.io"
    read = {"get", "list", "watch"}
    for group, resource, verbs in (
        (kueue_group, "multikueueclusters", read),
        (kueue_group, "multikueueconfigs", read),
        (kueue_group, "multikueueclusters/status", {"patch", "update"}),
        (kueue_group, "admissionchecks/status", {"patch", "update"}),
        (kueue_group, "clusterqueues/status", {"patch", "update"}),
        (kueue_group, "workloads/status", {"patch", "update"}),
        (kueue_group, "clusterqueues", {"patch"}),
        ("apiextensions.k8s.io", "customresourcedefinitions", {"get"}),
    ):
        assert verbs <= _verbs(everywhere, group, resource), resource
    ours = [*everywhere, *_rules(made, "Role", "kueue-system")]
    assert read <= _verbs(ours, "", "secrets")
    assert read <= _verbs(ours, "multicluster.x-k8s.io", "clusterprofiles")
    assert not _verbs(everywhere, "", "secrets")


def _rules(made: Iterable[Any], kind: str, namespace: str = "") -> Iterable[Any]:
    for each in made:
        if each["kind"] == kind and each["metadata"].get("namespace", "") == namespace:
            yield from each.get("rules") or ()


def _verbs(rules: Iterable[Any], group: str, resource: str) -> set[str]:
    return {
        verb
        for rule in rules
        if group in rule.get("apiGroups", ()) and resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.rule("KF-4")
def test_one_operator_has_mpi_jobs() -> None:
    """No second one comes with those of the training operator, and there is one CRD."""
    assert "MPIJob" not in {each.name for each in training.FAMILIES}
    assert mpi_job.OPERATOR.kind.api_version == "kubeflow.org/v2beta1"
    names = [crd["metadata"]["name"] for crd in all_crds("kubeflow.org")]
    assert names.count("mpijobs.kubeflow.org") == 1


@pytest.mark.rule("S000-4")
def test_it_is_said_which_operators_know_managed_by() -> None:
    text = (Path(__file__).parents[2] / "README.md").read_text()
    assert "d8b8b347ae33cbfd32bf5df81797d2d715724e87" in text


@pytest.mark.rule("S000-3", "S001-3", "S002-2")
def test_the_level_that_we_reach_is_told() -> None:
    """S000-3 asks for 0.8.1, S001-3 for 0.11 and operators of 1.9, S002-2 for 0.11.0 and Trainer
    2.0.0.
    """
    said = CliRunner().invoke(version, ["-o", "json"])
    level = json.loads(said.output)["kueue"].removeprefix("v").split(".")
    assert [int(each) for each in level] >= [0, 11, 0]
    assert "Kueue v" in CliRunner().invoke(version).output
    served = {
        crd["metadata"]["name"]: crd
        for group in ("kubeflow.org", "trainer.kubeflow.org")
        for crd in all_crds(group)
    }
    assert {"trainjobs.trainer.kubeflow.org", "tfjobs.kubeflow.org"} <= set(served)
    assert "managedBy" in str(served["tfjobs.kubeflow.org"]["spec"]["versions"][0])
