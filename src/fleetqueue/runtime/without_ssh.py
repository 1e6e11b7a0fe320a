"""MPI without ssh: how pods that would serve ssh are run on a machine where peers come another way.
What the API shows of the pods stays as it is.
"""

from pathlib import PurePosixPath

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.remote_shell_peers import key_container

IDLE = ["/bin/sh", "-c", "exec sleep 2147483647"]
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def without_ssh(pod_spec: Object) -> Object:
    """The spec as it is run: in place of an ssh server that has the keys of an MPI job something
    idles and is ready at once. All other pods are given back as they are.
    """
    server = key_container({"spec": pod_spec})
    if server is None or not _serves_ssh(server):
        return pod_spec
    idle = {name: value for name, value in server.items() if name not in (*_PROBES, "args")}
    idle["command"] = IDLE
    containers = [idle if each is server else each for each in pod_spec["containers"]]
    return {**pod_spec, "containers": containers}


def _serves_ssh(container: Object) -> bool:
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    return bool(words) and PurePosixPath(words[0]).name == "sshd"
