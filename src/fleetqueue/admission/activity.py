"""Whether a ClusterQueue may admit workloads, and what keeps it from that."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fleetqueue.queueing.model import ClusterQueue, Flavor

Json = Mapping[str, Any]
MULTI_KUEUE = "kueue.x-k8s.io/multikueue"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"


@dataclass(frozen=True, slots=True)
class Activity:
    """What the Active condition says."""

    is_active: bool
    reason: str
    message: str


READY = Activity(True, "Ready", "Can admit new workloads")
TERMINATING = Activity(
    False, "Terminating", "Can't admit new workloads; clusterQueue is terminating"
)
NOT_FOUND = Activity(False, "NotFound", "ClusterQueue not found")


@dataclass(frozen=True, slots=True)
class Known:
    """What there is beside the queue."""

    flavors: Mapping[str, Flavor]
    checks: Mapping[str, Json]
    topologies: frozenset[str]


def judge(queue: ClusterQueue, known: Known) -> Activity:
    problems = [*_problems(queue, known)]
    if not problems:
        return READY
    parts = ", ".join(message for _, message in problems)
    return Activity(False, problems[0][0], f"Can't admit new workloads: {parts}.")


def uses(queue: ClusterQueue, known: Known, controller: str) -> list[str]:
    """The queue's checks that are run by this controller, by name."""
    return sorted(
        rule.name for rule in queue.checks if _controller(known.checks.get(rule.name)) == controller
    )


def _problems(queue: ClusterQueue, known: Known) -> list[tuple[str, str]]:
    found = [("Stopped", "is stopped")] if queue.stop_policy != "None" else []
    names = [name for group in queue.groups for name in group.flavors]
    missing = [name for name in names if name not in known.flavors]
    if missing:
        text = f"references missing ResourceFlavor(s): {','.join(missing)}"
        found.append(("FlavorNotFound", text))
    found += _check_problems(queue, known)
    # Pods that run elsewhere need no topology here: told of, but no reason by itself.
    if found or not uses(queue, known, MULTI_KUEUE):
        found += _topology_problems(names, known)
    return found


def _check_problems(queue: ClusterQueue, known: Known) -> list[tuple[str, str]]:
    found = []
    names = sorted({rule.name for rule in queue.checks})
    missing = [name for name in names if name not in known.checks]
    if missing:
        text = f"references missing AdmissionCheck(s): {','.join(missing)}"
        found.append(("AdmissionCheckNotFound", text))
    inactive = [name for name in names if name in known.checks and not _is_active(known, name)]
    if inactive:
        text = f"references inactive AdmissionCheck(s): {','.join(inactive)}"
        found.append(("AdmissionCheckInactive", text))
    return found + _multi_kueue_problems(queue, known)


def _multi_kueue_problems(queue: ClusterQueue, known: Known) -> list[tuple[str, str]]:
    found = []
    dispatching = uses(queue, known, MULTI_KUEUE)
    if len(dispatching) > 1:
        text = "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: "
        found.append(("MultipleMultiKueueAdmissionChecks", text + ",".join(dispatching)))
    flavors = {name for group in queue.groups for name in group.flavors}
    per_flavor = [
        rule.name
        for rule in queue.checks
        if rule.name in dispatching and rule.flavors and rule.flavors != flavors
    ]
    if per_flavor:
        text = "Cannot specify MultiKueue AdmissionCheck per flavor, found: "
        found.append(
            ("MultiKueueAdmissionCheckAppliedPerFlavor", text + ",".join(sorted(per_flavor)))
        )
    provisioning = uses(queue, known, PROVISIONING)
    if dispatching and provisioning:
        text = (
            "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: "
            f"{','.join(dispatching)}, {','.join(provisioning)}"
        )
        found.append(("MultiKueueWithProvisioningRequest", text))
    return found


def _topology_problems(names: list[str], known: Known) -> list[tuple[str, str]]:
    flavors = [known.flavors[name] for name in names if name in known.flavors]
    lost = [each for each in flavors if each.topology and each.topology not in known.topologies]
    text = 'there is no Topology "{}" for TAS flavor "{}"'
    return [("TopologyNotFound", text.format(each.topology, each.name)) for each in lost]


def _is_active(known: Known, name: str) -> bool:
    conditions = (known.checks[name].get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Active" and each["status"] == "True" for each in conditions)


def _controller(check: Json | None) -> str:
    return "" if check is None else str((check.get("spec") or {}).get("controllerName") or "")
