"""Envelopes: objects that shall exist on members and must not take effect on the hub."""

from typing import Annotated

from fleetqueue.api.fleet.group import placement_kind
from fleetqueue.api.kinds import Resource
from fleetqueue.api.markers import Schema
from fleetqueue.api.scalars import Json

Contents = Annotated[dict[str, Json], Schema(min_properties=1, max_properties=50)]
"""Objects by a name of the author's choice."""


class ClusterResourceEnvelope(
    Resource, kind=placement_kind("clusterresourceenvelopes", scope="Cluster")
):
    """Wraps cluster-scoped objects."""

    data: Contents


class ResourceEnvelope(Resource, kind=placement_kind("resourceenvelopes")):
    """Wraps objects of its own namespace."""

    data: Contents
