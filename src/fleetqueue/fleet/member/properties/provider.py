"""What a provider of properties is, and which one a name stands for: ours, or an installed one.

A package adds a provider by an entry point of the group `fleetqueue.properties` that names a
function or class of this form: `make(site) -> Provider`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Protocol

from fleetqueue.errors import InvalidInput
from fleetqueue.fleet.decide.properties import Collected
from fleetqueue.fleet.settings import MemberSettings
from fleetqueue.kube.cluster import Cluster

ENTRY_POINTS = "fleetqueue.properties"
NONE = "none"


@dataclass(frozen=True, slots=True)
class Site:
    """Where a provider works."""

    cluster: Cluster
    settings: MemberSettings
    changed: Callable[[], None]
    """To be called when there may be news; how soon they are asked for is not its concern."""


class Provider(Protocol):
    """Collects the properties of one member."""

    async def start(self) -> None:
        """Once, before the first collection; may raise, and should take seconds at most."""

    async def collect(self) -> Collected:
        """What holds now; asked for with each heartbeat, and soon after `changed`."""


Make = Callable[[Site], Provider]


def maker_of(name: str, own: Mapping[str, Make]) -> Make | None:
    """None where no provider is wanted; a name that nobody has is refused."""
    if name in ("", NONE):
        return None
    if name in own:
        return own[name]
    points = list(metadata.entry_points(group=ENTRY_POINTS, name=name))
    if not points:
        known = ", ".join(sorted({NONE, *own, *installed()}))
        raise InvalidInput(f'no property provider is called "{name}"; there are: {known}')
    if len(points) > 1:
        raise InvalidInput(f'two property providers are installed as "{name}"')
    make: Make = points[0].load()
    return make


def installed() -> list[str]:
    return sorted({point.name for point in metadata.entry_points(group=ENTRY_POINTS)})
