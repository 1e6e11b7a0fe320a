"""A start loads no library that it has no use for: half of a start is loading."""

import subprocess
import sys
from pathlib import Path

SLOW = ("aiohttp", "cryptography", "http.client", "yaml")
"""They take from twenty to two hundred milliseconds each."""

PRINT_SLOW = f"""
import sys
print(*sorted(name for name in {SLOW!r} if name in sys.modules))
"""
START = """
import asyncio, pathlib, sys
from fleetqueue.app import ServeOptions, serving

async def start():
    async with serving(ServeOptions(pathlib.Path(sys.argv[1]))):
        pass

asyncio.run(start())
"""


def run(program: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_the_parts_of_a_server_load_nothing_slow() -> None:
    assert run(f"import fleetqueue.app, fleetqueue.cli.commands.serve\n{PRINT_SLOW}") == ""


def test_the_parts_of_a_cluster_load_nothing_that_only_some_clusters_need() -> None:
    loaded = run(f"import fleetqueue.embedded.live, fleetqueue.nursery.parent\n{PRINT_SLOW}")
    assert not {"aiohttp", "cryptography"} & set(loaded.split())


def test_a_first_start_loads_what_makes_certificates_and_a_second_nothing_slow(
    tmp_path: Path,
) -> None:
    data = str(tmp_path / "data")
    assert run(START + PRINT_SLOW, data) == "cryptography"
    assert run(START + PRINT_SLOW, data) == ""
    (tmp_path / "data" / "pki" / "serving.crt").write_text("damaged")
    assert run(START + PRINT_SLOW, data) == "cryptography"


def test_who_only_waits_for_clusters_loads_next_to_nothing() -> None:
    parts = (
        "from fleetqueue.local_fleet import guardian, held\nfrom fleetqueue.nursery import children"
    )
    found = "{'asyncio', 'msgspec', 'logging'} & set(sys.modules)"
    program = f"import sys\n{parts}\nprint(*{found})"
    assert run(program) == ""
