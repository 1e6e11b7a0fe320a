"""What the flags of KubeFleet's agents say, and which values they refuse."""

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from fleetqueue.cli import flags, hub_flags, member_flags
from fleetqueue.cli.fleet_options import hub_options, member_options
from fleetqueue.errors import InvalidInput
from fleetqueue.fleet.settings import HubSettings, MemberSettings, Requeue

HUB = (*hub_flags.SETTINGS, *hub_flags.REACH, *hub_flags.ELECTION)
MEMBER = (
    *member_flags.SETTINGS, member_flags.DELETION, *member_flags.REQUEUE, *member_flags.HUB,
    *member_flags.PASSIVE,
)  # fmt: skip


def typed(table: tuple[flags.Flag, ...], *words: str) -> dict[str, Any]:
    """What a command with these flags is given."""
    found: dict[str, Any] = {}

    @click.command()
    @flags.options(table)
    def command(**given: Any) -> None:
        found.update(given)

    result = CliRunner().invoke(command, words, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return found


def hub(*words: str, url: str = "") -> Any:
    return hub_options(typed(HUB, *words), None, "", url)


def member(*words: str, prices: Path | None = None) -> Any:
    return member_options(typed(MEMBER, *words), None, "", "east", prices)


@pytest.mark.rule("kubefleet 10.2")
def test_a_hub_that_is_told_nothing_is_as_kubefleets() -> None:
    settings = hub().settings

    assert settings == HubSettings(enable_workload=False)
    assert (hub().elects, hub().service) == (False, "fleetwebhook")
    terms = hub().terms
    assert [each.total_seconds() for each in (terms.lease, terms.renew_deadline, terms.retry)] == [
        60, 45, 5,
    ]  # fmt: skip


@pytest.mark.rule("kubefleet 10.2")
def test_what_a_hub_is_told_is_so() -> None:
    found = hub(
        "--enable-guard-rail",
        "--enable-pdbs=false",
        "--kueue-aware-placements=false",
        "--force-delete-wait-time=1m",
        "--whitelisted-users=ann,bob",
        "--skipped-propagating-namespaces=a;b",
        "--resource-changes-collection-duration=0",
        "--leader-elect",
        url="https://hub",
    )

    settings = found.settings
    assert settings.enable_guard_rail
    assert not settings.enable_pdbs
    assert not settings.is_job_aware
    assert settings.force_delete_seconds == 60
    assert settings.whitelisted_users == ("ann", "bob")
    assert settings.skipped_namespaces == ("a", "b")
    assert settings.collection_seconds == 0
    assert found.elects
    assert found.reach.at("/x") == {"url": "https://hub/x"}


# fmt: off
REFUSED = {
    "too short": (["--force-delete-wait-time=29s"], "must be from 30s to 1h0m0s"),
    "too long": (["--cluster-unhealthy-threshold=2h"], "must be from 30s to 1h0m0s"),
    "too many": (["--max-fleet-size=201"], "must be from 30 to 200"),
    "no duration": (["--force-delete-wait-time=soon"], '"soon" is no duration'),
    "both lists": (["--skipped-propagating-apis=a", "--allowed-propagating-apis=b"], "only one of"),
    "no url": (["--webhook-client-connection-type=url"], "--webhook-url"),
    "no such way": (["--webhook-client-connection-type=pipe"], '"url" or "service"'),
    "an old version": (["--enable-v1beta1-apis=false"], "must stay true"),
    "a lease too short": (["--leader-lease-duration=30s"], "a lease must outlast"),
}
# fmt: on


@pytest.mark.rule("kubefleet 10.2")
@pytest.mark.parametrize(("words", "text"), REFUSED.values(), ids=REFUSED.keys())
def test_what_a_hub_cannot_be_told(words: list[str], text: str) -> None:
    with pytest.raises(click.UsageError) as error:
        hub(*words)

    assert text in error.value.message


@pytest.mark.rule("kubefleet 10.3")
def test_a_member_that_is_told_nothing_is_as_kubefleets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HUB_SERVER_URL", raising=False)

    assert member().settings == MemberSettings(name="east")
    assert member().hub is None


@pytest.mark.rule("kubefleet 10.3")
def test_what_a_member_is_told_is_so(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("D4: 0.5\n")
    limiter = "--work-applier-requeue-rate-limiter"
    settings = member(
        "--property-provider=azure",
        "--deletion-wait-time=1",
        f"{limiter}-max-slow-backoff-delay-seconds=5",
        "--enable-namespace-collection-in-property-provider",
        prices=prices,
    ).settings

    assert settings.provider == "azure"
    assert settings.deletion_wait_seconds == 60
    assert settings.requeue == Requeue(slow_max_seconds=5.0)
    assert settings.collects_namespaces
    assert settings.prices == {"D4": 0.5}


@pytest.mark.rule("kubefleet 10.3")
def test_what_a_member_cannot_be_told(tmp_path: Path) -> None:
    with pytest.raises(click.BadParameter, match="must be from 1 to 60"):
        member("--deletion-wait-time=61")
    prices = tmp_path / "prices.yaml"
    prices.write_text("[D4]\n")
    with pytest.raises(InvalidInput, match="price of an hour"):
        member(prices=prices)
