"""What the kinds that keep pods running have in common: selector, template, counts."""

from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin import selectors
from fleetqueue.apiserver.builtin.checks import IMMUTABLE, Errors, nonnegative, same
from fleetqueue.apiserver.builtin.jobs import warn_of_name
from fleetqueue.apiserver.builtin.pod_preparation import drop_disabled
from fleetqueue.apiserver.builtin.pod_specs import validate_template
from fleetqueue.apiserver.builtin.pod_warnings import warn_of_template

Object = dict[str, Any]
View = Mapping[str, Any]

UNMATCHED = "`selector` does not match template `labels`"


def prepare(obj: Object) -> None:
    obj["status"] = {}
    drop_disabled(obj["spec"]["template"]["spec"])


def prepare_update(obj: Object, old: Object) -> None:
    drop_disabled(obj["spec"]["template"]["spec"], old["spec"]["template"]["spec"])


def warnings_with_name(obj: Object, old: Object | None) -> list[str]:
    name = [] if old is not None else warn_of_name(obj["metadata"].get("name", ""))
    return name + template_warnings(obj, old)


def template_warnings(obj: Object, old: Object | None) -> list[str]:
    """Repeated whenever the spec changes, and not for a mere change of labels."""
    if old is not None and same(obj["spec"], old["spec"]):
        return []
    return warn_of_template(obj["spec"]["template"], "spec.template")


def validate_selector(selector: View | None, kind: str) -> Errors:
    if selector is None:
        return [fields.required("spec.selector")]
    errors = selectors.validate_label_selector(selector, "spec.selector")
    if selectors.is_empty(selector):
        why = f"empty selector is invalid for {kind}"
        errors.append(fields.wrong("spec.selector", selectors.shown(selector), why))
    return errors


def validate_selected(
    selector: View | None, template: View, check: Callable[[View], Errors]
) -> Errors:
    """The template's labels must be selected; what no one can evaluate is reported instead."""
    if selector is not None and not selectors.is_understood(selector):
        shown = selectors.shown(selector)
        return [fields.wrong("spec.selector", shown, "invalid label selector")]
    errors: Errors = []
    labels = (template.get("metadata") or {}).get("labels")
    matters = selector is None or not selectors.is_empty(selector)
    if matters and not selectors.selects(selector, labels):
        shown_labels = selectors.shown_labels(labels)
        errors.append(fields.wrong("spec.template.metadata.labels", shown_labels, UNMATCHED))
    return errors + check(template)


def validate_replicated_template(template: View, old: View | None, kind: str) -> Errors:
    errors = validate_template(template, "spec.template", old)
    return errors + validate_always_running(template, kind)


def validate_always_running(template: View, kind: str) -> Errors:
    errors: Errors = []
    spec = template.get("spec") or {}
    policy = spec.get("restartPolicy", "")
    if policy != "Always":
        path = "spec.template.spec.restartPolicy"
        errors.append(fields.unsupported(path, policy, ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(fields.forbidden("spec.template.spec.activeDeadlineSeconds", why))
    return errors


def validate_selector_kept(new: View, old: View) -> Errors:
    if same(new.get("selector"), old.get("selector")):
        return []
    return [fields.wrong("spec.selector", selectors.shown(new.get("selector")), IMMUTABLE)]


def validate_counts(status: View, *counts: str) -> Errors:
    errors: Errors = []
    for name in counts:
        errors += nonnegative(status.get(name), f"status.{name}")
    return errors


def validate_parts(status: View, whole: str, *parts: str, said: str | None = None) -> Errors:
    """None of the parts may exceed the whole."""
    most = status.get(whole) or 0
    why = f"cannot be greater than {said or f'status.{whole}'}"
    return [
        fields.wrong(f"status.{part}", status.get(part) or 0, why)
        for part in parts
        if (status.get(part) or 0) > most
    ]


def validate_collisions(new: View, old: View) -> Errors:
    after, before = new.get("collisionCount"), old.get("collisionCount")
    if before is None or (after is not None and after >= before):
        return []
    return [fields.wrong("status.collisionCount", after or 0, "cannot be decremented")]


def validate_share(value: int | str, path: str) -> Errors:
    """A count or a percentage, not negative."""
    if isinstance(value, int):
        return nonnegative(value, path)
    return [fields.wrong(path, value, message) for message in names.percent(value)]


def validate_not_above_all(value: int | str, path: str) -> Errors:
    if isinstance(value, str) and not names.percent(value) and int(value[:-1]) > 100:
        return [fields.wrong(path, value, "must not be greater than 100%")]
    return []


def share_of(value: int | str) -> int:
    """The number in a count or a percentage."""
    if isinstance(value, int):
        return value
    text = value[:-1] if not names.percent(value) else value
    try:
        return int(text)
    except ValueError:
        return 0


def default_share(holder: Object, name: str, value: int | str) -> None:
    if holder.get(name) is None:
        holder[name] = value
