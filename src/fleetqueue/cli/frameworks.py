"""Which kinds of jobs a worker is to take, as `join --framework` names them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fleetqueue.errors import UserError

if TYPE_CHECKING:
    from fleetqueue.kube.resources import Resource


def kinds_of(names: Iterable[str]) -> list["Resource"]:
    """Frameworks of Kueue's configuration (`batch/job`) are the only ones, with those that they do
    not work without; all are meant where none is named. Kinds that nobody here knows
    (`Kind.version.group`) come on top.
    """
    from fleetqueue.jobs import registry
    from fleetqueue.jobs.settings import JobSettings, external_kind

    own = {kind.framework: kind.resource for kind in registry.all_kinds()}
    titles = {f"{each.kind}.{each.version}.{each.group}": name for name, each in own.items()}
    asked = [titles.get(each, each) for each in names]
    others = [each for each in asked if each not in own]
    for each in others:
        if "." not in each or "/" in each:
            known = ", ".join(sorted(own))
            raise UserError(
                f'"{each}" is no framework: name one of {known}, or write Kind.version.group'
            )
    settings = JobSettings(frameworks=frozenset({*own} & {*asked} or own))
    enabled = [kind.resource for kind in registry.enabled_kinds(settings)]
    return [*enabled, *map(external_kind, others)]
