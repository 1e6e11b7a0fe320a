"""The configuration as jobs see it."""

from datetime import timedelta
from typing import Any

import pytest

from fleetqueue.api.kueue.admission_status import LEGACY
from fleetqueue.api.kueue.config import read_configuration
from fleetqueue.errors import InvalidInput
from fleetqueue.jobs import registry
from fleetqueue.jobs.settings import JobSettings, external_kind, read_settings

pytestmark = [pytest.mark.rule("jobs A.1"), pytest.mark.rule("kueue 10.1")]


def read(**fields: Any) -> JobSettings:
    head = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    return read_settings(read_configuration({**head, **fields}))


def namespace(name: str) -> dict[str, Any]:
    return {"metadata": {"labels": {"kubernetes.io/metadata.name": name}}}


def test_the_defaults() -> None:
    found = read()
    assert found.frameworks == {"batch/job"}
    assert found.waits_for_pods_ready
    assert found.deletes_deactivated_after is None
    assert not found.manages_without_queue_name
    assert found.has_namespace(namespace("ns"))
    assert not found.has_namespace(namespace("kube-system"))
    assert not found.has_namespace(namespace("kueue-system"))
    assert not found.has_namespace(None)


def test_what_a_file_can_say() -> None:
    found = read(
        manageJobsWithoutQueueName=True,
        integrations={
            "frameworks": ["batch/job", "jobset.x-k8s.io/jobset"],
            "externalFrameworks": ["Foo.v1.example.com"],
            "labelKeysToCopy": ["team"],
        },
        objectRetentionPolicies={"workloads": {"afterDeactivatedByKueue": "1h"}},
        featureGates={
            "TopologyAwareScheduling": False,
            "ElasticJobsViaWorkloadSlices": False,
            "UnadmittedWorkloadsObservability": False,
            "DisableWaitForPodsReady": True,
            "ShortWorkloadNames": True,
        },
    )
    assert found.manages_without_queue_name
    assert found.label_keys_to_copy == ("team",)
    assert found.deletes_deactivated_after == timedelta(hours=1)
    assert not found.gates.topology
    assert not found.gates.slices
    assert found.wording is LEGACY
    assert not found.waits_for_pods_ready
    assert found.workload_name_length_max == 63
    assert [kind.framework for kind in registry.enabled_kinds(found)] == [
        "batch/job",
        "jobset.x-k8s.io/jobset",
    ]


def test_an_external_framework() -> None:
    found = external_kind("Policy.v1beta1.a.example.com")
    assert (found.group, found.version) == ("a.example.com", "v1beta1")
    assert (found.kind, found.plural) == ("Policy", "policies")
    with pytest.raises(InvalidInput, match=r"Kind\.version\.group"):
        external_kind("Foo")


def test_every_file_of_the_folder_is_a_kind() -> None:
    frameworks = {kind.framework for kind in registry.all_kinds()}
    assert frameworks >= {
        "batch/job",
        "jobset.x-k8s.io/jobset",
        "kubeflow.org/mpijob",
        "kubeflow.org/tfjob",
        "kubeflow.org/pytorchjob",
        "kubeflow.org/xgboostjob",
        "kubeflow.org/paddlejob",
        "kubeflow.org/jaxjob",
        "trainer.kubeflow.org/trainjob",
        "ray.io/raycluster",
        "ray.io/rayjob",
        "ray.io/rayservice",
        "workload.codeflare.dev/appwrapper",
    }


def test_workloads_have_what_metrics_read_of_them_from_their_jobs() -> None:
    custom = [
        {"name": "team", "sourceKind": "Workload"},
        {"name": "cost", "sourceKind": "Workload", "sourceLabelKey": "cost-center"},
        {"name": "note", "sourceKind": "Workload", "sourceAnnotationKey": "remark"},
        {"name": "zone", "sourceKind": "ClusterQueue", "sourceLabelKey": "zone"},
    ]
    for gate in (True, False):
        found = read(
            integrations={"labelKeysToCopy": ["team", "tier"]},
            metrics={"customLabels": custom},
            featureGates={"CustomMetricLabels": gate},
        )
        assert found.label_keys_to_copy == ("team", "tier", *(["cost-center"] if gate else []))
        assert found.annotation_keys_to_copy == (("remark",) if gate else ())
