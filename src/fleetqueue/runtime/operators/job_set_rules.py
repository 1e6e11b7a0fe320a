"""Rules for the policies of a new JobSet: on failure, on its coordinator, and on claims."""

import re

from fleetqueue.api import field_errors as fields
from fleetqueue.api import names
from fleetqueue.api.field_errors import FieldError
from fleetqueue.kube.resources import Object
from fleetqueue.kube.webhook_rules import Asked
from fleetqueue.runtime.kinds import CLAIM
from fleetqueue.runtime.operators import job_set_children as children

JOB_FAILURE_REASONS = (
    "BackoffLimitExceeded",
    "DeadlineExceeded",
    "FailedIndexes",
    "MaxFailedIndexesExceeded",
    "PodFailurePolicy",
)
_OF_ONE_JOB = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")
_RULE_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", re.ASCII)
_RULE_NAME_MAX = 128
_MANAGER_MAX = 63
_CLAIM_NAME_MAX = 63
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


def plain(text: str) -> FieldError:
    """An error about the whole; JobSet's webhook sends it as an internal one without a field."""
    return FieldError("InternalError", "<nil>", "", text)


def check_manager(manager: str | None) -> list[FieldError]:
    path = "spec.managedBy"
    if manager is None:
        return []
    host, _, rest = manager.partition("/")
    if not manager:
        return [fields.required(path)]
    if not host or not rest:
        why = 'must be a domain-prefixed path (such as "acme.io/foo")'
        return [fields.wrong(path, manager, why)]
    errors = [fields.wrong(path, host, text) for text in names.dns1123_subdomain(host)]
    if not re.fullmatch(_HTTP_PATH, rest, re.ASCII):
        why = names.pattern_message("Invalid path", _HTTP_PATH)
        errors.append(fields.wrong(path, rest, why))
    if names.byte_length(manager) > _MANAGER_MAX:
        errors.append(fields.too_long(path, _MANAGER_MAX))
    return errors


def check_failure_policy(policy: Object | None, known: set[str]) -> list[FieldError]:
    rules: list[Object] = (policy or {}).get("rules") or []
    if any(rule["action"] in _OF_ONE_JOB for rule in rules):
        return [
            plain(
                "RestartJob and RestartJobAndIgnoreMaxRestarts failure policy actions are not "
                "allowed when RestartJob feature gate is disabled"
            )
        ]
    errors = [plain(text) for rule in rules for text in _rule_problems(rule, known)]
    indexes: dict[str, list[int]] = {}
    for index, rule in enumerate(rules):
        indexes.setdefault(rule["name"], []).append(index)
    for name, found in indexes.items():
        if len(found) > 1:
            listed = " ".join(map(str, found))
            text = f"rule names are not unique, rules with indices [{listed}] all have the same"
            errors.append(plain(f"{text} name '{name}'"))
    return errors


def check_coordinator(job_set: Object) -> list[FieldError]:
    chosen = job_set["spec"].get("coordinator")
    if chosen is None:
        return []
    problem = _coordinator_problem(job_set, chosen)
    errors = [plain(problem)] if problem else []
    address = children.coordinator(job_set)
    wrong = names.label_value(address)
    if wrong:
        key = fields.quoted(f"{children.PREFIX}coordinator")
        errors.append(
            plain(
                f"spec will lead to invalid label value {fields.quoted(address)} for coordinator "
                f"label {key} (long JobSet / ReplicatedJob / SubDomain name?): {', '.join(wrong)}"
            )
        )
    return errors


def check_claims(asked: Asked) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for number, policy in enumerate(asked.spec.get("volumeClaimPolicies") or ()):
        path = f"spec.volumeClaimPolicies[{number}]"
        for index, template in enumerate(policy.get("templates") or ()):
            name = children.template_name(template)
            name_path = f"{path}.template[{index}].name"
            if name in seen:
                why = "names must be unique for VolumeClaimPolicies template"
                errors.append(fields.wrong(name_path, name, why))
            errors += [fields.wrong(name_path, name, w) for w in names.dns1123_subdomain(name)]
            if len(children.claim_name(asked.obj, template)) > _CLAIM_NAME_MAX:
                why = "VolumeClaimPolicies template name is too long"
                errors.append(fields.wrong(name_path, name, why))
            errors += _check_mounts(asked.obj, name)
            errors += _check_existing_claim(asked, policy, template, f"{path}.template[{index}]")
            seen.add(name)
    return errors


def _rule_problems(rule: Object, known: set[str]) -> list[str]:
    name, problems = rule["name"], []
    if not 1 <= len(name) <= _RULE_NAME_MAX:
        problems.append(
            f"invalid failure policy rule name of length {len(name)}, the rule name must be at "
            f"least 1 characters long and at most {_RULE_NAME_MAX} characters long"
        )
    if not _RULE_NAME.fullmatch(name):
        problems.append(
            f"invalid failure policy rule name '{name}', a failure policy rule name must start "
            "with an alphabetic character, optionally followed by a string of alphanumeric "
            "characters or '_,:', and must end with an alphanumeric character or '_'"
        )
    for target in rule.get("targetReplicatedJobs") or ():
        if target not in known:
            problems.append(
                f"invalid replicatedJob name '{target}' in failure policy does not appear in "
                ".spec.ReplicatedJobs"
            )
    for reason in rule.get("onJobFailureReasons") or ():
        if reason not in JOB_FAILURE_REASONS:
            problems.append(
                f"invalid job failure reason '{reason}' in failure policy is not a recognized "
                "job failure reason"
            )
    return problems


def _coordinator_problem(job_set: Object, chosen: Object) -> str:
    name = chosen["replicatedJob"]
    listed = {each["name"]: each for each in children.replicated_jobs(job_set)}
    if name not in listed:
        return f"coordinator replicatedJob {name} does not exist"
    job, pod = chosen.get("jobIndex") or 0, chosen.get("podIndex") or 0
    if not 0 <= job < children.replicas_of(listed[name]):
        return f"coordinator job index {job} is invalid for replicatedJob {name}"
    spec = listed[name]["template"].get("spec") or {}
    if spec.get("completionMode") != "Indexed" or spec.get("completions") is None:
        return (
            "job for coordinator pod must be indexed completion mode, and completions number "
            "must be set"
        )
    if not 0 <= pod < spec["completions"]:
        return f"coordinator pod index {pod} is invalid for replicatedJob {name} job index {job}"
    return ""


def _check_mounts(job_set: Object, claim: str) -> list[FieldError]:
    """Some container mounts the claim, and no template has a volume of its name."""
    errors: list[FieldError] = []
    is_mounted = False
    for index, replicated in enumerate(children.replicated_jobs(job_set)):
        template = (replicated["template"].get("spec") or {}).get("template") or {}
        pod = template.get("spec") or {}
        for place, volume in enumerate(pod.get("volumes") or ()):
            if volume["name"] == claim:
                path = f"spec.replicatedJobs[{index}].template.spec.template.spec.volumes[{place}]"
                why = f"volume name conflicts with VolumeClaimPolicy template name: {claim}"
                errors.append(fields.wrong(f"{path}.name", claim, why))
        is_mounted = is_mounted or any(
            mount["name"] == claim
            for container in [*(pod.get("initContainers") or ()), *(pod.get("containers") or ())]
            for mount in container.get("volumeMounts") or ()
        )
    if not is_mounted:
        why = "replicatedJob containers don't have a matching volumeMount"
        shown = children.replicated_jobs(job_set)
        text = f"{why}: {claim} from VolumeClaimPolicies"
        errors.append(fields.wrong("spec.replicatedJobs", shown, text))
    return errors


def _check_existing_claim(
    asked: Asked, policy: Object, template: Object, path: str
) -> list[FieldError]:
    """A claim that is there already must be as wanted, and must be kept."""
    metadata, name = asked.obj["metadata"], children.claim_name(asked.obj, template)
    namespace = metadata.get("namespace") or ""
    found = asked.source.get(CLAIM, namespace, name)
    if found is None:
        return []
    errors = []
    wanted = template.get("spec") or {}
    if any(found["spec"].get(part) != value for part, value in wanted.items()):
        why = f"spec does not match existing PVC {name} in namespace {namespace}"
        errors.append(fields.wrong(f"{path}.spec", wanted, why))
    kept = (policy.get("retentionPolicy") or {}).get("whenDeleted")
    if kept != "Retain":
        where = path.rpartition(".template")[0]
        why = "retentionPolicy must be retain when PVC exists"
        errors.append(fields.wrong(f"{where}.retentionPolicy.whenDeleted", kept, why))
    return errors
