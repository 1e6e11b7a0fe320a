"""Jobs: the selector and labels the server makes up, and what may change once a Job exists."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin import selectors
from fleetqueue.apiserver.builtin.checks import IMMUTABLE, INT32_MAX, Errors, immutable, same
from fleetqueue.apiserver.builtin.internal_form import show_internal
from fleetqueue.apiserver.builtin.job_specs import (
    default_job_spec_template,
    is_indexed,
    validate_job_spec,
    warn_of_job_spec,
)
from fleetqueue.apiserver.builtin.job_status import validate_job_status
from fleetqueue.apiserver.builtin.objectmeta import (
    validate_builtin_meta,
    validate_builtin_meta_update,
    validate_finalizers_qualified,
)
from fleetqueue.apiserver.builtin.pod_preparation import drop_disabled
from fleetqueue.apiserver.strategy import Strategy

Object = dict[str, Any]

UID_LABEL = "batch.kubernetes.io/controller-uid"
NAME_LABEL = "batch.kubernetes.io/job-name"
LEGACY_UID_LABEL = "controller-uid"
LEGACY_NAME_LABEL = "job-name"

_SHOWN_POLICIES = {"podFailurePolicy": "PodFailurePolicy", "successPolicy": "SuccessPolicy"}
_NAME_WARNING = (
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising "
    "behavior; a DNS label is recommended: "
)


def default_job(job: Object) -> None:
    spec = job.setdefault("spec", {})
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    per_index = spec.get("backoffLimitPerIndex") is not None
    spec.setdefault("backoffLimit", INT32_MAX if per_index else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    replaces_failed = spec.get("podFailurePolicy") is not None
    spec.setdefault("podReplacementPolicy", "Failed" if replaces_failed else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)
    default_job_spec_template(spec)
    _default_labels(job)


def prepare_job(job: Object) -> None:
    """Needs the name and the uid, which the server has given by now."""
    spec = job["spec"]
    job["status"] = {}
    drop_disabled(spec["template"]["spec"])
    if not spec.get("manualSelector"):
        _generate_selector(job)


def _show_labels(job: Object) -> None:
    """A Job that still has no labels is read with those that its pods were given."""
    _default_labels(job)
    # From here on the two sets of labels go separate ways.
    meta = job["metadata"]
    if meta.get("labels"):
        meta["labels"] = dict(meta["labels"])


def validate_job(job: Object, old: Object | None = None) -> Errors:
    spec, meta = job["spec"], job["metadata"]
    errors = validate_builtin_meta(meta) if old else validate_finalizers_qualified(meta)
    errors += _validate_generated_selector(job, old)
    errors += _validate_selected_spec(spec, old)
    completions = spec.get("completions")
    if is_indexed(spec) and completions:
        hostname = f"{meta.get('name', '')}-{completions - 1}"
        if names.dns1123_label(hostname):
            why = f"will not able to create pod with invalid DNS label: {hostname}"
            errors.append(fields.wrong("metadata.name", meta.get("name", ""), why))
    return errors


def validate_job_update(job: Object, old: Object) -> Errors:
    spec, before = job["spec"], old["spec"]
    errors = validate_job(job, old)
    errors += validate_builtin_meta_update(job["metadata"], old["metadata"])
    errors += _validate_selected_spec(spec, old)
    errors += _validate_completions(spec, before)
    if not same(spec.get("selector"), before.get("selector")):
        shown = selectors.shown(spec.get("selector"))
        errors.append(fields.wrong("spec.selector", shown, IMMUTABLE))
    errors += _validate_template_kept(spec, old)
    for name in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy"):
        errors += _validate_kept(spec, before, name)
    return errors + _validate_kept(spec, before, "successPolicy")


def _default_labels(job: Object) -> None:
    """A Job without labels has those of its pods: the very same, so that they grow together."""
    labels = (job["spec"]["template"].get("metadata") or {}).get("labels")
    meta = job.setdefault("metadata", {})
    if labels and not meta.get("labels"):
        meta["labels"] = labels


def _generate_selector(job: Object) -> None:
    name, uid = job["metadata"].get("name", ""), job["metadata"].get("uid", "")
    template_meta = job["spec"]["template"].setdefault("metadata", {})
    labels = template_meta.setdefault("labels", {})
    for key in (LEGACY_NAME_LABEL, NAME_LABEL):
        labels.setdefault(key, name)
    for key in (LEGACY_UID_LABEL, UID_LABEL):
        labels.setdefault(key, uid)
    if job["spec"].get("selector") is None:
        job["spec"]["selector"] = {}
    job["spec"]["selector"].setdefault("matchLabels", {}).setdefault(UID_LABEL, uid)


def _validate_generated_selector(job: Object, old: Object | None) -> Errors:
    spec, meta = job["spec"], job["metadata"]
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return []
    errors: Errors = []
    name, uid = meta.get("name", ""), meta.get("uid", "")
    if not uid:
        errors.append(fields.required("metadata.uid"))
    expected = {LEGACY_UID_LABEL: uid, LEGACY_NAME_LABEL: name}
    if old is None or _has_prefixed_labels(old):
        expected |= {UID_LABEL: uid, NAME_LABEL: name}
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    for key, value in expected.items():
        errors += _validate_label(labels, key, value)
    if selectors.is_understood(selector) and not selectors.selects(selector, expected):
        why = "`selector` not auto-generated"
        errors.append(fields.wrong("spec.selector", selectors.shown(selector), why))
    return errors


def _validate_label(labels: Mapping[str, str], key: str, value: str) -> Errors:
    path, why = f"spec.template.metadata.labels[{key}]", f"must be '{value}'"
    if key not in labels:
        return [fields.required(path, why)]
    if labels[key] != value:
        return [fields.wrong(path, selectors.shown_labels(labels), why)]
    return []


def _has_prefixed_labels(job: Object) -> bool:
    labels = (job["spec"]["template"].get("metadata") or {}).get("labels") or {}
    return NAME_LABEL in labels and UID_LABEL in labels


def _validate_selected_spec(spec: Object, old: Object | None) -> Errors:
    before = old["spec"] if old else None
    errors = validate_job_spec(spec, "spec", before and before["template"])
    selector = spec.get("selector")
    any_value = selectors.has_odd_values((before or {}).get("selector"))
    if selector is None:
        errors.append(fields.required("spec.selector"))
    errors += selectors.validate_label_selector(selector, "spec.selector", any_value=any_value)
    labels = (spec["template"].get("metadata") or {}).get("labels")
    if selectors.is_understood(selector) and not selectors.selects(selector, labels):
        why = "`selector` does not match template `labels`"
        shown = selectors.shown_labels(labels)
        errors.append(fields.wrong("spec.template.metadata.labels", shown, why))
    return errors


def _validate_completions(spec: Object, before: Object) -> Errors:
    """An indexed Job may grow and shrink, with completions and parallelism in step."""
    after, path = spec.get("completions"), "spec.completions"
    if not is_indexed(spec):
        return immutable(after, before.get("completions"), path)
    if after is None or after in (before.get("completions"), spec.get("parallelism")):
        return []
    why = "can only be modified in tandem with spec.parallelism"
    return [fields.wrong(path, after, why)]


def _validate_template_kept(spec: Object, old: Object) -> Errors:
    template, before = spec["template"], old["spec"]["template"]
    never_started = not (old.get("status") or {}).get("startTime")
    if old["spec"].get("suspend") and never_started:
        before = _with_directives_from(template, before)
    if same(template, before):
        return []
    return [fields.wrong("spec.template", show_internal("PodTemplateSpec", template), IMMUTABLE)]


def _with_directives_from(template: Object, before: Object) -> Object:
    """The old template with what a queue may still decide: where its pods go."""
    spec = dict(before["spec"])
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        _copy(spec, template["spec"], name)
    affinity = dict(spec.get("affinity") or {})
    _copy(affinity, template["spec"].get("affinity") or {}, "nodeAffinity")
    if affinity or template["spec"].get("affinity") is not None:
        spec["affinity"] = affinity
    else:
        spec.pop("affinity", None)
    meta = dict(before.get("metadata") or {})
    for name in ("labels", "annotations"):
        _copy(meta, template.get("metadata") or {}, name)
    return {**before, "metadata": meta, "spec": spec}


def _copy(target: Object, source: Mapping[str, Any], name: str) -> None:
    if name in source:
        target[name] = source[name]
    else:
        target.pop(name, None)


def _validate_kept(spec: Object, before: Object, name: str) -> Errors:
    if same(spec.get(name), before.get(name)):
        return []
    shown = spec.get(name)
    if name in _SHOWN_POLICIES:
        shown = show_internal(_SHOWN_POLICIES[name], shown)
    return [fields.wrong(f"spec.{name}", shown, IMMUTABLE)]


def _prepare_update(job: Object, old: Object) -> None:
    drop_disabled(job["spec"]["template"]["spec"], old["spec"]["template"]["spec"])


def warn_of_name(name: str) -> list[str]:
    problems = names.dns1123_label(name)
    return [f"{_NAME_WARNING}[{' '.join(problems)}]"] if problems else []


def _warn(job: Object, old: Object | None) -> list[str]:
    if old is not None and same(job["spec"], old["spec"]):
        return []
    warnings = [] if old is not None else warn_of_name(job["metadata"].get("name", ""))
    return warnings + warn_of_job_spec(job["spec"], "spec")


ORPHANED = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
    "to remove them or set propagationPolicy=Orphan to suppress this warning"
)

STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("batch", "Job"): Strategy(
        orphans_by_default=True,
        delete_warning=ORPHANED,
        default=default_job,
        prepare_create=prepare_job,
        as_read=_show_labels,
        prepare_update=_prepare_update,
        validate_create=validate_job,
        validate_update=validate_job_update,
        validate_status=validate_job_status,
        warnings=_warn,
        fields={
            "status.successful": lambda job: str((job.get("status") or {}).get("succeeded") or 0)
        },
    )
}
