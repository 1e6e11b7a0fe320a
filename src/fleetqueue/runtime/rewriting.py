"""What a machine without namespaces does instead: paths and names are replaced where they are told.

Mount paths become the directories behind them, names of peers become their addresses, in commands,
arguments and variables; Python programs are helped to find the rest themselves.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fleetqueue.kube.resources import Object
from fleetqueue.runtime import preload
from fleetqueue.runtime.processes import Mount

NAMES_FILE = "FLEETQUEUE_NAMES"
PLACES = "FLEETQUEUE_PLACES"
REWRITES = "fleetqueue.io/rewrite-paths"
_PACKS = re.compile(r"-?[a-zA-Z]*c|--create$")
_ADDRESS_VARIABLE = re.compile(r"ADDR|HOST|ENDPOINT|MASTER|COORDINATOR|SERVER|LEADER|URI|URL|PEER")
_LOOPBACK_INTERFACE = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "TP_SOCKET_IFNAME")


def rewrites_paths(pod: Object) -> bool:
    return (pod["metadata"].get("annotations") or {}).get(REWRITES) != "false"


def rewrite_path(text: str, places: Mapping[str, str]) -> str:
    """Replaces mount paths where they stand as whole prefixes of paths."""
    if not places:
        return text
    ordered = sorted(places, key=len, reverse=True)
    choice = "|".join(re.escape(each) for each in ordered)
    pattern = re.compile(rf"""(^|[\s=:,"'<>;|&@])({choice})(?=$|[\s/:,"'<>;|&)])""")
    return pattern.sub(lambda found: found.group(1) + places[found.group(2)], text)


def mount_places(mounts: Iterable[Mount]) -> dict[str, str]:
    """By mount path, the directory of the machine behind it."""
    return {os.path.normpath(each.target): str(each.source) for each in mounts}


def mount_variables(container: Object, mounts: Sequence[Mount]) -> dict[str, str]:
    """`FLEETQUEUE_MOUNT_<VOLUME>`: where a program finds a volume whatever its mount path."""
    listed = container.get("volumeMounts") or ()
    return {
        mount_variable(each["name"]): str(mount.source)
        for each, mount in zip(listed, mounts, strict=False)
    }


def mount_variable(volume: str) -> str:
    return f"FLEETQUEUE_MOUNT_{re.sub(r'[^A-Z0-9]', '_', volume.upper())}"


def substitute_names(text: str, names: Mapping[str, Sequence[str]]) -> str:
    """Replaces names by addresses: dotted ones anywhere, others before a port or in a URL alone.

    A bare word may mean anything; one that is followed by a port means a host.
    """
    known = [name for name in names if names[name]]
    if not known:
        return text
    ordered = sorted(known, key=len, reverse=True)
    dotted = _choice(name for name in ordered if "." in name)
    every = _choice(ordered)
    pattern = re.compile(
        rf"(?<![\w.-])(?:(?P<dotted>{dotted})(?![\w-]|\.\w)|(?P<port>{every})(?=:\d)"
        rf"|(?<=//)(?P<url>{every})(?![\w-]|\.\w))"
    )

    def replace(found: re.Match[str]) -> str:
        return names[found.group().rstrip(".")][0]

    return pattern.sub(replace, text)


def substitute_variables(
    variables: Mapping[str, str], names: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Names in the values of variables; one whose name speaks of an address may be a bare word."""
    changed: dict[str, str] = {}
    for variable, value in variables.items():
        parts = value.split(",")
        if _ADDRESS_VARIABLE.search(variable) and variable != "HOSTNAME":
            parts = [names[part][0] if names.get(part) else part for part in parts]
        changed[variable] = substitute_names(",".join(parts), names)
    return changed


def rewrite_archive(argv: Sequence[str], places: Mapping[str, str]) -> tuple[str, ...]:
    """A `tar` that packs keeps the names that it was asked for: `kubectl cp` looks at them."""
    rewritten = tuple(rewrite_path(word, places) for word in argv)
    is_packing = os.path.basename(argv[0]) == "tar" and bool(_PACKS.match("".join(argv[1:2])))
    if not is_packing:
        return rewritten
    used = [place for place in places if any(rewrite_path(w, {place: ""}) != w for w in argv)]
    renames = [
        f"--transform=flags=rSH;s,^{re.escape(places[each].lstrip('/'))},{each.lstrip('/')},"
        for each in used
    ]
    return (*rewritten[:1], *renames, *_dashed(rewritten[1:]))


def _dashed(words: Sequence[str]) -> tuple[str, ...]:
    """Letters without a dash must come first; with one they need not."""
    first = words[0] if words[0].startswith("-") else f"-{words[0]}"
    return (first, *words[1:])


def helping_variables(
    variables: Mapping[str, str],
    directory: Path,
    names_file: Path,
    places: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """What a process is told besides; nothing that the user has set is changed but PYTHONPATH."""
    path = [str(directory), *filter(None, [variables.get("PYTHONPATH")])]
    defaults = dict.fromkeys(_LOOPBACK_INTERFACE, "lo")
    return {
        **{name: value for name, value in defaults.items() if name not in variables},
        "PYTHONPATH": ":".join(path),
        NAMES_FILE: str(names_file),
        **({PLACES: json.dumps(dict(places))} if places else {}),
    }


def write_preload(directory: Path) -> Path:
    """Puts the module that helps Python programs into a directory for their path."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "sitecustomize.py"
    path.write_text(Path(preload.__file__).read_text())
    return path


def _choice(names: Iterable[str]) -> str:
    return "|".join(re.escape(name) for name in names) or r"(?!)"
