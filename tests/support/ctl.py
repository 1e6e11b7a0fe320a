"""kueuectl within a test: the same command line, on a client that the test has."""

import io
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from fleetqueue.base.clock import Clock
from fleetqueue.cli.kueuectl.failures import Failure
from fleetqueue.cli.kueuectl.main import main
from fleetqueue.cli.kueuectl.session import Outside, Session, Work
from fleetqueue.kube.client import Client


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    out: str
    err: str
    code: int = 0


class _Later(Outside):
    """Gives the work back, for the test to do it on its own loop."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    def run(self, flags: Mapping[str, Any], work: Work) -> Any:
        space = flags.get("namespace") or "default"
        return lambda: work(Session(self._client, space, self._clock))


class Ctl:
    """`await ctl("list", "cq")`"""

    def __init__(self, client: Client, clock: Clock, capture: pytest.CaptureFixture[str]) -> None:
        self._outside = _Later(client, clock)
        self._capture = capture

    async def __call__(self, *arguments: str, typed: str = "") -> Ran:
        before, sys.stdin = sys.stdin, io.StringIO(typed)
        self._capture.readouterr()
        code = 0
        try:
            work = main(list(arguments), self._outside)
            if work is not None:
                await work()
        except Failure as failure:
            failure.show()
            code = failure.exit_code
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.stdin = before
        shown = self._capture.readouterr()
        return Ran(shown.out, shown.err, code)
