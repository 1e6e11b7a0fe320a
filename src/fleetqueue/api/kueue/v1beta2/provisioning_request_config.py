"""ProvisioningRequestConfig: how a check asks the cluster autoscaler for capacity."""

from enum import StrEnum
from typing import Annotated

from fleetqueue.api.kinds import Kind, Resource
from fleetqueue.api.kueue.group import GROUP, ResourceName
from fleetqueue.api.markers import Schema
from fleetqueue.api.model import Model, sent
from fleetqueue.api.scalars import QUALIFIED_NAME, DnsSubdomain, Int32


class PodSetMergePolicy(StrEnum):
    """Which pod sets may share one entry of a request."""

    IDENTICAL_POD_TEMPLATES = "IdenticalPodTemplates"
    IDENTICAL_WORKLOAD_SCHEDULING_REQUIREMENTS = "IdenticalWorkloadSchedulingRequirements"


class ProvisioningRequestRetryStrategy(Model):
    """How often and how fast a failed request is repeated."""

    backoff_limit_count: Annotated[Int32, Schema(default=3)] = sent(default_factory=lambda: 3)
    backoff_base_seconds: Annotated[Int32, Schema(default=60)] = sent(default_factory=lambda: 60)
    backoff_max_seconds: Annotated[Int32, Schema(default=1800)] = sent(default_factory=lambda: 1800)


class NodeSelectorUpdate(Model):
    """A node selector of the pods whose value the autoscaler chooses."""

    key: Annotated[str, Schema(min_length=1, max_length=317, pattern=QUALIFIED_NAME)]
    value_from_provisioning_class_detail: Annotated[str, Schema(min_length=1, max_length=32768)]


class ProvisioningRequestPodSetUpdates(Model):
    """What changes in the pods once capacity is there."""

    node_selector: Annotated[
        list[NodeSelectorUpdate], Schema(max_items=8, list_type="map", list_keys=("key",))
    ] = []


class ProvisioningRequestConfigSpec(Model):
    """What a request asks for, and what becomes of its answer."""

    provisioning_class_name: Annotated[DnsSubdomain, Schema(min_length=1, required=True)] = ""
    parameters: Annotated[
        dict[str, Annotated[str, Schema(max_length=255)]], Schema(max_properties=100)
    ] = {}
    managed_resources: Annotated[list[ResourceName], Schema(max_items=100, list_type="set")] = []
    retry_strategy: Annotated[
        ProvisioningRequestRetryStrategy, Schema(default=ProvisioningRequestRetryStrategy())
    ] = ProvisioningRequestRetryStrategy()
    pod_set_updates: ProvisioningRequestPodSetUpdates | None = None
    pod_set_merge_policy: PodSetMergePolicy | None = None


class ProvisioningRequestConfig(
    Resource,
    kind=Kind(
        GROUP,
        "v1beta2",
        "provisioningrequestconfigs",
        scope="Cluster",
        short_names=("prc",),
        storage=True,
    ),
):
    """The parameters of a check that provisions capacity."""

    spec: ProvisioningRequestConfigSpec = ProvisioningRequestConfigSpec()
