"""What `fleetqueue leave` makes of its options, and what it says."""

from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fleetqueue.cli import fleets
from fleetqueue.cli.commands.leave import leave

pytestmark = pytest.mark.rule("RBAC-1")


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """How each worker left."""
    found: list[bool] = []

    async def remember(*given: Any, is_forced: bool) -> list[str]:
        found.append(is_forced)
        return ["removed: MultiKueueCluster/one"]

    monkeypatch.setattr(fleets, "leave", remember)
    monkeypatch.setattr(fleets, "manager_access", lambda *given: SimpleNamespace())
    return found


def run(*arguments: str) -> Result:
    return CliRunner().invoke(leave, ["one", *arguments])


def test_a_worker_leaves_by_force_only_where_that_is_said(forced: list[bool]) -> None:
    assert run().exit_code == run("--force").exit_code == 0
    assert forced == [False, True]


def test_what_removes_the_account_does_not_mind_what_is_gone_already(forced: list[bool]) -> None:
    assert run().output.splitlines() == [
        "removed: MultiKueueCluster/one",
        "to remove the manager's account, run on the worker:",
        "  kubectl delete clusterrole/multikueue-sa-role clusterrolebinding/multikueue-sa-crb"
        " --ignore-not-found",
        "  kubectl -n kueue-system delete serviceaccount/multikueue-sa secret/multikueue-sa-token"
        " --ignore-not-found",
    ]


def test_a_member_needs_no_force(forced: list[bool]) -> None:
    answer = run("--fleet", "--force")

    assert answer.exit_code == 2
    assert "--force is for workers" in answer.output
    assert forced == []
