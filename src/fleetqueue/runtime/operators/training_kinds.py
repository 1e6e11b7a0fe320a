"""A kind of training job as a declaration, and one job of it with all it leaves out filled in."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from fleetqueue.api.field_errors import FieldError
from fleetqueue.kube.plan import Look, Step
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.webhook_rules import Asked
from fleetqueue.runtime.operators.run_policies import RunPolicyJob

if TYPE_CHECKING:
    from fleetqueue.runtime.operators.training_status import Draft

Environment: TypeAlias = "Callable[[TrainingJob, str, int], list[Object]]"
"""The variables that the pod of a role and index is given."""


def nothing_else(look: Look, job: "TrainingJob") -> list[Step]:
    return []


def no_further_rules(asked: Asked, family: "Family") -> list[FieldError]:
    return []


@dataclass(frozen=True, slots=True)
class Family:
    """What tells one kind of training job from the others."""

    kind: Resource
    specs: str
    """The field of the spec that holds the replica specs."""
    container: str
    port_name: str
    port: int
    restart_policy: str
    roles: tuple[str, ...]
    """In the order in which they are looked at."""
    environment: Environment
    judge: "Callable[[Draft, TrainingJob], None]"
    """What the counts of the replicas mean for the job."""
    leaders: tuple[str, ...] = ("Master",)
    """Roles that speak for the job; where it has none of them, the first worker does."""
    env_everywhere: bool = True
    """Whether all containers get the variables, or only the one of the kind's name."""
    prepare: Callable[["TrainingJob", str, Object], Object] = lambda job, role, pod: pod
    """A last change of a pod's spec."""
    besides: Callable[[Look, "TrainingJob"], list[Step]] = nothing_else
    """Objects other than pods and Services."""
    further_rules: Callable[[Asked, "Family"], list[FieldError]] = no_further_rules

    @property
    def name(self) -> str:
        return self.kind.kind

    @property
    def controller(self) -> str:
        """What its pods and events call the operator."""
        return f"{self.name.lower()}-controller"

    def canonical(self, role: str) -> str:
        """The role as it is written properly; users write `worker` for `Worker`."""
        return next((each for each in self.roles if each.lower() == role.lower()), role)


@dataclass(frozen=True, slots=True)
class Replica:
    """The pods of one role."""

    role: str
    count: int
    policy: str
    template: Object

    @property
    def is_retried(self) -> bool:
        return self.policy != "Never"


@dataclass(frozen=True, slots=True)
class TrainingJob(RunPolicyJob):
    """One job, with the defaults of its kind."""

    family: Family
    obj: Object
    replicas: tuple[Replica, ...]

    @property
    def total(self) -> int:
        return sum(replica.count for replica in self.replicas)

    def replica(self, role: str) -> Replica | None:
        return next((each for each in self.replicas if each.role == role), None)

    @property
    def leader(self) -> Replica | None:
        return next((each for each in self.replicas if each.role in self.family.leaders), None)

    def is_master(self, role: str, index: int) -> bool:
        if self.leader is not None:
            return role in self.family.leaders
        return role == "Worker" and index == 0

    def pod_name(self, role: str, index: int) -> str:
        return f"{self.name}-{role.lower()}-{index}"

    def port(self, role: str) -> int:
        """The port that the pods of a role listen on."""
        replica = self.replica(role)
        for port in ports_of(replica.template, self.family) if replica else ():
            if port.get("name") == self.family.port_name:
                return int(port["containerPort"])
        return self.family.port


def training_job(family: Family, obj: Object) -> TrainingJob:
    given = {
        family.canonical(role): spec or {}
        for role, spec in (obj["spec"].get(family.specs) or {}).items()
    }
    ordered = sorted(given, key=lambda role: _position(family, role))
    replicas = tuple(_replica(family, role, given[role]) for role in ordered)
    return TrainingJob(family, obj, replicas)


def ports_of(template: Object, family: Family) -> list[Object]:
    """The ports of the container that the kind is about."""
    for container in _containers(template):
        if container.get("name") == family.container:
            return list(container.get("ports") or ())
    return []


def _position(family: Family, role: str) -> tuple[int, str]:
    known = family.roles
    return (known.index(role) if role in known else len(known), role)


def _replica(family: Family, role: str, spec: Object) -> Replica:
    count = spec.get("replicas")
    return Replica(
        role,
        1 if count is None else int(count),
        spec.get("restartPolicy") or family.restart_policy,
        _with_port(family, spec.get("template") or {}),
    )


def _with_port(family: Family, template: Object) -> Object:
    """The template whose container of the kind's name, or else the first, has the kind's port."""
    containers = _containers(template)
    names = [each.get("name") for each in containers]
    index = names.index(family.container) if family.container in names else 0
    if not containers or _has_port(containers[index].get("ports") or (), family.port_name):
        return template
    port = {"name": family.port_name, "containerPort": family.port}
    chosen = containers[index]
    containers[index] = {**chosen, "ports": [*(chosen.get("ports") or ()), port]}
    return {**template, "spec": {**template["spec"], "containers": containers}}


def _containers(template: Object) -> list[Object]:
    return list((template.get("spec") or {}).get("containers") or ())


def _has_port(ports: Iterable[Object], name: str) -> bool:
    return any(port.get("name") == name for port in ports)
