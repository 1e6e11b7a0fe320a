"""`kill -9` of `fleetqueue controller` at random moments while workloads queue: every one of them
ends, none is lost or runs twice, and quota is oversold in no state that the API server stored.

FLEETQUEUE_WORKLOADS, FLEETQUEUE_CONTROLLER_KILLS and FLEETQUEUE_SEED set how much of it.
"""

import asyncio
import os
import random
import subprocess
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest

from faults.queued_load import QueuedLoad, again
from fleetqueue.admission.kinds import WORKLOAD
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.base.clock import SystemClock
from fleetqueue.kube.client import Client
from fleetqueue.kube.connect import connect
from fleetqueue.kube.resources import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Object
from support.kueue import cluster_queue, flavor, local_queue, workload
from support.kueue_doors import account, command, install
from support.ours import start_ours
from support.ports import free_port
from support.quota_ledger import QuotaLedger
from support.server import Server

pytestmark = pytest.mark.rule("kueue 3.3", "kueue 3.4", "kueue 6.4")

WORKLOADS = int(os.environ.get("FLEETQUEUE_WORKLOADS", "2000"))
KILLS = int(os.environ.get("FLEETQUEUE_CONTROLLER_KILLS", "20"))
SEED = int(os.environ.get("FLEETQUEUE_SEED", "20260101"))
QUEUES = {f"{cohort}-{number}": cohort for cohort in ("a", "b", "c") for number in range(4)}
"""By name: the cohort."""
NOMINAL, BORROWED_MAX = 20, 30
CLASSES = (("1", 50, 7), ("5", 100, 2), ("20", 200, 1))
"""Cpu, priority, and how often; as the admission benchmark has them."""
LATER_SECONDS_MAX = 0.3
"""Kills come so much after an admission, so that all that goes on may be hit."""
START_SECONDS_MAX = 1.5
EVERY_KILL_AT_START = 5
STUCK_SECONDS = 80.0
"""For all of it, and for each kill on top."""
PER_KILL_SECONDS = 9.0
LOG_LETTERS_MAX = 4_000


class Controller:
    """`fleetqueue controller`, again and again."""

    def __init__(self, server: Server, directory: Path) -> None:
        self._log = directory / "controller.log"
        port, self._config = free_port(), directory / "config.yaml"
        self._config.write_text(
            "apiVersion: config.kueue.x-k8s.io/v1beta2\n"
            "kind: Configuration\n"
            "metrics: {bindAddress: '0'}\n"
            f"health: {{healthProbeBindAddress: ':{free_port()}'}}\n"
            f"visibilityServer: {{bindPort: {free_port()}}}\n"
            "clientConnection: {qps: -1}\n"
        )
        install(server, directory, port, "--config", str(self._config))
        rights = ["--kubeconfig", str(account(server, directory)), "--config", str(self._config)]
        reach = ["--webhook-url", f"https://127.0.0.1:{port}", "--webhook-port", str(port)]
        self._command = command(
            "controller", *rights, *reach, "--webhook-host", "127.0.0.1", "--no-leader-elect"
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        # What was compiled for the first start serves the others.
        compiles = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, env=compiles)

    def kill(self) -> None:
        self.look()
        self.stop()

    def look(self) -> None:
        assert self._process is not None
        assert self._process.poll() is None, f"it ended by itself:\n{self.log_text()}"

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def log_text(self) -> str:
        return self._log.read_text()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Only the API server: whoever else writes is the controller or the test."""
    started = start_ours(tmp_path, durability="memory")
    yield started
    started.stop()


@pytest.fixture
def controller(server: Server, tmp_path: Path) -> Iterator[Controller]:
    made = Controller(server, tmp_path)
    made.start()
    yield made
    made.stop()


@pytest.fixture
async def load(server: Server) -> AsyncIterator[QueuedLoad]:
    source = random.Random(SEED)
    client = connect(server.kubeconfig, clock=SystemClock(), random=source, field_manager="jobs")
    made = QueuedLoad(client, QuotaLedger(QUEUES, NOMINAL, BORROWED_MAX), source)
    yield made
    await made.stop()
    await client.close()


async def test_nothing_is_lost_or_oversold_while_webhooks_go_with_the_controller(
    load: QueuedLoad, controller: Controller
) -> None:
    """All who write to a workload wait until the controller is back."""
    await _check(load, controller)


async def test_nothing_is_lost_or_oversold_while_jobs_go_on_without_the_controller(
    load: QueuedLoad, controller: Controller
) -> None:
    """No webhooks: workloads come, finish and give quota back that the controller never saw."""
    await _check(load, controller, has_webhooks=False)


async def _check(load: QueuedLoad, controller: Controller, *, has_webhooks: bool = True) -> None:
    source = random.Random(SEED)
    made = list(_workloads(source))
    try:
        async with asyncio.timeout(STUCK_SECONDS + KILLS * PER_KILL_SECONDS):
            await _prepare(load.client)
            if not has_webhooks:
                await _remove_webhooks(load.client)
            await load.start(made)
            await _kill(load, controller, source)
            await load.until(lambda: len(load.ledger.finished) == len(made), controller.look)
    except (AssertionError, TimeoutError) as error:
        log = controller.log_text()[-LOG_LETTERS_MAX:]
        raise AssertionError(f"seed {SEED}, {load}: {error!r}; the controller:\n{log}") from error
    stored = (await load.client.list(WORKLOAD, "default")).items
    assert {_name(each) for each in stored} == {_name(each) for each in made}
    assert all(map(status.is_finished, stored))
    assert not load.ledger.problems
    assert load.ledger.evictions, "nothing was preempted: this shows less than it should"
    assert "Traceback" not in controller.log_text(), controller.log_text()


async def _kill(load: QueuedLoad, controller: Controller, source: random.Random) -> None:
    for kill, moment in enumerate(_moments(source)):
        if kill % EVERY_KILL_AT_START == EVERY_KILL_AT_START - 1:
            await asyncio.sleep(source.random() * START_SECONDS_MAX)
        else:
            await load.until(partial(load.ledger.has_admitted, moment), controller.look)
            await asyncio.sleep(source.random() * LATER_SECONDS_MAX)
        controller.kill()
        await load.lost_its_controller()
        controller.start()


def _moments(source: random.Random) -> list[int]:
    """Admissions seen before each kill; there is one of each workload at least."""
    return sorted(source.choices(range(1, WORKLOADS), k=KILLS))


def _workloads(source: random.Random) -> Iterator[Object]:
    weights = [each[2] for each in CLASSES]
    for number in range(WORKLOADS):
        ((cpu, priority, _),) = source.choices(CLASSES, weights)
        queue = source.choice(list(QUEUES))
        yield workload(f"w-{number}", cpu, queue, priority=priority)


async def _prepare(client: Client) -> None:
    policy = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    limits = {"borrowingLimit": str(BORROWED_MAX)}
    made = [flavor()]
    for name, cohort in QUEUES.items():
        queue = cluster_queue(
            name, str(NOMINAL), limits=limits, cohortName=cohort, preemption=policy
        )
        made += [queue, local_queue(name, name)]
    for each in made:
        await again(partial(client.create, each))


async def _remove_webhooks(client: Client) -> None:
    for kind in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        for each in (await client.list(kind)).items:
            await client.delete(kind, _name(each))


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])
