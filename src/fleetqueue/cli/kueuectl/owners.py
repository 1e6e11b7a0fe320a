"""The flag `--for`: the job that workloads or pods are wanted of."""

import re

from fleetqueue.cli.kueuectl.failures import Failure
from fleetqueue.cli.kueuectl.served import Catalogue
from fleetqueue.cli.kueuectl.session import Session
from fleetqueue.kube.resources import Object, Resource

_FORM = re.compile(r"^([^/\s]+)/([^/\s]+)$")


def read_workload_owner(text: str) -> tuple[str, str]:
    """Type and name."""
    match = _FORM.match(text)
    if match is None:
        raise Failure("--for must be in resource/name form")
    return match.group(1), match.group(2)


def read_pod_owner(text: str) -> tuple[str, str]:
    match = _FORM.match(text)
    if match is None:
        raise Failure(
            f"invalid value '{text}' used in --for flag;"
            " value must be in the format TYPE[.API-GROUP]/NAME"
        )
    return match.group(1), match.group(2)


async def find(session: Session, owner: tuple[str, str]) -> tuple[Resource, Object]:
    """The kind and the object itself, in the session's namespace."""
    type, name = owner
    resource = await Catalogue(session.client).find(type)
    space = session.namespace if resource.namespaced else ""
    return resource, dict(await session.client.get(resource, name, space))
