"""Labels, annotations, finalizers and field managers that KubeFleet puts on objects."""

PREFIX = "kubernetes-fleet.io/"

# On MemberClusters and what belongs to them.
MEMBER_CLUSTER_FINALIZER = f"{PREFIX}membercluster-finalizer"
CLUSTER_PROFILE_FINALIZER = f"{PREFIX}cluster-profile-cleanup"
MEMBER_NAME = f"{PREFIX}member-name"
IS_FLEET_RESOURCE = f"{PREFIX}is-fleet-resource"
CLUSTER_MANAGER = "x-k8s.io/cluster-manager"
CLUSTER_MANAGER_NAME = "KubeFleet"
FLEET_MEMBER_ANNOTATION_PREFIX = "fleet.azure.com"

# On placements.
PLACEMENT_FINALIZER = f"{PREFIX}crp-cleanup"
"""On ResourcePlacements too."""
SCHEDULER_FINALIZER = f"{PREFIX}scheduler-cleanup"

# On snapshots.
PARENT_PLACEMENT = f"{PREFIX}parent-CRP"
"""The name of the placement, of either kind."""
IS_LATEST_SNAPSHOT = f"{PREFIX}is-latest-snapshot"
POLICY_INDEX = f"{PREFIX}policy-index"
RESOURCE_INDEX = f"{PREFIX}resource-index"
OVERRIDE_INDEX = f"{PREFIX}override-index"
PLACEMENT_GENERATION = f"{PREFIX}CRP-generation"
NUMBER_OF_CLUSTERS = f"{PREFIX}number-of-clusters"
RESOURCE_HASH = f"{PREFIX}resource-hash"
NUMBER_OF_RESOURCE_SNAPSHOTS = f"{PREFIX}number-of-resource-snapshots"
NUMBER_OF_ENVELOPED_OBJECTS = f"{PREFIX}number-of-enveloped-object"
RESOURCE_SNAPSHOT_SUBINDEX = f"{PREFIX}subindex-of-resource-snapshot"
SNAPSHOT_CANDIDATE_DETECTION_TIME = f"{PREFIX}next-resource-snapshot-candidate-detection-time"

# On overrides and their snapshots.
PARENT_OVERRIDE = f"{PREFIX}parent-resource-override"
OVERRIDE_FINALIZER = f"{PREFIX}override-cleanup"

# On bindings.
BINDING_FINALIZER = f"{PREFIX}scheduler-crb-cleanup"
PREVIOUS_BINDING_STATE = f"{PREFIX}previous-binding-state"

# On Works; the finalizer is on bindings as well.
WORK_FINALIZER = f"{PREFIX}work-cleanup"
PARENT_PLACEMENT_NAMESPACE = f"{PREFIX}parent-placement-namespace"
PARENT_BINDING = f"{PREFIX}parent-resource-binding"
PARENT_RESOURCE_SNAPSHOT_INDEX = f"{PREFIX}parent-resource-snapshot-index"
PARENT_RESOURCE_SNAPSHOT_NAME = f"{PREFIX}parent-resource-snapshot-name"
PARENT_CLUSTER_OVERRIDE_HASH = f"{PREFIX}parent-cluster-resource-override-snapshot-hash"
PARENT_OVERRIDE_HASH = f"{PREFIX}parent-resource-override-snapshot-hash"
ENVELOPE_TYPE = f"{PREFIX}envelope-work"
ENVELOPE_NAME = f"{PREFIX}envelope-name"
ENVELOPE_NAMESPACE = f"{PREFIX}envelope-namespace"
ENVELOPE_CONFIG_MAP = f"{PREFIX}envelope-configmap"
DELETE_PROPAGATION_POLICY = "fleetqueue.io/delete-propagation-policy"
"""An annotation: what the placement's delete strategy says; a Work has no field for that."""
KUEUE_AWARE = "fleetqueue.io/kueue-aware"
"""An annotation of placements, copied to their Works."""
ROLLED_OUT = "fleetqueue.io/rolled-out"
"""An annotation of bindings: the generation with which the hub began to deliver what they name."""
EXPECTED = "fleetqueue.io/expected"
"""An annotation of AppliedWorks: the objects that were about to be made, as a JSON list."""

# On jobs of the hub.
PLACED = "fleetqueue.io/placed"
"""An annotation: members run this job, and the hub never does."""
JOB_MANAGER = "fleetqueue.io/placement"
"""What `spec.managedBy` of a Job says where no controller of the hub may touch it, so that its
status is what a member says."""

# On objects that a member applied.
LAST_APPLIED_CONFIGURATION = f"{PREFIX}last-applied-configuration"
SPEC_HASH = f"{PREFIX}spec-hash"

# On update runs and approval requests.
UPDATE_RUN_FINALIZER = f"{PREFIX}stagedupdaterun-finalizer"
TARGET_UPDATE_RUN = f"{PREFIX}targetUpdateRun"
TARGET_UPDATING_STAGE = f"{PREFIX}targetUpdatingStage"
TASK_TYPE = f"{PREFIX}taskType"
TASK_BEFORE_STAGE = "beforeStage"
TASK_AFTER_STAGE = "afterStage"
IS_LATEST_UPDATE_RUN_APPROVAL = f"{PREFIX}isLatestUpdateRunApproval"
DELETE_STAGE = f"{PREFIX}deleteStage"
"""The name of the last stage, which takes bindings away."""

# Field managers.
PLACEMENT_MANAGER = "cluster-placement-controller"
MEMBER_CLUSTER_MANAGER = "member-cluster-controller"
OVERRIDE_MANAGER = "override-controller"
UPDATE_RUN_MANAGER = "cluster-staged-update-run-controller"
WORK_APPLIER_MANAGER = "work-api-agent"
