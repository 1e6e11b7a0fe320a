"""The reasons and messages with which a placement tells how far it is: over all clusters, and on
one that has not answered yet.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fleetqueue.api.fleet.conditions import PlacementAspect

ROLLOUT, OVERRIDDEN, SYNCHRONIZED, APPLIED, AVAILABLE, DIFF_REPORTED = (
    PlacementAspect.ROLLOUT_STARTED,
    PlacementAspect.OVERRIDDEN,
    PlacementAspect.WORK_SYNCHRONIZED,
    PlacementAspect.APPLIED,
    PlacementAspect.AVAILABLE,
    PlacementAspect.DIFF_REPORTED,
)
NO_OVERRIDE = "NoOverrideSpecified"
NO_OVERRIDE_TEXT = "No override rules are configured for the selected resources"
SCHEDULE_PENDING = ("SchedulePending", "Scheduling has not completed")
INVALID_SELECTORS = "InvalidResourceSelectors"
SCHEDULED, SCHEDULE_FAILED = "Scheduled", "ScheduleFailed"
BLOCKED = ("RolloutNotStartedYet", "The rollout is being blocked by the rollout strategy")
EXTERNAL = "RolloutControlledByExternalController"
EXTERNAL_TEXT = "Rollout is controlled by an external controller and "
SYNC_SUCCEEDED, SYNC_FAILED = "StatusSyncSucceeded", "StatusSyncFailed"


@dataclass(frozen=True, slots=True)
class Words:
    """What is said of one aspect: reason and message over all clusters by status, where `%d` is a
    number of clusters, and of one cluster of which nothing is known yet.
    """

    true: tuple[str, str]
    false: tuple[str, str]
    unknown: tuple[str, str]
    one_unknown: str

    def of(self, status: str, count: int) -> tuple[str, str]:
        reason, message = {"True": self.true, "False": self.false}.get(status, self.unknown)
        return reason, message.replace("%d", str(count))


WORDS: Mapping[str, Words] = {
    ROLLOUT: Words(
        ("RolloutStarted", "All %d cluster(s) start rolling out the latest resource"),
        (
            "RolloutNotStartedYet",
            "The rollout is being blocked by the rollout strategy in %d cluster(s)",
        ),
        (
            "RolloutStartedUnknown",
            "There are still %d cluster(s) in the process of deciding whether to roll out the"
            " latest resources or not",
        ),
        "In the process of deciding whether to roll out some version of the resources or not",
    ),
    OVERRIDDEN: Words(
        (
            "OverriddenSucceeded",
            "The selected resources are successfully overridden in %d cluster(s)",
        ),
        ("OverriddenFailed", "Failed to override resources in %d cluster(s)"),
        (
            "OverriddenPending",
            "There are still %d cluster(s) in the process of overriding the selected resources if"
            " there is any override defined",
        ),
        "In the process of overriding the selected resources if there is any override defined",
    ),
    SYNCHRONIZED: Words(
        (
            "WorkSynchronized",
            "Work(s) are successfully created or updated in %d target cluster(s)' namespaces",
        ),
        (
            "WorkNotSynchronizedYet",
            "There are %d cluster(s) which have not finished creating or updating work(s) yet",
        ),
        (
            "WorkSynchronizedUnknown",
            "There are still %d cluster(s) in the process of creating or updating the work"
            " object(s) in the hub cluster",
        ),
        "In the process of creating or updating the work object(s) in the hub cluster",
    ),
    APPLIED: Words(
        ("ApplySucceeded", "The selected resources are successfully applied to %d cluster(s)"),
        (
            "ApplyFailed",
            "Failed to apply resources to %d cluster(s), please check the `failedPlacements`"
            " status",
        ),
        (
            "ApplyPending",
            "There are still %d cluster(s) in the process of applying the resources on the member"
            " cluster",
        ),
        "In the process of applying the resources on the member cluster",
    ),
    AVAILABLE: Words(
        ("ResourceAvailable", "The selected resources in %d cluster(s) are available now"),
        (
            "ResourceNotAvailableYet",
            "The selected resources in %d cluster(s) are still not available yet",
        ),
        (
            "ResourceAvailableUnknown",
            "There are still %d cluster(s) in the process of checking the availability of the"
            " selected resources",
        ),
        "The availability of the selected resources is unknown yet ",
    ),
    DIFF_REPORTED: Words(
        ("DiffReportingCompleted", "Diff reporting in %d cluster(s) has been completed"),
        (
            "DiffReportingIncompleteOrFailed",
            "Diff reporting in %d clusters is still in progress or has failed",
        ),
        (
            "DiffReportingPending",
            "There are still %d cluster(s) in the process of checking for configuration"
            " differences",
        ),
        "Diff reporting has just started; its status is not yet to be known",
    ),
}
EVENTS: Mapping[str, tuple[str, str]] = {
    ROLLOUT: ("PlacementRolloutStarted", "Started rolling out the latest resources"),
    OVERRIDDEN: ("PlacementOverriddenSucceeded", "Placement has been successfully overridden"),
    SYNCHRONIZED: (
        "PlacementWorkSynchronized",
        "Work(s) have been created or updated successfully for the selected cluster(s)",
    ),
    APPLIED: ("PlacementApplied", "Resources have been applied to the selected cluster(s)"),
    AVAILABLE: ("PlacementAvailable", "Resources are available on the selected cluster(s)"),
}
COMPLETED = (
    "PlacementRolloutCompleted",
    "Placement has finished the rollout process and reached the desired status",
)
CLEANED_UP = (
    "PlacementCleanupFinalizerRemoved",
    "Deleted the snapshots and removed the placement cleanup finalizer",
)
