"""Holds pods to the Pod Security Standard that the labels of their namespace name."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from fleetqueue.api.field_errors import FieldError
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks import Hook, Operation
from fleetqueue.apiserver.hooks.pod_security_checks import shown
from fleetqueue.apiserver.hooks.pod_security_versions import findings
from fleetqueue.apiserver.hooks.refusals import refuse

Object = dict[str, Any]

PREFIX = "pod-security.kubernetes.io/"
LEVELS = ("privileged", "baseline", "restricted")
WRONG_LEVEL = f"must be one of {', '.join(LEVELS)}"
WRONG_VERSION = 'must be "latest" or "v1.x"'
TEMPLATES = {
    ("", "replicationcontrollers"): ("spec", "template"),
    ("", "podtemplates"): ("template",),
    ("apps", "replicasets"): ("spec", "template"),
    ("apps", "deployments"): ("spec", "template"),
    ("apps", "statefulsets"): ("spec", "template"),
    ("apps", "daemonsets"): ("spec", "template"),
    ("batch", "jobs"): ("spec", "template"),
    ("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
}
_WATCHED = frozenset(resource for _, resource in TEMPLATES) | {"pods", "namespaces"}


class Policy(NamedTuple):
    """A level and the version of the standard, as labels name them."""

    level: str = "privileged"
    version: str = "latest"

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"


class Policies(NamedTuple):
    enforce: Policy = Policy()
    warn: Policy = Policy()


class PodSecurity(Hook):
    """Looks at pods, at what makes pods, and at the labels of namespaces."""

    resources = (*TEMPLATES, ("", "pods"), ("", "namespaces"))

    def __init__(self, core: Core) -> None:
        self._core = core

    def validate(self, operation: Operation) -> None:
        if operation.resource not in _WATCHED or operation.obj is None:
            return
        if operation.resource == "namespaces" and not operation.group:
            self._check_namespace(operation)
            return
        policies = self._policies(operation)
        if policies is None:
            return
        if operation.resource == "pods" and not operation.group:
            self._check_pod(operation, policies)
        elif not operation.subresource:
            self._warn_of_template(operation, policies)

    def _policies(self, operation: Operation) -> Policies | None:
        """None where nothing is asked of pods, as in most namespaces."""
        latest = self._core.store.latest("namespaces", operation.namespace)
        if latest is None or PREFIX.encode() not in latest.data:
            return None
        labels = self._core.store.decoded(latest)["metadata"].get("labels") or {}
        return read_policies(labels)[0]

    def _check_pod(self, operation: Operation, policies: Policies) -> None:
        pod = operation.obj
        assert pod is not None
        if operation.subresource not in ("", "ephemeralcontainers", "resize"):
            return
        if operation.verb == "UPDATE" and not _is_significant(operation):
            return
        enforced = policies.enforce
        found = findings(*enforced, pod["metadata"], pod["spec"])
        if found:
            raise refuse(operation, f'violates PodSecurity "{enforced}": {shown(found)}')
        _warn(operation, policies.warn, pod["metadata"], pod["spec"])

    def _warn_of_template(self, operation: Operation, policies: Policies) -> None:
        way = TEMPLATES.get((operation.group, operation.resource))
        if way is None or operation.verb not in ("CREATE", "UPDATE"):
            return
        template: Mapping[str, Any] = operation.obj or {}
        for name in way:
            template = template.get(name) or {}
        spec = template.get("spec")
        if spec:
            _warn(operation, policies.warn, template.get("metadata") or {}, spec)

    # Namespaces

    def _check_namespace(self, operation: Operation) -> None:
        if operation.subresource or operation.verb not in ("CREATE", "UPDATE"):
            return
        assert operation.obj is not None
        labels = operation.obj["metadata"].get("labels") or {}
        old = ((operation.old or {}).get("metadata") or {}).get("labels") or {}
        if not any(key.startswith(PREFIX) for key in labels):
            return
        policies, errors = read_policies(labels)
        before, known = read_policies(old)
        if errors and (operation.verb == "CREATE" or errors != known):
            raise problems.invalid("", "Namespace", operation.name, errors)
        if operation.verb == "UPDATE" and _is_stricter(policies.enforce, before.enforce):
            self._warn_of_pods(operation, policies.enforce)

    def _warn_of_pods(self, operation: Operation, enforce: Policy) -> None:
        """Pods that are there already stay, but their owner should know."""
        table = self._core.store.table("pods")
        bad: dict[str, list[str]] = {}
        for key in table.select(f"{operation.name}/"):
            pod = self._core.store.decoded(table.live[key])
            found = findings(*enforce, pod["metadata"], pod["spec"])
            if found:
                reasons = ", ".join(reason for reason, _ in found)
                bad.setdefault(reasons, []).append(pod["metadata"]["name"])
        if not bad:
            return
        operation.call.warn(
            f'existing pods in namespace "{operation.name}" violate the new PodSecurity enforce '
            f'level "{enforce}"'
        )
        for text in sorted(_told(names, reasons) for reasons, names in bad.items()):
            operation.call.warn(text)


def read_policies(labels: Mapping[str, str]) -> tuple[Policies, list[FieldError]]:
    errors: list[FieldError] = []
    enforce = _read(labels, "enforce", errors)
    _read(labels, "audit", errors)
    warn = _read(labels, "warn", errors)
    is_named = labels.get(f"{PREFIX}enforce") in LEVELS
    if f"{PREFIX}warn" not in labels and is_named and _rank(enforce) > _rank(warn):
        has_version = f"{PREFIX}warn-version" in labels
        warn = Policy(enforce.level, warn.version if has_version else enforce.version)
    return Policies(enforce, warn), errors


def _read(labels: Mapping[str, str], mode: str, errors: list[FieldError]) -> Policy:
    level = labels.get(f"{PREFIX}{mode}", "privileged")
    version = labels.get(f"{PREFIX}{mode}-version", "latest")
    if level not in LEVELS:
        errors.append(_wrong(f"{PREFIX}{mode}", level, WRONG_LEVEL))
        # What cannot be read is enforced strictly, and otherwise ignored.
        level = "restricted" if mode == "enforce" else "privileged"
    if version != "latest" and not re.fullmatch(r"v1\.(0|[1-9][0-9]*)", version):
        errors.append(_wrong(f"{PREFIX}{mode}-version", version, WRONG_VERSION))
        version = "latest"
    return Policy(level, version)


def _wrong(label: str, value: str, why: str) -> FieldError:
    return fields.wrong(f"metadata.labels[{label}]", value, why)


def _rank(policy: Policy) -> int:
    return LEVELS.index(policy.level)


def _is_stricter(new: Policy, old: Policy) -> bool:
    if new == old or new.level == "privileged":
        return False
    return new.version != old.version or _rank(new) > _rank(old)


def _told(names: list[str], reasons: str) -> str:
    first, others = min(names), len(names) - 1
    if not others:
        return f"{first}: {reasons}"
    return f"{first} (and {others} other {'pod' if others == 1 else 'pods'}): {reasons}"


def _warn(operation: Operation, policy: Policy, metadata: Object, spec: Object) -> None:
    found = findings(*policy, metadata, spec)
    if found:
        operation.call.warn(f'would violate PodSecurity "{policy}": {shown(found)}')


def _is_significant(operation: Operation) -> bool:
    """Nearly everything that matters for security cannot change; images and annotations can."""
    assert operation.obj is not None
    assert operation.old is not None
    new, old = operation.obj, operation.old
    if new["spec"] != old["spec"]:
        return True
    mine, was = (o["metadata"].get("annotations") or {} for o in (new, old))
    watched = ("container.apparmor.security.beta.kubernetes.io/", "seccomp.security.alpha")
    keys = {key for key in (*mine, *was) if key.startswith(watched)}
    return any(mine.get(key) != was.get(key) for key in keys)
