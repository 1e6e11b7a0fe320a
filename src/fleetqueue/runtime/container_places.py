"""What is a container's own on this machine: its directories, files, limits and user."""

import os
from pathlib import Path

from fleetqueue.api.quantity import Quantity
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import hosts
from fleetqueue.runtime.agnhost import POD_ADDRESS
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.preparation import Sandbox, message_path
from fleetqueue.runtime.processes import Limits, Mount

DEFAULT_MESSAGE_PATH = "/dev/termination-log"
RAY_DIRECTORY = "/var/tmp"
_SWITCH, _RESOLVER, _NAME_CACHE = "/etc/nsswitch.conf", "/etc/resolv.conf", "/var/run/nscd"


def scratch_of(sandbox: Sandbox, container: Object) -> Path:
    """Where a container is at home: private, since pods of one job write the same files."""
    path = sandbox.directory / "scratch" / str(container["name"])
    for part in ("home", "tmp"):
        (path / part).mkdir(parents=True, exist_ok=True)
    return path


def private_variables(sandbox: Sandbox, container: Object) -> dict[str, str]:
    scratch = scratch_of(sandbox, container)
    home = str(scratch / "home")
    return {
        "HOME": home,
        "TMPDIR": str(scratch / "tmp"),
        "XDG_CACHE_HOME": f"{home}/.cache",
        "GLOO_SOCKET_IFNAME": "lo",
        "NCCL_SOCKET_IFNAME": "lo",
        "TP_SOCKET_IFNAME": "lo",
        POD_ADDRESS: sandbox.address,
    }


def message_mount(sandbox: Sandbox, container: Object) -> Mount:
    """The file for its last words, at the place where it expects it."""
    message = message_path(sandbox, container["name"])
    message.parent.mkdir(parents=True, exist_ok=True)
    message.touch()
    return Mount(message, container.get("terminationMessagePath") or DEFAULT_MESSAGE_PATH)


def root_mounts(root: str, scratch: Path) -> tuple[Mount, ...]:
    """A file system that takes the place of the host's, where an image has one."""
    return (Mount(Path(root), "/"), Mount(scratch, str(scratch))) if root else ()


def ray_mounts(container: Object, scratch: Path) -> tuple[Mount, ...]:
    """Ray has sockets below its temporary directory, and the kernel takes none whose path is longer
    than 107 bytes: a node of Ray sees its directory at a short place.
    """
    if not names.has_env(container, names.START_COMMAND) or scratch.is_relative_to(RAY_DIRECTORY):
        return ()
    return (Mount(scratch / "tmp", RAY_DIRECTORY),)


def name_mounts(pod: Object, sandbox: Sandbox, names_file: Path) -> tuple[Mount, ...]:
    """The files by which a pod finds its peers and itself."""
    own = sandbox.directory / "etc"
    own.mkdir(parents=True, exist_ok=True)
    texts = {"/etc/hostname": f"{hosts.hostname_of(pod)}\n"}
    switch = hosts.switch_text(_text(_SWITCH))
    if switch is not None:
        texts[_SWITCH] = switch
    if pod["spec"].get("dnsConfig") or pod["spec"].get("dnsPolicy") == "None":
        texts[_RESOLVER] = hosts.resolver_text(pod, _text(_RESOLVER))
    mounts = [Mount(names_file, "/etc/hosts")]
    for target, text in texts.items():
        file = own / os.path.basename(target)
        file.write_text(text)
        mounts.append(Mount(file, target))
    if os.path.isdir(_NAME_CACHE):
        # A cache of the host would answer in place of the files.
        (own / "nscd").mkdir(exist_ok=True)
        mounts.append(Mount(own / "nscd", _NAME_CACHE))
    return tuple(mounts)


def limits_of(container: Object) -> Limits:
    limits = (container.get("resources") or {}).get("limits") or {}
    memory, cpu = limits.get("memory"), limits.get("cpu")
    return Limits(
        memory_bytes=Quantity.of(memory).value() if memory is not None else None,
        cpu_millis=Quantity.of(cpu).milli_value() if cpu is not None else None,
    )


def user_of(pod: Object, container: Object, name: str, default: int | None) -> int | None:
    """Honoured where we may: only root can become somebody else."""
    if os.geteuid() != 0:
        return None
    for security in (container.get("securityContext"), pod["spec"].get("securityContext")):
        if (security or {}).get(name) is not None:
            return int((security or {})[name])
    return default


def named_ports(pod: Object) -> Object:
    """By container, the numbers of its ports that have names."""
    spec = pod["spec"]
    return {
        container["name"]: {
            port["name"]: port["containerPort"]
            for port in container.get("ports") or ()
            if port.get("name")
        }
        for container in (*(spec.get("initContainers") or ()), *spec["containers"])
    }


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
