"""A program of several processes: each meets rank 0 where its operator says, and they add up.

It reads what PyTorchJob and TrainJob inject, and needs nothing but Python.
"""

import os
import socket
import time


def main() -> None:
    env = os.environ
    rank = int(env.get("PET_NODE_RANK") or env["RANK"])
    world = int(env.get("PET_NNODES") or env["WORLD_SIZE"])
    host = env.get("PET_MASTER_ADDR") or env["MASTER_ADDR"]
    port = int(env.get("PET_MASTER_PORT") or env["MASTER_PORT"])
    total = lead(world, port) if rank == 0 else follow(rank, host, port)
    print(f"rank {rank} of {world} on {socket.gethostname()}: the ranks add up to {total}")


def lead(world: int, port: int) -> int:
    own = socket.gethostbyname(socket.gethostname())
    peers, total = [], 0
    with socket.create_server((own, port)) as server:
        for _ in range(world - 1):
            peer, _ = server.accept()
            total += int(peer.makefile().readline())
            peers.append(peer)
        for peer in peers:
            peer.sendall(f"{total}\n".encode())
    return total


def follow(rank: int, host: str, port: int) -> int:
    while True:
        try:
            with socket.create_connection((host, port)) as leader:
                leader.sendall(f"{rank}\n".encode())
                return int(leader.makefile().readline())
        except OSError:
            time.sleep(0.05)


main()
