"""The parts list: which servers and loops a process runs, put together from one set of options."""

import asyncio
import base64
import contextlib
import dataclasses
import logging
import os
import random
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fleetqueue.apiserver.access import static_tokens
from fleetqueue.apiserver.access.certificates import Authority
from fleetqueue.apiserver.access.jwt import SigningKey
from fleetqueue.apiserver.access.key_pairs import KeyPair
from fleetqueue.apiserver.access.static_tokens import StaticTokens
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.aggregation import trust
from fleetqueue.apiserver.aggregation.calling import FrontProxy
from fleetqueue.apiserver.door import Door
from fleetqueue.apiserver.instance import Instance, Settings
from fleetqueue.apiserver.log import Log, MemoryLog, SqliteLog
from fleetqueue.base.clock import Clock, SystemClock
from fleetqueue.errors import UserError

if TYPE_CHECKING:
    from fleetqueue.embedded.live import Live, LiveOptions
    from fleetqueue.embedded.newborn import Newborn

logger = logging.getLogger(__name__)

ADMIN = User("kubernetes-admin", groups=("system:masters",))


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What `fleetqueue serve` was asked for."""

    data: Path
    port: int = 0
    host: str = "127.0.0.1"
    durability: str = "full"
    token_file: Path | None = None
    extra_names: tuple[str, ...] = ()
    live: "LiveOptions | None" = None
    """What kind of cluster runs behind the server; None: a bare server."""
    dashboard_port: int = 0
    """Where whoever runs the server shows a dashboard beside it; 0: nowhere."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers."""

    instance: Instance
    url: str
    kubeconfig: Path
    door: Door


@contextlib.asynccontextmanager
async def serving(options: ServeOptions) -> AsyncIterator[Running]:
    """An API server with its door open, and its cluster, until the block ends."""
    with _numbered(options) as numbered:
        async with _serving(numbered) as running:
            yield running


def plant(options: ServeOptions, newborn: "Newborn") -> None:
    """Give a cluster that has never run what it would make at its first start."""
    log = _open_log(options)
    try:
        newborn.plant(log, SystemClock(), random.SystemRandom())
    finally:
        log.close()


@contextlib.contextmanager
def _numbered(options: ServeOptions) -> Iterator[ServeOptions]:
    """A cluster that runs pods has addresses of its own on this machine."""
    if options.live is None:
        yield options
        return
    from fleetqueue.embedded import numbers

    with _data_errors(options.data):
        number = numbers.take(options.data / "runtime")
    try:
        yield replace(options, live=replace(options.live, number=number.value))
    finally:
        number.release()


@contextlib.asynccontextmanager
async def _serving(options: ServeOptions) -> AsyncIterator[Running]:
    with contextlib.ExitStack() as undo:
        options, listener = _settle_port(options, undo)
        log = _open_log(options)
        undo.callback(log.close)
        with _data_errors(options.data):
            instance, authority = _assemble(options, log)
            tls = _tls(authority, options)
        door = Door(instance.handle, tls)
        if options.live is not None:
            # Whoever waits for the server waits for its cluster too.
            instance.pages.checks["cluster"] = lambda: False
        # From here on the instance closes its log itself, also where it is given up in its start.
        undo.pop_all()
    try:
        await instance.start()
        live = await _prepared(options, instance, authority)
        await _open_door(door, options, listener)
        url = f"https://{_address(options.host)}:{door.port}"
        instance.pages.server_url = url
        kubeconfig = options.data / "kubeconfig"
        with _data_errors(options.data):
            _write_kubeconfig(kubeconfig, url, authority, _admin_pair(authority))
        async with _running(live, instance):
            yield Running(instance, url, kubeconfig, door)
    finally:
        # Watches end first, so that the door has nobody left to wait for.
        instance.core.feed.close_all()
        await door.close()
        if listener is not None:
            listener.close()
        await instance.stop()


async def _prepared(
    options: ServeOptions, instance: Instance, authority: Authority
) -> "Live | None":
    """The cluster behind the server, where one is asked for, with its kinds in place."""
    if options.live is None:
        return None
    from fleetqueue.embedded.live import Live

    settings = replace(
        options.live,
        api_host=options.host,
        api_port=options.port,
        url=f"https://{_address(options.host)}:{options.port}",
        authority=authority.certificate,
    )
    live = Live(instance, SystemClock(), random.SystemRandom(), settings)
    await live.prepare()
    return live


@contextlib.asynccontextmanager
async def _running(live: "Live | None", instance: Instance) -> AsyncIterator[None]:
    """Nodes, pods and controllers beside the server."""
    if live is None:
        yield
        return
    try:
        await live.start()
        instance.pages.checks["cluster"] = lambda: True
        yield
    finally:
        await live.stop()


async def until_stopped() -> None:
    """Wait for an interrupt or a termination signal."""
    stopped = asyncio.Event()
    on_stop(stopped.set)
    await stopped.wait()


def on_stop(callback: Callable[[], None]) -> None:
    """Call it, from the running event loop, when this process is told to stop."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, callback)


def _assemble(options: ServeOptions, log: Log) -> tuple[Instance, Authority]:
    clock, source = SystemClock(), random.SystemRandom()
    private = options.data / "pki"
    authority = Authority.load_or_create(private, clock)
    token = static_tokens.load_or_create_admin_token(private / "admin-token", source)
    settings = Settings(
        signing_key=SigningKey.load_or_create(private / "service-accounts.key"),
        static_tokens=_tokens(options, token),
        authority=authority.certificate,
        front_proxy=_front_proxy(private / "front-proxy", clock),
        url=f"https://{_address(options.host)}:{options.port}",
    )
    if options.live is not None:
        settings.service_network = options.live.service_network
    return Instance(log, clock, source, settings), authority


def _front_proxy(directory: Path, clock: Clock) -> FrontProxy:
    """An authority of its own: who can speak for others must not pass for an ordinary client."""
    authority = Authority.load_or_create(directory, clock, "front-proxy-ca")
    pair = authority.client(trust.CLIENT_NAME, trust.CLIENT_NAME)
    return FrontProxy(authority.certificate, *_files(directory, trust.CLIENT_NAME, pair))


def _settle_port(
    options: ServeOptions, undo: contextlib.ExitStack
) -> tuple[ServeOptions, socket.socket | None]:
    """Where the system is to choose the port, it does so now: a server starts by telling it."""
    if options.port:
        return options, None
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    with _listen_errors(options):
        listener = undo.enter_context(socket.socket(family, socket.SOCK_STREAM))
        # So that a server which is started again right after its death gets the port again.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((options.host, 0))
    return dataclasses.replace(options, port=listener.getsockname()[1]), listener


async def _open_door(door: Door, options: ServeOptions, listener: socket.socket | None) -> None:
    with _listen_errors(options):
        await door.open(options.host, options.port, listener)


@contextlib.contextmanager
def _listen_errors(options: ServeOptions) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(
            f"cannot listen on {options.host} port {options.port} ({_reason(error)}): stop the "
            "program that listens there, or choose another address with --host and --port"
        ) from error


@contextlib.contextmanager
def _data_errors(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(
            f'"{directory}" cannot hold data ({_reason(error)}): make it a directory that this '
            "user may write to, or choose another one with --data"
        ) from error


def _reason(error: OSError) -> str:
    """Without the numbers and arguments that event loops put into the text."""
    if error.errno and error.errno > 0:
        return os.strerror(error.errno).lower()
    return (error.strerror or str(error)).lower()


def _open_log(options: ServeOptions) -> Log:
    if options.durability == "memory":
        return MemoryLog()
    return SqliteLog(options.data / "state.db", durable=options.durability == "full")


def _tokens(options: ServeOptions, admin: str) -> StaticTokens:
    tokens = StaticTokens()
    tokens.add(admin, ADMIN)
    if options.token_file is not None:
        text = options.token_file.read_text()
        for token, user in static_tokens.parse_token_file(text, str(options.token_file)):
            tokens.add(token, user)
    return tokens


def _tls(authority: Authority, options: ServeOptions) -> ssl.SSLContext:
    names = [options.host, *options.extra_names]
    if options.live is not None:
        names.append(options.live.api_service_address)
    pair = authority.serving(names)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(*_files(options.data / "pki", "serving", pair))
    context.load_verify_locations(cadata=authority.certificate.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def _files(directory: Path, name: str, pair: KeyPair) -> tuple[Path, Path]:
    return directory / f"{name}.crt", directory / f"{name}.key"


def _admin_pair(authority: Authority) -> KeyPair:
    return authority.client("admin", ADMIN.name, ADMIN.groups)


def _address(host: str) -> str:
    return f"[{host}]" if ":" in host else {"0.0.0.0": "127.0.0.1", "": "127.0.0.1"}.get(host, host)


def _write_kubeconfig(path: Path, url: str, authority: Authority, admin: KeyPair) -> None:
    def encoded(data: bytes) -> str:
        return base64.b64encode(data).decode()

    text = KUBECONFIG.format(
        server=url,
        authority=encoded(authority.certificate),
        certificate=encoded(admin.certificate),
        key=encoded(admin.key),
    )
    path.touch(mode=0o600)
    path.write_text(text)


KUBECONFIG = """\
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: {authority}
    server: {server}
  name: fleetqueue
contexts:
- context:
    cluster: fleetqueue
    namespace: default
    user: admin
  name: fleetqueue
current-context: fleetqueue
kind: Config
users:
- name: admin
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
"""
