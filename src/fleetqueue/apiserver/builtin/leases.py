"""Leases: who holds what until when."""

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, one_of, wrongs
from fleetqueue.apiserver.builtin.making import kind, part
from fleetqueue.apiserver.strategy import Object, Strategy


def validate_lease(obj: Object, old: Object | None) -> Errors:
    spec, errors = part(obj, "spec"), []
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        errors.append(fields.wrong("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        why = "must be greater than or equal to 0"
        errors.append(fields.wrong("spec.leaseTransitions", transitions, why))
    strategy, path = spec.get("strategy"), "spec.strategy.strategy"
    if strategy is not None:
        if "/" in strategy:
            errors += wrongs(path, strategy, names.qualified_name(strategy))
        else:
            errors += one_of(strategy, ("OldestEmulationVersion",), path)
    if spec.get("preferredHolder") and not strategy:
        why = "may only be specified if `strategy` is defined"
        errors.append(fields.forbidden("spec.preferredHolder", why))
    return errors


def _drop_disabled(obj: Object, old: Object | None = None) -> None:
    """Coordinated leader election is off by default; what is stored stays."""
    for name in ("strategy", "preferredHolder"):
        if (old is None or part(old, "spec").get(name) is None) and obj.get("spec"):
            obj["spec"].pop(name, None)


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("coordination.k8s.io", "Lease"): kind(
        validate_lease,
        prepare_create=_drop_disabled,
        prepare_update=_drop_disabled,
        has_status=False,
        allow_create_on_update=True,
        allow_unconditional_update=False,
    ),
}
