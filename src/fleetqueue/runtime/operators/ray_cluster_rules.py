"""What a RayCluster must be like; nothing refuses another one, an event says what is wrong."""

from collections.abc import Callable
from typing import NamedTuple

from fleetqueue.api import names as syntax
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions
from fleetqueue.runtime.operators import ray_names as names

NAME_MAX = 53
OWNER_NAME_MAX = NAME_MAX - 6
"""For kinds whose clusters get a dash and five characters more."""

_V2_VARIABLE = "RAY_enable_autoscaler_v2"
_RAY_RESOURCES = ("num-cpus", "num-gpus", "memory", "resources")


class Problem(NamedTuple):
    """The reason of an event, and its text."""

    reason: str
    text: str


def problem_of(cluster: Object) -> Problem | None:
    """The first thing that is wrong with a cluster."""
    name = names.full_name(cluster)
    if text := name_problem(cluster, "RayCluster", NAME_MAX):
        return Problem(
            "InvalidRayClusterMetadata", f"The RayCluster metadata is invalid {name}: {text}"
        )
    if text := spec_problem(cluster["spec"], names.annotations_of(cluster)):
        return Problem("InvalidRayClusterSpec", f"The RayCluster spec is invalid {name}: {text}")
    if text := _upgrade_problem(cluster):
        where = "The RayCluster UpgradeStrategy is invalid"
        return Problem("InvalidRayClusterSpec", f"{where} {name}: {text}")
    if text := _status_problem(cluster):
        return Problem(
            "InvalidRayClusterStatus", f"The RayCluster status is invalid {name}, {text}"
        )
    return None


def name_problem(obj: Object, kind: str, longest: int) -> str:
    name = str(obj["metadata"]["name"])
    if len(name) > longest:
        return f"{kind} name should be no more than {longest} characters"
    if wrong := syntax.dns1035_label(name):
        return f"{kind} name should be a valid DNS1035 label: [{' '.join(wrong)}]"
    return ""


def spec_problem(spec: Object, annotations: Object) -> str:
    """The first thing that is wrong with a cluster spec, wherever it is part of."""
    head = spec.get("headGroupSpec") or {}
    if not names.containers(head):
        return "headGroupSpec should have at least one container"
    checks: tuple[Callable[[Object, Object], str], ...] = (
        lambda spec, _: _group_problem("Head", head),
        _workers_problem,
        _storage_problem,
        _redis_name_problem,
        _autoscaler_problem,
        _authentication_problem,
    )
    return next((text for check in checks if (text := check(spec, annotations))), "")


def _group_problem(name: str, group: Object) -> str:
    params = group.get("rayStartParams") or {}
    if any(params.get(key) for key in _RAY_RESOURCES) and group.get("resources"):
        return (
            "resource fields should not be set in both rayStartParams and Resources for"
            f" {name} group; please use only one"
        )
    if "labels" in params:
        return (
            f"rayStartParams['labels'] is not supported for {name} group; please use the"
            " top-level Labels field instead"
        )
    wrong = []
    for key, value in (group.get("labels") or {}).items():
        for text in syntax.qualified_name(key):
            wrong.append(f"invalid label key for {name} group: '{key}', error: {text}")
        for text in syntax.label_value(value):
            what = f"invalid label value for key '{key}' in {name} group: '{value}'"
            wrong.append(f"{what}, error: {text}")
    return "; ".join(wrong)


def _workers_problem(spec: Object, _: Object) -> str:
    for group in spec.get("workerGroupSpecs") or ():
        if text := _worker_problem(spec, group):
            return text
    return ""


def _worker_problem(spec: Object, group: Object) -> str:
    name = group.get("groupName")
    low, high = group.get("minReplicas"), group.get("maxReplicas")
    if not names.containers(group):
        return "workerGroupSpec should have at least one container"
    if not names.is_autoscaled(spec) and (low is None or high is None):
        return (
            f"worker group {name} must set both minReplicas and maxReplicas when autoscaling is"
            " disabled"
        )
    if low is not None and low < 0:
        return f"worker group {name} has negative minReplicas {low}"
    if high is not None and high < 0:
        return f"worker group {name} has negative maxReplicas {high}"
    if low is not None and high is not None and low > high:
        return f"worker group {name} has minReplicas {low} greater than maxReplicas {high}"
    return _group_problem(str(name), group) or _idle_problem(spec, group)


def _idle_problem(spec: Object, group: Object) -> str:
    seconds, name = group.get("idleTimeoutSeconds"), group.get("groupName")
    if seconds is None:
        return ""
    if seconds < 0:
        return f"worker group {name}: idleTimeoutSeconds must be non-negative, got {seconds}"
    if names.is_autoscaled_v2(spec) or _v2_variable(spec) in ("1", "true"):
        return ""
    return (
        f"worker group {name}: idleTimeoutSeconds is set, but autoscaler v2 is not enabled. Please"
        f" set .spec.autoscalerOptions.version to 'v2' (or set {_V2_VARIABLE} environment variable"
        " to 'true' in the head pod if using KubeRay < 1.4.0)"
    )


def _storage_problem(spec: Object, annotations: Object) -> str:
    head = spec["headGroupSpec"]
    ray = names.containers(head)[0]
    options = spec.get("gcsFaultToleranceOptions")
    asked = str(annotations.get(names.FAULT_TOLERANCE_KEY) or "")
    if asked and options is not None:
        return (
            f"{names.FAULT_TOLERANCE_KEY} annotation and GcsFaultToleranceOptions are both set."
            " Please use only GcsFaultToleranceOptions to configure GCS fault tolerance"
        )
    if options is None:
        if asked.lower() == "true" or not names.has_env(ray, "RAY_REDIS_ADDRESS"):
            return ""
        return (
            "RAY_REDIS_ADDRESS is set which implicitly enables GCS fault tolerance, but"
            " GcsFaultToleranceOptions is not set. Please set GcsFaultToleranceOptions to enable"
            " GCS fault tolerance"
        )
    if (head.get("rayStartParams") or {}).get("redis-password"):
        return _instead("`redis-password` in rayStartParams", "RedisPassword")
    for variable, field in (
        ("REDIS_PASSWORD", "RedisPassword"),
        ("RAY_REDIS_ADDRESS", "RedisAddress"),
    ):
        if names.has_env(ray, variable):
            return _instead(f"`{variable}` env var in head Pod", field)
    if annotations.get(names.STORAGE_NAMESPACE_KEY):
        return _instead(f"`{names.STORAGE_NAMESPACE_KEY}` annotation", "ExternalStorageNamespace")
    return ""


def _instead(what: str, field: str) -> str:
    return (
        f"cannot set {what} when GcsFaultToleranceOptions is enabled"
        f" - use GcsFaultToleranceOptions.{field} instead"
    )


def _redis_name_problem(spec: Object, _: Object) -> str:
    head = spec["headGroupSpec"]
    is_set = (head.get("rayStartParams") or {}).get("redis-username")
    if is_set or names.has_env(names.containers(head)[0], "REDIS_USERNAME"):
        return (
            "cannot set redis username in rayStartParams or environment variables"
            " - use GcsFaultToleranceOptions.RedisUsername instead"
        )
    return ""


def _autoscaler_problem(spec: Object, _: Object) -> str:
    variable = _v2_variable(spec)
    options = spec.get("autoscalerOptions") or {}
    if not names.is_autoscaled(spec):
        if variable in ("1", "true"):
            return (
                f"environment variable {_V2_VARIABLE} cannot be set to '{variable}' when"
                " enableInTreeAutoscaling is false. Please set enableInTreeAutoscaling: true to use"
                " autoscaler v2"
            )
    else:
        for group in spec.get("workerGroupSpecs") or ():
            if group.get("suspend"):
                name = group.get("groupName")
                return f"worker group {name} cannot be suspended with Autoscaler enabled"
        ray = names.containers(spec["headGroupSpec"])[0]
        if options.get("version") and names.has_env(ray, _V2_VARIABLE):
            return (
                f"both .spec.autoscalerOptions.version and head Pod env var {_V2_VARIABLE} are set,"
                " please only use the former"
            )
        if names.is_autoscaled_v2(spec) and (text := _restart_problem(spec)):
            return text
    seconds = options.get("idleTimeoutSeconds")
    if seconds is not None and seconds < 0:
        return f"autoscalerOptions.idleTimeoutSeconds must be non-negative, got {seconds}"
    return ""


def _restart_problem(spec: Object) -> str:
    groups = [("head Pod", spec["headGroupSpec"])]
    for group in spec.get("workerGroupSpecs") or ():
        groups.append((f"worker group {group.get('groupName')}", group))
    for name, group in groups:
        policy = ((group.get("template") or {}).get("spec") or {}).get("restartPolicy")
        if policy not in (None, "", "Never"):
            return f"restartPolicy for {name} should be Never or unset when using autoscaler V2"
    return ""


def _authentication_problem(spec: Object, _: Object) -> str:
    options, version = spec.get("authOptions") or {}, str(spec.get("rayVersion") or "")
    by_account = bool(options.get("enableK8sTokenAuth"))
    if not names.needs_token(spec):
        if by_account:
            return (
                "authOptions.enableK8sTokenAuth is enabled but authOptions.mode not set to 'token'"
            )
        return ""
    if not version:
        return (
            "authOptions.mode is 'token' but RayVersion was not specified. Ray version 2.52.0 or"
            " later is required"
        )
    numbers = version.removeprefix("v").split(".")
    if not all(number.isdigit() for number in numbers[:3]):
        return f"authOptions.mode is 'token' but RayVersion format is invalid: {version}"
    have = tuple(int(number) for number in numbers[:3])
    if have < (2, 52):
        return f"authOptions.mode is 'token' but minimum Ray version is 2.52.0, got {version}"
    if by_account and have < (2, 55):
        least = "minimum Ray version is 2.55.0"
        return f"authOptions.enableK8sTokenAuth is enabled but {least}, got {version}"
    if by_account and options.get("secretName"):
        return "authOptions.enableK8sTokenAuth is enabled and authOptions.secretName is also set"
    return ""


def _upgrade_problem(cluster: Object) -> str:
    kind = (cluster["spec"].get("upgradeStrategy") or {}).get("type")
    if kind is None:
        return ""
    if kind not in ("Recreate", "None"):
        return (
            f"The RayCluster spec is invalid: Spec.UpgradeStrategy.Type value {kind} is invalid,"
            " valid options are Recreate or None"
        )
    made_by = names.creator(cluster)
    if made_by != "RayCluster":
        return f"upgradeStrategy cannot be set when RayCluster is created by {made_by}"
    return ""


def _status_problem(cluster: Object) -> str:
    found = (cluster.get("status") or {}).get("conditions")
    both = (
        conditions.find(found, "RayClusterSuspending"),
        conditions.find(found, "RayClusterSuspended"),
    )
    if all(each is not None and each.get("status") == "True" for each in both):
        return (
            "invalid RayCluster State: rayv1.RayClusterSuspending and rayv1.RayClusterSuspended"
            " conditions should not be both true"
        )
    return ""


def _v2_variable(spec: Object) -> str:
    return names.env_value(names.containers(spec["headGroupSpec"])[0], _V2_VARIABLE)
