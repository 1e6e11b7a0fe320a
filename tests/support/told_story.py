"""Tells one story of a simulation in a process of its own, and prints what tells it from others:

python -m tests.support.told_story dispatch 3
"""

import asyncio
import logging
import sys

from tests.support.fault_world import World
from tests.support.placement_world import PlacementWorld

from fleetqueue.base.virtual_time import VirtualTimeLoop
from fleetqueue.testing import Fleet

JOBS = 25
ROUNDS = 12


async def dispatch(seed: int) -> None:
    async with Fleet(seed) as fleet:
        world = World(fleet, JOBS)
        await world.start()
        while not world.is_over:
            await world.round()
        await world.come_to_rest()


async def placement(seed: int) -> None:
    async with Fleet(seed) as fleet:
        world = PlacementWorld(fleet)
        await world.start()
        for _ in range(ROUNDS):
            await world.round()
        await world.come_to_rest()


def main() -> None:
    logging.disable(logging.CRITICAL)
    story = {"dispatch": dispatch, "placement": placement}[sys.argv[1]]
    loop = VirtualTimeLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(story(int(sys.argv[2])))
    print(loop.rounds, loop.time())


if __name__ == "__main__":
    main()
