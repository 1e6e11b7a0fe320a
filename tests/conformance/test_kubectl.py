"""kubectl itself: the same commands on kube-apiserver and on ours print the same."""

import difflib
import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path

import pytest

from conformance.play import Player
from support.reference import binaries

FOLDER = Path(__file__).parent / "kubectl"
LINES = [line for line in (FOLDER / "commands").read_text().splitlines() if line[:1] != "#"]
DEFINITION = "boxes.kubectl.example.com"
SECONDS_MAX = 60
MEANINGS = [
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
    (r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} \+0000", "<time>"),
    (r"\d{4}-\d\d-\d\d[T ][\d:]+(?:Z| \+0000 UTC)", "<time>"),
    (r'(resourceVersion: "|Resource Version: +)\d+', "<version>"),
    (r"kube-api-access-[a-z0-9]{5}", "<token>"),
    (r"\b\d+(?:m\d+)?s(?=\s|$)", "<age>"),
    (r"[EW]\d{4} [\d:.]+ +\d+", "<log>"),
    (r" {2,}", "  "),
    (r" +$", ""),
]
"""What differs between any two runs, and what stands for it."""


@pytest.fixture(scope="module")
def both(reference: Player, ours: Player) -> Iterator[tuple[Player, Player]]:
    players = (reference, ours)
    for player in players:
        _, code = kubectl(player, "apply -f definition.yaml")
        assert code == 0
        _wait_for_boxes(player)
    yield players
    for player in players:
        kubectl(player, f"delete crd {DEFINITION}")


def test_kubectl_prints_the_same(both: tuple[Player, Player]) -> None:
    differences = []
    # Both servers stand idle most of the time that kubectl runs.
    pool = ThreadPoolExecutor(len(both))
    for line in LINES:
        (theirs, their_code), (own, own_code) = pool.map(partial(kubectl, line=line), both)
        if (own, own_code) != (theirs, their_code):
            diff = difflib.unified_diff(theirs, own, "kube-apiserver", "fleetqueue", lineterm="")
            differences.append("\n".join([f"$ kubectl {line}", *diff]))
    if differences:
        pytest.fail("\n\n".join(differences), pytrace=False)


def kubectl(player: Player, line: str) -> tuple[list[str], int]:
    """What a command prints, made comparable, and how it exits."""
    done = subprocess.run(
        [_program(), f"--kubeconfig={player.server.kubeconfig}", *split(line)],
        cwd=FOLDER,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"KUBECACHEDIR": f"{player.server.kubeconfig}.cache"},
        timeout=SECONDS_MAX,
        check=False,
    )
    text = done.stdout.decode()
    for pattern, meaning in MEANINGS:
        text = re.sub(pattern, meaning, text, flags=re.MULTILINE)
    return text.splitlines(), done.returncode


def split(line: str) -> list[str]:
    """As a shell would, but quotes are for JSON."""
    return shlex.split(line.replace('"', '\\"'))


@cache
def _program() -> str:
    return str(binaries() / "kubectl")


def _wait_for_boxes(player: Player) -> None:
    for _ in range(200):
        paths = player.send("GET", "/openapi/v3").json["paths"]
        if "apis/kubectl.example.com/v1" in paths:
            return
        time.sleep(0.1)
    raise AssertionError(f"{player.server.name} does not describe boxes")
