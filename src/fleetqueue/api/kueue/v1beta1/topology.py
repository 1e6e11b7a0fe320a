"""Topology as v1beta1 has it: its levels never change."""

from typing import Annotated

from fleetqueue.api.kinds import Resource
from fleetqueue.api.kueue import v1beta2
from fleetqueue.api.kueue.group import IMMUTABLE, UNIQUE, deprecated
from fleetqueue.api.kueue.v1beta2.topology import HOSTNAME_IS_LOWEST, Levels
from fleetqueue.api.model import Model


class TopologySpec(Model):
    """The levels, widest first."""

    levels: Annotated[Levels, IMMUTABLE, UNIQUE, HOSTNAME_IS_LOWEST] = []


class Topology(Resource, kind=deprecated(v1beta2.Topology)):
    """How close nodes are to each other."""

    spec: TopologySpec = TopologySpec()
