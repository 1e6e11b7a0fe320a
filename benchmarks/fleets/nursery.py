"""`python -m benchmarks.fleets.nursery FOLDER CONFIG NUMBER NAME=PORT ...`: embedded clusters with
simulated pods, one on each port. CONFIG is a file for Kueue, or empty; NUMBER is that of the first.
"""

import gc

gc.disable()

import json  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

from fleetqueue import kueue  # noqa: E402
from fleetqueue.app import ServeOptions  # noqa: E402
from fleetqueue.embedded.options import LiveOptions  # noqa: E402
from fleetqueue.nursery.parent import Nursery  # noqa: E402

PIDS = "pids.json"


def main(folder: Path, config: str, number: int, places: list[str]) -> None:
    queueing = kueue.read_options(Path(config).read_text()) if config else kueue.read_options()

    def options(number: int, place: str) -> ServeOptions:
        name, _, port = place.partition("=")
        data = folder / name
        live = LiveOptions(data, simulates=True, number=number, kueue=queueing)
        return ServeOptions(data, int(port), durability="normal", live=live)

    clusters = [options(*each) for each in enumerate(places, number)]
    with Nursery() as nursery:
        nursery.prepare(clusters)
        pids = [nursery.start(each.data.name, each).pid for each in clusters]
        nursery.wait_ready(300)
        (folder / "unfinished").write_text(json.dumps(pids))
        (folder / "unfinished").rename(folder / PIDS)
        nursery.run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:])
