"""What kube-apiserver was asked while a load ran: requests, webhooks, conversions and events of
watches, and how long our webhooks took to answer; read off its metrics before and after.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

from support.server import Server

Labels = tuple[tuple[str, str], ...]
Samples = dict[tuple[str, Labels], float]
REQUESTS = "apiserver_request_total"
SECONDS = "apiserver_request_duration_seconds_sum"
WEBHOOKS = "apiserver_admission_webhook_request_total"
CONVERSIONS = "apiserver_crd_conversion_webhook_duration_seconds_count"
WATCHED = "apiserver_watch_events_total"
WATCHES = "apiserver_longrunning_requests"
ANSWERED = "apiserver_admission_webhook_admission_duration_seconds_bucket"
CONVERTED = "apiserver_crd_conversion_webhook_duration_seconds_bucket"
_TOLD = {REQUESTS, SECONDS, WEBHOOKS, CONVERSIONS, WATCHED, WATCHES, ANSWERED, CONVERTED}
_BUCKETS = {ANSWERED: WEBHOOKS, CONVERTED: CONVERSIONS}
"""How long, and the counter of the same thing."""
_LINE = re.compile(r"(\w+)\{(.*)\} (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
RARE = 0.02
"""What comes less often than so per workload is told in one line."""


@dataclass(slots=True)
class Asked:
    """By what was asked: how often, and the seconds that the answers took in all."""

    counts: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    watches: int = 0
    """Of workloads, open at the end."""
    within: dict[str, Counter[float]] = field(default_factory=dict)
    """Of webhooks: how many were answered within so many seconds."""


def sample(server: Server) -> Samples:
    """Of a server without such metrics, nothing."""
    with server.client() as client:
        answer = client.send("GET", "/metrics")
    return read(answer.body.decode()) if answer.status == 200 else {}


def read(text: str) -> Samples:
    found = {}
    for line in text.splitlines():
        parts = _LINE.fullmatch(line)
        if parts is not None and parts[1] in _TOLD:
            labels = tuple(sorted(_LABEL.findall(parts[2])))
            found[parts[1], labels] = float(parts[3])
    return found


def between(before: Samples, after: Samples) -> Asked:
    asked = Asked()
    for (metric, labels), value in after.items():
        told = dict(labels)
        if metric == WATCHES:
            asked.watches += int(value) if told.get("resource") == "workloads" else 0
            continue
        grown = value - before.get((metric, labels), 0.0)
        if metric in _BUCKETS:
            name = _name(_BUCKETS[metric], told)
            asked.within.setdefault(name, Counter())[float(told["le"])] += grown
        elif grown and not _is_left_out(metric, told):
            counted = asked.seconds if metric == SECONDS else asked.counts
            counted[_name(metric, told)] += grown
    return asked


def lines(asked: Asked, workloads: int) -> list[str]:
    """A table, what is asked most first."""
    found = [
        "| asked of kube-apiserver | per workload | mean ms | 99 of 100 within ms |",
        "|---|---|---|---|",
    ]
    rest = 0.0
    for name, count in asked.counts.most_common():
        if count / workloads < RARE:
            rest += count
            continue
        mean = f"{asked.seconds[name] / count * 1000:.1f}" if name in asked.seconds else ""
        most = within(asked.within.get(name, Counter()), 0.99)
        found.append(f"| {name} | {count / workloads:.2f} | {mean} | {most} |")
    found.append(f"| all else | {rest / workloads:.2f} | | |")
    return [*found, f"| watches of workloads open | {asked.watches} in all | | |"]


def within(buckets: Counter[float], share: float) -> str:
    """The bound below which that share of the answers came; "" where there were none."""
    total = buckets.get(float("inf"), 0.0)
    reached = [bound for bound, count in buckets.items() if count >= share * total]
    return f"{min(reached) * 1000:g}" if total else ""


def _name(metric: str, labels: dict[str, str]) -> str:
    if metric == WEBHOOKS:
        return f"webhook {labels['name']} {labels['operation']} {labels['type']}"
    if metric == CONVERSIONS:
        kind = labels["crd_name"].partition(".")[0]
        failed = "" if labels["succeeded"] == "true" else ", failed"
        return f"conversion of {kind} to {labels['to_version']}{failed}"
    if metric == WATCHED:
        return f"event of a watch of {labels.get('resource') or labels['kind']}"
    below = labels.get("subresource")
    where = labels["resource"] + (f"/{below}" if below else "")
    code = labels.get("code", "")
    return f"{labels['verb']} {where}" + (f" {code}" if code not in ("", "200", "201") else "")


def _is_left_out(metric: str, labels: dict[str, str]) -> bool:
    """Requests that last, and those for no resource, such as ours for the metrics."""
    is_request = metric in (REQUESTS, SECONDS)
    return is_request and (labels.get("verb") == "WATCH" or not labels.get("resource"))
