"""Our server in a process of its own, started as a user starts it."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from support.ports import free_port
from support.server import Server, wait_until

BARE = ("--no-runtime",)
"""A server alone: nobody else writes into it."""


def start_ours(
    directory: Path,
    *,
    durability: str = "normal",
    tokens: str = "",
    host: str = "127.0.0.1",
    port: int = 0,
    verbose: bool = False,
    flags: Sequence[str] = BARE,
) -> Server:
    directory.mkdir(parents=True, exist_ok=True)
    port = port or free_port()
    arguments = [*command(directory, port, durability, flags), "--host", host]
    arguments += ["--verbose"] * verbose
    if tokens:
        (directory / "tokens.csv").write_text(tokens)
        arguments += ["--token-auth-file", str(directory / "tokens.csv")]
    with (directory / "serve.log").open("ab") as log:
        process = subprocess.Popen(arguments, stdout=log, stderr=log)
    authority = directory / "pki" / "ca.crt"
    server = Server("fleetqueue", f"https://{host}:{port}", "", str(authority), [process])
    try:
        wait_until("fleetqueue serve", lambda: _is_ready(server, directory, process))
    except BaseException:
        server.stop()
        raise
    server.kubeconfig = directory / "kubeconfig"
    return server


def command(directory: Path, port: int, durability: str, flags: Sequence[str] = BARE) -> list[str]:
    """What a user types to start a server."""
    return [
        sys.executable, "-m", "fleetqueue", "serve",
        "--data", str(directory), "--port", str(port), "--durability", durability, *flags,
    ]  # fmt: skip


def _is_ready(server: Server, directory: Path, process: "subprocess.Popen[bytes]") -> bool:
    if process.poll() is not None:
        raise AssertionError((directory / "serve.log").read_text())
    token = directory / "pki" / "admin-token"
    if not token.exists() or not Path(server.authority).exists():
        return False
    server.token = token.read_text().strip()
    with server.client() as client:
        return client.send("GET", "/readyz").status == 200
