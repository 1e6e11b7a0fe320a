"""What the annotations of a batch Job mean for its size, and what is refused of them."""

from collections.abc import Iterator

from fleetqueue.api.field_errors import FieldError, forbidden, wrong
from fleetqueue.api.kueue import labels
from fleetqueue.jobs import identity
from fleetqueue.jobs.kind import Sight
from fleetqueue.jobs.topology import is_int, read_bool, read_int
from fleetqueue.kube.resources import Object

_MIN = labels.JOB_MIN_PARALLELISM
_SYNC = labels.JOB_COMPLETIONS_EQUAL_PARALLELISM
_MIN_PATH = f"metadata.annotations[{_MIN}]"
_SYNC_PATH = f"metadata.annotations[{_SYNC}]"


def or_one(value: int | None) -> int:
    return 1 if value is None else int(value)


def pod_count(spec: Object) -> int:
    """How many pods run at a time at most."""
    parallelism, completions = or_one(spec.get("parallelism")), spec.get("completions")
    return parallelism if completions is None else min(parallelism, int(completions))


def min_parallelism(job: Object) -> int | None:
    return read_int(identity.annotations_of(job).get(_MIN) or "")


def completions_follow(job: Object) -> bool:
    return bool(read_bool(identity.annotations_of(job).get(_SYNC) or ""))


def indexes(text: str, below: int) -> Iterator[int]:
    """Those that a text such as `1,3-5` names."""
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        yield from range(int(first), min(int(last or first) + 1, below))


def check(sight: Sight, old: Object | None) -> list[FieldError]:
    changed = old is None or _said(sight.job, _MIN) != _said(old, _MIN)
    errors = _check_min_parallelism(sight) if changed else []
    errors += _check_completions(sight.job)
    errors += _check_elastic(sight)
    return errors if old is None else [*errors, *_check_change(sight.job, old)]


def _check_min_parallelism(sight: Sight) -> list[FieldError]:
    text = _said(sight.job, _MIN)
    if text is None or not sight.settings.gates.partial_admission:
        return []
    value = read_int(text)
    if value is None:
        return [wrong(_MIN_PATH, text, not_a_number(text))]
    errors: list[FieldError] = []
    count = pod_count(sight.spec)
    if not 0 < value < count:
        errors.append(wrong(_MIN_PATH, value, f"should be between 0 and {count - 1}"))
    if identity.is_elastic(sight.job, sight.settings):
        detail = "partial admission and elastic job cannot be used together"
        errors.append(wrong(_MIN_PATH, value, detail))
    return errors


def not_a_number(text: str) -> str:
    """As Go says it."""
    why = "value out of range" if is_int(text) else "invalid syntax"
    return f'strconv.Atoi: parsing "{text}": {why}'


def _check_completions(job: Object) -> list[FieldError]:
    text = _said(job, _SYNC)
    if text is None:
        return []
    value = read_bool(text)
    if value is None:
        return [wrong(_SYNC_PATH, text, f'strconv.ParseBool: parsing "{text}": invalid syntax')]
    if not value:
        return []
    errors: list[FieldError] = []
    spec = job["spec"]
    if spec.get("completionMode") != "Indexed":
        errors.append(wrong(_SYNC_PATH, text, "should not be enabled for NonIndexed jobs"))
    if or_one(spec.get("parallelism")) != or_one(spec.get("completions")):
        detail = f"should be equal to parallelism when {_SYNC} annotation is true"
        errors.append(wrong("spec.completions", spec.get("completions"), detail))
    return errors


def _check_elastic(sight: Sight) -> list[FieldError]:
    if not identity.is_elastic(sight.job, sight.settings) or not sight.settings.gates.topology:
        return []
    metadata = (sight.spec.get("template") or {}).get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    return [
        forbidden(
            f"spec.template.metadata.annotations.{key}",
            f"{word} topology is not supported with elastic jobs",
        )
        for key, word in (
            (labels.PODSET_REQUIRED_TOPOLOGY, "required"),
            (labels.PODSET_PREFERRED_TOPOLOGY, "preferred"),
        )
        if key in annotations
    ]


def _check_change(job: Object, old: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    is_running = not old["spec"].get("suspend")
    if is_running and _said(old, _MIN) is not None:
        sizes = [or_one(each["spec"].get("parallelism")) for each in (old, job)]
        if sizes[0] != sizes[1]:
            detail = "cannot change when partial admission is enabled and the job is not suspended"
            errors.append(forbidden("spec.parallelism", detail))
    if not job["spec"].get("suspend") and _said(job, _SYNC) != _said(old, _SYNC):
        detail = "field is immutable while the job is not suspended"
        errors.append(forbidden(_SYNC_PATH, detail))
    return errors


def _said(job: Object, key: str) -> str | None:
    return identity.annotations_of(job).get(key)
