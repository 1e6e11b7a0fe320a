"""The guide that places jobs and their queues on the members of a fleet: what our user types from
it, word for word, and the statuses that follow.
"""

from collections.abc import Iterator
from typing import Any

from fleetqueue.base import documents

Object = dict[str, Any]
Row = tuple[str, str, str]
"""Type, reason and message of a condition."""

FLAVOR = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata:
  name: default-flavor
spec:
"""

CLUSTER_QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata:
  name: cluster-queue
spec:
  cohort: compute-workload
  namespaceSelector: {}
  queueingStrategy: BestEffortFIFO
  resourceGroups:
  - coveredResources: ["cpu", "memory"]
    flavors:
    - name: default-flavor
      resources:
      - name: cpu
        nominalQuota: "32"
      - name: memory
        nominalQuota: "128Gi"
"""

NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata:
  name: compute-jobs
  labels:
    app: compute-workload
"""

CLUSTER_PLACEMENT = """\
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterResourcePlacement
metadata:
  name: sample-kueue
spec:
  resourceSelectors:
    - group: kueue.x-k8s.io
      version: v1beta1
      kind: ResourceFlavor
      name: default-flavor
    - group: kueue.x-k8s.io
      version: v1beta1
      kind: ClusterQueue
      name: cluster-queue
    - group: ""
      kind: Namespace
      version: v1
      name: compute-jobs
      selectionScope: NamespaceOnly
  policy:
    placementType: PickAll
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 25%
      maxSurge: 25%
      unavailablePeriodSeconds: 60
  revisionHistoryLimit: 15
"""

LOCAL_QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata:
  namespace: compute-jobs
  name: local-queue
spec:
  clusterQueue: cluster-queue
"""

JOBS = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: mock-workload
  namespace: compute-jobs
  annotations:
    kueue.x-k8s.io/queue-name: local-queue
spec:
  ttlSecondsAfterFinished: 60
  parallelism: 3
  completions: 3
  suspend: true
  template:
    spec:
      containers:
      - name: compute
        image: ubuntu:22.04
        command:
        - "/bin/bash"
        - "-c"
        - |
          echo "Starting mock compute job..."
          echo "Loading input dataset..."
          sleep 10
          echo "Epoch 1/3: Processing accuracy: 65%"
          sleep 10
          echo "Epoch 2/3: Processing accuracy: 85%"
          sleep 10
          echo "Epoch 3/3: Processing accuracy: 95%"
          echo "Processing completed successfully!"
        resources:
          requests:
            cpu: "1"
            memory: "2Gi"
          limits:
            cpu: "1"
            memory: "2Gi"
      restartPolicy: Never
  backoffLimit: 3
---
apiVersion: batch/v1
kind: Job
metadata:
  name: model-evaluation
  namespace: compute-jobs
  annotations:
    kueue.x-k8s.io/queue-name: local-queue
spec:
  ttlSecondsAfterFinished: 60
  parallelism: 3
  completions: 3
  suspend: true
  template:
    spec:
      containers:
      - name: evaluation
        image: ubuntu:22.04
        command:
        - "/bin/bash"
        - "-c"
        - |
          echo "Starting model evaluation job..."
          echo "Loading test dataset..."
          sleep 5
          echo "Running evaluation suite..."
          sleep 10
          echo "Computing metrics..."
          echo "Accuracy: 94.5%"
          echo "F1 Score: 0.93"
          echo "Evaluation completed successfully!"
        resources:
          requests:
            cpu: "1"
            memory: "1Gi"
          limits:
            cpu: "1"
            memory: "1Gi"
      restartPolicy: Never
  backoffLimit: 3
"""

PLACEMENTS = """\
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourcePlacement
metadata:
  name: queue-placement
  namespace: compute-jobs
spec:
  resourceSelectors:
  - group: kueue.x-k8s.io
    version: v1beta1
    kind: LocalQueue
    name: local-queue
  policy:
    placementType: PickAll
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 25%
      maxSurge: 25%
      unavailablePeriodSeconds: 60
    applyStrategy:
      whenToApply: IfNotDrifted
  revisionHistoryLimit: 15

---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourcePlacement
metadata:
  name: job1-placement
  namespace: compute-jobs
spec:
  resourceSelectors:
  - group: batch
    version: v1
    kind: Job
    name: mock-workload
  policy:
    placementType: PickN
    numberOfClusters: 1
    affinity:
      clusterAffinity:
        preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 40
            preference:
              propertySorter:
                name: resources.kubernetes-fleet.io/available-cpu
                sortOrder: Descending
          - weight: 30
            preference:
              propertySorter:
                name: resources.kubernetes-fleet.io/available-memory
                sortOrder: Descending
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 25%
      maxSurge: 25%
      unavailablePeriodSeconds: 60
    applyStrategy:
      whenToApply: IfNotDrifted
  revisionHistoryLimit: 15

---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourcePlacement
metadata:
  name: job2-placement
  namespace: compute-jobs
spec:
  resourceSelectors:
  - group: batch
    version: v1
    kind: Job
    name: model-evaluation
  policy:
    placementType: PickN
    numberOfClusters: 1
    affinity:
      clusterAffinity:
        preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 40
            preference:
              propertySorter:
                name: resources.kubernetes-fleet.io/available-cpu
                sortOrder: Descending
          - weight: 30
            preference:
              propertySorter:
                name: resources.kubernetes-fleet.io/available-memory
                sortOrder: Descending
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 25%
      maxSurge: 25%
      unavailablePeriodSeconds: 60
    applyStrategy:
      whenToApply: IfNotDrifted
  revisionHistoryLimit: 15
"""

STEPS = (FLAVOR, CLUSTER_QUEUE, NAMESPACE)
NOT_OVERRIDDEN = "No override rules are configured for the selected resources"


def read(text: str) -> list[Object]:
    return [dict(each) for each in documents.load_all(text) if each]


def dump(obj: Object) -> str:
    return documents.dump(obj)


# What a placement says when all is well


def of_placement(kind: str, count: int) -> list[Row]:
    """Its own conditions, all True."""
    return [
        (
            f"{kind}Scheduled",
            "SchedulingPolicyFulfilled",
            "found all cluster needed as specified by the scheduling policy,"
            f" found {count} cluster(s)",
        ),
        (
            f"{kind}RolloutStarted",
            "RolloutStarted",
            f"All {count} cluster(s) start rolling out the latest resource",
        ),
        (f"{kind}Overridden", "NoOverrideSpecified", NOT_OVERRIDDEN),
        (
            f"{kind}WorkSynchronized",
            "WorkSynchronized",
            f"Work(s) are successfully created or updated in {count} target cluster(s)' namespaces",
        ),
        (
            f"{kind}Applied",
            "ApplySucceeded",
            f"The selected resources are successfully applied to {count} cluster(s)",
        ),
        (
            f"{kind}Available",
            "ResourceAvailable",
            f"The selected resources in {count} cluster(s) are available now",
        ),
    ]


def of_cluster(name: str, available: tuple[str, str], score: int = 0) -> list[Row]:
    """What it says of one cluster, all True; `available`: reason and message of the last."""
    return [
        (
            "Scheduled",
            "Scheduled",
            f'Successfully scheduled resources for placement in "{name}" (affinity score: {score},'
            " topology spread score: 0): picked by scheduling policy",
        ),
        (
            "RolloutStarted",
            "RolloutStarted",
            "Detected the new changes on the resources and started the rollout process",
        ),
        ("Overridden", "NoOverrideSpecified", NOT_OVERRIDDEN),
        ("WorkSynchronized", "AllWorkSynced", "All of the works are synchronized to the latest"),
        ("Applied", "AllWorkHaveBeenApplied", "All corresponding work objects are applied"),
        ("Available", *available),
    ]


def untracked(work: str) -> tuple[str, str]:
    text = f"The availability of work object {work} is not trackable"
    return "NotAllWorkAreAvailabilityTrackable", text


TRACKED = ("AllWorkAreAvailable", "All corresponding work objects are available")
EVENTS = [
    ("PlacementRolloutStarted", "Started rolling out the latest resources"),
    ("PlacementOverriddenSucceeded", "Placement has been successfully overridden"),
    (
        "PlacementWorkSynchronized",
        "Work(s) have been created or updated successfully for the selected cluster(s)",
    ),
    ("PlacementApplied", "Resources have been applied to the selected cluster(s)"),
    ("PlacementAvailable", "Resources are available on the selected cluster(s)"),
    (
        "PlacementRolloutCompleted",
        "Placement has finished the rollout process and reached the desired status",
    ),
]
DEGRADED = (
    "Failed to apply the manifest (error: cannot apply manifest: drifts are found between the"
    " manifest and the object from the member cluster in degraded mode (full comparison is"
    " performed instead of partial comparison, as the manifest object is considered to be invalid"
    " by the member cluster API server))"
)
FAILED = "Failed to apply resources to 1 cluster(s), please check the `failedPlacements` status"


def said(holder: Object) -> list[Row]:
    """Of a status or of one of its clusters; every condition must be of the first generation."""
    found = holder.get("conditions") or []
    assert all(each["observedGeneration"] == 1 for each in found), found
    return [(each["type"], each["reason"], each["message"]) for each in found]


def untrue(holder: Object) -> list[str]:
    """The types of conditions that are not True."""
    return [each["type"] for each in holder.get("conditions") or () if each["status"] != "True"]


def drifts(uid: str) -> list[Object]:
    """What the queue and Kubernetes itself changed of a placed Job, by path."""
    key = "batch.kubernetes.io~1controller-uid"
    return [
        {"path": f"/spec/selector/matchLabels/{key}", "valueInMember": uid},
        {"path": "/spec/suspend", "valueInHub": "true", "valueInMember": "false"},
        {"path": f"/spec/template/metadata/labels/{key}", "valueInMember": uid},
        {"path": "/spec/template/metadata/labels/controller-uid", "valueInMember": uid},
    ]


def as_printed(found: list[Object]) -> list[Object]:
    """Drifts without those of newer releases of Kueue, which label and annotate pod templates."""
    return [each for each in found if "kueue.x-k8s.io" not in "".join(each.values())]


def submissions(count: int) -> Iterator[tuple[Object, Object]]:
    """A job of each kind in turn under a name of its own, and its placement."""
    jobs, placements = read(JOBS), read(PLACEMENTS)[1:]
    for number in range(count):
        job, placement = jobs[number % 2], placements[number % 2]
        name = f"job-{number:03}"
        (selector,) = placement["spec"]["resourceSelectors"]
        spec = {**placement["spec"], "resourceSelectors": [{**selector, "name": name}]}
        yield (
            {**job, "metadata": {**job["metadata"], "name": name}},
            {
                **placement,
                "metadata": {**placement["metadata"], "name": f"{name}-placement"},
                "spec": spec,
            },
        )
