"""What `fleetqueue join` makes of its options."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fleetqueue.cli import fleets
from fleetqueue.cli.commands.join import join
from fleetqueue.jobs import registry
from fleetqueue.local_fleet.newcomers import Joined

pytestmark = pytest.mark.rule("RBAC-1")


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of jobs of the worker that would have been joined."""
    found: list[str] = []

    async def remember(*given: Any, is_near: bool) -> Joined:
        found.extend(each.kind for each in given[-1])
        return Joined()

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


def test_what_came_of_it_is_told(
    joined: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def again(*given: Any, is_near: bool) -> Joined:
        return Joined(is_new=False, warning="it does not answer", notes=["created: one"])

    monkeypatch.setattr(fleets, "join", again)
    answer = run(tmp_path)

    assert answer.exit_code == 0
    said = answer.stdout.splitlines()
    assert said[:2] == ["joined again: MultiKueueCluster/extra", "created: one"]
    assert answer.stderr == "warning: seen from here, it does not answer\n"


@pytest.mark.parametrize("is_near", [True, False])
def test_only_the_manager_of_the_fleets_directory_is_on_this_machine(
    joined: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_near: bool
) -> None:
    told: list[bool] = []

    async def remember(*given: Any, is_near: bool) -> Joined:
        told.append(is_near)
        return Joined()

    monkeypatch.setattr(fleets, "join", remember)
    manager = tmp_path / "manager"
    manager.write_text("")
    run(tmp_path, *([] if is_near else ["--manager-kubeconfig", str(manager)]))

    assert told == [is_near]


@pytest.mark.parametrize("server", ["worker:6443", "https://", "https://[x", "https://x:port"])
def test_what_is_no_address_is_refused(joined: list[str], tmp_path: Path, server: str) -> None:
    answer = run(tmp_path, "--server", server)

    assert answer.exit_code == 2
    assert f'"{server}" is no address: write --server as https://HOST:PORT' in answer.output
    assert joined == []
