"""Which local environment stands for an image: an ordered table of rules, the user's first.

Nothing is ever pulled; an image that no rule fits is refused, as one that does not exist would be.
"""

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fleetqueue.errors import InvalidInput
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import agnhost
from fleetqueue.runtime.image_rules import Rule, check_reference, read_rule
from fleetqueue.runtime.preparation import NotReady

_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PYTHON_DIRECTORY = str(Path(sys.executable).parent)
_AGNHOST = (sys.executable, "-I", "-S", str(Path(agnhost.__file__)))
_CONDA_ROOTS = ("~/miniconda3", "~/miniforge3", "~/anaconda3", "/opt/conda")


@dataclass(frozen=True, slots=True)
class ImageEnvironment:
    """What an image means on this machine."""

    reference: str
    id: str
    entrypoint: tuple[str, ...]
    cmd: tuple[str, ...]
    workdir: str
    env: Mapping[str, str]
    user: int | None = None
    root: str = ""
    """An unpacked file system that takes the place of the host's; needs namespaces."""
    programs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lacks_ray: bool = False
    """A Ray image on a machine without Ray."""

    def replace_program(self, argv: Sequence[str]) -> tuple[str, ...]:
        first = tuple(argv[:1])
        return (*self.programs.get(first[0] if first else "", first), *argv[1:])


def _own(name: str) -> dict[str, tuple[str, ...]]:
    return {name: _AGNHOST, name.lstrip("/"): _AGNHOST}


BUILT_IN = (
    Rule("busybox*", cmd=("sh",)),
    Rule("alpine*", cmd=("/bin/sh",)),
    Rule("ubuntu*", cmd=("/bin/bash",)),
    Rule("debian*", cmd=("bash",)),
    Rule("bash*", cmd=("bash",)),
    Rule(
        "registry.k8s.io/e2e-test-images/agnhost*",
        entrypoint=("/agnhost",),
        cmd=("pause",),
        programs=_own("/agnhost"),
    ),
    Rule(
        "registry.k8s.io/pause*",
        entrypoint=("/pause",),
        programs={"/pause": (*_AGNHOST, "pause")},
    ),
    # What a release of Kueue runs, which is built in: these are up, and do nothing.
    Rule(
        "*/kueue/kueue:*",
        entrypoint=("/manager",),
        programs={"/manager": (*_AGNHOST, "netexec", "--http-port=8081")},
    ),
    Rule(
        "*/kube-rbac-proxy:*",
        entrypoint=("/usr/local/bin/kube-rbac-proxy",),
        programs={"/usr/local/bin/kube-rbac-proxy": (*_AGNHOST, "pause")},
    ),
    Rule("python:*", "path", (_PYTHON_DIRECTORY,), cmd=("python3",)),
    Rule("python", "path", (_PYTHON_DIRECTORY,), cmd=("python3",)),
    Rule("pytorch/pytorch*", "environment", ("training",), cmd=("/bin/bash",)),
    Rule("nvcr.io/nvidia/jax*", "environment", ("training",), cmd=("/bin/bash",)),
    Rule("ghcr.io/kubeflow/trainer/*", "environment", ("training",), cmd=("/bin/bash",)),
    Rule("rayproject/ray*", "environment", ("ray",), cmd=("/bin/bash",)),
)


class ImageTable:
    """`default` is `host`, which suits development, or `reject`."""

    def __init__(
        self,
        rules: Sequence[Rule] = (),
        environments: Mapping[str, Rule] | None = None,
        default: str = "host",
        host_path: str | None = None,
    ) -> None:
        self._rules = (*rules, *BUILT_IN, Rule("*", default))
        self._environments = dict(environments or {})
        self._default = default
        self._host_path = host_path or os.environ.get("PATH") or _SYSTEM_PATH

    @classmethod
    def load(cls, settings: Object, host_path: str | None = None) -> "ImageTable":
        """From a file's content: `images`, `environments` and `default`."""
        images, environments = settings.get("images") or [], settings.get("environments") or {}
        default = settings.get("default") or "host"
        if default not in ("host", "reject"):
            raise InvalidInput(
                f'the default environment must be "host" or "reject", not "{default}"'
            )
        if not isinstance(images, list) or not isinstance(environments, dict):
            raise InvalidInput("`images` must be a list and `environments` a map")
        rules = [read_rule(each, f"images[{n}]") for n, each in enumerate(images)]
        named = {
            name: read_rule({"match": "*", **each}, f"environments.{name}")
            for name, each in environments.items()
        }
        return cls(rules, named, default, host_path)

    def find(self, reference: str, pull_policy: str = "IfNotPresent") -> ImageEnvironment:
        """Raises NotReady with the reason and words that the container's status shows."""
        check_reference(reference)
        rule = next(rule for rule in self._rules if rule.fits(reference))
        named = self._environments.get(rule.places[0]) if rule.kind == "environment" else rule
        kind = named.kind if named is not None else self._default
        if kind == "reject":
            raise _refusal(reference, pull_policy)
        return self._environment(reference, rule, named or Rule(rule.match), kind)

    def _environment(self, reference: str, rule: Rule, named: Rule, kind: str) -> ImageEnvironment:
        places = _directories(reference, kind, named.places)
        is_ray = (rule.kind, rule.places) == ("environment", ("ray",))
        return ImageEnvironment(
            reference,
            _identify(rule, kind, places),
            rule.entrypoint or named.entrypoint,
            rule.cmd or named.cmd,
            rule.workdir or named.workdir,
            {**self._variables(kind, places), **named.env, **rule.env},
            rule.user if rule.user is not None else named.user,
            root=places[0] if kind == "root" else "",
            programs=rule.programs,
            lacks_ray=is_ray and "ray" not in self._environments,
        )

    def _variables(self, kind: str, places: tuple[str, ...]) -> dict[str, str]:
        common = {"LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}
        if kind == "root":
            return {"PATH": _SYSTEM_PATH, **common}
        if kind in ("venv", "conda"):
            variable = "VIRTUAL_ENV" if kind == "venv" else "CONDA_PREFIX"
            path = ":".join((*(f"{place}/bin" for place in places), self._host_path))
            return {"PATH": path, variable: places[0], **common}
        return {"PATH": ":".join((*places, self._host_path)), **common}


def _refusal(reference: str, pull_policy: str) -> NotReady:
    if pull_policy == "Never":
        text = f'Container image "{reference}" is not present with pull policy of Never'
        return NotReady("ErrImageNeverPull", text)
    return NotReady("ErrImagePull", f'no local environment is mapped to image "{reference}"')


def _directories(reference: str, kind: str, places: tuple[str, ...]) -> tuple[str, ...]:
    if kind == "conda":
        tried = [Path(root).expanduser() / "envs" / places[0] for root in _CONDA_ROOTS]
        places = tuple(str(each) for each in tried if each.is_dir())[:1] or (str(tried[0]),)
    for place in places:
        if not Path(place).is_dir():
            text = f'the environment mapped to image "{reference}" does not exist: {place}'
            raise NotReady("ErrImagePull", text)
    return places


def _identify(rule: Rule, kind: str, places: tuple[str, ...]) -> str:
    text = json.dumps([rule.match, kind, places, rule.entrypoint, rule.cmd, rule.workdir])
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
