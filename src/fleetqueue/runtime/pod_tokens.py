"""The service-account tokens of a pod: asked for before the files that hold them are written."""

from collections.abc import Iterable
from typing import TypeAlias

from fleetqueue.base.clock import Clock
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import SERVICE_ACCOUNT
from fleetqueue.runtime.volumes import FailedMount

TOKEN_AGE_MAX = 0.8
"""A token is replaced when so much of its time is over."""

Tokens: TypeAlias = dict[tuple[str, int], tuple[str, float]]
"""By audience and life time: the token, and when to ask for another."""


async def fetch_tokens(pod: Object, tokens: Tokens, cluster: Cluster, clock: Clock) -> None:
    """Fills in those that are missing or too old. Raises FailedMount."""
    now = clock.now().timestamp()
    for audience, seconds in _sources(pod):
        known = tokens.get((audience, seconds))
        if known is not None and now < known[1]:
            continue
        try:
            token = await _ask(pod, audience, seconds, cluster)
        except KubeError as error:
            raise FailedMount("kube-api-access", f"failed to fetch token: {error}") from error
        tokens[audience, seconds] = (token, now + seconds * TOKEN_AGE_MAX)


async def _ask(pod: Object, audience: str, seconds: int, cluster: Cluster) -> str:
    metadata, account = pod["metadata"], pod["spec"].get("serviceAccountName") or "default"
    bound = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    spec: Object = {"expirationSeconds": seconds, "boundObjectRef": bound}
    if audience:
        spec["audiences"] = [audience]
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    answer = await cluster.client.create_subresource(
        SERVICE_ACCOUNT, account, "token", request, metadata["namespace"]
    )
    return str(answer["status"]["token"])


def _sources(pod: Object) -> Iterable[tuple[str, int]]:
    for volume in pod["spec"].get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            wanted = source.get("serviceAccountToken")
            if wanted is not None:
                yield wanted.get("audience") or "", int(wanted.get("expirationSeconds") or 3600)
