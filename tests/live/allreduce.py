"""A distributed program in one file: every rank meets rank 0 at the address its operator injected,
they add up their ranks, and each prints the sum.

It finds out where it is from whichever variables are there.
"""

import json
import os
import socket
import sys
import time
from typing import Any


def whereabouts() -> tuple[int, int, str, int]:
    """Rank, world size, and the address and port of rank 0."""
    env = os.environ
    if "TF_CONFIG" in env:
        return of_tensorflow(json.loads(env["TF_CONFIG"]))
    for rank, world, address, port in VARIABLES:
        if rank in env and world in env:
            host, _, own_port = env[address].partition(":")
            number = own_port or env.get(port) or port
            return int(env[rank].rpartition("-")[2]), int(env[world]), host, int(number)
    raise SystemExit("nobody says which rank this is")


VARIABLES = (
    ("PROCESS_ID", "NUM_PROCESSES", "COORDINATOR_ADDRESS", "COORDINATOR_PORT"),
    ("JAX_PROCESS_ID", "JAX_NUM_PROCESSES", "JAX_COORDINATOR_ADDRESS", ""),
    ("DMLC_TASK_ID", "DMLC_NUM_WORKER", "DMLC_TRACKER_URI", "DMLC_TRACKER_PORT"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "ROOT", "29400"),
    ("PET_NODE_RANK", "PET_NNODES", "PET_MASTER_ADDR", "PET_MASTER_PORT"),
    ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"),
    # Paddle has ranks come to terms among themselves; here the pod's number will do.
    ("HOSTNAME", "PADDLE_NNODES", "PADDLE_MASTER", ""),
    ("LWS_WORKER_INDEX", "LWS_GROUP_SIZE", "LWS_LEADER_ADDRESS", "29400"),
    ("JOB_COMPLETION_INDEX", "WORLD", "ROOT", "29400"),
)
"""Where each kind says the rank, the number of ranks, the address of rank 0, and its port, which
may stand behind the address or be a fixed one.
"""


def of_tensorflow(config: "dict[str, Any]") -> tuple[int, int, str, int]:
    cluster, task = config["cluster"], config["task"]
    order = [kind for kind in ("chief", "master", "worker", "ps") if kind in cluster]
    hosts = [host for kind in order for host in cluster[kind]]
    before = sum(len(cluster[kind]) for kind in order[: order.index(task["type"])])
    host, _, port = hosts[0].rpartition(":")
    return before + int(task["index"]), len(hosts), host, int(port)


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
    for _ in range(3600):
        try:
            with socket.create_connection((host, port), timeout=10) as root:
                # Rank 0 answers when all are there, however long that takes.
                root.settimeout(None)
                root.sendall(f"{rank}\n".encode())
                return int(root.makefile().readline())
        except (OSError, ValueError):
            time.sleep(0.05)
    raise SystemExit(f"rank 0 cannot be reached at {host}:{port}")


def main() -> None:
    """`allreduce.py [fail-at-N | fail-once-at-N]`: that rank exits with 3, each time or once."""
    rank, world, host, port = whereabouts()
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    if word.endswith(f"-at-{rank}"):
        marker = os.path.join(os.environ["MARKS"], f"failed-{rank}")
        if not word.startswith("fail-once") or not os.path.exists(marker):
            open(marker, "w").close()
            raise SystemExit(int(os.environ.get("EXIT_CODE", "3")))
    total = reduce_as_root(world, port) if rank == 0 else reduce_as_peer(rank, host, port)
    # In one piece: several ranks may share an output.
    sys.stdout.write(f"rank {rank} of {world}: sum {total}\n")


main()
