"""What recordings of MultiKueue tell of pods that are sent by themselves: the local one keeps its
gates and shows what its mirror does.
"""

from dataclasses import dataclass, field

from tests.support import golden
from tests.support.golden import Event, Told
from tests.support.golden_dispatch import OF_WORKER, ORIGIN, PREBUILT, QUEUE, Sent, admitted_on
from tests.support.recorder import Facts

BY = "pod-kueue-controller"
GATES = ("kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology")
LEAVES = [
    {
        "effect": "NoExecute",
        "key": f"node.kubernetes.io/{what}",
        "operator": "Exists",
        "tolerationSeconds": 300,
    }
    for what in ("not-ready", "unreachable")
]
_GATED = "False SchedulingGated: Scheduling is blocked due to non-empty scheduling gates"
SHOWS_RUNNING: Facts = {"PodScheduled": "True", "Ready": "True", "phase": "Running"}
"""A local pod, as soon as its mirror runs."""
SUCCEEDED: Facts = {"Ready": "False PodCompleted", "phase": "Succeeded"}


@dataclass(frozen=True)
class SentPod(Sent):
    """One pod; `shown` is its name where generated parts of names are not told."""

    shown: str = ""
    restart: str = "Never"
    facts: Facts = field(default_factory=dict)
    """What its owner gave it."""
    owner: Facts = field(default_factory=dict)
    seconds: int = 30
    """It may take so long to end."""

    @property
    def title(self) -> str:
        return self.shown or self.name

    @property
    def workload(self) -> str:
        return f"pod-{self.name}-*"

    # Pods

    def pod(self) -> list[Told]:
        """The local one."""
        return [{**self._gated(), **self.owner}]

    def mirror(self) -> list[Told]:
        prebuilt = {f"{where}.{PREBUILT}": self.workload for where in ("annotations", "labels")}
        gates = {f"spec.schedulingGates[{gate}]": None for gate in GATES}
        given = {
            "annotations.kueue.x-k8s.io/workload": self.workload,
            "labels.kueue.x-k8s.io/cluster-queue-name": self.cluster_queue,
            "labels.kueue.x-k8s.io/local-queue-name": QUEUE,
            "labels.kueue.x-k8s.io/podset": "main",
            OF_WORKER: "true",
        }
        return [
            {**self._gated(), **ORIGIN, **prebuilt},
            {"generation": 2, **gates, **given},
            *golden.RUNS,
        ]

    def _gated(self) -> Facts:
        return {
            "annotations.kueue.x-k8s.io/role-hash": "4b0469f7",
            "labels.kueue.x-k8s.io/managed": "true",
            "labels.kueue.x-k8s.io/queue-name": QUEUE,
            "generation": 1,
            "PodScheduled": _GATED,
            "phase": "Pending",
            **{f"spec.schedulingGates[{gate}]": {} for gate in GATES},
            **self.facts,
        }

    # Workloads

    def made(self) -> Facts:
        main = "spec.podSets[main]"
        pod = f"{main}.template.spec"
        facts = {
            **golden.workload_made(self.name, QUEUE, self.cpu),
            f"owner Pod {self.name}": True,
            f"{main}.template.metadata": {},
            f"{pod}.enableServiceLinks": True,
            f"{pod}.preemptionPolicy": "PreemptLowerPriority",
            f"{pod}.priority": 0,
            f"{pod}.restartPolicy": self.restart,
            f"{pod}.serviceAccount": "default",
            f"{pod}.serviceAccountName": "default",
            f"{pod}.tolerations": LEAVES,
            **{f"{pod}.schedulingGates[{gate}]": {} for gate in GATES},
            f"{main}.topologyRequest.podIndexLabel": "kueue.x-k8s.io/pod-group-pod-index",
        }
        if self.seconds != 30:
            facts[f"{pod}.terminationGracePeriodSeconds"] = self.seconds
        of_job = (f"owner Job {self.name}", f"{main}.template.metadata.labels")
        return {key: value for key, value in facts.items() if not key.startswith(of_job)}

    def adopted(self) -> Facts:
        return {f"owner Pod {self.name}": True, "labels.kueue.x-k8s.io/job-uid": "<uid>"}

    # Events

    def queued_events(self) -> list[Event]:
        reserved, _ = self._admitted_events()
        made = f"Created Workload: {self.space}/pod-{self.title}-*"
        return [on_pod(self.title, "CreatedWorkload", made), reserved]

    def claimed_events(self, worker: str) -> list[Event]:
        """The local pod starts nothing."""
        _, admitted = self._admitted_events()
        by_controller = self.told(admitted[3], reason="Admitted")
        return [self.told(admitted_on(worker)), by_controller]

    def finished_events(self) -> list[Event]:
        text = f"Workload '{self.space}/{self.workload}' is declared finished"
        return [on_pod(self.title, "FinishedWorkload", text)]

    def run_events(self) -> list[Event]:
        bound = f"Successfully assigned {self.space}/{self.name} to <node>"
        scheduled = ("Scheduled", bound, "default-scheduler", "Binding")
        return [
            *self._admitted_events(),
            on_pod(self.name, "Started", f"Admitted by clusterQueue {self.cluster_queue}"),
            (f"Pod {self.name}", "Normal", *scheduled),
        ]

    def told(self, message: str, type: str = "Normal", reason: str = "MultiKueue") -> Event:
        _, *rest = super().told(message, type, reason)
        return (f"Workload {self.workload}", *rest)

    def _admitted_events(self) -> list[Event]:
        found = super()._admitted_events()
        return [(f"Workload {self.workload}", *rest) for _, *rest in found]


def on_pod(name: str, reason: str, message: str) -> Event:
    return f"Pod {name}", "Normal", reason, message, BY, reason
