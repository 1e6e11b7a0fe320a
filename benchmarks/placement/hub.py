"""`python -m benchmarks.placement.hub FOLDER PORT [PROFILE]`: an embedded hub that takes changes up
at once, in a process of its own, so that it can be started again; with its profile, where wanted.
"""

import asyncio
import cProfile
import gc
import sys
from pathlib import Path

from fleetqueue import kueue
from fleetqueue.app import ServeOptions, serving, until_stopped
from fleetqueue.base.loops import new_runner
from fleetqueue.embedded.options import LiveOptions
from fleetqueue.fleet.settings import HubSettings


def main(folder: Path, port: int, profile: str) -> None:
    gc.disable()
    hub = HubSettings(snapshot_interval_seconds=0.0, collection_seconds=0.0)
    live = LiveOptions(folder, simulates=True, kueue=kueue.read_options(), hub=hub)
    options = ServeOptions(folder, port, durability="normal", live=live)
    with new_runner() as runner:
        if not profile:
            runner.run(serve(options))
            return
        profiler = cProfile.Profile()
        profiler.runcall(runner.run, serve(options))
        profiler.dump_stats(profile)


async def serve(options: ServeOptions) -> None:
    async with serving(options):
        gc.freeze()
        gc.enable()
        await until_stopped()
        await asyncio.sleep(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "")
