"""What `fleetqueue join` makes of its options."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fleetqueue.cli import fleets
from fleetqueue.cli.commands.join import join
from fleetqueue.jobs import registry

pytestmark = pytest.mark.rule("RBAC-1")


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of jobs of the worker that would have been joined."""
    found: list[str] = []

    async def remember(*given: Any) -> None:
        found.extend(each.kind for each in given[-1])

    access = SimpleNamespace(name="extra", server="https://extra:6443")
    manager = SimpleNamespace(name="manager", server="https://manager:6443")
    monkeypatch.setattr(fleets, "join", remember)
    monkeypatch.setattr(fleets, "access", lambda *given: access)
    monkeypatch.setattr(fleets, "manager_access", lambda *given: manager)
    return found


def run(path: Path, *arguments: str) -> Result:
    file = path / "kubeconfig"
    file.write_text("")
    return CliRunner().invoke(join, ["--kubeconfig", str(file), *arguments])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], sorted(kind.resource.kind for kind in registry.all_kinds())),
        (["--framework", "batch/job", "--framework", "Foo.v1.example.com"], ["Foo", "Job"]),
    ],
    ids=["all", "some"],
)
def test_a_worker_takes_the_kinds_that_are_named(
    joined: list[str], tmp_path: Path, arguments: list[str], expected: list[str]
) -> None:
    answer = run(tmp_path, *arguments)

    assert answer.exit_code == 0, answer.output
    assert sorted(joined) == expected


def test_the_manager_is_no_worker_of_its_own(
    joined: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleets, "manager_access", fleets.access)
    answer = run(tmp_path)

    assert answer.exit_code == 2
    assert "https://extra:6443 is the manager itself" in answer.output
    assert joined == []


def test_a_member_has_no_frameworks(joined: list[str], tmp_path: Path) -> None:
    answer = run(tmp_path, "--fleet", "--framework", "batch/job")

    assert answer.exit_code == 2
    assert "--framework is for workers" in answer.output
    assert joined == []
