"""The status of a Workload as merge patches, for those who want no field managers: what an apply
would write, and what it would give up, as a difference to the Workload that is known.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from fleetqueue.api.kueue.admission_status import CONDITIONS, FIELDS, MANAGER
from fleetqueue.api.patches import create_merge_patch

Json = dict[str, Any]
KEYS = {"conditions": "type", "admissionChecks": "name"}
"""Lists whose entries are told apart by a field, where an apply names some of them."""


def merge_patch(known: Json, body: Json, manager: str) -> Json:
    """In place of `body`, which `manager` would apply to the status. Refused, as that would be,
    where the Workload was written since `body` was made.
    """
    before, said = known.get("status") or {}, body["status"]
    after = _without_ours(before) if manager == MANAGER else dict(before)
    for name, value in said.items():
        after[name] = _joined(after.get(name), value, KEYS[name]) if name in KEYS else value
    # Names of workers are cleared by taking them over, where they have owners.
    after = {key: value for key, value in after.items() if value != [] or before.get(key) == []}
    version = body["metadata"].get("resourceVersion")
    metadata = {"metadata": {"resourceVersion": version}} if version else {}
    return {**metadata, "status": create_merge_patch(before, after)}


def _without_ours(status: Json) -> Json:
    """An apply by `MANAGER` says all that it owns: what it leaves out goes."""
    kept = {name: value for name, value in status.items() if name not in FIELDS}
    others = [each for each in status.get("conditions") or () if each["type"] not in CONDITIONS]
    return {**kept, "conditions": others}


def _joined(before: Any, said: Iterable[Mapping[str, Any]], key: str) -> list[Any]:
    """Entries that were there keep their places."""
    made = {each[key]: each for each in before or ()}
    made.update({each[key]: each for each in said})
    return list(made.values())
