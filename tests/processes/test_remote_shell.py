"""The remote shell between real processes: the program that stands for ssh, and who answers it."""

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.sources import Listed
from fleetqueue.runtime import remote_shell as wire
from fleetqueue.runtime.pod_worker import PodWorker
from fleetqueue.runtime.remote_shell_access import Access
from fleetqueue.runtime.remote_shell_server import RemoteShellServer
from processes.conftest import ENV, SECONDS_MAX, Shell, gone

Called = asyncio.subprocess.Process

pytestmark = pytest.mark.rule("jobs B.5", "jobs C.9")


def pod(name: str, job: str = "job", phase: str = "Running") -> Object:
    mount = {"name": "ssh-auth", "mountPath": "/root/.ssh"}
    owner = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "name": job, "uid": job}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {
            "volumes": [{"name": "ssh-auth", "secret": {"secretName": "s"}}],
            "containers": [{"name": "c", "volumeMounts": [mount]}],
        },
        "status": {"phase": phase},
    }


class Pods:
    """As much of a cluster as the server looks at: pods, and who hears of them."""

    def __init__(self) -> None:
        self.found: list[Object] = []
        self._listeners: list[Callable[[Any, Any], None]] = []

    def informer(self, kind: Resource) -> "Pods":
        return self

    def listen(self, listener: Callable[[Any, Any], None]) -> None:
        self._listeners.append(listener)

    def cached(self, kind: Resource, name: str, namespace: str = "") -> Object | None:
        return Listed(self.found).get(kind, namespace, name)

    def cached_by(self, kind: Resource, index: str, value: str) -> Iterable[Object]:
        return Listed(self.found).controlled(kind, value, "")

    def changed(self) -> None:
        for listener in self._listeners:
            listener(None, None)


@dataclass
class World:
    """Pods of this machine that can reach each other."""

    shell: Shell
    access: Access
    pods: Pods = field(default_factory=Pods)
    workers: dict[str, Any] = field(default_factory=dict)

    async def run(self, name: str, **settings: str) -> Any:
        """A pod that runs, in a directory of its own."""
        made = next((each for each in self.pods.found if each["metadata"]["name"] == name), None)
        if made is None:
            made = pod(name, **settings)
            self.pods.found.append(made)
        directory = self.shell.directory / name
        directory.mkdir()
        process = await self.shell.start("exec sleep 100000", name, cwd=directory)

        async def hook(pod: Object, container: Object, argv: list[str], sandbox: Any) -> Any:
            return self.shell.command("", argv=tuple(argv), cwd=directory)

        self.workers[made["metadata"]["uid"]] = SimpleNamespace(
            pod=made,
            workers=[SimpleNamespace(name="c", process=process)],
            preparation=SimpleNamespace(hook=hook),
            sandbox=None,
        )
        self.pods.changed()
        return process

    async def call(
        self, *words: str, asking: str = "a", **options: Any
    ) -> asyncio.subprocess.Process:
        """The program, as a launcher in a pod starts it."""
        env = {
            **ENV,
            wire.SOCKET: str(self.access.socket),
            wire.KEY: self.access.key_of(f"uid-{asking}"),
        }
        return await asyncio.create_subprocess_exec(
            str(self.access.program),
            *words,
            env=env,
            **{
                "stdin": asyncio.subprocess.DEVNULL,
                "stdout": asyncio.subprocess.PIPE,
                "stderr": asyncio.subprocess.PIPE,
                **options,
            },
        )

    async def answer(self, *words: str, **options: Any) -> tuple[int, str, str]:
        called = await self.call(*words, **options)
        out, error = await asyncio.wait_for(called.communicate(), SECONDS_MAX)
        assert called.returncode is not None
        return called.returncode, out.decode(), error.decode()


@pytest.fixture
async def world(shell: Shell) -> AsyncIterator[World]:
    # Longer than the address of a socket may be.
    directory = shell.directory / ("long-" * 30)
    made = World(shell, Access(directory, b"secret"))
    find = cast("Callable[[str], PodWorker | None]", made.workers.get)
    server = RemoteShellServer(cast("Cluster", made.pods), made.access, find)
    server.open()
    running = asyncio.create_task(server.run())
    await made.run("a")
    yield made
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert not made.access.socket.exists()


async def test_a_command_runs_in_the_pod_of_its_host(world: World) -> None:
    await world.run("b")
    assert await world.answer("b", "pwd; echo $0 >&2; exit 6") == (
        6, f"{world.shell.directory}/b\n", "/bin/sh\n",
    )  # fmt: skip
    assert (await world.answer("a", "pwd"))[1] == f"{world.shell.directory}/a\n"


async def test_no_command_is_a_shell_that_reads_its_input(world: World) -> None:
    called = await world.call("a", stdin=asyncio.subprocess.PIPE)
    out, _ = await called.communicate(b"echo one\nexit 2\n")
    assert (called.returncode, out) == (2, b"one\n")


async def test_streams_flow_both_ways_at_once(world: World) -> None:
    """Neither side waits for the other where both have much to say."""
    data = bytes(range(256)) * 16384
    called = await world.call("a", "tee /dev/stderr", stdin=asyncio.subprocess.PIPE)
    out, error = await asyncio.wait_for(called.communicate(data), SECONDS_MAX)
    assert called.returncode == 0
    assert out == error == data


async def test_a_command_that_reads_nothing_still_gets_signals(world: World) -> None:
    called = await world.call(
        "a",
        "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done",
        stdin=asyncio.subprocess.PIPE,
    )
    assert called.stdin is not None
    assert called.stdout is not None
    called.stdin.write(b"x" * 10_000_000)
    assert await asyncio.wait_for(called.stdout.readline(), SECONDS_MAX) == b"ready\n"
    called.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(called.wait(), SECONDS_MAX) == 9
    called.stdin.close()


async def test_a_command_ends_with_whoever_asked_for_it(world: World) -> None:
    called = await world.call("a", "echo $$; exec sleep 100000")
    assert called.stdout is not None
    pid = int(await asyncio.wait_for(called.stdout.readline(), SECONDS_MAX))
    called.kill()
    assert await gone(pid)
    await called.wait()


async def test_what_a_command_leaves_in_the_background_goes_on(world: World) -> None:
    """As with ssh: daemons of launchers say that they are there and detach themselves."""
    _, out, _ = await world.answer("a", "setsid sleep 100000 >/dev/null 2>&1 & echo $!")
    assert not await gone(int(out), seconds=0)


async def test_a_pod_that_is_about_to_run_is_waited_for(world: World) -> None:
    world.pods.found.append(pod("b", phase="Pending"))
    called = await world.call("b", "echo at last")
    waiting = asyncio.create_task(called.communicate())
    await world.answer("a", "true")
    assert not waiting.done()
    await world.run("b")
    assert (await asyncio.wait_for(waiting, SECONDS_MAX))[0] == b"at last\n"


async def test_a_signal_ends_the_wait(world: World) -> None:
    world.pods.found.append(pod("b", phase="Pending"))
    called = await world.call("b", "echo never")
    # It hears signals once it listens for them, and until then they end it all the same.
    await world.answer("a", "true")
    called.send_signal(signal.SIGTERM)
    code = await asyncio.wait_for(called.wait(), SECONDS_MAX)
    assert code in (128 + signal.SIGTERM, -signal.SIGTERM)


@pytest.mark.parametrize(
    ("host", "asking", "why"),
    [
        ("other", "a", "Could not resolve hostname other: no pod of this job has that name"),
        ("ended", "a", "connect to host ended: Connection refused: its pod has ended"),
        ("a", "other", "Could not resolve hostname a: no pod of this job has that name"),
        ("a", "stranger", "Permission denied: only a pod of the same job can be reached"),
    ],
)
async def test_only_peers_are_reached(world: World, host: str, asking: str, why: str) -> None:
    await world.run("other", job="another")
    world.pods.found.append(pod("ended", phase="Failed"))
    found = await world.answer(host, "echo in", asking=asking)
    assert found == (255, "", f"remote-shell: {why}\n")


async def test_a_pod_that_is_gone_can_ask_no_more(world: World) -> None:
    del world.workers["uid-a"]
    code, _, error = await world.answer("a", "echo in")
    assert (code, "Permission denied" in error) == (255, True)


@pytest.mark.parametrize(
    "sent",
    [
        wire.frame(wire.INPUT, b"x"),
        wire.frame(wire.HELLO, b"no JSON"),
        wire.frame(wire.HELLO, b"[]"),
        wire.frame(wire.HELLO, b'{"key": ""}'),
        wire.HEAD.pack(wire.HELLO, 2**31),
    ],
)
async def test_what_cannot_be_understood_is_refused(world: World, sent: bytes) -> None:
    def ask() -> bytes:
        with socket.socket(socket.AF_UNIX) as asking:
            with wire.short_name(str(world.access.socket)) as name:
                asking.connect(name)
            asking.settimeout(SECONDS_MAX)
            asking.sendall(sent)
            return asking.recv(4096)

    heard = await asyncio.to_thread(ask)
    assert heard == wire.frame(wire.PROBLEM, b"the request cannot be understood")


async def test_a_server_that_is_gone_is_told_of(world: World) -> None:
    env = {**ENV, wire.SOCKET: "/nowhere/socket"}
    called = await asyncio.create_subprocess_exec(
        sys.executable, wire.__file__, "a", "true",
        env=env, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, error = await called.communicate()
    assert called.returncode == 255
    assert error.startswith(b"remote-shell: ")
