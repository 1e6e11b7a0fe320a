"""What a manager wrote counts as applied."""

from typing import Any

import pytest

from fleetqueue.fleet.decide.delivery import managed_fields

Json = dict[str, Any]
WROTE: Json = {"f:data": {".": {}, "f:a": {}, "f:b": {}}}
APPLIED: Json = {"f:data": {"f:a": {}, "f:c": {}}, "f:metadata": {}}
BOTH: Json = {"f:data": {".": {}, "f:a": {}, "f:b": {}, "f:c": {}}, "f:metadata": {}}


def entry(operation: str, fields: Json, manager: str = "me", **more: str) -> Json:
    told = {"manager": manager, "operation": operation, "apiVersion": "v1", "time": "t"}
    return {**told, "fieldsType": "FieldsV1", "fieldsV1": fields, **more}


OTHER = entry("Update", WROTE, "you")
STATUS = entry("Update", {"f:status": {}}, subresource="status")
OLDER = entry("Update", {"f:x": {}}, apiVersion="v1beta1")
# fmt: off
CASES = {
    "nothing was written": ([OTHER, STATUS, entry("Apply", APPLIED)], None),
    "nobody has a say": ([], None),
    "all was written": ([OTHER, entry("Update", WROTE)], [entry("Apply", WROTE), OTHER]),
    "some was applied since": (
        [entry("Update", WROTE), STATUS, entry("Apply", APPLIED), OTHER],
        [entry("Apply", BOTH), STATUS, OTHER]),
    "in another version": (
        [entry("Apply", APPLIED), OLDER], [entry("Apply", APPLIED)]),
}
# fmt: on


@pytest.mark.rule("APPLY-21")
@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_what_was_written_counts_as_applied(before: list[Json], after: list[Json] | None) -> None:
    assert managed_fields.folded(before, "me") == after
