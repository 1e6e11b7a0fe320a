"""The provider whose properties are those of KubeFleet's Azure provider: machine sizes and costs.
Prices are those that the nodes or the settings tell, since no price list is asked for.
"""

from fleetqueue.api.fleet import properties
from fleetqueue.fleet.decide import properties as decide
from fleetqueue.fleet.decide.properties import Remark
from fleetqueue.fleet.member.properties.standard import Standard
from fleetqueue.kube.resources import Object


class Azure(Standard):
    """As ours; costs are always told of, also that they are not known."""

    def node_values(self, nodes: list[Object]) -> tuple[dict[str, str], list[Remark]]:
        values = {properties.NODE_COUNT: str(len(nodes)), **decide.machine_counts(nodes)}
        if not self.site.settings.reports_costs:
            return values, []
        costs = decide.costs(nodes, self.site.settings.prices)
        return {**values, **costs.values}, [costs.remark]
