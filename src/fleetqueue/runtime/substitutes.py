"""How a container finds its volumes and its peers on a machine without namespaces: by links, by
other words in its command and variables, and by help for Python programs and scripts; and what is
said to the user of that.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fleetqueue.kube.resources import Object
from fleetqueue.runtime import rewriting
from fleetqueue.runtime.environment import Environment
from fleetqueue.runtime.expected_names import Directory, expected_names
from fleetqueue.runtime.mount_links import link_mount
from fleetqueue.runtime.preparation import Sandbox
from fleetqueue.runtime.processes import Mount
from fleetqueue.runtime.stand_ins import write_stand_ins

ACCOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_SHARED_WITH_HOST = ("/dev/shm",)
"""Paths that every program finds on the machine itself, which serve as well."""


@dataclass(frozen=True, slots=True)
class Words:
    """What a process is told."""

    argv: tuple[str, ...]
    environment: Environment


@dataclass(frozen=True, slots=True)
class Place:
    """One container of a pod on this machine."""

    pod: Object
    container: Object
    sandbox: Sandbox
    scratch: Path
    names_file: Path
    mounts: tuple[Mount, ...]
    """Its volumes, in the order in which the container lists them."""
    files: tuple[Mount, ...]
    """What the runtime itself would have put into its view."""


class Substitutes:
    """For all pods of a machine; `directory` is for what they share."""

    def __init__(
        self, directory: Path, why: str, names: Directory, api: str,
        note: Callable[[Object, str, str], None],
    ) -> None:  # fmt: skip
        """`why` there are no namespaces; `note` makes an event about a pod."""
        self.why = why
        self._preload = directory / "preload"
        self._names = names
        self._api = api
        self._note = note
        self._noted: set[tuple[str, str]] = set()
        self._programs = directory / "programs"
        rewriting.write_preload(self._preload)
        write_stand_ins(self._programs)

    def adapt(self, place: Place, words: Words, cwd: Path) -> tuple[Words, Path]:
        """The words of a process as it must be told them here, and where it starts."""
        hidden = [mount for mount in place.mounts if not self._is_found(mount, place)]
        replaces = rewriting.rewrites_paths(place.pod)
        places = rewriting.mount_places([*hidden, *place.files]) if replaces else {}
        self._tell(place, hidden, replaces)
        cwd = self._directory(place, cwd, places)
        argv = rewriting.rewrite_archive(words.argv, places)
        given = words.environment
        declared = {name: rewriting.rewrite_path(v, places) for name, v in given.declared.items()}
        address = place.sandbox.address
        names = expected_names([*argv, *declared.values()], place.pod, address, self._names)
        variables = {**given.variables, **rewriting.substitute_variables(declared, names)}
        variables |= rewriting.mount_variables(place.container, place.mounts)
        variables |= rewriting.helping_variables(variables, self._preload, place.names_file, places)
        variables = {**self._access(place), **variables}
        variables["PATH"] = ":".join(filter(None, [str(self._programs), variables.get("PATH")]))
        argv = tuple(rewriting.substitute_names(word, names) for word in argv)
        return Words(argv, replace(given, variables=variables)), cwd

    def forget(self, uid: str) -> None:
        self._noted = {each for each in self._noted if each[0] != uid}

    def _is_found(self, mount: Mount, place: Place) -> bool:
        """Whether a volume is where the container expects it."""
        target = os.path.normpath(mount.target)
        if target in _SHARED_WITH_HOST or target == str(mount.source):
            return True
        return link_mount(mount, place.sandbox.directory)

    def _directory(self, place: Place, cwd: Path, places: dict[str, str]) -> Path:
        """A working directory that the machine does not have is made for this container alone."""
        found = Path(rewriting.rewrite_path(str(cwd), places))
        if found.is_dir():
            return found
        made = place.scratch / "root" / str(cwd).lstrip("/")
        if rewriting.rewrites_paths(place.pod):
            places[os.path.normpath(cwd)] = str(made)
        return made

    def _access(self, place: Place) -> dict[str, str]:
        """How programs reach the API whose libraries look for the token at its usual place."""
        account = next((m for m in place.mounts if m.target.rstrip("/") == ACCOUNT_PATH), None)
        if account is None:
            return {}
        path = place.sandbox.directory / "etc" / "kubeconfig"
        text = kubeconfig(self._api, account.source, place.pod["metadata"]["namespace"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return {"KUBECONFIG": str(path)}

    def _tell(self, place: Place, hidden: Sequence[Mount], replaces: bool) -> None:
        listing = place.container.get("volumeMounts") or ()
        for listed, mount in zip(listing, place.mounts, strict=True):
            if mount.target.rstrip("/") == ACCOUNT_PATH:
                continue
            if mount in hidden:
                self._say(place, hidden_text(listed, mount, self.why, replaces))
            if listed.get("readOnly"):
                self._say(place, writable_text(listed, self.why))

    def _say(self, place: Place, text: str) -> None:
        """Once for each pod, however often its containers start."""
        known = (str(place.pod["metadata"]["uid"]), text)
        if known not in self._noted:
            self._noted.add(known)
            self._note(place.pod, "NoNamespaces", text)


def hidden_text(listed: Mapping[str, str], mount: Mount, why: str, replaces: bool) -> str:
    name, variable = listed["name"], rewriting.mount_variable(listed["name"])
    told = (
        "its path is replaced in the command, the arguments and the variables"
        if replaces
        else f'the annotation {rewriting.REWRITES} is "false", so its path is replaced nowhere'
    )
    return (
        f'volume "{name}" cannot be mounted at {mount.target} without namespaces ({why}): {told}. '
        f"A program that has the path built in finds the volume at ${variable}"
    )


def writable_text(listed: Mapping[str, str], why: str) -> str:
    name = listed["name"]
    return f'volume "{name}" can be written although it is mounted read-only: no namespaces ({why})'


def kubeconfig(api: str, account: Path, namespace: str) -> str:
    """A file for clients of the API, with the token and the certificate of a service account."""
    cluster = {"server": api, "certificate-authority": str(account / "ca.crt")}
    context = {"cluster": "fleetqueue", "user": "pod", "namespace": namespace}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "fleetqueue", "cluster": cluster}],
            "users": [{"name": "pod", "user": {"tokenFile": str(account / "token")}}],
            "contexts": [{"name": "pod", "context": context}],
            "current-context": "pod",
        }
    )
