"""Every CustomResourceDefinition that fleetqueue serves: its own kinds and the foreign ones."""

from typing import Any

from fleetqueue.api import foreign
from fleetqueue.api.crd import declared_crds


def all_crds(group: str | None = None) -> list[dict[str, Any]]:
    """The CRDs of all API groups, or of one, in order of their names."""
    found = declared_crds(group) + [
        crd for crd in foreign.crds() if group in (None, crd["spec"]["group"])
    ]
    return sorted(found, key=lambda crd: str(crd["metadata"]["name"]))
