"""Runs until a gate opens, and tells through a pipe when it begins and when it is done, with the
names of its host and its pod. A gate is a file, or a directory with one for each host; whoever
holds a lock on the file keeps it shut.

    gated.py PIPE GATE [deaf]
"""

import fcntl
import os
import signal
import sys


def tell(pipe: str, word: str) -> None:
    line = f"{word} {os.environ['HOSTNAME']} {os.environ['POD_UID']}\n"
    with open(pipe, "wb", buffering=0) as news:
        news.write(line.encode())


def main(pipe: str, gate: str, *flags: str) -> None:
    if "deaf" in flags:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    tell(pipe, "begun")
    place = os.path.join(gate, os.environ["HOSTNAME"]) if os.path.isdir(gate) else gate
    with open(place, "a") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
    tell(pipe, "done")


main(*sys.argv[1:])
