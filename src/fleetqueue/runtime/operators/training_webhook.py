"""What is put right, and what is refused, when a training job of kubeflow.org/v1 is written."""

from collections.abc import Iterator
from functools import partial

from fleetqueue.api import field_errors as fields
from fleetqueue.api import names
from fleetqueue.api.field_errors import FieldError
from fleetqueue.kube.resources import Object
from fleetqueue.kube.webhook_rules import Asked, Webhook
from fleetqueue.runtime.operators.training_kinds import Family

MANAGERS = ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue")
_MANAGED_BY = "spec.runPolicy.managedBy"


def webhook_of(family: Family) -> Webhook:
    """Of defaults only the spelling of roles is stored, since others look for roles too; the
    operator fills in all others whenever it looks at a job.
    """
    return Webhook(
        family.kind,
        default=partial(default, family),
        validate=partial(validate, family),
        defaults_updates=True,
        name=f"validator.{family.name.lower()}.training-operator.kubeflow.org",
    )


def default(family: Family, asked: Asked) -> None:
    """Where a role is there in two spellings, the improper one was written last."""
    given = asked.spec.get(family.specs)
    if given and any(family.canonical(role) != role for role in given):
        ordered = sorted(given, key=lambda role: role != family.canonical(role))
        asked.spec[family.specs] = {family.canonical(role): given[role] for role in ordered}


def validate(family: Family, asked: Asked) -> list[FieldError]:
    errors = list(_check_name(str(asked.obj["metadata"].get("name") or "")))
    errors += _check_manager(asked)
    errors += family.further_rules(asked, family)
    path = f"spec.{family.specs}"
    given = asked.spec.get(family.specs)
    if given is None:
        return [*errors, fields.required(path, "must be specified")]
    for role, spec in given.items():
        errors += _check_count(f"{path}[{role}].replicas", spec or {}, errors)
        if family.canonical(role) not in family.roles:
            errors.append(fields.unsupported(f"{path}[{role}]", role, family.roles))
        where = f"{path}[{role}].template.spec.containers"
        errors += _check_containers(family, where, spec or {})
    return errors


def check_master(asked: Asked, family: Family) -> list[FieldError]:
    """One, which has to be said, and no other number."""
    for name, spec in (asked.spec.get(family.specs) or {}).items():
        if family.canonical(name) == "Master" and (spec or {}).get("replicas") != 1:
            return [fields.forbidden(f"spec.{family.specs}[{name}].replicas", "must be 1")]
    return []


def _check_count(path: str, spec: Object, errors: list[FieldError]) -> list[FieldError]:
    """At least one where a number is said, unless that number has been refused already."""
    count = spec.get("replicas")
    if count is None or count >= 1 or any(error.path == path for error in errors):
        return []
    return [fields.forbidden(path, "must be at least 1")]


def _check_name(name: str) -> Iterator[FieldError]:
    rule = names.dns1035_label
    if not rule.matches(name):
        yield fields.wrong("metadata.name", name, f"should match: {rule.pattern}")
    else:
        yield from (fields.wrong("metadata.name", name, why) for why in rule(name))


def _check_manager(asked: Asked) -> Iterator[FieldError]:
    manager = _manager(asked.obj)
    if asked.old is not None and _manager(asked.old) != manager:
        yield fields.wrong(_MANAGED_BY, manager, "field is immutable")
    if manager is not None and manager not in MANAGERS:
        yield fields.unsupported(_MANAGED_BY, manager, MANAGERS)


def _manager(obj: Object) -> str | None:
    policy = (obj.get("spec") or {}).get("runPolicy") or {}
    manager: str | None = policy.get("managedBy")
    return manager


def _check_containers(family: Family, path: str, spec: Object) -> Iterator[FieldError]:
    template = spec.get("template") or {}
    containers = (template.get("spec") or {}).get("containers") or []
    if not containers:
        yield fields.required(path, "must be specified")
    for index, container in enumerate(containers):
        if not container.get("image"):
            yield fields.required(f"{path}[{index}].image", "must be required")
    if not any(container.get("name") == family.container for container in containers):
        why = f"must have at least one container with name {family.container}"
        yield fields.required(path, why)
