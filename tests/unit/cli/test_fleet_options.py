"""What the flags of KubeFleet's agents say, and which values they refuse."""

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from fleetqueue.base.backoff import Backoff
from fleetqueue.cli import flags, hub_flags, member_flags
from fleetqueue.cli.fleet_options import hub_options, member_options
from fleetqueue.errors import InvalidInput
from fleetqueue.fleet.attached.hub import workers
from fleetqueue.fleet.settings import HubSettings, MemberSettings, Requeue
from fleetqueue.kube.allowance import Rate

HUB, MEMBER = hub_flags.ALL, member_flags.ALL


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
    "too few at once": (["--max-concurrent-cluster-placement=9"], "must be from 10 to 200"),
    "delays that shrink": (["--rate-limiter-max-delay=1ms"], "shorter than the first"),
    "a burst of nothing": (["--hub-api-qps=5", "--hub-api-burst=0"], "a burst at least 1"),
    "too often": (["--leader-election-qps=1001"], "must be from 10 to 1000"),
    "too seldom": (["--resync-period=13h"], "must be from 1h0m0s to 12h0m0s"),
    "no pods": (["--use-cert-manager"], "needs --enable-workload"),
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


HUB_NAMES = """
leader-elect leader-lease-duration leader-renew-deadline leader-retry-period
leader-election-namespace leader-election-qps leader-election-burst health-probe-bind-address
metrics-bind-address enable-pprof pprof-port hub-api-qps hub-api-burst resync-period enable-webhook
webhook-client-connection-type webhook-service-name enable-guard-rail whitelisted-users
deny-modify-member-cluster-labels enable-workload enable-pdbs use-cert-manager
enable-admission-policy-manager admission-policy-manager-config enable-v1beta1-apis
enable-cluster-inventory-apis enable-staged-update-run-apis enable-eviction-apis
enable-resource-placement networking-agents-enabled cluster-unhealthy-threshold
force-delete-wait-time skipped-propagating-apis allowed-propagating-apis
skipped-propagating-namespaces concurrent-resource-change-syncs max-fleet-size
max-concurrent-cluster-placement rate-limiter-base-delay rate-limiter-max-delay rate-limiter-qps
rate-limiter-bucket-size resource-snapshot-creation-minimum-interval
resource-changes-collection-duration work-pending-grace-period
"""
MEMBER_NAMES = """
hub-health-probe-bind-address hub-metrics-bind-address hub-pprof-port health-probe-bind-address
metrics-bind-address pprof-port hub-api-qps hub-api-burst member-api-qps member-api-burst
leader-elect enable-pprof use-ca-auth tls-insecure deletion-wait-time
enable-work-applier-priority-queue work-applier-priority-linear-equation-coeff-a
work-applier-priority-linear-equation-coeff-b property-provider region cloud-config
use-cost-properties-in-azure-provider use-available-res-properties-in-azure-provider
enable-namespace-collection-in-property-provider enable-v1beta1-apis
"""


@pytest.mark.rule("kubefleet 10.2", "kubefleet 10.3")
@pytest.mark.parametrize(("table", "names"), [(HUB, HUB_NAMES), (MEMBER, MEMBER_NAMES)])
def test_every_flag_of_kubefleets_agents_is_known(
    table: tuple[flags.Flag, ...], names: str
) -> None:
    assert set(names.split()) <= {flag.name for flag in table}
    assert len({flag.parameter for flag in table}) == len(table)


@pytest.mark.rule("kubefleet 10.2", "kubefleet 10.3")
def test_a_flag_without_effect_says_so_where_it_is_given() -> None:
    assert flags.idle(HUB, typed(HUB)) == []
    assert flags.idle(MEMBER, typed(MEMBER)) == []
    assert flags.idle(HUB, typed(HUB, "--resync-period=2h", "--enable-pprof")) == [
        "--enable-pprof has no effect: pprof is of Go programs; a sampling profiler attaches to"
        " this one from outside",
        "--resync-period has no effect: caches follow their watches, and need no list by the clock",
    ]


@pytest.mark.rule("kubefleet 10.2")
def test_how_fast_a_hub_works() -> None:
    calm = hub()
    assert (calm.rate, calm.placements_max, calm.backoff) == (None, 0, None)
    found = hub(
        "--hub-api-qps=50",
        "--hub-api-burst=70",
        "--max-concurrent-cluster-placement=50",
        "--rate-limiter-base-delay=1s",
        "--leader-election-burst=20",
    )
    assert found.rate == Rate(50.0, 70)
    assert found.election_rate == Rate(250.0, 20)
    assert found.backoff == Backoff(1.0, 60.0)
    wanted = workers(found.placements_max, found.settings.max_fleet_size)
    group = "placement.kubernetes-fleet.io"
    assert wanted == {
        f"ClusterResourcePlacement.{group}": 5,
        f"ClusterResourceBinding.{group}": 50,
        f"ResourcePlacement.{group}": 5,
        f"ResourceBinding.{group}": 50,
    }


@pytest.mark.rule("kubefleet 10.3")
def test_how_fast_a_member_works_and_what_it_shows() -> None:
    calm = member()
    assert (calm.hub_rate, calm.own_rate, calm.elects) == (None, None, False)
    assert calm.metrics_addresses == (":8090", "0")
    assert calm.health_addresses == (":8091", "0")
    found = member(
        "--hub-api-qps=50",
        "--member-api-qps=9.5",
        "--member-api-burst=10",
        "--leader-elect",
        "--hub-metrics-bind-address=:1",
    )
    assert found.hub_rate == Rate(50.0, 500)
    assert found.own_rate == Rate(9.5, 10)
    assert (found.elects, found.election_namespace) == (True, "kube-system")
    assert found.metrics_addresses == (":8090", ":1")
