"""The pods of a StatefulSet: their ordinals, names, labels and volumes, and what they are doing."""

import re
from datetime import datetime

from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.templates import pod_from_template

POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL = "apps.kubernetes.io/pod-index"
REVISION_LABEL = "controller-revision-hash"
_NAME = re.compile(r"(.*)-([0-9]+)$", re.ASCII)


def ordinal(pod: Object) -> int:
    """The number at the end of its name; -1 where there is none."""
    match = _NAME.match(pod["metadata"]["name"])
    return int(match.group(2)) if match and int(match.group(2)) < 2**31 else -1


def parent_name(pod: Object) -> str:
    match = _NAME.match(pod["metadata"]["name"])
    return match.group(1) if match else ""


def first_ordinal(parent: Object) -> int:
    return int((parent["spec"].get("ordinals") or {}).get("start") or 0)


def replicas(parent: Object) -> int:
    return int(parent["spec"].get("replicas", 1))


def is_in_range(parent: Object, number: int) -> bool:
    return 0 <= number - first_ordinal(parent) < replicas(parent)


def pod_name(parent: Object, number: int) -> str:
    return f"{parent['metadata']['name']}-{number}"


def claim_name(parent: Object, claim_template: Object, number: int) -> str:
    return f"{claim_template['metadata']['name']}-{pod_name(parent, number)}"


def new_pod(parent: Object, template: Object, revision: str, number: int) -> Object:
    name = pod_name(parent, number)
    labels = {**identity(name, number), REVISION_LABEL: revision}
    spec = {"hostname": name, "volumes": volumes(parent, template, number)}
    if parent["spec"].get("serviceName"):
        spec["subdomain"] = parent["spec"]["serviceName"]
    made = pod_from_template(template, parent, name=name, labels=labels, spec=spec)
    if not spec["volumes"]:
        del made["spec"]["volumes"]
    return made


def identity(name: str, number: int) -> dict[str, str]:
    return {POD_NAME_LABEL: name, POD_INDEX_LABEL: str(number)}


def volumes(parent: Object, template: Object, number: int) -> list[Object]:
    """Those of the claims, and the template's where no claim has that name."""
    claims = [
        {
            "name": each["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": claim_name(parent, each, number)},
        }
        for each in parent["spec"].get("volumeClaimTemplates") or ()
    ]
    taken = {each["name"] for each in claims}
    own = (template.get("spec") or {}).get("volumes") or ()
    return [*claims, *(each for each in own if each["name"] not in taken)]


def revision(pod: Object) -> str:
    return str((pod["metadata"].get("labels") or {}).get(REVISION_LABEL) or "")


def is_created(pod: Object) -> bool:
    return bool(pod_facts.phase(pod))


def is_running_and_ready(pod: Object) -> bool:
    return pod_facts.phase(pod) == "Running" and pod_facts.is_ready(pod)


def is_unavailable(pod: Object, ready_seconds_min: int, now: datetime) -> bool:
    return is_deleting(pod) or not pod_facts.is_available(pod, ready_seconds_min, now)
