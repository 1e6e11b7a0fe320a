"""The CustomResourceDefinitions that a hub needs, and those that a member needs."""

from typing import Any

from fleetqueue.api import foreign
from fleetqueue.api.crd import crd as declared_crd
from fleetqueue.api.crd import declared_crds
from fleetqueue.api.fleet.group import CLUSTER_GROUP, PLACEMENT_GROUP
from fleetqueue.api.foreign.definition import crd
from fleetqueue.api.kinds import kind_of
from fleetqueue.api.kinds import kinds as declared_kinds
from fleetqueue.fleet import kinds

Object = dict[str, Any]
INVENTORY_GROUP = "multicluster.x-k8s.io"
"""The group of ClusterProfiles."""
_ON_MEMBERS = str(kinds.APPLIED_WORK)


def hub_crds() -> list[Object]:
    found = [*declared_crds(CLUSTER_GROUP), *declared_crds(PLACEMENT_GROUP)]
    own = [each for each in found if each["metadata"]["name"] != _ON_MEMBERS]
    inventory = [
        crd(versions) for versions in foreign.KINDS if versions[0].kind.group == INVENTORY_GROUP
    ]
    return [*own, *inventory]


def member_crds() -> list[Object]:
    where = (kinds.APPLIED_WORK.group, kinds.APPLIED_WORK.plural)
    versions = [
        cls
        for cls in declared_kinds()
        if (kind_of(cls).group, kind_of(cls).plural) == where and kind_of(cls).crd
    ]
    return [declared_crd(versions)]
