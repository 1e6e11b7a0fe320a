"""What `fleetqueue serve` makes of its options."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fleetqueue.cli.commands import serve as command


class Runner:
    """Runs nothing."""

    def __enter__(self) -> "Runner":
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to end."""

    def run(self, asked: Any) -> None:
        """It is remembered already."""


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The options of what would have been served."""
    found: list[Any] = []
    monkeypatch.setattr(command, "_serve", found.append)
    monkeypatch.setattr(command, "new_runner", Runner)
    yield found
    gc.enable()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], (False, 0.02, 300.0, 300.0)),
        (
            [
                "--tolerate-missing-kinds",
                "--multikueue-batch-period=250ms",
                "--multikueue-incremental-round=90s",
                "--multikueue-preemption-turn=2m",
            ],
            (True, 0.25, 90.0, 120.0),
        ),
    ],
    ids=["nothing is said", "all of it is"],
)
@pytest.mark.rule("IMP-6")
@pytest.mark.rule("HAR-31")
def test_what_the_file_cannot_say_of_workers_is_told_by_flags(
    served: list[Any], tmp_path: Path, arguments: list[str], expected: tuple[float, ...]
) -> None:
    answer = CliRunner().invoke(command.serve, ["--data", str(tmp_path), *arguments])

    assert answer.exit_code == 0, answer.output
    [options] = served
    made = options.live.kueue.dispatching
    assert (
        made.tolerates_missing_kinds,
        made.batch_seconds,
        made.round_seconds,
        made.preemption_seconds,
    ) == expected


@pytest.mark.rule("HAR-31")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch-period", "2m"),
        ("batch-period", "soon"),
        ("incremental-round", "0s"),
        ("preemption-turn", "25h"),
    ],
)
def test_a_period_that_cannot_be_is_refused(
    served: list[Any], tmp_path: Path, name: str, value: str
) -> None:
    arguments = ["--data", str(tmp_path), f"--multikueue-{name}={value}"]
    answer = CliRunner().invoke(command.serve, arguments)

    assert answer.exit_code == 2
    assert f"--multikueue-{name}" in answer.output
    assert served == []
