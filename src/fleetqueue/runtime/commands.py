"""What a container executes: its command and arguments, or what its image has in their place."""

from collections.abc import Mapping, Sequence

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.expansion import expand


def argv_of(
    container: Object,
    entrypoint: Sequence[str],
    default_arguments: Sequence[str],
    variables: Mapping[str, str],
) -> tuple[str, ...]:
    """Empty where neither the container nor its image says what to run."""
    command = [expand(each, variables) for each in container.get("command") or ()]
    arguments = [expand(each, variables) for each in container.get("args") or ()]
    if command:
        return (*command, *arguments)
    return (*entrypoint, *(arguments or default_arguments))
