"""What a TrainJob becomes: its runtime's JobSet under the job's patches, ready for the policies.

A blueprint is made of copies, so that the ML policies and the job itself may write into it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fleetqueue.api.quantity import Quantity
from fleetqueue.base import codec
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import train_job_patches as patching
from fleetqueue.runtime.operators.training_runtimes import NODE, STEP_KEY, TRAINER

PORT = 29500
"""Where the nodes of a job meet."""


@dataclass(slots=True)
class PodSet:
    """The pods of one replicated job."""

    job: Object
    step: str
    count: int

    @property
    def name(self) -> str:
        return str(self.job["name"])

    @property
    def pod(self) -> Object:
        pod: Object = self.job["template"]["spec"]["template"]["spec"]
        return pod

    def container(self, name: str) -> Object | None:
        """A container by its name; init containers only where no other has it."""
        found = (*(self.pod.get("containers") or ()), *(self.pod.get("initContainers") or ()))
        return next((each for each in found if each.get("name") == name), None)


@dataclass(slots=True)
class Blueprint:
    """A JobSet in the making."""

    train_job: Object
    policy: Object
    """The runtime's `mlPolicy`."""
    metadata: Object
    spec: Object
    pod_sets: list[PodSet]

    @property
    def name(self) -> str:
        return str(self.train_job["metadata"]["name"])

    @property
    def trainer(self) -> Object | None:
        """What the job says of its trainer; None, which is not empty, where it says nothing."""
        said: Object | None = self.train_job["spec"].get("trainer")
        return said

    @property
    def first_address(self) -> str:
        return f"{self.name}-{NODE}-0-0.{self.name}"

    @property
    def resources_per_node(self) -> Object:
        """What each node asks for: as the job says, or else the runtime."""
        said = (self.trainer or {}).get("resourcesPerNode")
        if said is not None:
            return dict(said)
        for pods in self.pod_sets:
            container = pods.container(NODE)
            is_node = pods.name == NODE or pods.step == TRAINER
            if is_node and container is not None and container.get("resources"):
                return dict(container["resources"])
        return {}

    def of_step(self, step: str) -> PodSet | None:
        return next((pods for pods in self.pod_sets if pods.step == step), None)

    def called(self, name: str) -> PodSet | None:
        return next((pods for pods in self.pod_sets if pods.name == name), None)

    def trainer_container(self) -> Object | None:
        pods = self.of_step(TRAINER)
        return pods.container(NODE) if pods else None

    def addresses(self, pods: PodSet) -> Iterator[str]:
        network = self.spec.get("network") or {}
        domain = network.get("subdomain") or self.name
        for replica in range(_or_one(pods.job.get("replicas"))):
            for index in range(pods.count):
                yield f"{self.name}-{pods.name}-{replica}-{index}.{domain}"


def blueprint(train_job: Object, runtime: Object) -> Blueprint:
    """The runtime's template under the patches and with the resources that the job asks for."""
    patches = patching.patches_of(train_job)
    template = runtime["spec"].get("template") or {}
    policy = codec.copy(runtime["spec"].get("mlPolicy") or {})
    spec = codec.copy(patching.patched_spec(template.get("spec") or {}, patches))
    has_policy = runtime["spec"].get("mlPolicy") is not None
    made = Blueprint(
        train_job,
        policy,
        patching.patched_metadata(template.get("metadata") or {}, patches),
        spec,
        [_pod_set(job, policy, has_policy) for job in spec["replicatedJobs"]],
    )
    _give_resources(made)
    return made


def processes_per_node(made: Blueprint) -> int | str:
    """How many processes torchrun starts; "auto" lets it count devices."""
    said = (made.trainer or {}).get("numProcPerNode")
    if said is not None:
        return int(said)
    resources = made.resources_per_node
    return "auto" if gpus(resources) else max(1, whole_cpus(resources))


def launcher_works(policy: Object) -> bool:
    """Whether an MPI launcher is one of the nodes."""
    return bool((policy.get("mpi") or {}).get("runLauncherAsNode"))


def put(items: list[Object], new: Iterable[Object], key: str = "name") -> list[Object]:
    """The items, with those of the new ones that have a namesake in its place."""
    made = {item.get(key): item for item in items}
    made |= {item.get(key): item for item in new}
    return list(made.values())


def gpus(resources: Object) -> int:
    """How many devices a node has; requests are asked before limits."""
    for part in ("requests", "limits"):
        for name, amount in (resources.get(part) or {}).items():
            if "gpu" in name.lower() and Quantity.of(amount).value():
                return Quantity.of(amount).value()
    return 0


def whole_cpus(resources: Object) -> int:
    for part in ("requests", "limits"):
        amount = Quantity.of((resources.get(part) or {}).get("cpu") or 0)
        if amount:
            return amount.value()
    return 0


def _pod_set(job: Object, policy: Object, has_policy: bool) -> PodSet:
    template = job.setdefault("template", {})
    spec = template.setdefault("spec", {})
    spec.setdefault("template", {}).setdefault("spec", {})
    step = ((template.get("metadata") or {}).get("labels") or {}).get(STEP_KEY) or ""
    count = _or_one(spec.get("parallelism"))
    if step == TRAINER and has_policy:
        count = _or_one(policy.get("numNodes"))
    return PodSet(job, step, max(count, 1))


def _give_resources(made: Blueprint) -> None:
    """Key by key over those of the runtime, so that what is not mentioned stays."""
    said = (made.trainer or {}).get("resourcesPerNode")
    for pods in made.pod_sets if said is not None else ():
        works = launcher_works(made.policy) and pods.name == NODE
        container = pods.container(NODE)
        if container is not None and (pods.step == TRAINER or works):
            container["resources"] = patching.merged(container.get("resources") or {}, said or {})


def _or_one(count: int | None) -> int:
    return 1 if count is None else int(count)
