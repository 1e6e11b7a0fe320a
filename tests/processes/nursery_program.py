"""A nursery whose children are no clusters: what it does, in one process that has no threads.

Run with the name of a story and a directory; prints what happened, a line of JSON each.
"""

import asyncio
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fleetqueue.app import ServeOptions
from fleetqueue.errors import Bug, UserError
from fleetqueue.nursery.children import Child
from fleetqueue.nursery.cluster_process import Live
from fleetqueue.nursery.parent import CannotServe, Nursery


@dataclass
class Served:
    """As much of a running cluster as a nursery looks at."""

    url: str
    kubeconfig: Path


async def body(options: ServeOptions, live: Live) -> None:
    """What a child does is said by the name of its directory."""
    does = options.data.name
    if does == "refuses":
        raise UserError("no place to be: make one")
    if does == "breaks":
        raise RuntimeError("unforeseen")
    if does == "slow":
        (options.data.parent / "begun").write_text("slow")
        try:
            await asyncio.Event().wait()
        finally:
            print("slow is given up", flush=True)
    if does == "late":
        (options.data.parent / "gate").read_text()
    if does == "stubborn":
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    print(f"{does} lives", flush=True)
    await live(Served(f"https://{does}", options.data / "kubeconfig"))  # type: ignore[arg-type]
    print(f"{does} ends", flush=True)


def tell(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


def start(nursery: Nursery, does: str, name: str = "") -> Child:
    folder = Path(sys.argv[2])
    output = folder / f"{name or does}.log"
    return nursery.start(name or does, ServeOptions(folder / does), output=output)


def stops(nursery: Nursery) -> None:
    """Runs until it is told to stop."""
    children = [start(nursery, "good", name) for name in ("one", "two")]
    nursery.wait_ready()
    tell(pids=[child.pid for child in children], urls=[child.url for child in children])
    nursery.run(lambda child: tell(ended=child.name))
    tell(running=[child.name for child in nursery.children])


def loses(nursery: Nursery) -> None:
    """One child is killed; it is started again because the nursery is told so, once."""
    one, two = start(nursery, "good", "one"), start(nursery, "good", "two")
    nursery.wait_ready()
    heard: list[Child] = []

    def told(child: Child) -> None:
        heard.append(child)
        tell(ended=child.name, code=child.exit_code)
        if len(heard) == 1:
            again = nursery.restart(child)
            nursery.wait_ready()
            tell(again=again.name, is_new=again.pid != child.pid, running=len(nursery.children))
            again.end()
        elif len(heard) == 2:
            two.end()

    one.signal(signal.SIGKILL)
    nursery.run(told)
    tell(left=len(nursery.children))


def refuses(nursery: Nursery) -> None:
    for does in ("refuses", "breaks"):
        child = start(nursery, does)
        try:
            nursery.wait_ready()
        except CannotServe as error:
            tell(error=str(error), code=child.exit_code)


def stubborn(nursery: Nursery) -> None:
    child = start(nursery, "stubborn")
    nursery.wait_ready()
    child.end()
    nursery.wait_ended(child, seconds=0.3)
    tell(code=child.exit_code)


def late(nursery: Nursery) -> None:
    """A child that lives only when it is let."""
    gate = Path(sys.argv[2]) / "gate"
    os.mkfifo(gate)
    start(nursery, "late")
    try:
        nursery.wait_ready(seconds=0.0)
    except CannotServe as error:
        tell(error=str(error))
    gate.write_text("open")
    nursery.wait_ready()
    tell(is_ready=True)


def threads(nursery: Nursery) -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        start(nursery, "good")
    except Bug as error:
        tell(error=str(error))
    finally:
        over.set()
        thread.join()


def follows(nursery: Nursery) -> None:
    """Somebody else is listened to meanwhile, in this process alone."""
    ours, theirs = socket.socketpair()
    child = start(nursery, "good")
    nursery.wait_ready()

    def hear() -> None:
        tell(heard=ours.recv(100).decode())
        nursery.unfollow(ours.fileno())
        child.end()

    nursery.follow(ours.fileno(), hear)
    other = start(nursery, "good", "other")
    nursery.wait_ready()
    opened = [os.readlink(each) for each in Path(f"/proc/{other.pid}/fd").iterdir()]
    tell(is_shared=os.readlink(f"/proc/self/fd/{ours.fileno()}") in opened)
    other.end()
    theirs.send(b"hello")
    nursery.run()


def interrupted(nursery: Nursery) -> None:
    """Told to stop before all are ready."""
    begun = Path(sys.argv[2]) / "begun"
    os.mkfifo(begun)
    child = start(nursery, "slow")
    assert begun.read_text() == "slow"
    os.kill(os.getpid(), signal.SIGTERM)
    try:
        nursery.wait_ready()
    except KeyboardInterrupt:
        nursery.close()
        tell(code=child.exit_code)


STORIES: dict[str, Callable[[Nursery], None]] = {
    story.__name__: story
    for story in (stops, loses, refuses, stubborn, late, threads, follows, interrupted)
}

if __name__ == "__main__":
    with Nursery(body) as made:
        STORIES[sys.argv[1]](made)
    tell(over=True)
