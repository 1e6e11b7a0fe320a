"""Tells API servers beside this one whom to believe: a ConfigMap that they all read."""

from collections.abc import Sequence
from typing import Any

from fleetqueue.apiserver.aggregation import headers
from fleetqueue.apiserver.aggregation.calling import FrontProxy
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.internal import Internal
from fleetqueue.apiserver.keepers import Again
from fleetqueue.apiserver.keepers.working import WorkingKeeper
from fleetqueue.apiserver.storage import Change
from fleetqueue.base import codec

Object = dict[str, Any]

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
KEY = f"{NAMESPACE}/{NAME}"
CLIENT_NAME = "front-proxy-client"
MANAGER = "kube-apiserver"


def trust_data(client_authority: bytes, front_proxy: FrontProxy) -> dict[str, str]:
    """Lists are JSON within the text."""

    def texts(*values: str) -> str:
        return codec.encode(list(values)).decode()

    return {
        "client-ca-file": client_authority.decode(),
        "requestheader-allowed-names": texts(CLIENT_NAME),
        "requestheader-client-ca-file": front_proxy.authority.decode(),
        "requestheader-extra-headers-prefix": texts(headers.EXTRA),
        "requestheader-group-headers": texts(headers.GROUP),
        "requestheader-uid-headers": texts(headers.UID),
        "requestheader-username-headers": texts(headers.USER),
    }


class TrustKeeper(WorkingKeeper):
    """Makes it, and puts back what differs; what others added stays. A server starts without it:
    a webhook that has to be asked for ConfigMaps may run on this very cluster.
    """

    work_name = "trust in the front proxy"
    tables = ("configmaps",)

    def __init__(self, core: Core, internal: Internal, data: dict[str, str]) -> None:
        super().__init__(core, internal)
        self._data = data

    def start(self) -> None:
        self._work.add(KEY)

    def follow(self, changes: Sequence[Change]) -> None:
        if any(change.stored.key == KEY for change in changes if change.resource == "configmaps"):
            self._work.add(KEY)

    async def _attend(self, key: str) -> None:
        if self._core.get("namespaces", NAMESPACE) is None:
            raise Again
        live = self._core.get("configmaps", key)
        if live is None:
            metadata = {"name": NAME, "namespace": NAMESPACE}
            made = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}
            await self._internal.create({**made, "data": self._data}, MANAGER)
            return
        if self._data.items() <= (live.get("data") or {}).items():
            return
        resource = self._core.registry.by_table("configmaps")
        assert resource is not None
        await self._internal.edit(resource, NAMESPACE, NAME, self._restore, manager=MANAGER)

    def _restore(self, obj: Object) -> None:
        obj["data"] = {**(obj.get("data") or {}), **self._data}
