"""Keeps the authorizer's index in step with the stored roles and bindings."""

from collections.abc import Sequence

from fleetqueue.apiserver.access.rbac import Rbac
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.storage import Change

GROUP = "rbac.authorization.k8s.io"
TABLES = {
    f"clusterroles.{GROUP}": "ClusterRole",
    f"clusterrolebindings.{GROUP}": "ClusterRoleBinding",
    f"roles.{GROUP}": "Role",
    f"rolebindings.{GROUP}": "RoleBinding",
}


class RbacKeeper:
    """Follows the four RBAC kinds; it has no work of its own."""

    is_idle = True
    tables = tuple(TABLES)

    def __init__(self, core: Core, rbac: Rbac) -> None:
        self._core = core
        self._rbac = rbac

    def start(self) -> None:
        for table, kind in TABLES.items():
            for stored in self._core.store.table(table).live.values():
                namespace, _, name = stored.key.rpartition("/")
                self._rbac.role_changed(kind, namespace, name, self._core.store.decoded(stored))

    def follow(self, changes: Sequence[Change]) -> None:
        for change in changes:
            kind = TABLES.get(change.resource)
            if kind is None:
                continue
            namespace, _, name = change.stored.key.rpartition("/")
            obj = None if change.after is None else self._core.store.decoded(change.after)
            self._rbac.role_changed(kind, namespace, name, obj)

    async def stop(self) -> None:
        pass
