"""What a RayJob must be like; one that is not gets the status ValidationFailed."""

import itertools
from collections.abc import Callable

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import ray_cluster_rules as cluster_rules
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.operators.ray_cluster_rules import Problem
from fleetqueue.runtime.operators.ray_job_submission import RuntimeEnvError, runtime_env

_WRONG = "The RayJob spec is invalid: "
_ORDER = ("DeleteWorkers", "DeleteCluster", "DeleteSelf")


def problem_of(job: Object) -> Problem | None:
    """The first thing that is wrong with a job."""
    if text := cluster_rules.name_problem(job, "RayJob", cluster_rules.OWNER_NAME_MAX):
        return Problem("InvalidRayJobMetadata", f"The RayJob metadata is invalid: {text}")
    if text := _spec_problem(job):
        return Problem("InvalidRayJobSpec", text)
    phase = (job.get("status") or {}).get("jobDeploymentStatus")
    if phase == "Waiting" and job["spec"].get("submissionMode") != "InteractiveMode":
        text = (
            "The RayJob status is invalid: JobDeploymentStatus cannot be `Waiting` when"
            " SubmissionMode is not InteractiveMode"
        )
        return Problem("InvalidRayJobStatus", text)
    return None


def _spec_problem(job: Object) -> str:
    checks: tuple[Callable[[Object], str], ...] = (
        _lifetime_problem,
        _deletion_problem,
        _cluster_problem,
        _mode_problem,
        lambda spec: _cluster_spec_problem(spec, names.annotations_of(job)),
        _runtime_problem,
        _number_problem,
    )
    return next((text for check in checks if (text := check(job["spec"]))), "")


def _lifetime_problem(spec: Object) -> str:
    if spec.get("suspend") and not spec.get("shutdownAfterJobFinishes"):
        return (
            f"{_WRONG}a RayJob with shutdownAfterJobFinishes set to false is not allowed to be"
            " suspended"
        )
    if (spec.get("ttlSecondsAfterFinished") or 0) < 0:
        return f"{_WRONG}TTLSecondsAfterFinished must be a non-negative integer"
    if not spec.get("shutdownAfterJobFinishes") and spec.get("ttlSecondsAfterFinished"):
        return (
            f"{_WRONG}a RayJob with shutdownAfterJobFinishes set to false cannot have"
            " TTLSecondsAfterFinished"
        )
    return ""


def _deletion_problem(spec: Object) -> str:
    strategy = spec.get("deletionStrategy")
    if strategy is None:
        return ""
    rules = strategy.get("deletionRules") or ()
    is_old = strategy.get("onSuccess") is not None or strategy.get("onFailure") is not None
    if rules and spec.get("shutdownAfterJobFinishes"):
        return (
            f"{_WRONG}spec.shutdownAfterJobFinishes and spec.deletionStrategy.deletionRules are"
            " mutually exclusive"
        )
    if rules and is_old:
        return (
            f"{_WRONG}Cannot use both legacy onSuccess/onFailure fields and deletionRules"
            " simultaneously"
        )
    if is_old:
        return _old_deletion_problem(spec, strategy)
    if rules:
        return "\n".join((*_rule_problems(spec, rules), *_time_problems(rules)))
    return (
        f"{_WRONG}DeletionStrategy requires either BOTH onSuccess and onFailure, OR the"
        " deletionRules field (cannot be empty)"
    )


def _old_deletion_problem(spec: Object, strategy: Object) -> str:
    ends = {"OnSuccess": strategy.get("onSuccess"), "OnFailure": strategy.get("onFailure")}
    if any(end is None for end in ends.values()):
        return (
            "both DeletionStrategy.OnSuccess and DeletionStrategy.OnFailure must be set when using"
            " the legacy deletion policy fields of DeletionStrategy"
        )
    policies = {name: (end or {}).get("policy") for name, end in ends.items()}
    for name, policy in policies.items():
        if policy is None:
            return (
                f"the DeletionPolicyType field of DeletionStrategy.{name} cannot be unset when"
                " DeletionStrategy is enabled"
            )
    for name, policy in policies.items():
        if spec.get("clusterSelector") and policy in ("DeleteCluster", "DeleteWorkers"):
            when = {"OnSuccess": "on success", "OnFailure": "on failure"}[name]
            return f"the ClusterSelector mode doesn't support DeletionStrategy={policy} {when}"
    is_scaled = names.is_autoscaled(spec.get("rayClusterSpec") or {})
    if "DeleteWorkers" in policies.values() and is_scaled:
        return (
            "DeletionStrategy=DeleteWorkers currently does not support RayCluster with autoscaling"
            " enabled"
        )
    if spec.get("shutdownAfterJobFinishes") and "DeleteNone" in policies.values():
        return (
            f"{_WRONG}shutdownAfterJobFinshes is set to 'true' while deletion policy is"
            " 'DeleteNone'"
        )
    return ""


def _rule_problems(spec: Object, rules: list[Object]) -> list[str]:
    found, seen = [], set()
    for at, rule in enumerate(rules):
        policy, (kind, value) = rule["policy"], _condition(rule)
        text = ""
        if spec.get("clusterSelector") and policy in ("DeleteCluster", "DeleteWorkers"):
            text = f"DeletionPolicyType '{policy}' not supported when ClusterSelector is set"
        elif policy == "DeleteWorkers" and names.is_autoscaled(spec.get("rayClusterSpec") or {}):
            text = "DeletionPolicyType 'DeleteWorkers' not supported with autoscaling enabled"
        elif (policy, kind, value) in seen:
            text = f"duplicate rule for DeletionPolicyType '{policy}' and {kind} '{value}'"
        seen.add((policy, kind, value))
        if text:
            found.append(f"deletionRules[{at}]: {text}")
    return found


def _time_problems(rules: list[Object]) -> list[str]:
    """What takes more away must not come earlier."""
    found = []
    for kind, value in dict.fromkeys(map(_condition, rules)):
        ours = {
            rule["policy"]: int(rule["condition"].get("ttlSeconds") or 0)
            for rule in reversed(rules)
            if _condition(rule) == (kind, value)
        }
        listed = [(policy, ours[policy]) for policy in _ORDER if policy in ours]
        for (before, sooner), (policy, later) in itertools.pairwise(listed):
            if later < sooner:
                what = f"{policy} TTL ({later}) must be >= {before} TTL ({sooner})"
                found.append(f"for {kind} '{value}': {what}")
    return found


def _condition(rule: Object) -> tuple[str, str]:
    condition = rule["condition"]
    if condition.get("jobStatus") is not None:
        return "JobStatus", str(condition["jobStatus"])
    return "JobDeploymentStatus", str(condition.get("jobDeploymentStatus"))


def _cluster_problem(spec: Object) -> str:
    selector = spec.get("clusterSelector") or {}
    if selector and spec.get("suspend"):
        return f"{_WRONG}the ClusterSelector mode doesn't support the suspend operation"
    if not selector:
        if spec.get("rayClusterSpec") is None:
            return f"{_WRONG}one of RayClusterSpec or ClusterSelector must be set"
        return ""
    if not selector.get(names.CLUSTER_KEY):
        return "cluster name in ClusterSelector should not be empty"
    if spec.get("submissionMode") == "SidecarMode":
        return "ClusterSelector is not supported in SidecarMode"
    if (spec.get("backoffLimit") or 0) > 0:
        return f"{_WRONG}BackoffLimit is incompatible with ClusterSelector mode"
    return ""


def _mode_problem(spec: Object) -> str:
    mode = spec.get("submissionMode")
    if mode == "InteractiveMode" and (spec.get("backoffLimit") or 0) > 0:
        return f"{_WRONG}BackoffLimit is incompatible with InteractiveMode"
    if mode != "SidecarMode":
        return ""
    if spec.get("submitterPodTemplate") is not None:
        return "Currently, SidecarMode doesn't support SubmitterPodTemplate"
    if spec.get("submitterConfig") is not None:
        return "Currently, SidecarMode doesn't support SubmitterConfig"
    head = (spec.get("rayClusterSpec") or {}).get("headGroupSpec") or {}
    policy = ((head.get("template") or {}).get("spec") or {}).get("restartPolicy")
    if policy not in (None, "", "Never"):
        return "restartPolicy for head Pod should be Never or unset when using SidecarMode"
    return ""


def _cluster_spec_problem(spec: Object, annotations: Object) -> str:
    cluster = spec.get("rayClusterSpec")
    if cluster is None:
        return ""
    if (cluster.get("authOptions") or {}).get("enableK8sTokenAuth"):
        return f"{_WRONG}K8s token auth mode is currently not supported for RayJob"
    text = cluster_rules.spec_problem(cluster, annotations)
    return f"{_WRONG}{text}" if text else ""


def _runtime_problem(spec: Object) -> str:
    try:
        runtime_env(spec)
    except RuntimeEnvError as error:
        return str(error)
    return ""


def _number_problem(spec: Object) -> str:
    for field in ("activeDeadlineSeconds", "preRunningDeadlineSeconds"):
        if spec.get(field) is not None and spec[field] <= 0:
            return f"{_WRONG}{field} must be a positive integer"
    if (spec.get("backoffLimit") or 0) < 0:
        return f"{_WRONG}backoffLimit must be a positive integer"
    return ""
