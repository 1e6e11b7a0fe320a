"""What is refused of the annotations that ask for a topology."""

from collections.abc import Sequence

from fleetqueue.api.field_errors import OMITTED, FieldError, forbidden, required, wrong
from fleetqueue.api.kueue import labels
from fleetqueue.api.kueue.validation.common import check_label_name
from fleetqueue.jobs.kind import JobKind, Role
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.jobs.topology import PLACES, read_bool, read_constraints, read_int

LAYERS_MAX = 3
GROUP_SIZE = 2
_REQUIRED, _PREFERRED, _UNCONSTRAINED = PLACES
_SLICE = labels.PODSET_SLICE_REQUIRED_TOPOLOGY
_SIZE = labels.PODSET_SLICE_SIZE
_LAYERS = labels.PODSET_SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS
_GROUP = labels.PODSET_GROUP_NAME


def check_topology(
    kind: JobKind, roles: Sequence[Role], settings: JobSettings, *, is_whole: bool = True
) -> list[FieldError]:
    """Role by role, then those that name one group together; where these are not whole pod sets,
    without what depends on their sizes and number.
    """
    if not settings.gates.topology:
        return []
    errors: list[FieldError] = []
    for role in roles:
        errors += _check_role(kind, role, settings, role.count if is_whole else None)
    if is_whole:
        errors += _check_groups(kind, roles)
    hint = kind.topology_hint
    return [error._replace(detail=f"{error.detail}{hint}") for error in errors] if hint else errors


def _check_role(
    kind: JobKind, role: Role, settings: JobSettings, count: int | None
) -> list[FieldError]:
    annotations, path = _annotations(role), _path(kind, role)
    errors: list[FieldError] = []
    if sum(key in annotations for key in PLACES) > 1:
        listed = ", ".join(f'"{key}"' for key in PLACES)
        detail = f"must not contain more than one topology annotation: [{listed}]"
        errors.append(wrong(path, OMITTED, detail))
    for key in (_REQUIRED, _PREFERRED, _SLICE):
        if key in annotations:
            errors += check_label_name(annotations[key], f"{path}[{key}]")
    said = annotations.get(_UNCONSTRAINED)
    if said is not None and read_bool(said) is None:
        errors.append(wrong(f"{path}[{_UNCONSTRAINED}]", said, "must be a boolean value"))
    errors += _check_slices(annotations, path, count)
    if settings.gates.multi_layer_topology:
        errors += _check_layers(annotations, path, count)
    return errors + _check_group_name(annotations, path)


def _check_slices(annotations: dict[str, str], path: str, count: int | None) -> list[FieldError]:
    size = annotations.get(_SIZE)
    if size is None:
        if _SLICE in annotations:
            return [required(f"{path}[{_SIZE}]", f"must be set when '{_SLICE}' is specified")]
        return []
    errors: list[FieldError] = []
    if _SLICE not in annotations:
        detail = f"may not be set when '{_SLICE}' is not specified"
        errors.append(forbidden(f"{path}[{_SIZE}]", detail))
    number = read_int(size)
    if number is None:
        errors.append(wrong(f"{path}[{_SIZE}]", size, "must be a numeric value"))
    elif number < 1:
        errors.append(wrong(f"{path}[{_SIZE}]", size, "must be greater than or equal to 1"))
    elif count is not None and number > count:
        detail = f"must not be greater than pod set count {count}"
        errors.append(wrong(f"{path}[{_SIZE}]", size, detail))
    return errors


def _check_layers(annotations: dict[str, str], path: str, count: int | None) -> list[FieldError]:
    text = annotations.get(_LAYERS)
    if text is None:
        return []
    here = f"{path}[{_LAYERS}]"
    errors = [
        forbidden(here, f"may not be set when '{key}' is specified")
        for key in (_SLICE, _SIZE)
        if key in annotations
    ]
    layers = read_constraints(text)
    if isinstance(layers, str):
        return [*errors, wrong(here, text, f"must be a valid JSON array: {layers}")]
    if not 1 <= len(layers) <= LAYERS_MAX:
        detail = f"topology constraints must contain between 1 and {LAYERS_MAX} entries"
        return [*errors, wrong(here, text, detail)]
    seen: set[str] = set()
    parent = 0
    for index, layer in enumerate(layers):
        name, size = str(layer.get("topology") or ""), layer.get("size")
        at = f"{here}[{index}]"
        errors += check_label_name(name, f"{at}.topology")
        if name in seen:
            errors.append(FieldError("FieldValueDuplicate", f"{at}.topology", f'"{name}"', ""))
        seen.add(name)
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            errors.append(wrong(f"{at}.size", size, "must be greater than or equal to 1"))
            continue
        if index == 0 and count is not None and size > count:
            detail = f"must not be greater than pod set count {count}"
            errors.append(wrong(f"{at}.size", size, detail))
        if parent and parent % size:
            detail = f"must evenly divide the parent layer size {parent}"
            errors.append(wrong(f"{at}.size", size, detail))
        parent = size
    return errors


def _check_group_name(annotations: dict[str, str], path: str) -> list[FieldError]:
    name = annotations.get(_GROUP)
    if name is None:
        return []
    here = f"{path}[{_GROUP}]"
    errors: list[FieldError] = []
    if read_int(name) is not None:
        errors.append(wrong(here, name, "must not be a number"))
    errors += [
        forbidden(here, f"may not be set when '{key}' is specified")
        for key in (_SLICE, _SIZE, _LAYERS)
        if key in annotations
    ]
    if _REQUIRED not in annotations and _PREFERRED not in annotations:
        detail = f"may not be set when neither '{_PREFERRED}' nor '{_REQUIRED}' is specified"
        errors.append(forbidden(here, detail))
    return errors


def _check_groups(kind: JobKind, roles: Sequence[Role]) -> list[FieldError]:
    groups: dict[str, list[Role]] = {}
    for role in roles:
        if name := _annotations(role).get(_GROUP):
            groups.setdefault(name, []).append(role)
    errors: list[FieldError] = []
    for name, members in groups.items():
        detail = _group_problem(name, members)
        if detail:
            errors += [wrong(f"{_path(kind, each)}[{_GROUP}]", name, detail) for each in members]
    return errors


def _group_problem(name: str, members: Sequence[Role]) -> str:
    if len(members) != GROUP_SIZE:
        return (
            f"can only define groups of exactly {GROUP_SIZE} pod sets,"
            f" got: {len(members)} pod set(s)"
        )
    left, right = members
    if 1 not in (left.count, right.count):
        return (
            "can only define groups where at least one pod set has only 1 replica, got:"
            f" {left.count} replica(s) and {right.count} replica(s) in the group"
        )
    wishes = [tuple(_annotations(each).get(key) for key in PLACES[:2]) for each in members]
    if wishes[0] != wishes[1]:
        return (
            f"must specify '{_REQUIRED}' or '{_PREFERRED}' topology consistent with '{name}'"
            " pod set group"
        )
    return ""


def _path(kind: JobKind, role: Role) -> str:
    """A pod has none of its own around its metadata."""
    return f"{kind.template_title(role)}.metadata.annotations".removeprefix(".")


def _annotations(role: Role) -> dict[str, str]:
    return (role.pods.get("metadata") or {}).get("annotations") or {}
