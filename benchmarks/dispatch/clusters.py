"""The fleets: real API servers with `fleetqueue controller` beside each, or with Kueue itself, or
embedded clusters.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from benchmarks.fleets import clusters
from benchmarks.fleets.clusters import Member, Stop
from support.kueue_doors import install, start_controller
from support.ports import free_port
from support.reference import start_reference
from support.server import Server
from support.upstream_kueue import Upstream


@dataclass(slots=True)
class Fleet:
    """A manager and its workers."""

    manager: Member
    workers: list[Member]
    simulates: bool
    """Whether the workers have simulated pods; where not, jobs are marked by hand."""
    stops: list[Stop] = field(default_factory=list)

    @property
    def clusters(self) -> list[Member]:
        return [self.manager, *self.workers]

    def stop(self) -> None:
        clusters.stop_all(self.stops)


def real(directory: Path, workers: int, dispatcher: str) -> Fleet:
    return _started(directory, workers, dispatcher, _ours, "fleetqueue")


def kueue(directory: Path, workers: int, dispatcher: str) -> Fleet:
    return _started(directory, workers, dispatcher, _upstream, "kueue")


def _started(
    directory: Path,
    workers: int,
    dispatcher: str,
    run: Callable[[Server, Path, str], None],
    controller: str,
) -> Fleet:
    names = _names(workers)
    with ThreadPoolExecutor(len(names)) as pool:
        started = [pool.submit(_real, directory / name, dispatcher, run) for name in names]
    servers = [each.result() for each in started if each.exception() is None]
    stops = [each.stop for each in servers]
    problems = [str(each.exception()) for each in started if each.exception() is not None]
    if problems:
        clusters.stop_all(stops)
        raise SystemExit("\n".join(problems))
    made = [
        clusters.of_server(name, server, controller)
        for name, server in zip(names, servers, strict=True)
    ]
    return Fleet(made[0], made[1:], simulates=False, stops=stops)


def embedded(directory: Path, workers: int, dispatcher: str) -> Fleet:
    config = str(_config(directory, dispatcher))
    made, stop = clusters.embedded(directory, _names(workers), config)
    return Fleet(made[0], made[1:], simulates=True, stops=[stop])


def _names(workers: int) -> list[str]:
    return ["manager", *(f"worker-{number}" for number in range(workers))]


def _real(directory: Path, dispatcher: str, run: Callable[[Server, Path, str], None]) -> Server:
    server = start_reference(directory)
    try:
        run(server, directory, dispatcher)
    except BaseException:
        server.stop()
        raise
    return server


def _ours(server: Server, directory: Path, dispatcher: str) -> None:
    port = free_port()
    flags = ("--config", str(_config(directory, dispatcher)))
    install(server, directory, port, *flags)
    start_controller(server, directory, port, "--no-leader-elect", *flags, is_verbose=False)


def _upstream(server: Server, directory: Path, dispatcher: str) -> None:
    made = Upstream(server, directory, free_port())
    made.install()
    made.start(_configuration(dispatcher))


def _config(directory: Path, dispatcher: str) -> Path:
    """Ports of its own, since all share this machine."""
    visibility = {"bindAddress": "127.0.0.1", "bindPort": free_port()}
    path = directory / "kueue.yaml"
    path.write_text(yaml.safe_dump(_configuration(dispatcher) | {"visibilityServer": visibility}))
    return path


def _configuration(dispatcher: str) -> dict[str, Any]:
    """Jobs alone."""
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "integrations": {"frameworks": ["batch/job"]},
        "metrics": {"bindAddress": "0"},
        "multiKueue": {"dispatcherName": dispatcher},
    }


FLEETS = {"real": real, "kueue": kueue, "embedded": embedded}
