"""Finds the kinds of jobs: the modules of `jobs/kinds`, then plugins that are installed."""

import importlib
import pkgutil
from functools import cache
from importlib import metadata

from fleetqueue.errors import InvalidInput
from fleetqueue.jobs import kinds
from fleetqueue.jobs.kind import JobKind
from fleetqueue.jobs.settings import JobSettings

ENTRY_POINTS = "fleetqueue.jobs"


@cache
def all_kinds() -> tuple[JobKind, ...]:
    """Every kind that is known; two of one framework are a mistake."""
    found = [*_own(), *_installed()]
    by_framework: dict[str, JobKind] = {}
    for kind in found:
        if kind.framework in by_framework:
            raise InvalidInput(f'two kinds of jobs are called "{kind.framework}"')
        by_framework[kind.framework] = kind
    return tuple(by_framework.values())


def enabled_kinds(settings: JobSettings) -> list[JobKind]:
    """Those of the configuration, and those that they do not work without."""
    listed = [kind for kind in all_kinds() if kind.framework in settings.frameworks]
    needed = {name for kind in listed for name in kind.needs} - settings.frameworks
    return listed + [kind for kind in all_kinds() if kind.framework in needed]


def _own() -> list[JobKind]:
    names = sorted(module.name for module in pkgutil.iter_modules(kinds.__path__))
    loaded = [importlib.import_module(f"{kinds.__name__}.{name}") for name in names]
    return [module.JOB for module in loaded if hasattr(module, "JOB")]


def _installed() -> list[JobKind]:
    points = sorted(metadata.entry_points(group=ENTRY_POINTS), key=lambda point: point.name)
    return [point.load() for point in points]
