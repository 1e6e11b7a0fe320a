"""The parent's side: forks clusters from what it has loaded, and waits until they are ready."""

import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from fleetqueue.app import ServeOptions
from fleetqueue.base.clock import Clock, SystemClock
from fleetqueue.errors import Bug, ClusterError
from fleetqueue.nursery import cluster_process, common, newborns
from fleetqueue.nursery.children import STOPPING, Child, Children
from fleetqueue.nursery.cluster_process import Birth, Body, serve


class CannotServe(ClusterError):
    """A cluster ended before it was ready; the message is what it said."""


class Nursery(Children):
    """Starts clusters from what it holds; see the package for how it is used."""

    def __init__(self, body: Body | None = None, clock: Clock | None = None) -> None:
        super().__init__((clock or SystemClock()).monotonic)
        self._body = body or serve
        self._options: dict[Child, ServeOptions] = {}
        self._is_prepared = False

    # Starting

    def prepare(self, options: Iterable[ServeOptions] = ()) -> None:
        """Load what clusters share, and give those of them that are new what all have from
        birth; a new one that was not named here makes it by itself, which takes longer.
        """
        # Nearly all that is made here stays, and a collection would touch what is to be shared.
        gc.disable()
        planters = newborns.plant(options)
        if not self._is_prepared:
            common.load()
            self._is_prepared = True
        newborns.wait(planters)

    def start(self, name: str, options: ServeOptions, *, output: Path | None = None) -> Child:
        """Fork a cluster; `output` takes what it prints and logs, instead of our own."""
        self.prepare()
        if threading.active_count() > 1:
            raise Bug("a nursery forks, so its process must not have threads")
        ours, theirs = socket.socketpair()
        # What is in the buffers would be printed twice.
        sys.stdout.flush()
        sys.stderr.flush()
        gc.freeze()
        # What is meant for a child must not reach it while it still listens as the parent does.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        pid = os.fork()
        if pid == 0:
            ours.close()
            self._become(Birth(theirs, options, output, name))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        theirs.close()
        child = Child(name, pid, output, ours)
        self._options[child] = options
        self.add(child)
        return child

    def restart(self, child: Child) -> Child:
        """A cluster of the same name in its place; the old one ends first."""
        child.end()
        self.wait_ended(child)
        return self.start(child.name, self._options.pop(child), output=child.output)

    def _become(self, birth: Birth) -> NoReturn:
        """In the child: let go of what is the parent's, and never come back."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in STOPPING:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
            for key in list(self._selector.get_map().values()):
                os.close(key.fd)
            self._selector.close()
            code = cluster_process.run(self._body, birth)
        finally:
            # The way out of the parent is not the child's.
            os._exit(code)

    # Waiting

    def wait_ready(self, seconds: float | None = None) -> None:
        """Until all that run are ready; raises CannotServe as soon as one has ended before, and
        KeyboardInterrupt when a signal says to stop.
        """
        awaited = self.children
        deadline = None if seconds is None else self._monotonic() + seconds
        while not all(child.is_ready for child in awaited):
            if self._stops:
                raise KeyboardInterrupt
            for child in awaited:
                if not child.is_running:
                    raise CannotServe(child.problem or child.told_end() + _see(child.output))
            if not self._turn(deadline):
                late = ", ".join(child.name for child in awaited if not child.is_ready)
                raise CannotServe(f"not ready after {seconds} seconds: {late}")


def _see(output: Path | None) -> str:
    return "" if output is None else f": {output} may say why"
