"""Which statuses that members report go back to the objects on the hub that they came from: those
of placements that ask for it and pick a single cluster.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fleetqueue.api.fleet.policy import PlacementType
from fleetqueue.api.fleet.strategy import ReportBackDestination, ReportBackType
from fleetqueue.fleet.decide import envelopes

Json = dict[str, Any]
CONDITION = "StatusBackReported"
"""Of a binding; that of a placement which is refused has its kind in front."""
REFUSED, FAILED, REPORTED = "BackReportingRefused", "BackReportingFailed", "StatusBackReported"
SEVERAL_CLUSTERS = (
    "The status of placed objects goes back to the original ones only where the placement picks a"
    " single cluster: use PickN with numberOfClusters 1, or PickFixed with one name"
)
DONE = "The status of the placed objects has been written to the original ones"


@dataclass(frozen=True, slots=True)
class Report:
    """What a member says of one object."""

    api_version: str
    kind: str
    namespace: str
    name: str
    status: Json

    @property
    def title(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {place}"


def is_wanted(placement: Json | None) -> bool:
    """Whether statuses shall go to the original objects."""
    if placement is None:
        return False
    told = (placement["spec"].get("strategy") or {}).get("reportBackStrategy") or {}
    return bool(
        told.get("type") == ReportBackType.MIRROR
        and told.get("destination") == ReportBackDestination.ORIGINAL_RESOURCE
    )


def refusal(placement: Json) -> str:
    """Why that cannot be, for a placement that wants it; "" where it can."""
    policy = placement["spec"].get("policy") or {}
    match policy.get("placementType"):
        case PlacementType.PICK_N:
            count = policy.get("numberOfClusters")
        case PlacementType.PICK_FIXED:
            count = len(policy.get("clusterNames") or ())
        case _:
            count = None
    return "" if count == 1 else SEVERAL_CLUSTERS


def reports(works: Iterable[Json]) -> Iterable[Report]:
    """Not of what came in envelopes: that has no original."""
    for work in works:
        if envelopes.envelope_of_work(work) is not None:
            continue
        for manifest in (work.get("status") or {}).get("manifestConditions") or ():
            told = (manifest.get("backReportedStatus") or {}).get("observedStatus") or {}
            named = manifest.get("identifier") or {}
            if told.get("status") is None or not named.get("name"):
                continue
            yield Report(
                str(told.get("apiVersion") or ""),
                str(told.get("kind") or ""),
                str(named.get("namespace") or ""),
                str(named["name"]),
                told["status"],
            )
