"""The providers of ours, by the names that settings use."""

from collections.abc import Mapping

from fleetqueue.fleet.member.properties.azure import Azure
from fleetqueue.fleet.member.properties.provider import Make, maker_of
from fleetqueue.fleet.member.properties.standard import Standard

STANDARD = "fleetqueue"
OWN: Mapping[str, Make] = {STANDARD: Standard, "azure": Azure}


def provider_of(name: str) -> Make | None:
    return maker_of(name, OWN)
