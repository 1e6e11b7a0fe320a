"""Tells API servers beside this one whom to believe: a ConfigMap that they all read."""

from typing import Any

from fleetqueue.apiserver.aggregation import headers
from fleetqueue.apiserver.aggregation.calling import FrontProxy
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.internal import Internal
from fleetqueue.base import codec

Object = dict[str, Any]

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
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


async def ensure(core: Core, internal: Internal, data: dict[str, str]) -> None:
    """Makes it, or puts back what differs; what others added stays."""
    live = core.get("configmaps", f"{NAMESPACE}/{NAME}")
    if live is None:
        metadata = {"name": NAME, "namespace": NAMESPACE}
        made = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": data}
        await internal.create(made, MANAGER)
        return
    if data.items() <= (live.get("data") or {}).items():
        return
    resource = core.registry.by_table("configmaps")
    assert resource is not None

    def restore(obj: Object) -> None:
        obj["data"] = {**(obj.get("data") or {}), **data}

    await internal.edit(resource, NAMESPACE, NAME, restore, manager=MANAGER)
