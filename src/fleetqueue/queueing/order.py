"""Who goes first in a queue, and who of those that hold quota has to go first: by priority, then
by time; both orders are total.
"""

from collections.abc import Mapping
from datetime import datetime
from math import inf
from typing import TypeAlias

from fleetqueue.api.meta import Key
from fleetqueue.queueing.workload import Workload

Rank: TypeAlias = tuple[float, bool, int, datetime, int, str]
VictimRank: TypeAlias = tuple[int, float, str]
NO_SHARES: Mapping[Key, float] = {}


def rank(
    workload: Workload, *, sticky: Key | None = None, shares: Mapping[Key, float] = NO_SHARES
) -> Rank:
    """Less goes first. `sticky` is the workload whose preemptions are under way; `shares` is what
    LocalQueues used in the past, where the queue goes by that.
    """
    used = shares.get(Key(workload.key.namespace, workload.local_queue), 0.0)
    return (
        used,
        workload.key != sticky,
        -workload.effective_priority,
        workload.ordered_at,
        workload.flavor_rank,
        workload.uid,
    )


def victim_rank(workload: Workload) -> VictimRank:
    """Lower priority first, then the later reservation, then the UID."""
    at = workload.reserved_at
    return workload.effective_priority, -inf if at is None else -at.timestamp(), workload.uid
