"""The topology that the annotations of a pod template ask for."""

from collections.abc import Mapping

from fleetqueue.api.kueue import labels
from fleetqueue.base import codec
from fleetqueue.jobs.kind import JobKind, Role
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.kube.resources import Object

PLACES = (
    labels.PODSET_REQUIRED_TOPOLOGY,
    labels.PODSET_PREFERRED_TOPOLOGY,
    labels.PODSET_UNCONSTRAINED_TOPOLOGY,
)
"""Where the whole pod set may be; at most one of them counts."""
INT_MIN, INT_MAX = -(2**63), 2**63 - 1
SLICES = (
    labels.PODSET_SLICE_REQUIRED_TOPOLOGY,
    labels.PODSET_SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS,
)


def topology_request(kind: JobKind, role: Role, settings: JobSettings) -> Object | None:
    """None where nothing is asked for and the pods have no index to be placed by."""
    if not settings.gates.topology:
        return None
    annotations = (role.pods.get("metadata") or {}).get("annotations") or {}
    made = {**_place(annotations), **_slices(annotations, settings), **_indexes(kind, role)}
    return made or None


def asks_for_topology(annotations: Mapping[str, str]) -> bool:
    """Whether a template says anything of topology itself."""
    return any(key in annotations for key in (*PLACES, *SLICES))


def read_bool(text: str) -> bool | None:
    """As Go reads it; None where it is none."""
    if text in ("1", "t", "T", "TRUE", "true", "True"):
        return True
    return False if text in ("0", "f", "F", "FALSE", "false", "False") else None


def read_int(text: str) -> int | None:
    """A decimal number as Go reads it; None where it is none, or does not fit into 64 bits."""
    try:
        value = int(text) if is_int(text) else None
    except ValueError:
        # Python reads no number of thousands of digits.
        return None
    return value if value is not None and INT_MIN <= value <= INT_MAX else None


def is_int(text: str) -> bool:
    digits = text[1:] if text[:1] in ("+", "-") else text
    return digits.isascii() and digits.isdigit()


def read_constraints(text: str) -> list[Object] | str:
    """The layers, or why there are none."""
    try:
        found = codec.decode(text.encode())
    except ValueError as error:
        return str(error)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        return "json: cannot unmarshal into a list of topology constraints"
    return found


def _place(annotations: Mapping[str, str]) -> Object:
    made: Object = {}
    if required := annotations.get(labels.PODSET_REQUIRED_TOPOLOGY):
        made["required"] = required
    elif preferred := annotations.get(labels.PODSET_PREFERRED_TOPOLOGY):
        made["preferred"] = preferred
    elif labels.PODSET_UNCONSTRAINED_TOPOLOGY in annotations:
        said = read_bool(annotations[labels.PODSET_UNCONSTRAINED_TOPOLOGY])
        return {} if said is None else {"unconstrained": said}
    if made and (group := annotations.get(labels.PODSET_GROUP_NAME)):
        made["podSetGroupName"] = group
    return made


def _slices(annotations: Mapping[str, str], settings: JobSettings) -> Object:
    made: Object = {}
    if level := annotations.get(labels.PODSET_SLICE_REQUIRED_TOPOLOGY):
        made["podSetSliceRequiredTopology"] = level
    size = read_int(annotations.get(labels.PODSET_SLICE_SIZE) or "")
    if size is not None:
        made["podSetSliceSize"] = size
    text = annotations.get(labels.PODSET_SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS)
    if text and settings.gates.multi_layer_topology:
        layers = read_constraints(text)
        if isinstance(layers, list):
            kept = [{"topology": each.get("topology"), "size": each.get("size")} for each in layers]
            made["podsetSliceRequiredTopologyConstraints"] = kept
    return made


def _indexes(kind: JobKind, role: Role) -> Object:
    label = kind.pod_index_label if role.pod_index_label is None else role.pod_index_label
    made: Object = {"podIndexLabel": label} if label else {}
    if role.sub_group_index_label:
        made["subGroupIndexLabel"] = role.sub_group_index_label
    if role.sub_group_count is not None:
        made["subGroupCount"] = role.sub_group_count
    return made
