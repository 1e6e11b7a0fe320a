"""A launcher that does what those of MPI do: it reads the host file, starts a daemon on each host
through the agent that stands for ssh, and each daemon starts the ranks of its host.

`mpirun.py program...` launches; `mpirun.py --daemon settings program...` is the daemon. One rank
that fails ends all others, and its exit code is the launcher's.
"""

import json
import os
import shlex
import signal
import subprocess
import sys

HOST_FILES = ("OMPI_MCA_orte_default_hostfile", "I_MPI_HYDRA_HOST_FILE", "HYDRA_HOST_FILE")


def read_hosts() -> list[tuple[str, int]]:
    path = next(os.environ[name] for name in HOST_FILES if name in os.environ)
    with open(path) as file:
        lines = file.read().replace(" slots=", ":").split()
    return [(host, int(slots)) for host, _, slots in (line.rpartition(":") for line in lines)]


def agent() -> list[str]:
    """The program and options before the host, as each implementation puts them."""
    env = os.environ
    if HOST_FILES[0] in env:
        return [*env["OMPI_MCA_plm_rsh_agent"].split(), *env["OMPI_MCA_plm_rsh_args"].split()]
    if HOST_FILES[1] in env:
        extra = env["I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"].split()
        return [env["I_MPI_HYDRA_BOOTSTRAP_EXEC"], "-x", "-q", *extra]
    return [env["HYDRA_LAUNCHER_EXEC"], "-x", *env["HYDRA_LAUNCH_EXTRA_ARGS"].split()]


def launch(program: list[str]) -> int:
    hosts = read_hosts()
    world, first, daemons = sum(slots for _, slots in hosts), 0, []
    for host, slots in hosts:
        place = {"first": first, "count": slots, "world": world, "root": hosts[0][0]}
        words = [sys.executable, __file__, "--daemon", json.dumps(place), *program]
        # Like ssh, the agent hands one line to a shell.
        command = f"PATH=$PATH ; export PATH ; {shlex.join(words)}"
        daemons.append(subprocess.Popen([*agent(), host, command], stdin=subprocess.DEVNULL))
        first += slots
    return first_failure(daemons)


def serve(place: dict[str, int], program: list[str]) -> int:
    ranks = []
    for rank in range(place["first"], place["first"] + place["count"]):
        env = {
            "OMPI_COMM_WORLD_RANK": str(rank),
            "OMPI_COMM_WORLD_SIZE": str(place["world"]),
            "ROOT": str(place["root"]),
        }
        ranks.append(subprocess.Popen(program, env={**os.environ, **env}, start_new_session=True))
    # Ranks lead sessions of their own, as those of Open MPI do.
    signal.signal(signal.SIGTERM, lambda *_: [rank.terminate() for rank in ranks])
    return first_failure(ranks)


def first_failure(children: "list[subprocess.Popen[bytes]]") -> int:
    """The code of the first that fails, which ends the others; 0 where none does."""
    left = {child.pid: child for child in children}
    code = 0
    while left:
        pid, status = os.wait()
        child = left.pop(pid, None)
        ended = os.waitstatus_to_exitcode(status)
        if child is not None and ended and not code:
            code = ended if ended > 0 else 128 - ended
            for other in left.values():
                other.terminate()
    return code


if sys.argv[1] == "--daemon":
    sys.exit(serve(json.loads(sys.argv[2]), sys.argv[3:]))
sys.exit(launch(sys.argv[1:]))
