"""A distributed program in one file: every rank meets rank 0 at the address its operator injected,
they add up their ranks, and each prints the sum.

It finds out where it is from whichever variables are there: torch, JAX, TensorFlow, MPI, or JobSet.
"""

import json
import os
import re
import socket
import sys
import time


def whereabouts() -> tuple[int, int, str, int]:
    """Rank, world size, and the address and port of rank 0."""
    env = os.environ
    if "TF_CONFIG" in env:
        config = json.loads(env["TF_CONFIG"])
        order = [kind for kind in ("chief", "master", "worker", "ps") if kind in config["cluster"]]
        hosts = [host for kind in order for host in config["cluster"][kind]]
        task = config["task"]
        before = sum(len(config["cluster"][k]) for k in order[: order.index(task["type"])])
        host, _, port = hosts[0].rpartition(":")
        return before + int(task["index"]), len(hosts), host, int(port)
    if "COORDINATOR_ADDRESS" in env:
        return (
            int(env["PROCESS_ID"]), int(env["NUM_PROCESSES"]),
            env["COORDINATOR_ADDRESS"], int(env["COORDINATOR_PORT"]),
        )  # fmt: skip
    if "PET_NNODES" in env and "PET_NODE_RANK" in env:
        return (
            int(env["PET_NODE_RANK"]), int(env["PET_NNODES"]),
            env["PET_MASTER_ADDR"], int(env["PET_MASTER_PORT"]),
        )  # fmt: skip
    if "RANK" in env:
        return int(env["RANK"]), int(env["WORLD_SIZE"]), env["MASTER_ADDR"], int(env["MASTER_PORT"])
    index = int(env["JOB_COMPLETION_INDEX"])
    return index, int(env["WORLD"]), env["ROOT"], 29400


def listen(port: int) -> socket.socket:
    """On the pod's own address: several pods of one machine use the same port."""
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((socket.gethostbyname(socket.gethostname()), port))
    server.listen(64)
    return server


def reduce_as_root(world: int, port: int) -> int:
    total, peers = 0, []
    with listen(port) as server:
        while len(peers) < world - 1:
            peer, _ = server.accept()
            total += int(peer.makefile().readline())
            peers.append(peer)
        for peer in peers:
            peer.sendall(f"{total}\n".encode())
            peer.close()
    return total


def reduce_as_peer(rank: int, host: str, port: int) -> int:
    for _ in range(600):
        try:
            with socket.create_connection((host, port), timeout=10) as root:
                root.sendall(f"{rank}\n".encode())
                return int(root.makefile().readline())
        except (OSError, ValueError):
            time.sleep(0.05)
    raise SystemExit(f"rank 0 cannot be reached at {host}:{port}")


def main() -> None:
    rank, world, host, port = whereabouts()
    failing = re.fullmatch(r"fail-once-at-(\d+)", sys.argv[1]) if len(sys.argv) > 1 else None
    if failing and rank == int(failing[1]):
        marker = os.path.join(os.environ["MARKS"], f"failed-{rank}")
        if not os.path.exists(marker):
            open(marker, "w").close()
            raise SystemExit(3)
    total = reduce_as_root(world, port) if rank == 0 else reduce_as_peer(rank, host, port)
    print(f"rank {rank} of {world}: sum {total}", flush=True)


main()
