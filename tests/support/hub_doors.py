"""A hub's API server with its webhooks and policies, and nothing else: for what is refused."""

from collections.abc import Sequence
from typing import Any

from fleetqueue.api.crds import all_crds
from fleetqueue.apiserver.access.users import User
from fleetqueue.embedded.hub_webhooks import HubHook
from fleetqueue.fleet import kinds
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.fleet.webhooks import registry
from fleetqueue.fleet.webhooks.policies import Policy
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Refused
from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet, FleetCluster, namespace

API = "placement.kubernetes-fleet.io/v1beta1"
CLUSTER_API = "cluster.kubernetes-fleet.io/v1beta1"
TESTER = User("test-user", groups=("system:authenticated",))
GROUPS = (kinds.MEMBER_CLUSTER.group, kinds.WORK.group)


class Guarded:
    """The hub as masters and as an ordinary user see it."""

    def __init__(self, cluster: FleetCluster) -> None:
        self.cluster = cluster
        self.masters = cluster.client
        self.tester: Client = cluster.connect("tests", is_calm=True, user=TESTER)


async def start(
    fleet: Fleet, settings: HubSettings | None = None, policies: Sequence[Policy] = ()
) -> Guarded:
    cluster = await fleet.add_cluster("hub")
    for crd in all_crds():
        if crd["spec"]["group"] in GROUPS:
            await cluster.client.create(crd)
    told = settings or HubSettings()
    core = cluster.instance.core
    core.hooks.add(HubHook(core, told, registry.declared(told), policies))
    await cluster.client.create(namespace("c11"))
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    await cluster.client.create(_role(everything))
    await cluster.client.create(_bound(TESTER.name))
    return Guarded(cluster)


async def refusal_of(client: Client, obj: Object, **how: Any) -> tuple[int, str, str]:
    """Code, reason and message of what creating it gives; 201 where it is accepted."""
    try:
        await client.create(obj, **how)
    except Refused as error:
        return error.code, error.reason, str(error)
    return 201, "", ""


def denied(webhook: str, text: str) -> tuple[int, str, str]:
    return 403, "Forbidden", f'admission webhook "fleet.{webhook}" denied the request: {text}'


def _role(rule: Object) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "all"},
        "rules": [rule],
    }


def _bound(user: str) -> Object:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "all"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "all"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }
