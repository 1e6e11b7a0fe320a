"""Which kinds of jobs a seed has, and the jobs that somebody wants of them."""

from random import Random

from tests.support.fault_external import EXTERNAL
from tests.support.fault_jobs import (
    MPI,
    PLAIN,
    PODS,
    SETS,
    TRAINER,
    TRAINING,
    WRAPPERS,
    Family,
    Wish,
    batch_job,
)
from tests.support.fault_serving import (
    DEPLOYMENTS,
    LEADER_WORKERS,
    RAY_JOBS,
    RAY_SERVING,
    STATEFUL_SETS,
)

OTHERS = [
    SETS, TRAINING, TRAINER, MPI, WRAPPERS, RAY_JOBS, RAY_SERVING, DEPLOYMENTS, STATEFUL_SETS,
    LEADER_WORKERS, EXTERNAL,
]  # fmt: skip
SERVING_PODS_MAX = 6
"""Of all jobs that serve: they fit on one worker, where one that is there in part would wait for
the rest of its room for ever, and leave room for any other job.
"""


def chosen(seed: int) -> list[Family]:
    """Jobs and pods always; of the others some, by the seed, as kinds cost time."""
    others = OTHERS[seed % (len(OTHERS) + 1) :][:1]
    return [PLAIN, PODS, *others]


def wishes(seed: int, count: int) -> list[Wish]:
    """Most of them Jobs."""
    random = Random(f"{seed}/jobs")
    makers = [maker for family in chosen(seed)[1:] for maker in family.makers]
    found: list[Wish] = []
    room = SERVING_PODS_MAX
    for number in range(count):
        maker = batch_job if random.random() < 0.6 else random.choice(makers)
        made = maker(f"j-{number:03}", random)
        if made.serves and made.pods_to_end > room:
            made = batch_job(made.name, random)
        room -= made.pods_to_end if made.serves else 0
        found.append(made)
    return found
