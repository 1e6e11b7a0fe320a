"""Whether this machine lets us build a container's view, found out by building one."""

import os

from fleetqueue.runtime.shepherd import kernel, view
from fleetqueue.runtime.shepherd.spawning import Birth, spawn


def why_no_namespaces(stage: str) -> str:
    """What stands against namespaces; "" where a file could be bound and read back."""
    if not kernel.IS_LINUX:
        return "this system has no namespaces"
    file = f"{stage}.probe"
    with open(file, "w") as opened:
        opened.write("seen\n")
    pid, problem = spawn(
        Birth(
            ["/bin/sh", "-c", 'read -r text < /fleetqueue/probe && [ "$text" = seen ]'],
            {"PATH": os.defpath},
            "/",
            (0, 1, 2),
            stage=stage,
            binds=[view.Bind(file, "/fleetqueue/probe", True)],
            hostname="probe",
        )
    )
    os.set_blocking(problem, True)
    words = os.read(problem, 8192).decode("utf-8", "replace")
    os.close(problem)
    _, status = os.waitpid(pid, 0)
    os.unlink(file)
    if words or os.waitstatus_to_exitcode(status) != 0:
        return words or "a bound file could not be read back"
    return ""
