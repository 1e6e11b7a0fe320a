"""How a pod comes to the remote shell: the program it runs, where that finds the runtime, and the
key by which the runtime knows which pod asks.
"""

import hashlib
import hmac
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Source
from fleetqueue.runtime import remote_shell
from fleetqueue.runtime.remote_shell_peers import group_of

AGENTS = (
    "OMPI_MCA_plm_rsh_agent",
    "PRTE_MCA_plm_ssh_agent",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC",
    "HYDRA_LAUNCHER_EXEC",
)
"""By these Open MPI (since version 5 the second), Intel MPI and MPICH learn what to run for ssh."""
_INTERFACES = {"OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_oob_tcp_if_include": "lo"}
"""All pods are on the loopback device, which Open MPI leaves out unless it is told."""


@dataclass(frozen=True, slots=True)
class Access:
    """What pods are told, and what the runtime makes of it."""

    directory: Path
    secret: bytes
    """Known to the runtime alone. Processes do not outlive it, so neither must their keys."""

    @property
    def program(self) -> Path:
        return self.directory / "remote-shell"

    @property
    def socket(self) -> Path:
        return self.directory / "socket"

    def install(self) -> None:
        """Launchers take a single path, so there is a script with one."""
        self.directory.mkdir(parents=True, exist_ok=True)
        words = [sys.executable, "-I", "-S", str(Path(remote_shell.__file__))]
        self.program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        self.program.chmod(0o755)

    def variables(self, pod: Object, source: Source) -> Mapping[str, str]:
        """Nothing for pods that have no peers."""
        if group_of(pod, source) is None:
            return {}
        return {
            **dict.fromkeys(AGENTS, str(self.program)),
            **_INTERFACES,
            remote_shell.SOCKET: str(self.socket),
            remote_shell.KEY: self.key_of(str(pod["metadata"]["uid"])),
        }

    def key_of(self, uid: str) -> str:
        return f"{uid}:{hmac.new(self.secret, uid.encode(), hashlib.sha256).hexdigest()}"

    def uid_of(self, key: str) -> str | None:
        """The pod that was given the key; None: nobody was."""
        uid = key.partition(":")[0]
        is_ours = hmac.compare_digest(self.key_of(uid).encode(), key.encode())
        return uid if is_ours else None
