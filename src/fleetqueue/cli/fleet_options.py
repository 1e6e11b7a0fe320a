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
    from fleetqueue.fleet.attached.hub import HubOptions
    from fleetqueue.fleet.attached.member import MemberOptions
    from fleetqueue.fleet.webhooks.policies import Policy


def hub_options(
    given: dict[str, Any], kubeconfig: Path | None, context: str, webhook_url: str, **more: Any
) -> "HubOptions":
    from fleetqueue.fleet.attached.hub import HubOptions
    from fleetqueue.fleet.settings import HubSettings
    from fleetqueue.kube.leader import Terms

    told = flags.values(hub_flags.SETTINGS, given)
    settings = HubSettings(**told, policies=_policies(given))
    if not given["enable_v1beta1_apis"]:
        raise click.BadParameter("must stay true", param_hint="--enable-v1beta1-apis")
    if settings.skipped_apis and settings.allowed_apis:
        text = "only one of --skipped-propagating-apis and --allowed-propagating-apis may be given"
        raise click.UsageError(text)
    election = flags.values(hub_flags.ELECTION, given)
    spans = [timedelta(seconds=election.pop(name)) for name in ("lease", "renew_deadline", "retry")]
    if not spans[0] > spans[1] > spans[2] * 2:
        raise click.UsageError("a lease must outlast its renewal, and that several tries")
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
        terms=Terms(*spans),
        **reach,
        **election,
        **more,
    )


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
    settings = MemberSettings(
        name=name or (found[0] if found else ""),
        requeue=requeue,
        deletion_wait_seconds=60.0 * minutes,
        prices=_prices(prices),
        **told,
    )
    return MemberOptions(settings, kubeconfig, context, None if found is None else found[1])


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
