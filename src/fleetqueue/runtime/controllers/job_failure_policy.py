"""What a Job's podFailurePolicy says of a failed pod: the first rule that fits decides."""

from collections.abc import Iterable
from dataclasses import dataclass

from fleetqueue.kube.resources import Object

FAIL_JOB = "FailJob"
FAIL_INDEX = "FailIndex"
IGNORE = "Ignore"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a failure is taken."""

    action: str = ""
    """"" where no rule fits: it counts like any other."""
    message: str = ""
    """Why the whole Job fails."""

    @property
    def counts(self) -> bool:
        return self.action != IGNORE


def judge(policy: Object | None, pod: Object) -> Verdict:
    for number, rule in enumerate((policy or {}).get("rules") or ()):
        found = _fits(rule, pod)
        if not found:
            continue
        action = rule["action"]
        if action != FAIL_JOB:
            return Verdict(action)
        return Verdict(action, f"{found} matching {action} rule at index {number}")
    return Verdict()


def _fits(rule: Object, pod: Object) -> str:
    """What the rule saw in the pod, in words; "" where it does not fit."""
    name = f"{pod['metadata'].get('namespace', '')}/{pod['metadata']['name']}"
    status = pod.get("status") or {}
    if rule.get("onExitCodes"):
        for container in _ended(status):
            code = container["state"]["terminated"].get("exitCode") or 0
            if _wants(rule["onExitCodes"], container["name"], code):
                return f"Container {container['name']} for pod {name} failed with exit code {code}"
        return ""
    wanted = [(each.get("type"), each.get("status")) for each in rule.get("onPodConditions") or ()]
    for condition in status.get("conditions") or ():
        if (condition.get("type"), condition.get("status")) in wanted:
            return f"Pod {name} has condition {condition['type']}"
    return ""


def _ended(status: Object) -> Iterable[Object]:
    for field in ("containerStatuses", "initContainerStatuses"):
        for container in status.get(field) or ():
            if (container.get("state") or {}).get("terminated"):
                yield container


def _wants(requirement: Object, container: str, code: int) -> bool:
    named = requirement.get("containerName")
    if code == 0 or (named is not None and named != container):
        return False
    is_listed = code in (requirement.get("values") or ())
    return is_listed if requirement.get("operator") == "In" else not is_listed
