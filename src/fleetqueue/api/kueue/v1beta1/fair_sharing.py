"""FairSharingStatus as v1beta1 has it: one type for queues of both sorts and for cohorts."""

from fleetqueue.api.kueue.v1beta2.local_queue import LocalQueueFairSharingStatus

FairSharingStatus = LocalQueueFairSharingStatus
