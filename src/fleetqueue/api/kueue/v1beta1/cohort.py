"""Cohort as v1beta1 has it: only the status differs."""

from fleetqueue.api.kinds import Resource
from fleetqueue.api.kueue import v1beta2
from fleetqueue.api.kueue.group import deprecated
from fleetqueue.api.kueue.v1beta1.fair_sharing import FairSharingStatus
from fleetqueue.api.kueue.v1beta2.cohort import CohortSpec
from fleetqueue.api.model import Model


class CohortStatus(Model):
    """How the cohort stands against its siblings."""

    fair_sharing: FairSharingStatus | None = None


class Cohort(Resource, kind=deprecated(v1beta2.Cohort)):
    """A group of ClusterQueues that share quota; it exists as soon as somebody names it."""

    spec: CohortSpec = CohortSpec()
    status: CohortStatus = CohortStatus()
