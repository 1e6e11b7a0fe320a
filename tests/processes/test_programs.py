"""The programs and helpers that pods get from us: agnhost, the names of Python, the proxy."""

import asyncio
import socket
import sys
from pathlib import Path

import pytest

from fleetqueue.runtime import rewriting
from fleetqueue.runtime.images import ImageTable
from fleetqueue.runtime.processes import Command
from fleetqueue.runtime.service_proxy import ServiceProxy, plan_listeners
from processes.conftest import ENV, SECONDS_MAX, Shell
from support.ports import free_port

AGNHOST = "registry.k8s.io/e2e-test-images/agnhost:2.47"


async def agnhost(shell: Shell, *arguments: str, **env: str) -> Command:
    argv = ImageTable().find(AGNHOST).replace_program(("/agnhost", *arguments))
    return Command(argv, {**ENV, "PYTHONUNBUFFERED": "1", **env}, shell.directory)


async def ask(address: str, port: int, path: str) -> str:
    reader, writer = await asyncio.open_connection(address, port)
    writer.write(f"GET {path} HTTP/1.0\r\n\r\n".encode())
    answer = await asyncio.wait_for(reader.read(), SECONDS_MAX)
    writer.close()
    return answer.decode().partition("\r\n\r\n")[2]


@pytest.mark.rule("jobs C.8")
async def test_the_entry_point_tester_says_what_it_was_given(shell: Shell) -> None:
    command = await agnhost(shell, "entrypoint-tester", "a", "b c")
    process = await shell.processes.start("c", command, shell.log())
    assert (await process.wait()).code == 0
    assert shell.text() == ["[/agnhost entrypoint-tester a b c]"]


@pytest.mark.rule("jobs C.8")
async def test_pause_waits_until_it_is_told_to_end(shell: Shell) -> None:
    # It says nothing, so it is asked to end until it listens.
    process = await shell.processes.start("c", await agnhost(shell, "pause"), shell.log())
    while not await _handles(process.pid, 15):
        await asyncio.to_thread(Path("/proc/self/stat").read_bytes)
    process.signal(15)
    assert (await process.wait()).code == 0


@pytest.mark.rule("jobs C.8")
async def test_a_web_server_that_is_ended_has_failed(shell: Shell) -> None:
    address, port = "127.77.0.8", free_port()
    (shell.directory / "page").write_text("a page")
    command = await agnhost(shell, "test-webserver", f"--port={port}", FLEETQUEUE_POD_IP=address)
    process = await shell.processes.start("c", command, shell.log())
    while True:
        try:
            assert await ask(address, port, "/page") == "a page"
            break
        except ConnectionRefusedError:
            await asyncio.to_thread(Path("/proc/self/stat").read_bytes)
    process.signal(15)
    assert (await process.wait()).code == 143


async def _handles(pid: int, number: int) -> bool:
    lines = await asyncio.to_thread(Path(f"/proc/{pid}/status").read_text)
    caught = next(line for line in lines.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


@pytest.mark.rule("jobs C.8")
async def test_netexec_serves_on_the_pods_address(shell: Shell) -> None:
    address, port = "127.77.0.9", 8080
    command = await agnhost(shell, "netexec", f"--http-port={port}", FLEETQUEUE_POD_IP=address)
    process = await shell.processes.start("c", command, shell.log())
    streams = await process.attach()
    while True:
        try:
            assert await ask(address, port, "/echo?msg=hello") == "hello"
            break
        except ConnectionRefusedError:
            await asyncio.to_thread(Path("/proc/self/stat").read_bytes)
    assert await ask(address, port, "/shell?cmd=echo%20x") == '{"output":"x\\n"}'
    await ask(address, port, "/exit?code=7")
    assert (await process.wait()).code == 7
    streams.close()


@pytest.mark.rule("jobs C.6")
async def test_a_python_program_finds_its_peers_without_namespaces(shell: Shell) -> None:
    preload, names = shell.directory / "preload", shell.directory / "names"
    rewriting.write_preload(preload)
    names.write_text("127.77.0.3 job-1.job\n")
    (shell.directory / "mine").mkdir()
    (shell.directory / "mine" / "sitecustomize.py").write_text("print('mine too')\n")
    env = {**ENV, "PYTHONPATH": str(shell.directory / "mine"), "HOSTNAME": "job-0"}
    env["FLEETQUEUE_POD_IP"] = "127.77.0.2"
    env.update(rewriting.helping_variables(env, preload, names))
    program = (
        "import socket; print(socket.gethostbyname('job-1.job'), socket.gethostname());"
        "s = socket.socket(); s.bind(('', 0)); print(s.getsockname()[0])"
    )
    await shell.run("", argv=(sys.executable, "-c", program), env=env)
    assert shell.text() == ["mine too", "127.77.0.3 job-0", "127.77.0.2"]


async def backend(address: str, name: str, port: int = 0) -> asyncio.Server:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(name.encode() + b" " + await reader.read())
        writer.close()

    if address != "::":
        return await asyncio.start_server(answer, address, port)
    both = socket.create_server((address, port), family=socket.AF_INET6, dualstack_ipv6=True)
    return await asyncio.start_server(answer, sock=both)


async def talk(address: str, port: int, text: bytes = b"hi") -> bytes:
    reader, writer = await asyncio.open_connection(address, port)
    writer.write(text)
    writer.write_eof()
    try:
        return await asyncio.wait_for(reader.read(), SECONDS_MAX)
    finally:
        writer.close()


@pytest.mark.rule("jobs C.6")
async def test_a_services_address_leads_to_its_pods_in_turn() -> None:
    one, two = await backend("127.77.1.1", "one"), await backend("127.77.1.2", "two")
    places = [server.sockets[0].getsockname()[:2] for server in (one, two)]
    proxy, front = ServiceProxy(), ("127.77.255.1", places[0][1])
    await proxy.update({front: places})
    assert [await talk(*front) for _ in range(3)] == [b"one hi", b"two hi", b"one hi"]
    assert len(await talk(*front, b"x" * 1_000_000)) == 1_000_004, "also much of it"

    one.close()
    await one.wait_closed()
    assert {await talk(*front) for _ in range(3)} == {b"two hi"}, "one that is gone is passed over"

    await proxy.update({front: []})
    with pytest.raises(ConnectionRefusedError):
        await talk(*front)
    await proxy.update({front: places[1:]})
    assert await talk(*front) == b"two hi"
    await proxy.update({})
    with pytest.raises(ConnectionRefusedError):
        await talk(*front)
    await proxy.close()
    two.close()
    await two.wait_closed()


async def reached(address: str, port: int) -> bytes:
    """What is said there, as soon as somebody listens."""
    while True:
        try:
            return await talk(address, port)
        except ConnectionRefusedError:
            await asyncio.to_thread(Path("/proc/self/stat").read_bytes)


@pytest.mark.rule("jobs C.6")
@pytest.mark.parametrize("own", ["127.77.3.1", "0.0.0.0", "::"])
async def test_a_pod_takes_its_port_before_its_service_does(own: str) -> None:
    port = free_port()
    proxy, front = ServiceProxy(), ("127.77.255.3", port)
    await proxy.update({front: [("127.77.3.1", port)]})
    with pytest.raises(ConnectionRefusedError):
        await talk(*front)
    pod = await backend(own, "pod", port)
    assert await reached(*front) == b"pod hi"
    await proxy.update({front: [("127.77.3.1", port)]})
    assert await reached(*front) == b"pod hi", "an update changes nothing"
    assert not proxy.failed

    await proxy.update({front: []})
    pod.close()
    await pod.wait_closed()
    again = await backend(own, "again", port)
    await proxy.update({front: [("127.77.3.1", port)]})
    assert await reached(*front) == b"again hi"
    await proxy.close()
    again.close()
    await again.wait_closed()


async def test_an_address_that_cannot_be_had_is_reported() -> None:
    taken = await backend("127.77.2.1", "taken")
    place = taken.sockets[0].getsockname()[:2]
    proxy, behind = ServiceProxy(), [("127.77.2.2", 1)]
    await proxy.update({place: behind})
    assert list(proxy.failed) == [place]
    taken.close()
    await taken.wait_closed()
    await proxy.update({place: behind})
    assert not proxy.failed
    await proxy.close()


@pytest.mark.rule("jobs C.6")
def test_which_addresses_lead_where() -> None:
    service = {
        "metadata": {"name": "web", "namespace": "ns"},
        "spec": {
            "clusterIP": "127.1.255.1",
            "ports": [
                {"name": "http", "port": 80, "nodePort": 30080},
                {"name": "dns", "port": 53, "protocol": "UDP"},
            ],
        },
    }
    foreign = {"metadata": {"name": "x", "namespace": "ns"}, "spec": {"clusterIP": "None"}}
    slices = [
        {
            "metadata": {"namespace": "ns", "labels": {"kubernetes.io/service-name": "web"}},
            "ports": [{"name": "http", "port": 8080}],
            "endpoints": [
                {"addresses": ["127.1.0.2"], "conditions": {"ready": True}},
                {"addresses": ["127.1.0.1"]},
                {"addresses": ["127.1.0.3"], "conditions": {"ready": False}},
            ],
        },
        {
            "metadata": {"namespace": "ns", "labels": {"kubernetes.io/service-name": "web"}},
            "ports": [{"name": "http"}],
            "endpoints": [{"addresses": ["127.1.0.4"]}],
        },
    ]
    behind = [("127.1.0.1", 8080), ("127.1.0.2", 8080)]
    assert plan_listeners([service, foreign], slices, ["127.0.0.1"]) == {
        ("127.1.255.1", 80): behind,
        ("127.0.0.1", 30080): behind,
    }
