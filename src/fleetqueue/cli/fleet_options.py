"""Options of a hub and of a member, from the flags of the command line."""

import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fleetqueue.base import documents
from fleetqueue.cli import flags, hub_flags, member_flags
from fleetqueue.errors import InvalidInput

if TYPE_CHECKING:
    from fleetqueue.base.backoff import Backoff
    from fleetqueue.fleet.attached.hub import HubOptions
    from fleetqueue.fleet.attached.member import MemberOptions
    from fleetqueue.fleet.webhooks.policies import Policy
    from fleetqueue.kube.allowance import Rate
    from fleetqueue.kube.leader import Terms


def hub_options(
    given: dict[str, Any], kubeconfig: Path | None, context: str, webhook_url: str, **more: Any
) -> "HubOptions":
    from fleetqueue.fleet.attached.hub import HubOptions
    from fleetqueue.fleet.settings import HubSettings

    told = flags.values(hub_flags.SETTINGS, given)
    settings = HubSettings(**told, policies=_policies(given))
    if not given["enable_v1beta1_apis"]:
        raise click.BadParameter("must stay true", param_hint="--enable-v1beta1-apis")
    if settings.skipped_apis and settings.allowed_apis:
        text = "only one of --skipped-propagating-apis and --allowed-propagating-apis may be given"
        raise click.UsageError(text)
    flags.values(hub_flags.PASSIVE, given)
    if given["use_cert_manager"] and not settings.enable_workload:
        raise click.UsageError(
            "--use-cert-manager needs --enable-workload: its pods run on the hub"
        )
    election = flags.values(hub_flags.ELECTION, given)
    terms = _terms(election)
    election_rate = _rate(election.pop("election_qps"), election.pop("election_burst"))
    reach = flags.values(hub_flags.REACH, given)
    connection = reach.pop("connection")
    if connection not in ("url", "service"):
        hint = "--webhook-client-connection-type"
        raise click.BadParameter('must be "url" or "service"', param_hint=hint)
    if connection == "url" and settings.enable_webhook and not webhook_url:
        raise click.UsageError("say where the API server reaches the webhooks with --webhook-url")
    return HubOptions(
        settings,
        kubeconfig,
        context,
        url=webhook_url,
        terms=terms,
        election_rate=election_rate,
        **_pace(given),
        **reach,
        **election,
        **more,
    )


def _terms(election: dict[str, Any]) -> "Terms":
    """Takes the three spans out of what is said about an election."""
    from fleetqueue.kube.leader import Terms

    spans = [timedelta(seconds=election.pop(name)) for name in ("lease", "renew_deadline", "retry")]
    if not spans[0] > spans[1] > spans[2] * 2:
        raise click.UsageError("a lease must outlast its renewal, and that several tries")
    return Terms(*spans)


def _pace(given: dict[str, Any]) -> dict[str, Any]:
    """How fast a hub works."""
    told = flags.values(hub_flags.PACE, given)
    placements = told["placements_max"]
    if placements and not 10 <= placements <= 200:
        hint = "--max-concurrent-cluster-placement"
        raise click.BadParameter("must be from 10 to 200", param_hint=hint)
    return {
        "rate": _rate(told["hub_qps"], told["hub_burst"]),
        "placements_max": placements,
        "backoff": _backoff(told["first_seconds"], told["cap_seconds"]),
    }


def _backoff(first: float, cap: float) -> "Backoff | None":
    """None where both are what KubeFleet has: controllers then have their own."""
    from fleetqueue.base.backoff import Backoff

    if first > cap:
        hint = "--rate-limiter-max-delay"
        raise click.BadParameter("is shorter than the first delay", param_hint=hint)
    return None if (first, cap) == (0.005, 60.0) else Backoff(first, cap)


def _rate(per_second: float, burst: int) -> "Rate | None":
    from fleetqueue.kube.allowance import Rate

    if per_second < 0 or burst < 1:
        raise click.UsageError("a rate must not be negative, and a burst at least 1")
    return Rate(per_second, burst) if per_second else None


def _policies(given: dict[str, Any]) -> "tuple[Policy, ...]":
    file = given["admission_policy_manager_config"]
    if not given["enable_admission_policy_manager"]:
        return ()
    if not file:
        raise click.UsageError("say which policies with --admission-policy-manager-config FILE")
    from fleetqueue.fleet.webhooks import policies

    try:
        return policies.read(documents.load(Path(file).read_text()))
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}") from error


def member_options(
    given: dict[str, Any], kubeconfig: Path | None, context: str, name: str, prices: Path | None
) -> "MemberOptions":
    from fleetqueue.fleet.attached.member import MemberOptions, hub_from
    from fleetqueue.fleet.settings import MemberSettings, Requeue

    requeue = Requeue(**flags.values(member_flags.REQUEUE, given))
    found = hub_from(os.environ, **flags.values(member_flags.HUB, given))
    told = flags.values(member_flags.SETTINGS, given)
    minutes = flags.values((member_flags.DELETION,), given)["minutes"]
    at = flags.values(member_flags.ADDRESSES, given)
    pace = flags.values(member_flags.PACE, given)
    election = flags.values(member_flags.ELECTION, given)
    settings = MemberSettings(
        name=name or (found[0] if found else ""),
        requeue=requeue,
        deletion_wait_seconds=60.0 * minutes,
        prices=_prices(prices),
        **told,
    )
    return MemberOptions(
        settings,
        kubeconfig,
        context,
        None if found is None else found[1],
        metrics_addresses=(at["metrics"], at["hub_metrics"]),
        health_addresses=(at["health"], at["hub_health"]),
        hub_rate=_rate(pace["hub_qps"], pace["hub_burst"]),
        own_rate=_rate(pace["own_qps"], pace["own_burst"]),
        terms=_terms(election),
        **election,
    )


def _prices(file: Path | None) -> dict[str, float]:
    if file is None:
        return {}
    found = documents.load(file.read_text())
    try:
        return {str(size): float(price) for size, price in (found or {}).items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"{file}: write `machine size: price of an hour` on each line"
        ) from error
