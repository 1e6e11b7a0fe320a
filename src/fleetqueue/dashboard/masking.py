"""What no browser is ever shown of an object: who wrote which field, and credentials that people
put into the environment of their pods.
"""

import re
from typing import Any

Json = dict[str, Any]
HIDDEN = "(hidden)"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""The whole object once more, the environment of its pods included."""
_CREDENTIAL = re.compile(
    r"token|secret|passw|passphrase|credential|api_?key|access_?key|private", re.IGNORECASE
)
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def presentable(obj: Json) -> Json:
    """The same object without that; the one given is not changed."""
    metadata = {k: v for k, v in (obj.get("metadata") or {}).items() if k != "managedFields"}
    if LAST_APPLIED in (metadata.get("annotations") or {}):
        kept = {k: v for k, v in metadata["annotations"].items() if k != LAST_APPLIED}
        metadata["annotations"] = kept
    spec = obj.get("spec") or {}
    if not isinstance(spec, dict) or not spec.get("podSets"):
        return {**obj, "metadata": metadata}
    pod_sets = [_pod_set(each) for each in spec["podSets"]]
    return {**obj, "metadata": metadata, "spec": {**spec, "podSets": pod_sets}}


def _pod_set(pod_set: Json) -> Json:
    template = pod_set.get("template") or {}
    spec = template.get("spec") or {}
    shown = {
        name: [_container(each) for each in spec[name]] for name in _CONTAINERS if spec.get(name)
    }
    return {**pod_set, "template": {**template, "spec": {**spec, **shown}}} if shown else pod_set


def _container(container: Json) -> Json:
    if not container.get("env"):
        return container
    return {**container, "env": [_variable(each) for each in container["env"]]}


def _variable(variable: Json) -> Json:
    is_hidden = variable.get("value") and _CREDENTIAL.search(str(variable.get("name")))
    return {**variable, "value": HIDDEN} if is_hidden else variable
