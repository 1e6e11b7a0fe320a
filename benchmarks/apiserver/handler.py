"""What the handler itself costs, without HTTP and disk: CPU time per request, in one process.

`python -m benchmarks.apiserver.handler [--profile] [--only TEXT] [--rounds N] [--count N]`
"""

import argparse
import asyncio
import cProfile
import gc
import json
import pstats
import random
import time
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import uvloop

from benchmarks.apiserver import objects
from fleetqueue.apiserver.access.static_tokens import ADMINISTRATOR, StaticTokens
from fleetqueue.apiserver.instance import Instance, Settings
from fleetqueue.apiserver.log import MemoryLog
from fleetqueue.apiserver.request import Request
from fleetqueue.base.clock import SystemClock

JSON = "application/json"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
MAPS = "/api/v1/namespaces/bench/configmaps"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/bench/workloads"
TOKEN = "administrator"


class Step(NamedTuple):
    """One kind of request, for the object of each number."""

    name: str
    method: str
    path: str
    body: str = ""
    type: str = JSON
    query: str = ""

    def request(self, number: int, token: str) -> Request:
        headers = {
            "host": "127.0.0.1:6443",
            "user-agent": "load/1.0",
            "accept": JSON,
            "authorization": f"Bearer {token}",
            "accept-encoding": "gzip",
        }
        if self.body:
            headers |= {"content-type": self.type, "content-length": str(len(self.body))}
        path, body = self.path.replace("%d", str(number)), self.body.replace("%d", str(number))
        return Request(self.method, path, parse_qs(self.query), headers, body.encode())


def steps() -> Iterator[Step]:
    """In an order in which each finds what it needs."""
    name = "c-%d"
    change = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"more": "%d"}}
    status = json.loads(objects.workload("w-%d")) | json.loads(objects.admitted())
    yield Step("ConfigMap create", "POST", MAPS, objects.config_map(name))
    yield Step("ConfigMap get", "GET", f"{MAPS}/{name}")
    yield Step(
        "ConfigMap merge patch", "PATCH", f"{MAPS}/{name}", '{"data":{"settings":"%d"}}', MERGE
    )
    yield Step("ConfigMap update", "PUT", f"{MAPS}/{name}", objects.config_map(name))
    apply = "fieldManager=bench&force=true"
    yield Step("ConfigMap apply", "PATCH", f"{MAPS}/{name}", json.dumps(change), APPLY, apply)
    yield Step("ConfigMap delete", "DELETE", f"{MAPS}/{name}")
    yield Step("Workload create", "POST", WORKLOADS, objects.workload("w-%d"))
    yield Step(
        "Workload patch status", "PATCH", f"{WORKLOADS}/w-%d/status", objects.admitted(), MERGE
    )
    applied = json.dumps({key: status[key] for key in ("apiVersion", "kind", "status")})
    yield Step("Workload apply status", "PATCH", f"{WORKLOADS}/w-%d/status", applied, APPLY, apply)
    yield Step("Workload delete", "DELETE", f"{WORKLOADS}/w-%d")
    yield Step("Pod create", "POST", "/api/v1/namespaces/bench/pods", objects.pod("p-%d"))
    yield Step("Job create", "POST", "/apis/batch/v1/namespaces/bench/jobs", objects.job("j-%d"))


class Bench:
    """One server in memory, and the tokens of those who ask it."""

    def __init__(self) -> None:
        settings = Settings(static_tokens=StaticTokens([(TOKEN, ADMINISTRATOR)]))
        self.instance = Instance(MemoryLog(), SystemClock(), random.Random(7), settings)
        self.tokens = {"admin": TOKEN}
        self._first = 0

    async def prepare(self) -> None:
        await self.instance.start()
        crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        await self.send("POST", crds, objects.workload_crd())
        for name in ("bench", "users"):
            await self.send("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        for name in ("bench", "users"):
            path, account = f"/api/v1/namespaces/{name}/serviceaccounts", {"name": "default"}
            await self.send("POST", path, {"metadata": account})
        subject = {"kind": "ServiceAccount", "name": "default", "namespace": "users"}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
        bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/bench/rolebindings"
        binding = {"metadata": {"name": "all"}, "subjects": [subject]}
        await self.send("POST", bindings, binding | {"roleRef": role | {"name": "cluster-admin"}})
        path = "/api/v1/namespaces/users/serviceaccounts/default/token"
        answer = await self.send("POST", path, {"spec": {}})
        self.tokens["service account"] = answer["status"]["token"]
        # As `fleetqueue serve` does once it has started.
        gc.collect()
        gc.freeze()

    async def send(self, method: str, path: str, body: Any) -> Any:
        request = Step("", method, path, json.dumps(body)).request(0, TOKEN)
        return (await self.instance.handle(request)).decoded()

    async def run(self, step: Step, first: int, count: int, token: str) -> float:
        """Microseconds of CPU per request."""
        requests = [step.request(first + number, token) for number in range(count)]
        handle = self.instance.handle
        begun = time.process_time()
        for request in requests:
            response = await handle(request)
            body = response.encoded()
            assert response.status < 300, body
        return (time.process_time() - begun) / count * 1e6

    async def measure(self, user: str, rounds: int, count: int) -> dict[str, float]:
        """The best of several rounds for each step."""
        best: dict[str, float] = {}
        for _ in range(rounds):
            for step in steps():
                took = await self.run(step, self._first, count, self.tokens[user])
                best[step.name] = min(took, best.get(step.name, took))
            self._first += count
        return best

    async def profile(self, only: str, count: int) -> cProfile.Profile:
        """Where the time goes, once everything is built that is built on first use."""
        await self.measure("admin", 1, 20)
        profile = cProfile.Profile()
        for step in steps():
            if only in step.name:
                profile.enable()
            await self.run(step, self._first, count, TOKEN)
            profile.disable()
        return profile


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", action="store_true", help="where the time goes, by function")
    parser.add_argument("--only", default="", help="profile the steps with this in their name")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--count", type=int, default=100, help="requests in a round")
    options = parser.parse_args()
    bench = Bench()
    await bench.prepare()
    if options.profile:
        profile = await bench.profile(options.only, options.count)
        pstats.Stats(profile).strip_dirs().sort_stats("tottime").print_stats(50)
    else:
        _print({u: await bench.measure(u, options.rounds, options.count) for u in bench.tokens})
    await bench.instance.stop()


def _print(by_user: dict[str, dict[str, float]]) -> None:
    print(f"{'CPU per request':26}" + "".join(f"{user:>18}" for user in by_user))
    for name in by_user["admin"]:
        print(f"{name:26}" + "".join(f"{took[name]:15.0f} us" for took in by_user.values()))


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
