"""What an applier is told when fields that it wants to change belong to others."""

from collections.abc import Mapping, Sequence

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.merge import field_sets
from fleetqueue.apiserver.merge.entries import Owner
from fleetqueue.apiserver.merge.field_sets import FieldSet, Path


class Conflicts(Exception):
    """The fields in question, each with its owner, in the order in which they are reported."""

    def __init__(self, found: Sequence[tuple[Path, Owner]]) -> None:
        super().__init__(_message(found))
        self.found = tuple(found)

    @classmethod
    def of(cls, sets: "Mapping[Owner, FieldSet]") -> "Conflicts":
        owners = sorted(sets, key=lambda owner: owner.identity)
        return cls([(path, owner) for owner in owners for path in field_sets.paths(sets[owner])])

    @property
    def paths(self) -> list[tuple[str, str]]:
        """(path, owner) as the message prints them."""
        return [(field_sets.path_text(path), str(owner)) for path, owner in self.found]

    def as_api_error(self) -> problems.ApiError:
        causes = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {owner}",
                "field": path,
            }
            for path, owner in self.paths
        ]
        return problems.ApiError(409, "Conflict", str(self), {"causes": causes})


def _message(found: Sequence[tuple[Path, Owner]]) -> str:
    if len(found) == 1:
        path, owner = found[0]
        where = field_sets.path_text(path)
        return f"Apply failed with 1 conflict: conflict with {owner}: {where}"
    lines = []
    last = None
    for path, owner in found:
        if owner != last:
            lines.append(f"conflicts with {owner}:")
            last = owner
        lines.append(f"- {field_sets.path_text(path)}")
    return f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)
