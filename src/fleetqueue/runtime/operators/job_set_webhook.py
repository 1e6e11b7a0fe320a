"""What a JobSet is given where it says nothing, and what is refused when one is written."""

from typing import Any

from fleetqueue.api import field_errors as fields
from fleetqueue.api import names
from fleetqueue.api.field_errors import FieldError
from fleetqueue.kube.resources import Object
from fleetqueue.kube.webhook_rules import Asked, Webhook
from fleetqueue.runtime.kinds import JOB_SET
from fleetqueue.runtime.operators import job_set_children as children
from fleetqueue.runtime.operators.job_set_rules import (
    check_claims,
    check_coordinator,
    check_failure_policy,
    check_manager,
    plain,
)

_INT32_MAX = 2**31 - 1
_POD_SUFFIX = "-abcde"
_FREE_WHILE_SUSPENDED = {
    "metadata": ("annotations", "labels"),
    "spec": ("nodeSelector", "tolerations", "schedulingGates"),
}


def default(asked: Asked) -> None:
    spec: Object = asked.obj.setdefault("spec", {})
    _set_if_absent(spec, "successPolicy", {"operator": "All"})
    _set_if_absent(spec, "startupPolicy", {"startupPolicyOrder": "AnyOrder"})
    for replicated in spec.get("replicatedJobs") or ():
        job = replicated.setdefault("template", {}).setdefault("spec", {})
        _set_if_absent(job, "completionMode", "Indexed")
        pod = job.setdefault("template", {}).setdefault("spec", {})
        if not pod.get("restartPolicy"):
            pod["restartPolicy"] = "OnFailure"
    network = _set_if_absent(spec, "network", {})
    _set_if_absent(network, "enableDNSHostnames", True)
    _set_if_absent(network, "publishNotReadyAddresses", True)
    for index, rule in enumerate((spec.get("failurePolicy") or {}).get("rules") or ()):
        if not rule.get("name"):
            rule["name"] = f"failurePolicyRule{index}"
    for policy in spec.get("volumeClaimPolicies") or ():
        _set_if_absent(policy, "retentionPolicy", {"whenDeleted": "Delete"})


def validate(asked: Asked) -> list[FieldError]:
    if asked.old is not None:
        return _validate_change(asked.obj["spec"], asked.old["spec"])
    job_set, spec = asked.obj, asked.spec
    errors: list[FieldError] = []
    if (spec.get("failurePolicy") or {}).get("restartStrategy") == "InPlaceRestart":
        errors.append(
            plain(
                "InPlaceRestart restart strategy cannot be set when InPlaceRestart feature gate "
                "is disabled"
            )
        )
    replicated = children.replicated_jobs(job_set)
    if replicated and replicated[0].get("dependsOn") is not None:
        errors.append(plain("DependsOn can't be set for the first ReplicatedJob"))
    errors += _check_subdomain((spec.get("network") or {}).get("subdomain") or "")
    errors += check_manager(spec.get("managedBy"))
    for index in range(len(replicated)):
        errors += _check_replicated_job(job_set, index)
    known = {each["name"] for each in replicated}
    for name in (spec.get("successPolicy") or {}).get("targetReplicatedJobs") or ():
        if name not in known:
            text = f"invalid replicatedJob name '{name}' does not appear in .spec.ReplicatedJobs"
            errors.append(plain(text))
    errors += check_failure_policy(spec.get("failurePolicy"), known)
    errors += check_coordinator(job_set)
    errors += check_claims(asked)
    return errors


def _set_if_absent(obj: Object, name: str, value: Any) -> Any:
    if obj.get(name) is None:
        obj[name] = value
    return obj[name]


def _check_subdomain(subdomain: str) -> list[FieldError]:
    if not subdomain:
        return []
    path = "spec.network.subdomain"
    errors = [fields.wrong(path, subdomain, text) for text in names.dns1123_subdomain(subdomain)]
    too_long = ".spec.network.subdomain is too long, must be less than 63 characters"
    return errors + _check_label(path, subdomain, subdomain, too_long)


def _check_replicated_job(job_set: Object, index: int) -> list[FieldError]:
    listed = children.replicated_jobs(job_set)
    replicated, path = listed[index], f"spec.replicatedJobs[{index}]"
    errors = _check_size(replicated)
    group = children.group_of(replicated)
    too_long = ".spec.replicatedJob[].groupName is too long, must be less than 63 characters"
    errors += _check_label(f"{path}.groupName", group, group, too_long)
    errors += _check_names(job_set, replicated, f"{path}.name")
    known = {each["name"] for each in listed[: index + 1]}
    for dependency in replicated.get("dependsOn") or ():
        if dependency["name"] not in known:
            text = (
                f"replicatedJob: {replicated['name']} cannot depend on replicatedJob: "
                f"{dependency['name']}"
            )
            errors.append(plain(text))
    return errors


def _check_size(replicated: Object) -> list[FieldError]:
    spec = replicated["template"].get("spec") or {}
    parallelism = spec["parallelism"] if spec.get("parallelism") is not None else 1
    if parallelism * children.replicas_of(replicated) <= _INT32_MAX:
        return []
    text = f"the product of replicas and parallelism must not exceed {_INT32_MAX}"
    return [plain(f"{text} for replicatedJob '{replicated['name']}'")]


def _check_names(job_set: Object, replicated: Object, path: str) -> list[FieldError]:
    """The longest names that the Jobs and their pods would get must still be names."""
    spec = replicated["template"].get("spec") or {}
    longest = children.job_name(job_set, replicated, children.replicas_of(replicated) - 1)
    why = "JobSet name is too long, {} names generated for this JobSet will exceed 63 characters"
    errors = _check_label(path, longest, longest, why.format("job"))
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is not None:
        pod = f"{longest}-{spec['completions'] - 1}{_POD_SUFFIX}"
        errors += _check_label(path, pod, longest, why.format("pod"))
    return errors


def _check_label(path: str, value: str, shown: str, too_long: str) -> list[FieldError]:
    return [
        fields.wrong(path, shown, too_long if "must be no more than 63" in text else text)
        for text in names.dns1035_label(value)
    ]


def _validate_change(spec: Object, old: Object) -> list[FieldError]:
    errors = []
    now, before = spec.get("replicatedJobs") or [], old.get("replicatedJobs") or []
    compared = now
    if spec.get("suspend") or old.get("suspend"):
        by_name = {each["name"]: each for each in before}
        compared = [_with_old_parts(each, by_name.get(each["name"])) for each in now]
    if compared != before:
        errors.append(fields.wrong("spec.replicatedJobs", compared, "field is immutable"))
    if spec.get("managedBy") != old.get("managedBy"):
        manager = spec.get("managedBy")
        errors.append(fields.wrong("spec.managedBy", manager, "field is immutable"))
    return errors


def _with_old_parts(replicated: Object, old: Object | None) -> Object:
    """The replicated job as it would be had nothing been changed that may be."""
    if old is None:
        return replicated
    template, before = _pod_template(replicated), _pod_template(old)
    for half, parts in _FREE_WHILE_SUSPENDED.items():
        whole = dict(template.get(half) or {})
        for part in parts:
            whole.pop(part, None)
            if part in (before.get(half) or {}):
                whole[part] = before[half][part]
        template = {**template, half: whole}
        if not whole and half not in before:
            del template[half]
    job = {**replicated["template"]["spec"], "template": template}
    return {**replicated, "template": {**replicated["template"], "spec": job}}


def _pod_template(replicated: Object) -> Object:
    template: Object = replicated["template"]["spec"].get("template") or {}
    return template


WEBHOOK = Webhook(
    JOB_SET, default=default, validate=validate, name="vjobset.kb.io", refuses_as="Invalid"
)
