"""Which workers are asked to run a workload, and the copies they get."""

from collections.abc import Sequence
from datetime import timedelta

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.times import parse_time
from fleetqueue.multikueue import copies
from fleetqueue.multikueue.components import primary_of
from fleetqueue.multikueue.flow.claiming import run_on
from fleetqueue.multikueue.flow.look import Look, nominated
from fleetqueue.multikueue.flow.situation import Situation
from fleetqueue.multikueue.flow.steps import MakeCopy, Write

REST_SECONDS_MAX = 60.0
LONG_SECONDS = 600
"""What ran for so long each time did not come back because nobody can run it."""
COMPONENTS_SECONDS = 1.0
"""How soon a component is looked at again whose siblings are not all there yet."""


def nominate(look: Look) -> bool:
    """S9: it is offered to workers."""
    others = [check for check in status.checks_of(look.workload) if check != look.seen.check]
    if any(check["state"] != "Ready" for check in others):
        look.decision.note = "waits for other checks"
        return True
    if look.awaited > 0:
        look.decision.note = "may still run on a worker that cannot be asked"
        look.decision.after = look.awaited
        return True
    if (rest := _rest_seconds(look.seen)) > 0:
        look.decision.note = "was sent back again and again, and rests"
        look.decision.after = rest
        return True
    if look.is_elastic and look.claimed:
        _offer(look, [look.claimed])
    elif look.seen.components:
        _nominate_component(look)
    else:
        _ask(look)
    return True


def _rest_seconds(seen: Situation) -> float:
    """How long one that came back from workers several times in a row is not offered again: what
    none of them can run would go round and round without an end.
    """
    times = int(seen.check.get("retryCount") or 0)
    if times < 2 or not seen.check.get("lastTransitionTime"):
        return 0.0
    ran = (seen.workload.get("status") or {}).get("accumulatedPastExecutionTimeSeconds") or 0
    if ran >= times * LONG_SECONDS:
        return 0.0
    seconds = min(2.0 ** (times - 2), REST_SECONDS_MAX)
    until = parse_time(seen.check["lastTransitionTime"]) + timedelta(seconds=seconds)
    return (until - seen.now).total_seconds()


def _ask(look: Look) -> None:
    nomination = look.seen.nominate()
    look.decision.note = nomination.note
    if nomination.after is not None:
        before = look.decision.after
        look.decision.after = nomination.after if before is None else min(before, nomination.after)
    stored = nominated(look.workload)
    names = stored if nomination.names is None else list(nomination.names)
    _write_names(look, names)
    _offer(look, names)


def _nominate_component(look: Look) -> None:
    seen = look.seen
    if len(seen.components) < seen.components_wanted:
        look.decision.note = "waits for the other components"
        look.decision.after = COMPONENTS_SECONDS
        return
    primary = primary_of(seen.workload, seen.components, seen.components_wanted)
    look.decision.problem = primary.problem
    if primary.cluster:
        site = next((each for each in seen.sites if each.name == primary.cluster), None)
        if site is None or not site.is_connected:
            text = f'assigned worker cluster "{primary.cluster}" is not available'
            look.decision.problem = text
            return
        _write_names(look, [primary.cluster])
        _offer(look, [primary.cluster], is_follower=True)
    elif primary.is_first:
        _ask(look)
    elif not primary.problem:
        look.decision.note = "waits for the first component"


def _write_names(look: Look, names: Sequence[str]) -> None:
    if list(names) != nominated(look.workload):
        look.add(Write(status.changed(look.workload, nominatedClusterNames=list(names) or None)))


def _offer(look: Look, names: Sequence[str], *, is_follower: bool = False) -> None:
    here = {site.name for site in look.here()}
    reachable = {site.name for site in look.seen.sites if site.is_connected}
    here |= {site.name for site in look.seen.sites if site.is_alias}
    others = [site for site in look.seen.sites if site.name not in names]
    look.remove(others)
    if run_on(look, [*others, *look.seen.former]):
        return
    for name in dict.fromkeys(names):
        if name not in reachable:
            text = f"cluster {name}: no remote client for nominated cluster"
            look.decision.note = ", ".join(filter(None, (look.decision.note, text)))
        elif name not in here and name not in look.removed:
            made = copies.make(look.workload, look.seen.settings, is_follower=is_follower)
            look.add(MakeCopy(name, made))
