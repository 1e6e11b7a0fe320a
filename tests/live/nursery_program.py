"""Two clusters of one nursery: `nursery_program.py DIRECTORY`. Tells where they are, as a line of
JSON, each time that all are ready; one that ends is started again. The second is not prepared, so
that it makes all by itself.
"""

import json
import sys
from pathlib import Path

from fleetqueue import kueue
from fleetqueue.app import ServeOptions
from fleetqueue.embedded.options import LiveOptions
from fleetqueue.nursery.children import Child
from fleetqueue.nursery.parent import Nursery


def main(directory: Path) -> None:
    queueing = kueue.read_options()

    def options(name: str) -> ServeOptions:
        data = directory / name
        return ServeOptions(data, live=LiveOptions(data, kueue=queueing))

    with Nursery() as nursery:

        def tell() -> None:
            nursery.wait_ready()
            found = {child.name: (child.pid, child.url) for child in nursery.children}
            print(json.dumps(found), flush=True)

        def start_again(child: Child) -> None:
            nursery.restart(child)
            tell()

        nursery.prepare([options("one")])
        for name in ("one", "two"):
            nursery.start(name, options(name), output=directory / f"{name}.log")
        tell()
        nursery.run(start_again)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
