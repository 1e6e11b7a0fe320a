"""Cohort: ClusterQueues, and cohorts of them, that lend each other what they do not use."""

from fleetqueue.api.kinds import Kind, Resource
from fleetqueue.api.kueue.group import CONVERSION, GROUP, CohortReference
from fleetqueue.api.kueue.v1beta2.quota import FairSharing, FairSharingStatus, ResourceGroups
from fleetqueue.api.model import Model


class CohortSpec(Model):
    """The cohort above this one, and quota that all members share."""

    parent_name: CohortReference = ""
    resource_groups: ResourceGroups = []
    fair_sharing: FairSharing | None = None


class CohortStatus(Model):
    """How the cohort stands against its siblings."""

    fair_sharing: FairSharingStatus | None = None


class Cohort(
    Resource,
    kind=Kind(
        GROUP,
        "v1beta2",
        "cohorts",
        scope="Cluster",
        short_names=("co",),
        storage=True,
        status=True,
        conversion=CONVERSION,
    ),
):
    """A group of ClusterQueues that share quota; it exists as soon as somebody names it."""

    spec: CohortSpec = CohortSpec()
    status: CohortStatus = CohortStatus()
