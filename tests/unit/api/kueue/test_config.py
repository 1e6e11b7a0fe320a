"""The configuration file: read strictly, in two versions, completed and checked."""

from typing import Any

import pytest

from fleetqueue.api import names
from fleetqueue.api.kueue.config import (
    Configuration,
    ConfigurationError,
    read_configuration,
    validate_configuration,
)
from fleetqueue.api.kueue.config.types import AdmissionFairSharing, PreemptionStrategy
from fleetqueue.api.model import write

Json = dict[str, Any]

NEW = "config.kueue.x-k8s.io/v1beta2"
OLD = "config.kueue.x-k8s.io/v1beta1"
INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"


def new(**fields: Any) -> Configuration:
    return read_configuration({"apiVersion": NEW, "kind": "Configuration", **fields})


def old(**fields: Any) -> Configuration:
    return read_configuration({"apiVersion": OLD, "kind": "Configuration", **fields})


# fmt: off
DEFAULTS: dict[str, tuple[str, Any]] = {
    "webhook port":       ("webhook.port", 9443),
    "lease":              ("leader_election.resource_name", "c1f6bfd2.kueue.x-k8s.io"),
    "lease duration":     ("leader_election.lease_duration", "15s"),
    "metrics":            ("metrics.bind_address", ":8443"),
    "queue metrics":      ("metrics.local_queue_metrics.enable", True),
    "quota metrics":      ("metrics.enable_cluster_queue_resources", False),
    "health":             ("health.health_probe_bind_address", ":8081"),
    "namespace":          ("namespace", "kueue-system"),
    "certificates":       ("internal_cert_management.webhook_secret_name",
                           "kueue-webhook-server-cert"),
    "pods ready":         ("wait_for_pods_ready.timeout", "30m"),
    "recovery":           ("wait_for_pods_ready.recovery_timeout", "30m"),
    "blocking":           ("wait_for_pods_ready.block_admission", False),
    "requeuing":          ("wait_for_pods_ready.requeuing_strategy.backoff_base_seconds", 60),
    "requeuing limit":    ("wait_for_pods_ready.requeuing_strategy.backoff_limit_count", None),
    "client":             ("client_connection.rate", None),
    "probes":             ("health.readiness_endpoint_name", "readyz"),
    "caches":             ("controller.sync_span", "2m"),
    "frameworks":         ("integrations.frameworks", ["batch/job"]),
    "garbage":            ("multi_kueue.gc_interval", "1m"),
    "origin":             ("multi_kueue.origin", "multikueue"),
    "lost workers":       ("multi_kueue.worker_lost_timeout", "15m"),
    "dispatcher":         ("multi_kueue.dispatcher_name",
                           "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"),
    "dispatcher steps":   ("multi_kueue.incremental_dispatcher_config", None),
    "fair sharing":       ("fair_sharing", None),
    "visibility":         ("visibility_server.bind_port", 8082),
    "retention":          ("object_retention_policies", None),
}
# fmt: on


def at(config: Configuration, path: str) -> Any:
    value: Any = config
    for name in path.split("."):
        value = getattr(value, name)
    return value


@pytest.mark.parametrize(("path", "value"), DEFAULTS.values(), ids=DEFAULTS.keys())
def test_an_empty_file_means_the_defaults(path: str, value: Any) -> None:
    assert at(new(), path) == value


def test_the_defaults_are_valid() -> None:
    assert validate_configuration(new()) == []
    assert validate_configuration(old()) == []


def test_the_manager_leaves_its_own_namespace_alone() -> None:
    config = read_configuration({"apiVersion": NEW, "kind": "Configuration"}, namespace="mine")
    assert write(config.managed_jobs_namespace_selector) == {
        "matchExpressions": [
            {
                "key": "kubernetes.io/metadata.name",
                "operator": "NotIn",
                "values": ["kube-system", "mine"],
            }
        ]
    }


def test_some_defaults_follow_other_settings() -> None:
    assert (
        at(new(waitForPodsReady={"timeout": "1m"}), "wait_for_pods_ready.recovery_timeout") == "1m"
    )
    steps = new(multiKueue={"dispatcherName": INCREMENTAL, "origin": ""}).multi_kueue
    assert steps.incremental_dispatcher_config is not None
    assert steps.incremental_dispatcher_config.step_size == 3
    assert steps.origin == "multikueue"


def test_a_null_is_as_good_as_nothing() -> None:
    assert new(webhook=None, metrics={"bindAddress": None}) == new()


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ({"apiVersion": NEW, "kind": "Configuration", "extra": 1}, 'unknown field "extra"'),
        (
            {
                "apiVersion": NEW,
                "kind": "Configuration",
                "metrics": {"customLabels": [{"name": "a", "b": 1}]},
                "waitForPodsReady": {"enable": False},
            },
            'unknown field "metrics.customLabels[0].b", unknown field "waitForPodsReady.enable"',
        ),
        (
            {"apiVersion": OLD, "kind": "Configuration", "visibilityServer": {"bindPort": 1}},
            'unknown field "visibilityServer"',
        ),
        (
            {"apiVersion": OLD, "kind": "Configuration", "resources": {"quotaCheckStrategy": "x"}},
            'unknown field "resources.quotaCheckStrategy"',
        ),
        ({"apiVersion": "v1", "kind": "Configuration"}, 'no kind "Configuration"'),
        ({"apiVersion": NEW, "kind": "Other"}, 'no kind "Other"'),
        ({"apiVersion": NEW, "kind": "Configuration", "webhook": {"port": "x"}}, r"$.webhook.port"),
    ],
)
def test_what_is_not_understood_is_refused(raw: Json, text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_configuration(raw)
    assert text in str(caught.value)


def test_maps_take_any_key() -> None:
    assert new(featureGates={"Anything": True}).feature_gates == {"Anything": True}


def test_v1beta1_switches_features_on() -> None:
    assert old().wait_for_pods_ready is None
    assert old(waitForPodsReady={"enable": False, "timeout": "1m"}).wait_for_pods_ready is None
    waiting = old(waitForPodsReady={"enable": True}).wait_for_pods_ready
    assert waiting is not None
    assert (waiting.timeout, waiting.block_admission) == ("5m", True)
    assert old(fairSharing={"enable": False}).fair_sharing is None
    sharing = old(fairSharing={"enable": True}).fair_sharing
    assert sharing is not None
    assert sharing.preemption_strategies == list(PreemptionStrategy)


def test_v1beta1_accepts_what_has_no_effect() -> None:
    config = old(queueVisibility={"x": 1}, integrations={"podOptions": {"a": {}}})
    assert config == old()


# fmt: off
WRONG: dict[str, tuple[Json, list[str]]] = {
    "a negative span": ({"waitForPodsReady": {"timeout": "-1s", "recoveryTimeout": "0s"}}, [
        'waitForPodsReady.timeout: Invalid value: "-1s": must be greater than or equal to 0']),
    "no span at all": ({"waitForPodsReady": {"timeout": "soon", "recoveryTimeout": "1s"}}, [
        'waitForPodsReady.timeout: Invalid value: "soon": time: invalid duration "soon"']),
    "negative counts": (
        {"waitForPodsReady": {"requeuingStrategy": {"backoffLimitCount": -1,
                                                    "backoffBaseSeconds": -2,
                                                    "backoffMaxSeconds": -3}}}, [
            f"waitForPodsReady.requeuingStrategy.{name}: Invalid value: {value}:"
            " must be greater than or equal to 0"
            for name, value in (("backoffLimitCount", -1), ("backoffBaseSeconds", -2),
                                ("backoffMaxSeconds", -3))]),
    "its own namespace": ({"managedJobsNamespaceSelector": {}}, [
        'managedJobsNamespaceSelector: Invalid value: {}: should not match the "kube-system"'
        " namespace",
        'managedJobsNamespaceSelector: Invalid value: {}: should not match the "kueue-system"'
        " namespace"]),
    "ciphers of TLS 1.3": ({"tls": {"minVersion": "VersionTLS13", "cipherSuites": ["a"]}}, [
        'tls.cipherSuites: Invalid value: ["a"]:'
        " may not be specified when `minVersion` is 'VersionTLS13'"]),
    "an old TLS": ({"tls": {"minVersion": "VersionTLS11"}}, [
        'tls.minVersion: Unsupported value: "VersionTLS11":'
        ' supported values: "VersionTLS12", "VersionTLS13"']),
    "several curves": ({"tls": {"curvePreferences": ["X25519", 23]}}, [
        'tls.curvePreferences: Invalid value: ["X25519",23]:'
        " one curve can be demanded, not a choice of several"]),
    "an unknown curve": ({"tls": {"curvePreferences": [4588]}}, [
        "tls.curvePreferences[0]: Unsupported value: 4588: supported values:"
        ' "CurveP256", "CurveP384", "CurveP521", "X25519"']),
    "another lock": ({"leaderElection": {"resourceLock": "endpointsleases"}}, [
        'leaderElection.resourceLock: Unsupported value: "endpointsleases":'
        ' supported values: "leases"']),
    "profiles": ({"pprofBindAddress": ":8083"}, [
        "pprofBindAddress: Forbidden:"
        " is not supported: there are no profiles of a Go program to be served"]),
    "ports": ({"webhook": {"port": 70000}, "visibilityServer": {"bindPort": -1}}, [
        "webhook.port: Invalid value: 70000: must be between 0 and 65535, inclusive",
        "visibilityServer.bindPort: Invalid value: -1: must be between 0 and 65535, inclusive"]),
    "addresses": ({"metrics": {"bindAddress": "8443"},
                   "health": {"healthProbeBindAddress": "here:there"}}, [
        'metrics.bindAddress: Invalid value: "8443":'
        " must be a host and a port, such as :8443, or 0 for none",
        'health.healthProbeBindAddress: Invalid value: "here:there":'
        " must be a host and a port, such as :8443, or 0 for none"]),
    "names of probes": ({"health": {"readinessEndpointName": "{x}"}}, [
        'health.readinessEndpointName: Invalid value: "{x}": must be a path, such as readyz']),
    "one name for two probes": ({"health": {"readinessEndpointName": "/healthz"}}, [
        'health.livenessEndpointName: Invalid value: "healthz":'
        " must differ from the readinessEndpointName"]),
    "numbers of workers": ({"controller": {"groupKindConcurrency": {"Pod": -1},
                                           "cacheSyncTimeout": "-1s"}}, [
        "controller.groupKindConcurrency[Pod]: Invalid value: -1:"
        " must be greater than or equal to 0",
        'controller.cacheSyncTimeout: Invalid value: "-1s": must be greater than or equal to 0']),
    "a burst": ({"clientConnection": {"burst": -1}}, [
        "clientConnection.burst: Invalid value: -1: must be greater than or equal to 0"]),
    "a selector of queues": (
        {"metrics": {"localQueueMetrics": {"localQueueSelector": {
            "matchExpressions": [{"key": "a", "operator": "Is"}]}}}}, [
            "metrics.localQueueMetrics.localQueueSelector.matchExpressions[0].operator:"
            ' Invalid value: "Is": not a valid selector operator']),
    "a kind that has no metrics": (
        {"metrics": {"customLabels": [{"name": "a", "sourceKind": "Pod"}]}}, [
            'metrics.customLabels[0].sourceKind: Unsupported value: "Pod": supported values:'
            ' "ClusterQueue", "LocalQueue", "Cohort", "Workload"']),
    "a framework twice": ({"integrations": {"frameworks": ["pod", "pod"]}}, [
        'integrations.frameworks[1]: Duplicate value: "pod"']),
    "an external framework": ({"integrations": {"externalFrameworks": ["Foo"]}}, [
        "integrations.externalFrameworks[0]: Invalid value: \"Foo\":"
        " must be format, 'Kind.version.group.com'"]),
    "no strategies": ({"fairSharing": {}}, [
        "fairSharing.preemptionStrategies: Required value:"
        " must be set when fairSharing is enabled"]),
    "strategies in the wrong order": (
        {"fairSharing": {"preemptionStrategies": ["LessThanInitialShare",
                                                  "LessThanOrEqualToFinalShare"]}}, [
            "fairSharing.preemptionStrategies: Unsupported value:"
            ' "LessThanInitialShare,LessThanOrEqualToFinalShare": supported values:'
            ' "LessThanOrEqualToFinalShare", "LessThanInitialShare",'
            ' "LessThanOrEqualToFinalShare,LessThanInitialShare"']),
    "past usage": (
        {"admissionFairSharing": {"usageHalfLifeTime": "-1s", "usageSamplingInterval": "-2s",
                                  "resourceWeights": {"cpu": -1}}}, [
            'admissionFairSharing.usageHalfLifeTime: Invalid value: "-1s":'
            " must be greater than or equal to 0",
            'admissionFairSharing.usageSamplingInterval: Invalid value: "-2s":'
            " must be greater than 0",
            "admissionFairSharing.resourceWeights[cpu]: Invalid value: -1:"
            " must be greater than or equal to 0"]),
    "an input twice": (
        {"resources": {"transformations": [{"input": "a"}, {"input": "a"}]}}, [
            'resources.transformations[1].input: Duplicate value: "a"']),
    "prefixes that are ignored anyway": (
        {"resources": {"quotaCheckStrategy": "IgnoreUndeclared",
                       "excludeResourcePrefixes": ["a"]}}, [
            "resources.excludeResourcePrefixes: Forbidden:"
            " may not be combined with quotaCheckStrategy IgnoreUndeclared"]),
    "retention": ({"objectRetentionPolicies": {"workloads": {"afterFinished": "-1s"}}}, [
        'objectRetentionPolicies.workloads.afterFinished: Invalid value: "-1s":'
        " must be greater than or equal to 0"]),
    "other clusters": ({"multiKueue": {"gcInterval": "-1s", "workerLostTimeout": "-2s",
                                       "externalFrameworks": [{"name": "a"}, {}],
                                       "incrementalDispatcherConfig": {"stepSize": 0}}}, [
        'multiKueue.gcInterval: Invalid value: "-1s": must be greater than or equal to 0',
        'multiKueue.workerLostTimeout: Invalid value: "-2s": must be greater than or equal to 0',
        "multiKueue.externalFrameworks[0].name: Invalid value: \"a\":"
        " must be in 'kind.version.group' format",
        "multiKueue.externalFrameworks[1].name: Invalid value: \"\":"
        " must be in 'kind.version.group' format",
        "multiKueue.incrementalDispatcherConfig: Forbidden: incrementalDispatcherConfig is only"
        " valid when dispatcherName is set to the incremental dispatcher",
        "multiKueue.incrementalDispatcherConfig.stepSize: Invalid value: 0:"
        " must be greater than or equal to 1"]),
    "both sorts of providers": (
        {"multiKueue": {"clusterProfile": {
            "accessProviders": [{"name": "a", "execConfig": {
                "command": "c", "apiVersion": "v1", "interactiveMode": "Often"}}],
            "credentialsProviders": [{"execConfig": {"env": [{}]}}]}}}, [
            "multiKueue.clusterProfile.credentialsProviders: Forbidden:"
            " must not be specified when accessProviders is specified",
            "multiKueue.clusterProfile.accessProviders[0].execConfig.interactiveMode:"
            ' Unsupported value: "Often": supported values: "Never", "IfAvailable", "Always"',
            *[f"multiKueue.clusterProfile.credentialsProviders[0].{name}: Required value:"
              " must be specified"
              for name in ("name", "execConfig.command", "execConfig.apiVersion",
                           "execConfig.interactiveMode", "execConfig.env[0].name")]]),
    "devices": (
        {"resources": {"deviceClassMappings": [
            {"name": "a", "deviceClassNames": [f"c{n}" for n in range(9)], "sources": [{}]}]}}, [
            "resources.deviceClassMappings[0].deviceClassNames: Too many: 9:"
            " must have at most 8 items",
            "resources.deviceClassMappings[0].sources[0]: Invalid value: {}:"
            " exactly one of counter and capacity must be set"]),
    "too many devices": (
        {"resources": {"deviceClassMappings": [
            {"name": f"r{n}", "deviceClassNames": [f"c{n}"]} for n in range(17)]}}, [
            "resources.deviceClassMappings: Too many: 17: must have at most 16 items"]),
    "names of devices": (
        {"resources": {"deviceClassMappings": [
            {"name": "a", "deviceClassNames": ["c", "c", "C"]},
            {"name": "a", "deviceClassNames": ["c"]},
            {"name": "@", "deviceClassNames": []},
            {"name": "", "deviceClassNames": ["d"]}]}}, [
            'resources.deviceClassMappings[0].deviceClassNames[1]: Duplicate value: "c"',
            'resources.deviceClassMappings[0].deviceClassNames[2]: Invalid value: "C": '
            f"{names.dns1123_subdomain('C')[0]}",
            'resources.deviceClassMappings[1].name: Duplicate value: "a"',
            'resources.deviceClassMappings[1].deviceClassNames[0]: Invalid value: "c":'
            " is already mapped to the resource a",
            f'resources.deviceClassMappings[2].name: Invalid value: "@": '
            f"{names.qualified_name('@')[0]}",
            "resources.deviceClassMappings[2].deviceClassNames: Required value:"
            " at least one device class is required",
            "resources.deviceClassMappings[3].name: Required value:"
            " the name of a resource is required"]),
    "other ways to count devices": (
        {"resources": {"deviceClassMappings": [
            {"name": "a", "deviceClassNames": ["c"], "sources": [{"counter": {"name": "x"}}]}]}}, [
            "resources.deviceClassMappings[0].sources[0]: Forbidden:"
            " is not supported: devices are counted by their class"]),
    "labels of metrics": (
        {"metrics": {"customLabels": [
            *({"name": f"w{n}", "sourceKind": "Workload", "trackedValues": ["a"]}
              for n in range(2)),
            {"name": "x", "sourceKind": "Workload"}]}}, [
            "metrics.customLabels: Too many: 3: must have at most 2 items",
            "metrics.customLabels[2].trackedValues: Required value:"
            " must be set for the source kind Workload"]),
}
# fmt: on


@pytest.mark.rule("kueue 10.1")
@pytest.mark.parametrize(("fields", "texts"), WRONG.values(), ids=WRONG.keys())
def test_what_would_stop_the_manager(fields: Json, texts: list[str]) -> None:
    assert [str(error) for error in validate_configuration(new(**fields))] == texts


def test_an_unknown_framework_is_refused_with_the_known_ones() -> None:
    [error] = validate_configuration(new(integrations={"frameworks": ["x"]}))
    assert (error.path, error.reason) == ("integrations.frameworks[0]", "FieldValueNotSupported")
    assert '"batch/job"' in error.detail


@pytest.mark.rule("HAR-3")
def test_a_section_that_is_not_known_and_says_nothing_is_passed_over() -> None:
    made = new(
        futureFeature={"enabled": False, "after": "0s", "names": None, "inner": {}},
        multiKueue={"futureLimits": None, "gcInterval": "1m"},
    )
    assert made == new()

    with pytest.raises(ConfigurationError, match='unknown field "futureFeature"'):
        new(futureFeature={"enabled": True})


@pytest.mark.rule("kueue 10.1")
def test_recovery_that_nobody_waits_for_stays_so_whatever_else_is_zero() -> None:
    waiting = new(waitForPodsReady={"timeout": "0s", "recoveryTimeout": "0s"}).wait_for_pods_ready
    assert waiting is not None
    assert (waiting.timeout, waiting.recovery_timeout) == ("30m", "0s")


@pytest.mark.rule("kueue 10.1")
def test_an_unknown_cipher_suite_is_refused_with_the_known_ones() -> None:
    known = ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"]
    [error] = validate_configuration(
        new(tls={"cipherSuites": [*known, "TLS_RSA_WITH_RC4_128_SHA"]})
    )
    assert (error.path, error.reason) == ("tls.cipherSuites[2]", "FieldValueNotSupported")
    assert all(f'"{name}"' in error.detail for name in known)


@pytest.mark.rule("HAR-3", "kueue 10.1")
def test_zeros_that_a_program_wrote_were_never_said() -> None:
    made = new(
        webhook={"port": 0, "host": "", "certDir": ""},
        metrics={"bindAddress": ""},
        health={
            "healthProbeBindAddress": "",
            "readinessEndpointName": "",
            "livenessEndpointName": "",
        },
        visibilityServer={"bindAddress": "", "bindPort": 0},
        internalCertManagement={
            "enable": None,
            "webhookServiceName": "",
            "webhookSecretName": "",
        },
        pprofBindAddress="",
        tls=None,
        waitForPodsReady={"timeout": "0s"},
        integrations={"frameworks": []},
    )
    assert made == new()
    zeros = new(
        controller={"cacheSyncTimeout": 0, "groupKindConcurrency": {}},
        clientConnection={"qps": 0, "burst": 0},
        tls={"minVersion": "", "cipherSuites": [], "curvePreferences": None},
    )
    assert zeros.controller.sync_span == "2m"
    assert zeros.client_connection.rate is None
    sharing = new(admissionFairSharing={"usageHalfLifeTime": "0s", "usageSamplingInterval": "0s"})
    assert write(sharing.admission_fair_sharing) == write(AdmissionFairSharing())
    assert validate_configuration(zeros) == []


@pytest.mark.rule("kueue 10.1")
@pytest.mark.parametrize(
    ("said", "rate"),
    [
        ({"qps": 50, "burst": 100}, (50, 100)),
        ({"qps": 50}, (50, 500)),
        ({"burst": 20}, (300, 20)),
        ({"qps": -1, "burst": 20}, None),
        ({}, None),
    ],
)
def test_a_client_is_as_fast_as_the_file_says(said: Json, rate: tuple[float, int] | None) -> None:
    assert new(clientConnection=said).client_connection.rate == rate


@pytest.mark.rule("kueue 10.1")
@pytest.mark.parametrize(("said", "span"), [("30s", "30s"), (5_000_000_000, "5000000000ns")])
def test_how_long_caches_may_take_is_text_or_a_number_of_gos(said: Any, span: str) -> None:
    assert new(controller={"cacheSyncTimeout": said}).controller.sync_span == span
