"""The subresources that have a meaning of their own: scale, eviction, binding, tokens, logs."""

from collections.abc import AsyncGenerator, Sequence

from fleetqueue.kube import calls
from fleetqueue.kube.client import Client
from fleetqueue.kube.resources import PODS, Kind, Object, Resource, resource_of
from fleetqueue.kube.transport import Call

SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")


async def scale(client: Client, kind: Kind, name: str, replicas: int, namespace: str = "") -> int:
    """Sets the wanted number of replicas of any kind; returns the present number."""
    path = client.path(resource_of(kind), namespace, name, "scale")
    query = calls.write_query({}, client.field_manager)
    body = {"spec": {"replicas": replicas}}
    answer = await client.call(calls.patch(path, query, body, calls.PatchType.MERGE))
    return int((answer.payload.decoded().get("status") or {}).get("replicas") or 0)


async def evict(
    client: Client, pod: str, namespace: str = "", *, grace_period_seconds: int | None = None
) -> Object:
    """Asks for a pod to go, within what its disruption budgets allow; 429 means not now."""
    namespace = namespace or client.namespace
    body: Object = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod, "namespace": namespace},
    }
    if grace_period_seconds is not None:
        body["deleteOptions"] = {"gracePeriodSeconds": grace_period_seconds}
    return await client.create_subresource(PODS, pod, "eviction", body, namespace)


async def bind(client: Client, pod: str, node: str, namespace: str = "") -> Object:
    """Puts a pod on a node."""
    namespace = namespace or client.namespace
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod, "namespace": namespace},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    return await client.create_subresource(PODS, pod, "binding", body, namespace)


async def request_token(
    client: Client,
    service_account: str,
    namespace: str = "",
    *,
    audiences: Sequence[str] = (),
    expiration_seconds: int | None = None,
) -> str:
    """A fresh bearer token of a service account."""
    spec: Object = {"audiences": list(audiences)}
    if expiration_seconds is not None:
        spec["expirationSeconds"] = expiration_seconds
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    answer = await client.create_subresource(
        SERVICE_ACCOUNTS, service_account, "token", body, namespace
    )
    return str(answer["status"]["token"])


def logs(
    client: Client,
    pod: str,
    namespace: str = "",
    *,
    container: str = "",
    follow: bool = False,
    tail_lines: int | None = None,
    previous: bool = False,
    timestamps: bool = False,
) -> AsyncGenerator[bytes, None]:
    """What a container wrote, as it comes."""
    options = {
        "container": container,
        "follow": "true" if follow else "",
        "tailLines": "" if tail_lines is None else str(tail_lines),
        "previous": "true" if previous else "",
        "timestamps": "true" if timestamps else "",
    }
    query = [(name, value) for name, value in options.items() if value]
    return client.stream(Call("GET", client.path(PODS, namespace, pod, "log"), query))
