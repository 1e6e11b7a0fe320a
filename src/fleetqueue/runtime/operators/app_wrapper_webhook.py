"""What an AppWrapper is given when it is made, and what is refused.

Nobody gets through a wrapper what they may not create themselves.
"""

import re
from collections.abc import Iterator

from fleetqueue.api import field_errors as fields
from fleetqueue.api.field_errors import FieldError
from fleetqueue.kube.resources import Object
from fleetqueue.kube.webhook_rules import Asked, Webhook
from fleetqueue.runtime.kinds import APP_WRAPPER
from fleetqueue.runtime.operators import app_wrapper_pod_sets as pod_sets
from fleetqueue.runtime.operators.app_wrapper_components import GRANTS_NOTHING, grants_access

USER_KEY = "workload.codeflare.dev/user"
USER_ID_KEY = "workload.codeflare.dev/userid"
MANAGERS = ("kueue.x-k8s.io/multikueue", "workload.codeflare.dev/appwrapper-controller")
POD_SETS_MAX = 8
_FIXED = "attempt to change immutable field"
_COMPONENTS = "spec.components"
_NO_LABEL = re.compile(r"[^-_.\w]", re.ASCII)
_LABEL_MAX = 63


def default(asked: Asked) -> None:
    labels = asked.obj["metadata"].setdefault("labels", {})
    labels |= {USER_KEY: as_label(asked.user), USER_ID_KEY: as_label(asked.uid)}


def validate(asked: Asked) -> list[FieldError]:
    if asked.old is not None:
        return list(_check_change(asked.obj, asked.old))
    components = asked.spec.get("components") or []
    errors = [
        error
        for index, component in enumerate(components)
        for error in _check_component(asked, component, f"{_COMPONENTS}[{index}]")
    ]
    number = sum(map(_number_of_pod_sets, components))
    if number == 0:
        errors.append(fields.wrong(_COMPONENTS, components, "components contains no podspecs"))
    if number > POD_SETS_MAX:
        why = f"components contains {number} podspecs; at most {POD_SETS_MAX} are allowed"
        errors.append(fields.wrong(_COMPONENTS, components, why))
    manager = asked.spec.get("managedBy")
    if manager is not None and manager not in MANAGERS:
        errors.append(fields.unsupported("spec.managedBy", manager, MANAGERS))
    return errors


def as_label(text: str) -> str:
    """As much of a text as a label can say."""
    return _NO_LABEL.sub("_", text[:_LABEL_MAX]).strip("-_.")


def _check_component(asked: Asked, component: Object, path: str) -> Iterator[FieldError]:
    template = component["template"]
    home = asked.obj["metadata"].get("namespace") or ""
    if template.get("apiVersion") == APP_WRAPPER.api_version and template["kind"] == "AppWrapper":
        yield fields.forbidden(f"{path}.template", "Nested AppWrappers are forbidden")
    if (template.get("metadata") or {}).get("namespace") not in (None, "", home):
        where = f"{path}.template.metadata.namespace"
        yield fields.forbidden(where, "AppWrappers cannot create objects in other namespaces")
    why = _why_not(asked, template, home)
    if why:
        yield fields.forbidden(f"{path}.template", why)
    yield from _check_pod_sets(component, path)


def _why_not(asked: Asked, template: Object, home: str) -> str:
    """Why the user gets no such object through a wrapper; "" if they may create it themselves."""
    api_version, kind = str(template.get("apiVersion") or ""), str(template.get("kind") or "")
    resource = asked.served(api_version, kind)
    if resource is None:
        return f'the server serves no kind "{kind}" in version "{api_version}"'
    if not resource.namespaced:
        return f"AppWrappers cannot create {resource.plural}, which are in no namespace"
    if grants_access(template):
        return GRANTS_NOTHING
    if not asked.may("create", resource, home):
        return f"User {asked.user} is not authorized to create {resource.plural} in {home}"
    return ""


def _check_pod_sets(component: Object, path: str) -> Iterator[FieldError]:
    declared = component.get("podSets") or []
    for index, pod_set in enumerate(declared):
        where, said = f"{path}.podSets[{index}].path", pod_set.get("path") or ""
        if not said:
            yield fields.required(where, "podspec must specify path")
        try:
            pod_sets.pod_template_at(component["template"], said)
        except pod_sets.BadPath as error:
            why = f"path does not refer to a v1.PodSpecTemplate: {error}"
            yield fields.wrong(where, said, why)
    try:
        inferred = pod_sets.infer(component["template"])
    except pod_sets.BadPath as error:
        why = f"error inferring PodSets: {error}"
        yield fields.wrong(f"{path}.template", component["template"], why)
    else:
        why = pod_sets.compare(declared, inferred)
        if why:
            yield fields.wrong(f"{path}.podSets", declared, why)


def _number_of_pod_sets(component: Object) -> int:
    try:
        inferred = len(pod_sets.infer(component["template"]))
    except pod_sets.BadPath:
        inferred = 0
    return max(inferred, len(component.get("podSets") or ()))


def _check_change(new: Object, old: Object) -> Iterator[FieldError]:
    """Only what admission adds to a component may change."""
    now, before = (each["spec"].get("components") or [] for each in (new, old))
    if len(now) != len(before):
        yield fields.forbidden(_COMPONENTS, _FIXED)
        return
    for index, (component, was) in enumerate(zip(now, before, strict=True)):
        path = f"{_COMPONENTS}[{index}]"
        if component["template"] != was["template"]:
            yield fields.forbidden(f"{path}.template.raw", _FIXED)
        yield from _check_same_pod_sets(component, was, f"{path}.podsets")
    for key in (USER_KEY, USER_ID_KEY):
        labels = ((each["metadata"].get("labels") or {}).get(key) for each in (new, old))
        if len(set(labels)) > 1:
            yield fields.forbidden(f"metadata.labels[{key}]", _FIXED)
    if new["spec"].get("managedBy") != old["spec"].get("managedBy"):
        yield fields.forbidden("spec.managedBy", _FIXED)


def _check_same_pod_sets(component: Object, was: Object, path: str) -> Iterator[FieldError]:
    now, before = (each.get("podSets") or [] for each in (component, was))
    if len(now) != len(before):
        yield fields.forbidden(path, _FIXED)
        return
    for index, (one, other) in enumerate(zip(now, before, strict=True)):
        if pod_sets.replicas_of(one) != pod_sets.replicas_of(other):
            yield fields.forbidden(f"{path}[{index}].replicas", _FIXED)
        if one.get("path") != other.get("path"):
            yield fields.forbidden(f"{path}[{index}].path", _FIXED)


WEBHOOK = Webhook(APP_WRAPPER, default=default, validate=validate, name="vappwrapper.kb.io")
