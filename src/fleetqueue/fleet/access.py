"""How a member reaches its hub: an account there that may touch its own namespace alone, and a
Secret on the member that says who it is and where the hub is.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fleetqueue.api.fleet.naming import SYSTEM_NAMESPACE
from fleetqueue.fleet import kinds

Object = dict[str, Any]
HUB_SECRET = "hub-kubeconfig-secret"
"""In the system namespace of the member."""
KUBECONFIG, NAME = "kubeconfig", "memberClusterName"
HEARTBEAT_SECONDS = 15


@dataclass(frozen=True, slots=True)
class HubAccess:
    """What the Secret says."""

    name: str
    """Of the MemberCluster."""
    kubeconfig: str


def account_of(name: str) -> str:
    return f"fleet-member-agent-{name}"


def token_of(name: str) -> str:
    """The Secret on the hub that its token is in."""
    return f"{account_of(name)}-token"


def namespace() -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}}


def account_objects(name: str) -> list[Object]:
    """What is made on the hub, in this order; a controller there fills in the token."""
    account = {"kubernetes.io/service-account.name": account_of(name)}
    return [
        namespace(),
        _named("ServiceAccount", account_of(name)),
        {
            **_named("Secret", token_of(name), annotations=account),
            "type": "kubernetes.io/service-account-token",
        },
    ]


def member_cluster(name: str, labels: Mapping[str, str] | None = None) -> Object:
    identity = {
        "kind": "ServiceAccount",
        "name": account_of(name),
        "namespace": SYSTEM_NAMESPACE,
    }
    metadata: Object = {"name": name}
    if labels:
        metadata["labels"] = dict(labels)
    return {
        "apiVersion": kinds.MEMBER_CLUSTER.api_version,
        "kind": kinds.MEMBER_CLUSTER.kind,
        "metadata": metadata,
        "spec": {"identity": identity, "heartbeatPeriodSeconds": HEARTBEAT_SECONDS},
    }


def hub_secret(access: HubAccess) -> Object:
    data = {KUBECONFIG: _encoded(access.kubeconfig), NAME: _encoded(access.name)}
    return {**_named("Secret", HUB_SECRET), "data": data}


def read_hub_secret(secret: Object | None) -> HubAccess | None:
    """None where there is none, or none that could be used."""
    data = (secret or {}).get("data") or {}
    try:
        name, text = (base64.b64decode(data[key]).decode() for key in (NAME, KUBECONFIG))
    except (KeyError, ValueError, binascii.Error):
        return None
    return HubAccess(name.strip(), text) if name.strip() and text.strip() else None


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _named(kind: str, name: str, **metadata: Any) -> Object:
    where = {"name": name, "namespace": SYSTEM_NAMESPACE}
    return {"apiVersion": "v1", "kind": kind, "metadata": {**where, **metadata}}
