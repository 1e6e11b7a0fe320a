"""Jobs that members of a fleet run are not run by the cluster that is their hub."""

from dataclasses import replace

from fleetqueue.base import paths
from fleetqueue.jobs import managing, registry
from fleetqueue.kube.frame import Operator
from fleetqueue.kube.plan import Look, Plan

SUSPENDED = {
    (kind.resource.group, kind.resource.kind): kind.suspend
    for kind in registry.all_kinds()
    if kind.suspend
}
"""By kind: the path of the field that suspends it."""


def spared(operator: Operator) -> Operator:
    """The operator, to which a placed job is suspended, and after that none of its business: its
    status may be what a member says. What ran of one that was placed later is stopped first.
    """
    path = SUSPENDED.get((operator.kind.group, operator.kind.kind))
    if path is None:
        return operator

    def decide(look: Look) -> Plan:
        if not managing.is_placed(look.parent):
            return operator.decide(look)
        is_known = bool(look.parent.get("status"))
        if is_known and not any(look.owned(kind) for kind in operator.owns):
            return Plan()
        suspended = paths.with_value(look.parent, path, True)
        return operator.decide(replace(look, parent=suspended))

    return replace(operator, decide=decide)
