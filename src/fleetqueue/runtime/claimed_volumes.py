"""Where what a claim was given lies on this machine."""

from pathlib import Path

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers.volume_matching import is_bound_to
from fleetqueue.runtime.payloads import Missing
from fleetqueue.runtime.scheduling.volumes import is_bound


def path_of(claim: Object, volume: Object | None) -> Path:
    """The path of the volume that the claim names. Anybody may name any volume: it is the claim's
    only where the volume names the claim too. Raises Missing.
    """
    name, volume_name = claim["metadata"]["name"], claim["spec"].get("volumeName")
    if not volume_name or not is_bound(claim):
        raise Missing(f'persistentvolumeclaim "{name}" is not bound')
    if volume is None:
        raise Missing(f'persistentvolume "{volume_name}" not found')
    if not is_bound_to(volume, claim):
        words = f'is not bound to persistentvolumeclaim "{name}"'
        raise Missing(f'persistentvolume "{volume_name}" {words}')
    for source in ("hostPath", "local"):
        if volume["spec"].get(source):
            return Path(volume["spec"][source]["path"])
    words = "is neither a hostPath nor local: no other type is supported here"
    raise Missing(f'persistentvolume "{volume_name}" {words}')
