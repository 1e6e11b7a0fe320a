"""Namespaces: they start Active, become Terminating, and leave without finalizers of their own."""

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, wrongs
from fleetqueue.apiserver.builtin.making import UNQUALIFIED_FINALIZERS, kind, part, text
from fleetqueue.apiserver.builtin.objectmeta import is_dns_label
from fleetqueue.apiserver.strategy import Aspect, Object, Strategy

FINALIZER = "kubernetes"
NAME_LABEL = "kubernetes.io/metadata.name"


def default_namespace(obj: Object) -> None:
    metadata = obj["metadata"]
    if metadata.get("name"):
        metadata["labels"] = {**(metadata.get("labels") or {}), NAME_LABEL: metadata["name"]}
    if not part(obj, "status").get("phase"):
        obj["status"] = {**part(obj, "status"), "phase": "Active"}


def prepare_namespace(obj: Object) -> None:
    obj["status"] = {"phase": "Active"}
    finalizers = part(obj, "spec").get("finalizers") or []
    if FINALIZER not in finalizers:
        obj["spec"] = {**part(obj, "spec"), "finalizers": [*finalizers, FINALIZER]}
    # A generated name is known only now.
    default_namespace(obj)


def prepare_namespace_update(obj: Object, old: Object) -> None:
    obj["spec"] = {**part(obj, "spec"), "finalizers": part(old, "spec").get("finalizers") or []}


def validate_namespace(obj: Object, old: Object | None) -> Errors:
    return _validate_finalizers(obj, indexed=False)


def validate_namespace_status(obj: Object, old: Object) -> Errors:
    going = "deletionTimestamp" in obj["metadata"]
    wanted = "Terminating" if going else "Active"
    phase = part(obj, "status").get("phase", "")
    if phase == wanted:
        return []
    why = f"may only be '{wanted}' if `deletionTimestamp` is {'not ' if going else ''}empty"
    return [fields.wrong("status.Phase", phase, why)]


def begin_termination(obj: Object) -> None:
    obj["status"] = {**part(obj, "status"), "phase": "Terminating"}
    # A namespace goes when it is empty: there is no grace to speak of.
    obj["metadata"].pop("deletionGracePeriodSeconds", None)


def is_finalized(obj: Object) -> bool:
    return not part(obj, "spec").get("finalizers")


def _validate_finalizers(obj: Object, *, indexed: bool) -> Errors:
    errors: Errors = []
    for index, finalizer in enumerate(part(obj, "spec").get("finalizers") or ()):
        path = f"spec.finalizers[{index}]" if indexed else "spec.finalizers"
        errors += wrongs(path, finalizer, names.qualified_name(finalizer))
        if "/" not in finalizer and finalizer not in UNQUALIFIED_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(fields.wrong(path, finalizer, why))
    return errors


def _only_finalizers(obj: Object, old: Object) -> Object:
    return {**obj, "status": old.get("status") or {}}


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "Namespace"): kind(
        validate_namespace,
        default=default_namespace,
        prepare_create=prepare_namespace,
        prepare_update=prepare_namespace_update,
        validate_status=validate_namespace_status,
        validate_name=is_dns_label,
        fields={"status.phase": text("status", "phase")},
        may_leave=is_finalized,
        on_delete=begin_termination,
        returns_deleted=True,
        aspects={
            "finalize": Aspect(
                "finalize",
                _only_finalizers,
                lambda obj, old: _validate_finalizers(obj, indexed=True),
                reset={"f:status": {".": {}}},
            )
        },
    ),
}
