"""What `fleetqueue controller` makes of its options and of Kueue's configuration file."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fleetqueue import attached
from fleetqueue.cli.commands import controller as command

HEAD = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What would have been run, and whether with many words."""
    found: dict[str, Any] = {}
    monkeypatch.setattr(attached, "run", lambda options: found.update(options=options))
    monkeypatch.setattr(command, "_run", lambda running, verbose: found.update(verbose=verbose))
    return found


def run(*arguments: str) -> None:
    answer = CliRunner().invoke(command.controller, list(arguments))
    assert answer.exit_code == 0, answer.output


@pytest.mark.rule("kueue 10.2")
@pytest.mark.parametrize(
    ("level", "is_verbose"),
    [("info", False), ("error", False), ("panic", False), ("debug", True), ("2", True)],
)
def test_it_takes_the_flags_of_kueues_own_program(
    told: dict[str, Any], tmp_path: Path, level: str, is_verbose: bool
) -> None:
    file = tmp_path / "controller_manager_config.yaml"
    file.write_text(HEAD)
    run(f"--config={file}", f"--zap-log-level={level}", "--zap-encoder=json", "--zap-devel=true")

    assert told["verbose"] is is_verbose


@pytest.mark.rule("kueue 10.1")
@pytest.mark.parametrize(
    ("arguments", "place"),
    [([], ("10.0.0.1", 9444)), (["--webhook-host=::", "--webhook-port=0"], ("::", 0))],
    ids=["the file", "the options win"],
)
def test_webhooks_listen_where_the_file_says(
    told: dict[str, Any], tmp_path: Path, arguments: list[str], place: tuple[str, int]
) -> None:
    file = tmp_path / "controller_manager_config.yaml"
    file.write_text(f"{HEAD}webhook: {{host: 10.0.0.1, port: 9444}}\n")
    run(f"--config={file}", *arguments)

    assert (told["options"].webhook_host, told["options"].webhook_port) == place


@pytest.mark.rule("kueue 10.1")
def test_webhooks_listen_everywhere_where_nothing_is_said(told: dict[str, Any]) -> None:
    run()
    assert (told["options"].webhook_host, told["options"].webhook_port) == ("0.0.0.0", 9443)


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
    told: dict[str, Any], arguments: list[str], expected: tuple[float, ...]
) -> None:
    run(*arguments)

    made = told["options"].kueue.dispatching
    assert (
        made.tolerates_missing_kinds,
        made.batch_seconds,
        made.round_seconds,
        made.preemption_seconds,
    ) == expected


@pytest.mark.parametrize(
    ("arguments", "is_warned"), [([], True), (["--webhook-url=https://here:9443"], False)]
)
def test_outside_of_a_cluster_it_says_that_nobody_may_reach_its_webhooks(
    told: dict[str, Any], arguments: list[str], is_warned: bool
) -> None:
    answer = CliRunner().invoke(command.controller, arguments)

    warning = "Warning: the cluster asks webhooks of its Service kueue-system/kueue-webhook-service"
    assert answer.stderr.startswith(warning) is is_warned, answer.stderr
