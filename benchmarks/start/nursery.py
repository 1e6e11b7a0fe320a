"""`python -m benchmarks.start.nursery FOLDER PORT ...`: a nursery with a cluster on each port, the
way a command of ours would run one.
"""

import gc

gc.disable()

import sys  # noqa: E402
from pathlib import Path  # noqa: E402

from fleetqueue import kueue  # noqa: E402
from fleetqueue.app import ServeOptions  # noqa: E402
from fleetqueue.embedded.options import LiveOptions  # noqa: E402
from fleetqueue.nursery.parent import Nursery  # noqa: E402


def main(folder: Path, ports: list[int]) -> None:
    queueing = kueue.read_options()

    def options(number: int, port: int) -> ServeOptions:
        data = folder / f"cluster-{number}"
        return ServeOptions(data, port, live=LiveOptions(data, kueue=queueing))

    clusters = [options(number, port) for number, port in enumerate(ports)]
    with Nursery() as nursery:
        nursery.prepare(clusters)
        for each in clusters:
            nursery.start(each.data.name, each)
        nursery.wait_ready()
        nursery.run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(port) for port in sys.argv[2:]])
