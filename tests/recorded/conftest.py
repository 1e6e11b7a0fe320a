"""Our server in a process of its own, started once."""

from collections.abc import Iterator

import pytest

from conformance.conftest import TOKENS, USERS
from conformance.play import Player
from support.ours import start_ours


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Player]:
    server = start_ours(tmp_path_factory.mktemp("ours"), tokens=TOKENS)
    player = Player(server, USERS)
    yield player
    player.close()
