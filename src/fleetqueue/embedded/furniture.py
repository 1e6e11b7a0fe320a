"""What a cluster of ours has from its first start on: the CRDs of the job kinds, the training
runtimes, a storage class.
"""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

from fleetqueue.api import foreign
from fleetqueue.api.crd import declared_crds
from fleetqueue.api.foreign.definition import Version, crd
from fleetqueue.api.kueue.group import GROUP
from fleetqueue.apiserver import installing
from fleetqueue.apiserver.instance import Instance
from fleetqueue.fleet.crds import member_crds
from fleetqueue.runtime.controllers.claims import STANDARD
from fleetqueue.runtime.operators import training_runtimes

Object = dict[str, Any]

MEMBERS_KIND = "appliedworks.placement.kubernetes-fleet.io"
"""Any cluster may become a member of a hub."""
LEFT_OUT = "multicluster.x-k8s.io"
"""ClusterProfiles belong to a fleet, not to a cluster."""


async def ensure(instance: Instance, more: Iterable[Object] = ()) -> None:
    """Make what is missing; what a user changed stays as it is. `more`: CRDs of what it is besides
    a cluster.
    """
    known = instance.core.registry
    missing = [
        versions
        for versions in foreign.KINDS
        if versions[0].kind.group != LEFT_OUT and known.by_table(_table(versions[0])) is None
    ]
    has_kueue = known.by_table(f"workloads.{GROUP}") is not None
    own = [] if has_kueue else declared_crds(GROUP)
    if known.by_table(MEMBERS_KIND) is None:
        own += member_crds()
    await installing.install(instance.core, [*own, *(crd(versions) for versions in missing), *more])
    await make_all(instance, _objects())


async def make_all(instance: Instance, objects: Iterable[Object]) -> None:
    """Those that are missing."""
    await asyncio.gather(*(instance.internal.create(obj) for obj in objects))


def _table(version: Version) -> str:
    return f"{version.kind.plural}.{version.kind.group}"


def _objects() -> Iterator[Object]:
    yield STANDARD
    yield from training_runtimes.preinstalled()
