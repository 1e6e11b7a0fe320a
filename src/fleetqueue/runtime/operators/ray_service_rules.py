"""What a RayService must be like; one that is not is not ready, and says why."""

from datetime import timedelta

from fleetqueue.api.times import TimeError, parse_duration
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import ray_cluster_rules as cluster_rules
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.operators.ray_cluster_rules import Problem

TIMEOUT_KEY = "ray.io/initializing-timeout"
INCREMENTAL = "NewClusterWithIncrementalUpgrade"

_METADATA = "The RayService metadata is invalid: "
_SPEC = "The RayService spec is invalid: "


def problem_of(service: Object) -> Problem | None:
    """The first thing that is wrong with a service."""
    if text := cluster_rules.name_problem(service, "RayService", cluster_rules.OWNER_NAME_MAX):
        return Problem("InvalidRayServiceMetadata", f"{_METADATA}{text}")
    if text := _timeout_problem(service):
        why = f"RayService annotations is invalid: {text}"
        return Problem("InvalidRayServiceMetadata", f"{_METADATA}{why}")
    if text := _spec_problem(service):
        return Problem("InvalidRayServiceSpec", f"{_SPEC}{text}")
    return None


def initializing_timeout(service: Object) -> timedelta | None:
    """How long it may take until it is first ready; None: as long as it likes."""
    text = str(names.annotations_of(service).get(TIMEOUT_KEY) or "")
    if not text:
        return None
    try:
        return parse_duration(text)
    except TimeError:
        return timedelta(seconds=int(text)) if text.lstrip("+-").isdigit() else None


def _timeout_problem(service: Object) -> str:
    text = str(names.annotations_of(service).get(TIMEOUT_KEY) or "")
    span = initializing_timeout(service)
    if not text or (span is not None and span > timedelta()):
        return ""
    if span is None:
        return (
            f"annotation {TIMEOUT_KEY} has invalid format: {text}. Expected Go duration format"
            " (e.g., '5m', '1h') or positive integer seconds"
        )
    is_number = text.lstrip("+-").isdigit() and text.lstrip("+-") != "0"
    what = "integer (seconds)" if is_number else "duration"
    return f"annotation {TIMEOUT_KEY} must be a positive {what}, got: {text}"


def _spec_problem(service: Object) -> str:
    spec = service["spec"]
    cluster = spec.get("rayClusterConfig") or {}
    if (cluster.get("authOptions") or {}).get("enableK8sTokenAuth"):
        return "K8s token auth mode is currently not supported for RayService"
    if text := cluster_rules.spec_problem(cluster, names.annotations_of(service)):
        return text
    head = (cluster.get("headGroupSpec") or {}).get("headService") or {}
    if (head.get("metadata") or {}).get("name"):
        path = "spec.rayClusterConfig.headGroupSpec.headService.metadata.name"
        return f"{path} should not be set"
    return _upgrade_problem(spec, cluster) or _delay_problem(spec)


def _upgrade_problem(spec: Object, cluster: Object) -> str:
    strategy = spec.get("upgradeStrategy") or {}
    kind = strategy.get("type")
    if kind not in (None, "None", "NewCluster", INCREMENTAL):
        return (
            f"Spec.UpgradeStrategy.Type value {kind} is invalid, valid options are"
            f" {INCREMENTAL}, NewCluster, or None"
        )
    if kind != INCREMENTAL:
        return ""
    if not names.is_autoscaled(cluster):
        return f"Ray Autoscaler is required for {INCREMENTAL}"
    options = strategy.get("clusterUpgradeOptions")
    if options is None:
        return f"ClusterUpgradeOptions are required for {INCREMENTAL}"
    if not 0 <= options.get("maxSurgePercent", 100) <= 100:
        return "maxSurgePercent must be between 0 and 100"
    if not 0 <= options.get("stepSizePercent", -1) <= 100:
        return "stepSizePercent must be between 0 and 100"
    if options.get("intervalSeconds", 0) <= 0:
        return "intervalSeconds must be greater than 0"
    if not options.get("gatewayClassName"):
        return f"gatewayClassName is required for {INCREMENTAL}"
    return ""


def _delay_problem(spec: Object) -> str:
    delay = spec.get("rayClusterDeletionDelaySeconds")
    if delay is not None and delay < 0:
        field = "Spec.RayClusterDeletionDelaySeconds"
        return f"{field} should be a non-negative integer, got {delay}"
    return ""
