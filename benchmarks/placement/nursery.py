"""`python -m benchmarks.placement.nursery FOLDER PORT ...`: embedded clusters with simulated pods,
one on each port, which become members as soon as somebody tells them of a hub.
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


def main(folder: Path, ports: list[int]) -> None:
    queueing = kueue.read_options()

    def options(number: int, port: int) -> ServeOptions:
        data = folder / f"member-{number}"
        live = LiveOptions(data, simulates=True, number=number + 2, kueue=queueing)
        return ServeOptions(data, port, durability="normal", live=live)

    clusters = [options(number, port) for number, port in enumerate(ports)]
    with Nursery() as nursery:
        nursery.prepare(clusters)
        pids = [nursery.start(each.data.name, each).pid for each in clusters]
        nursery.wait_ready(300)
        (folder / "unfinished").write_text(json.dumps(pids))
        (folder / "unfinished").rename(folder / PIDS)
        nursery.run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(port) for port in sys.argv[2:]])
