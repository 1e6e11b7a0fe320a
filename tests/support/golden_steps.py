"""What the conditions of placements, bindings and Works say, step by step."""

from typing import NamedTuple


class Step(NamedTuple):
    """What a condition says; `%s` is the Work that it speaks of."""

    type: str
    status: str
    reason: str
    message: str


# What bindings say

DETECTED = "Detected the new changes on the resources and started the rollout process"
STARTED = Step("RolloutStarted", "True", "RolloutStarted", DETECTED)
KEPT_BACK = Step(
    "RolloutStarted",
    "False",
    "RolloutNotStartedYet",
    "The resources cannot be updated to the latest because of the rollout strategy",
)
NOT_OVERRIDDEN = Step(
    "Overridden",
    "True",
    "NoOverrideSpecified",
    "No override rules are configured for the selected resources",
)
OVERRIDDEN = Step(
    "Overridden",
    "True",
    "OverriddenSucceeded",
    "Successfully applied the override rules on the resources",
)
SYNCED = Step(
    "WorkSynchronized", "True", "AllWorkSynced", "All of the works are synchronized to the latest"
)
BEGUN = Step("Applied", "False", "ApplyInProgress", "Resources are being applied")
UNFINISHED = Step(
    "Applied",
    "False",
    "NotAllWorkHaveBeenApplied",
    "Work object %s has not yet completed the apply op",
)
FAILED = UNFINISHED._replace(message="Work object %s has failed to apply")
APPLIED = Step(
    "Applied", "True", "AllWorkHaveBeenApplied", "All corresponding work objects are applied"
)
AVAILABLE = Step(
    "Available", "True", "AllWorkAreAvailable", "All corresponding work objects are available"
)
UNTRACKABLE = Step(
    "Available",
    "True",
    "NotAllWorkAreAvailabilityTrackable",
    "The availability of work object %s is not trackable",
)
UNAVAILABLE = Step(
    "Available", "False", "NotAllWorkAreAvailable", "Work object %s is not yet available"
)
DIFF_BEGUN = Step(
    "DiffReported", "False", "DiffReportInProgress", "Diff reporting on resources is in progress"
)
DIFF_UNFINISHED = Step(
    "DiffReported",
    "False",
    "NotAllWorkHaveDiffReported",
    "Work object %s has not yet completed diff reporting",
)
DIFF_REPORTED = Step(
    "DiffReported",
    "True",
    "AllWorkHaveDiffReported",
    "All corresponding work objects have reported diff",
)

# What placements say of a cluster besides

UNDECIDED = Step(
    "RolloutStarted",
    "Unknown",
    "RolloutStartedUnknown",
    "In the process of deciding whether to roll out some version of the resources or not",
)
BLOCKED = KEPT_BACK._replace(message="The rollout is being blocked by the rollout strategy")
OVERRIDING = Step(
    "Overridden",
    "Unknown",
    "OverriddenPending",
    "In the process of overriding the selected resources if there is any override defined",
)
APPLYING = Step(
    "Applied",
    "Unknown",
    "ApplyPending",
    "In the process of applying the resources on the member cluster",
)
DIFFING = Step(
    "DiffReported",
    "Unknown",
    "DiffReportingPending",
    "Diff reporting has just started; its status is not yet to be known",
)

# What placements say of all clusters; `%d` is how many of them are meant

SCHEDULING = Step("Scheduled", "Unknown", "SchedulePending", "Scheduling has not completed")
FULFILLED = Step(
    "Scheduled",
    "True",
    "SchedulingPolicyFulfilled",
    "found all cluster needed as specified by the scheduling policy, found %d cluster(s)",
)
UNFULFILLED = Step(
    "Scheduled",
    "False",
    "SchedulingPolicyUnfulfilled",
    "could not find all clusters needed as specified by the scheduling policy, "
    "found %d cluster(s) instead",
)
ALL_STARTED = Step(
    "RolloutStarted",
    "True",
    "RolloutStarted",
    "All %d cluster(s) start rolling out the latest resource",
)
SOME_UNDECIDED = UNDECIDED._replace(
    message="There are still %d cluster(s) in the process of deciding whether to roll out the "
    "latest resources or not"
)
SOME_BLOCKED = BLOCKED._replace(
    message="The rollout is being blocked by the rollout strategy in %d cluster(s)"
)
SOME_OVERRIDING = OVERRIDING._replace(
    message="There are still %d cluster(s) in the process of overriding the selected resources if "
    "there is any override defined"
)
ALL_OVERRIDDEN = OVERRIDDEN._replace(
    message="The selected resources are successfully overridden in %d cluster(s)"
)
ALL_SYNCED = Step(
    "WorkSynchronized",
    "True",
    "WorkSynchronized",
    "Work(s) are successfully created or updated in %d target cluster(s)' namespaces",
)
SOME_FAILED = Step(
    "Applied",
    "False",
    "ApplyFailed",
    "Failed to apply resources to %d cluster(s), please check the `failedPlacements` status",
)
SOME_APPLYING = APPLYING._replace(
    message="There are still %d cluster(s) in the process of applying the resources on the member "
    "cluster"
)
ALL_APPLIED = Step(
    "Applied",
    "True",
    "ApplySucceeded",
    "The selected resources are successfully applied to %d cluster(s)",
)
ALL_AVAILABLE = Step(
    "Available",
    "True",
    "ResourceAvailable",
    "The selected resources in %d cluster(s) are available now",
)
SOME_UNAVAILABLE = Step(
    "Available",
    "False",
    "ResourceNotAvailableYet",
    "The selected resources in %d cluster(s) are still not available yet",
)
SOME_NOT_DIFFED = Step(
    "DiffReported",
    "False",
    "DiffReportingIncompleteOrFailed",
    "Diff reporting in %d clusters is still in progress or has failed",
)
SOME_DIFFING = DIFFING._replace(
    message="There are still %d cluster(s) in the process of checking for configuration differences"
)
ALL_DIFFED = Step(
    "DiffReported",
    "True",
    "DiffReportingCompleted",
    "Diff reporting in %d cluster(s) has been completed",
)

# What Works say

ALL_MANIFESTS_APPLIED = Step(
    "Applied", "True", "AllManifestsApplied", "All the specified manifests have been applied"
)
ALL_MANIFESTS_AVAILABLE = Step(
    "Available", "True", "AllManifestsAvailable", "All of the applied manifests are available"
)
MANIFEST_PREPARED = Step(
    "Applied", "False", "PreparingToProcess", "The manifest is being prepared for processing."
)
MANIFEST_APPLIED = Step("Applied", "True", "Applied", "Manifest has been applied successfully")
MANIFEST_AVAILABLE = Step("Available", "True", "Available", "Manifest is available")
