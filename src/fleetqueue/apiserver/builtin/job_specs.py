"""Rules for what a Job asks for, also inside the template of a CronJob."""

import re
from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, nonnegative, one_of, wrongs
from fleetqueue.apiserver.builtin.internal_form import show_internal
from fleetqueue.apiserver.builtin.job_policies import (
    validate_failure_policy,
    validate_success_policy,
)
from fleetqueue.apiserver.builtin.pod_defaults import default_template
from fleetqueue.apiserver.builtin.pod_specs import validate_template
from fleetqueue.apiserver.builtin.pod_warnings import warn_of_template

Object = Mapping[str, Any]

INDEXED_PARALLELISM_MAX = 100_000
FAILED_INDEXES_MAX = 100_000
MANY_COMPLETIONS = 100_000
PARALLELISM_MAX_WITH_MANY = 10_000
FAILED_INDEXES_MAX_WITH_MANY = 10_000
MANAGER_LENGTH_MAX = 63

_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_PATH_PATTERN = re.compile(_PATH)
_NEEDS_INDEXES = "requires indexed completion mode"
_MANY = f"when completions are above {MANY_COMPLETIONS} and used with backoff limit per index"


def default_job_spec_template(spec: dict[str, Any]) -> None:
    """The part of a Job's defaults that a CronJob's template gets too."""
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern.get("status"):
                pattern["status"] = "True"
    default_template(spec)


def is_indexed(spec: Object) -> bool:
    return spec.get("completionMode") == "Indexed"


def validate_job_spec(spec: Object, path: str, old_template: Object | None = None) -> Errors:
    errors: Errors = []
    for name in _COUNTS:
        errors += nonnegative(spec.get(name), f"{path}.{name}")
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        why = "when maxFailedIndexes is specified"
        errors.append(fields.required(f"{path}.backoffLimitPerIndex", why))
    errors += _validate_manager(spec.get("managedBy"), f"{path}.managedBy")
    modes = ("NonIndexed", "Indexed")
    errors += one_of(spec.get("completionMode"), modes, f"{path}.completionMode")
    errors += _validate_indexes(spec, path) if is_indexed(spec) else []
    if spec.get("completionMode") in (None, "NonIndexed"):
        errors += [
            fields.wrong(f"{path}.{name}", spec[name], _NEEDS_INDEXES)
            for name in ("backoffLimitPerIndex", "maxFailedIndexes")
            if spec.get(name) is not None
        ]
    errors += _validate_policies(spec, path)
    errors += validate_template(spec.get("template") or {}, f"{path}.template", old_template)
    return errors + _validate_restarts(spec, f"{path}.template.spec.restartPolicy")


def warn_of_job_spec(spec: Object, path: str) -> list[str]:
    warnings = []
    many = (spec.get("completions") or 0) > MANY_COMPLETIONS
    if is_indexed(spec) and many and (spec.get("parallelism") or 0) > PARALLELISM_MAX_WITH_MANY:
        warnings.append(
            f"{path}: In Indexed Jobs with a number of completions higher than 10^5 and a "
            "parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes "
            "when a big number of indexes fail"
        )
    return warnings + warn_of_template(spec.get("template") or {}, f"{path}.template")


def _validate_manager(manager: str | None, path: str) -> Errors:
    if manager is None:
        return []
    errors = _validate_domain_path(manager, path)
    if len(manager.encode()) > MANAGER_LENGTH_MAX:
        errors.append(fields.too_long(path, MANAGER_LENGTH_MAX))
    return errors


def _validate_domain_path(value: str, path: str) -> Errors:
    if not value:
        return [fields.required(path)]
    host, _, rest = value.partition("/")
    if not host or not rest:
        why = 'must be a domain-prefixed path (such as "acme.io/foo")'
        return [fields.wrong(path, value, why)]
    errors = wrongs(path, host, names.dns1123_subdomain(host))
    if not _PATH_PATTERN.fullmatch(rest):
        errors.append(fields.wrong(path, rest, names.pattern_message("Invalid path", _PATH)))
    return errors


def _validate_indexes(spec: Object, path: str) -> Errors:
    errors: Errors = []
    completions, parallelism = spec.get("completions"), spec.get("parallelism") or 0
    failed = spec.get("maxFailedIndexes")
    if completions is None:
        errors.append(fields.required(f"{path}.completions", "when completion mode is Indexed"))
    if parallelism > INDEXED_PARALLELISM_MAX:
        most = INDEXED_PARALLELISM_MAX
        why = f"must be less than or equal to {most} when completion mode is Indexed"
        errors.append(fields.wrong(f"{path}.parallelism", parallelism, why))
    if failed is not None and completions is not None and failed > completions:
        why = "must be less than or equal to completions"
        errors.append(fields.wrong(f"{path}.maxFailedIndexes", failed, why))
    if failed is not None and failed > FAILED_INDEXES_MAX:
        why = f"must be less than or equal to {FAILED_INDEXES_MAX}"
        errors.append(fields.wrong(f"{path}.maxFailedIndexes", failed, why))
    if (completions or 0) > MANY_COMPLETIONS and spec.get("backoffLimitPerIndex") is not None:
        errors += _validate_many_indexes(parallelism, failed, path)
    return errors


def _validate_many_indexes(parallelism: int, failed: int | None, path: str) -> Errors:
    errors: Errors = []
    if failed is None:
        why = f"must be specified when completions is above {MANY_COMPLETIONS}"
        errors.append(fields.required(f"{path}.maxFailedIndexes", why))
    if parallelism > PARALLELISM_MAX_WITH_MANY:
        why = f"must be less than or equal to {PARALLELISM_MAX_WITH_MANY} {_MANY}"
        errors.append(fields.wrong(f"{path}.parallelism", parallelism, why))
    if failed is not None and failed > FAILED_INDEXES_MAX_WITH_MANY:
        why = f"must be less than or equal to {FAILED_INDEXES_MAX_WITH_MANY} {_MANY}"
        errors.append(fields.wrong(f"{path}.maxFailedIndexes", failed, why))
    return errors


def _validate_policies(spec: Object, path: str) -> Errors:
    errors: Errors = []
    has_failure_policy = spec.get("podFailurePolicy") is not None
    if has_failure_policy:
        errors += validate_failure_policy(spec, f"{path}.podFailurePolicy")
    if (success := spec.get("successPolicy")) is not None:
        below = f"{path}.successPolicy"
        if is_indexed(spec):
            errors += validate_success_policy(spec, below)
        else:
            shown = show_internal("SuccessPolicy", success)
            errors.append(fields.wrong(below, shown, _NEEDS_INDEXES))
    replacements = ("Failed",) if has_failure_policy else ("Failed", "TerminatingOrFailed")
    policy = spec.get("podReplacementPolicy")
    return errors + one_of(policy, replacements, f"{path}.podReplacementPolicy")


def _validate_restarts(spec: Object, path: str) -> Errors:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy", "")
    if policy in ("Always", ""):
        return [fields.required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [fields.unsupported(path, policy, ("OnFailure", "Never"))]
    if spec.get("podFailurePolicy") is not None and policy != "Never":
        why = 'only "Never" is supported when podFailurePolicy is specified'
        return [fields.wrong(path, policy, why)]
    return []
