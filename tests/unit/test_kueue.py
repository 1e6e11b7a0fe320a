"""One configuration becomes the settings of all parts, and what is wrong with it is told."""

from datetime import timedelta

import pytest

from fleetqueue.admission.settings import read_settings
from fleetqueue.api.kueue import gates
from fleetqueue.errors import InvalidInput
from fleetqueue.kueue import read_options

HEAD = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
REFERENCE = (
    HEAD
    + """
metrics: {enableClusterQueueResources: true}
fairSharing:
  preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]
integrations:
  frameworks: [batch/job, jobset.x-k8s.io/jobset, kubeflow.org/mpijob, pod]
featureGates:
  LocalQueueMetrics: true
  ElasticJobsViaWorkloadSlices: true
  ConcurrentAdmission: true
  MultiKueueManagerQuotaAutomation: true
"""
)


@pytest.mark.rule("kueue 10.5")
def test_the_profile_of_kueues_own_suites_is_understood() -> None:
    options = read_options(REFERENCE)
    settings = read_settings(options.config, options.gates)

    assert settings.queueing.fair_sharing is not None
    assert settings.queueing.fair_sharing.strategies == (
        "LessThanOrEqualToFinalShare",
        "LessThanInitialShare",
    )
    assert settings.queueing.admits_concurrently
    assert settings.life.mirrors_preemption_gates
    assert options.jobs.frameworks >= {"batch/job", "pod"}


@pytest.mark.rule("kueue 10.5", "kueue 3.7")
def test_the_old_version_without_waiting_turns_it_off() -> None:
    old = "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n"
    options = read_options(old)

    assert read_settings(options.config, options.gates).life.pods_ready is None


@pytest.mark.rule("kueue 10.1", "kueue 3.7")
def test_waiting_for_pods_is_on_unless_a_gate_says_otherwise() -> None:
    options = read_options(HEAD)
    rules = read_settings(options.config, options.gates).life.pods_ready
    assert rules is not None
    assert (rules.timeout, rules.recovery_timeout) == (timedelta(minutes=30),) * 2

    options = read_options(HEAD, {"DisableWaitForPodsReady": True})
    assert read_settings(options.config, options.gates).life.pods_ready is None


@pytest.mark.rule("kueue 10.1")
def test_without_a_file_every_kind_of_job_is_queued() -> None:
    frameworks = read_options().jobs.frameworks

    assert {"batch/job", "kubeflow.org/pytorchjob", "trainer.kubeflow.org/trainjob"} <= frameworks


@pytest.mark.rule("kueue 10.1")
def test_a_file_that_lists_no_kinds_queues_jobs_alone_but_all_where_they_are_all_run() -> None:
    assert read_options(HEAD).jobs.frameworks == {"batch/job"}
    assert read_options(HEAD, is_embedded=True).config == read_options().config
    listed = HEAD + "integrations: {frameworks: [pod]}\n"
    assert read_options(listed, is_embedded=True).jobs.frameworks == {"pod"}


@pytest.mark.rule("kueue 10.1")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "the document is empty"),
        ("a-word", "the document has no fields"),
        ("[1]", "the document has no fields"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(text: str, found: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_options(text)
    expected = "a Configuration of config.kueue.x-k8s.io/v1beta2 was expected"
    assert str(refused.value) == f"{found}: {expected}"


@pytest.mark.rule("kueue 10.1", "kueue 10.3")
def test_gates_come_from_the_file_or_from_the_command_line_not_both() -> None:
    with pytest.raises(InvalidInput, match="cannot both specified"):
        read_options(HEAD + "featureGates: {PartialAdmission: false}\n", {"PriorityBoost": True})


@pytest.mark.rule("kueue 10.1")
def test_what_is_wrong_with_a_configuration_is_named() -> None:
    with pytest.raises(InvalidInput, match="the configuration is wrong: "):
        read_options(HEAD + "fairSharing: {preemptionStrategies: []}\n")


@pytest.mark.rule("kueue 10.3")
@pytest.mark.parametrize(
    ("text", "found"),
    [("", {}), ("PartialAdmission=false, PriorityBoost=true",
               {"PartialAdmission": False, "PriorityBoost": True})],
)  # fmt: skip
def test_gates_of_the_command_line(text: str, found: dict[str, bool]) -> None:
    assert gates.read_gates(text) == found


@pytest.mark.rule("kueue 10.3")
@pytest.mark.parametrize("text", ["PartialAdmission", "PartialAdmission=maybe"])
def test_a_gate_without_a_value_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="PartialAdmission"):
        gates.read_gates(text)


@pytest.mark.rule("EXT-4")
@pytest.mark.parametrize(
    ("frameworks", "name", "is_refused"),
    [
        ("[batch/job, ray.io/raycluster]", "RayCluster.v1.ray.io", True),
        ("[statefulset]", "StatefulSet.v1.apps", True),
        ("[batch/job]", "RayCluster.v1.ray.io", False),
        ("[deployment]", "Deployment.v1.apps", False),
    ],
)
def test_a_kind_has_one_adapter(frameworks: str, name: str, is_refused: bool) -> None:
    text = f"integrations: {{frameworks: {frameworks}}}\n"
    text += f"multiKueue: {{externalFrameworks: [{{name: Foo.v1.a.io}}, {{name: {name}}}]}}\n"
    also = text.replace("{externalFrameworks", "{gcInterval: -1s, externalFrameworks")
    if not is_refused:
        assert read_options(HEAD + text)
        return
    with pytest.raises(InvalidInput) as refused:
        read_options(HEAD + text)
    assert (
        f'multiKueue.externalFrameworks[1].name: Invalid value: "{name}":'
        " conflicts with a built-in MultiKueue adapter"
    ) in str(refused.value)
    with pytest.raises(InvalidInput, match=r"gcInterval.*conflicts with a built-in"):
        read_options(HEAD + also)
