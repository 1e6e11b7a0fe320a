"""Reads the scenarios that kubectl plays: files to start from, and command lines in order.

`$NS` stands for the namespace of the scenario, in files as in command lines. A step is a command
line; or `fail:` and one that ends with exit code 1; or the fields of a `Step`.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "kubectl"


@dataclass(frozen=True)
class Step:
    """One command line of kubectl."""

    run: str
    code: int = 0
    """The exit code on kube-apiserver: a scenario that goes wrong on both shows nothing."""
    stdin: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    save: str = ""
    """The file that standard output goes to, next to being compared."""
    seconds: float = 30.0
    """When it is interrupted; for commands that do not end by themselves, with `lines`."""
    lines: int = 0
    """Interrupt it once it has printed so many lines."""
    meanwhile: tuple[str, ...] = ()
    """Command lines to run once it has printed its first line."""
    ignore: str = ""
    """A pattern of lines that are not compared."""
    unordered: bool = False
    """Lines come in any order."""
    facts: bool = False
    """Only the exit code is compared: the words are ours."""


@dataclass(frozen=True)
class Scenario:
    name: str
    files: dict[str, str]
    steps: tuple[Step, ...]
    crds: tuple[str, ...] = ()
    """API groups whose definitions are in `crds.yaml`, as `fleetqueue crds` prints them."""


def load_scenarios() -> list[Scenario]:
    found = []
    for path in sorted(FOLDER.glob("*.yaml")):
        for entry in yaml.safe_load(path.read_text()):
            found.append(_scenario(path.stem, entry))
    names = [scenario.name for scenario in found]
    assert len(names) == len(set(names)), "two scenarios have one name"
    return found


def _scenario(stem: str, entry: dict[str, Any]) -> Scenario:
    steps = tuple(_step(step) for step in entry["steps"])
    name, files, crds = f"{stem}: {entry['name']}", entry.get("files", {}), entry.get("crds", ())
    return Scenario(name, files, steps, tuple(crds))


def _step(entry: str | dict[str, Any]) -> Step:
    if isinstance(entry, str):
        return Step(entry)
    if "fail" in entry:
        entry = {"run": entry["fail"], "code": 1}
    return Step(**{**entry, "meanwhile": tuple(entry.get("meanwhile", ()))})
