"""ProvisioningRequestConfig as v1beta1 has it: fewer limits."""

from typing import Annotated

from fleetqueue.api.kinds import Resource
from fleetqueue.api.kueue import v1beta2
from fleetqueue.api.kueue.group import ResourceName, deprecated
from fleetqueue.api.kueue.v1beta2.provisioning_request_config import (
    NodeSelectorUpdate,
    PodSetMergePolicy,
    ProvisioningRequestRetryStrategy,
)
from fleetqueue.api.markers import Schema
from fleetqueue.api.model import Model
from fleetqueue.api.scalars import DnsSubdomain


class ProvisioningRequestPodSetUpdates(Model):
    """What changes in the pods once capacity is there."""

    node_selector: Annotated[list[NodeSelectorUpdate], Schema(max_items=8)] = []


class ProvisioningRequestConfigSpec(Model):
    """What a request asks for, and what becomes of its answer."""

    provisioning_class_name: Annotated[DnsSubdomain, Schema(required=True)] = ""
    parameters: Annotated[
        dict[str, Annotated[str, Schema(max_length=255)]], Schema(max_properties=100)
    ] = {}
    managed_resources: Annotated[list[ResourceName], Schema(max_items=100, list_type="set")] = []
    retry_strategy: Annotated[
        ProvisioningRequestRetryStrategy, Schema(default=ProvisioningRequestRetryStrategy())
    ] = ProvisioningRequestRetryStrategy()
    pod_set_updates: ProvisioningRequestPodSetUpdates | None = None
    pod_set_merge_policy: PodSetMergePolicy | None = None


class ProvisioningRequestConfig(Resource, kind=deprecated(v1beta2.ProvisioningRequestConfig)):
    """The parameters of a check that provisions capacity."""

    spec: ProvisioningRequestConfigSpec = ProvisioningRequestConfigSpec()
