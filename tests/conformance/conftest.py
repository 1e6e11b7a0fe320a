"""Both servers, started once for the whole suite."""

from collections.abc import Iterator

import pytest

from conformance import recorded
from conformance.cases import load_cases
from conformance.play import Player
from conformance.recorded import Answers
from support.hooks import HookServer
from support.ours import start_ours
from support.reference import start_reference

USERS = {"alice": "alice-token", "bob": "bob-token", "carol": "carol-token"}
TOKENS = (
    'alice-token,alice,u1,"team-a"\n'
    'bob-token,bob,u2,"team-b"\n'
    'carol-token,carol,u3,"system:masters"\n'
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record", action="store_true", help="keep kube-apiserver's answers for tests/recorded"
    )


@pytest.fixture(scope="session")
def answers(request: pytest.FixtureRequest) -> Iterator[dict[str, Answers]]:
    """What kube-apiserver answered, by case; kept at the end where that was asked for."""
    found: dict[str, Answers] = {}
    yield found
    if request.config.getoption("--record"):
        recorded.save(found, {case.name for case in load_cases()})


@pytest.fixture(scope="session")
def hook() -> Iterator[HookServer]:
    with HookServer() as server:
        yield server


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory, hook: HookServer) -> Iterator[Player]:
    server = start_reference(tmp_path_factory.mktemp("reference"), tokens=TOKENS)
    player = Player(server, USERS, hook)
    yield player
    player.close()


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory, hook: HookServer) -> Iterator[Player]:
    server = start_ours(tmp_path_factory.mktemp("ours"), tokens=TOKENS)
    player = Player(server, USERS, hook)
    yield player
    player.close()
