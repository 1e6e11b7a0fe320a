"""Quotas: what counts, what is refused, and that nothing is ever oversold."""

import asyncio
from typing import Any

import pytest

from fleetqueue.apiserver.builtin.pod_resources import Amounts
from fleetqueue.apiserver.log import MemoryLog, StorageError
from fleetqueue.apiserver.quota import usage

from .conftest import Api, started
from .sharing import home, on_one_loop, shared

__all__ = ["home", "shared"]

pytestmark = on_one_loop

Object = dict[str, Any]


def named(name: str, **content: Any) -> Object:
    return {"metadata": {"name": name}, **content}


def pod(name: str, cpu: str = "1", **spec: Any) -> Object:
    resources = {"requests": {"cpu": cpu}} if cpu else {}
    container = {"name": "c", "image": "i", "resources": resources}
    return named(name, spec={"containers": [container], **spec})


async def allow(api: Api, home: str, name: str = "q", **spec: Any) -> None:
    await api.post(f"{home}/resourcequotas", named(name, spec=spec))
    await api.settle()


async def used(api: Api, home: str, name: str = "q") -> Object:
    await api.settle()
    return (await api.get(f"{home}/resourcequotas/{name}"))["status"]["used"]


async def test_a_pod_that_fits_is_counted_until_it_is_gone(shared: Api, home: str) -> None:
    await allow(shared, home, hard={"pods": "2", "requests.cpu": "3"})
    assert await used(shared, home) == {"pods": "0", "requests.cpu": "0"}
    await shared.post(f"{home}/pods", pod("a", "2"))
    assert await used(shared, home) == {"pods": "1", "requests.cpu": "2"}
    await shared.delete(f"{home}/pods/a")
    assert await used(shared, home) == {"pods": "0", "requests.cpu": "0"}


async def test_a_pod_that_is_over_uses_nothing(shared: Api, home: str) -> None:
    await allow(shared, home, hard={"pods": "1", "count/pods": "5"})
    await shared.post(f"{home}/pods", pod("a"))
    await shared.patch(f"{home}/pods/a/status", {"status": {"phase": "Succeeded"}})
    assert await used(shared, home) == {"pods": "0", "count/pods": "1"}
    await shared.post(f"{home}/pods", pod("b"))
    assert shared.status == 201


async def test_more_than_the_quota_is_refused(shared: Api, home: str) -> None:
    await allow(shared, home, hard={"pods": "1", "requests.cpu": "3"})
    await shared.post(f"{home}/pods", pod("a", "2"))
    answer = await shared.post(f"{home}/pods", pod("b", "2"))
    assert (shared.status, answer["message"]) == (
        403,
        'pods "b" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=2, '
        "used: pods=1,requests.cpu=2, limited: pods=1,requests.cpu=3",
    )


async def test_a_pod_must_say_what_a_quota_limits(shared: Api, home: str) -> None:
    await allow(shared, home, hard={"requests.cpu": "3", "limits.memory": "1Gi"})
    answer = await shared.post(f"{home}/pods", pod("a", ""))
    assert answer["message"] == (
        'pods "a" is forbidden: failed quota: q: must specify limits.memory for: c; '
        "requests.cpu for: c"
    )


async def test_writes_that_are_under_way_together_never_oversell(shared: Api, home: str) -> None:
    await allow(shared, home, hard={"pods": "3"})
    answers = await asyncio.gather(
        *(shared.send("POST", f"{home}/pods", pod(f"p{n}")) for n in range(12))
    )
    assert sorted(answer.status for answer in answers) == [201] * 3 + [403] * 9
    assert await used(shared, home) == {"pods": "3"}


async def test_scopes_choose_the_pods_that_count(shared: Api, home: str) -> None:
    await allow(shared, home, "best", hard={"pods": "1"}, scopes=["BestEffort"])
    await allow(shared, home, "ending", hard={"pods": "1"}, scopes=["Terminating"])
    await shared.post(f"{home}/pods", pod("a", ""))
    await shared.post(f"{home}/pods", pod("b", activeDeadlineSeconds=5))
    assert (await used(shared, home, "best"), await used(shared, home, "ending")) == (
        {"pods": "1"},
        {"pods": "1"},
    )
    await shared.post(f"{home}/pods", pod("c"))
    assert shared.status == 201
    await shared.post(f"{home}/pods", pod("d", ""))
    assert shared.status == 403


async def test_a_scope_selector_chooses_by_priority_class(shared: Api, home: str) -> None:
    await shared.post("/apis/scheduling.k8s.io/v1/priorityclasses", named("high", value=9))
    chosen = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    await allow(shared, home, hard={"pods": "0"}, scopeSelector={"matchExpressions": [chosen]})
    await shared.post(f"{home}/pods", pod("a"))
    assert shared.status == 201
    await shared.post(f"{home}/pods", pod("b", priorityClassName="high"))
    assert shared.status == 403


async def test_any_kind_can_be_counted(shared: Api, home: str) -> None:
    await allow(
        shared, home, hard={"count/jobs.batch": "1", "configmaps": "2", "count/leases.x": "1"}
    )
    job = named("j", spec={"template": {"spec": {"restartPolicy": "Never", **pod("x")["spec"]}}})
    jobs = home.replace("/api/v1", "/apis/batch/v1") + "/jobs"
    await shared.post(jobs, job)
    assert shared.status == 201
    answer = await shared.post(jobs, {**job, "metadata": {"name": "k"}})
    assert answer["message"] == (
        'jobs.batch "k" is forbidden: exceeded quota: q, requested: count/jobs.batch=1, '
        "used: count/jobs.batch=1, limited: count/jobs.batch=1"
    )


async def test_a_service_that_changes_its_type_is_counted_anew(shared: Api, home: str) -> None:
    await allow(shared, home, hard={"services.nodeports": "1"})
    services = f"{home}/services"
    ports = [{"port": 1, "name": "a"}, {"port": 2, "name": "b"}]
    await shared.post(services, named("s", spec={"ports": ports}))
    answer = await shared.patch(f"{services}/s", {"spec": {"type": "NodePort"}})
    assert answer["message"] == (
        'services "s" is forbidden: exceeded quota: q, requested: services.nodeports=2, '
        "used: services.nodeports=0, limited: services.nodeports=1"
    )


async def test_a_quota_that_changes_is_counted_anew(shared: Api, home: str) -> None:
    await shared.post(f"{home}/pods", pod("a", "2"))
    await allow(shared, home, hard={"pods": "5"})
    assert await used(shared, home) == {"pods": "1"}
    change = {"spec": {"hard": {"requests.cpu": "9"}}}
    await shared.patch(f"{home}/resourcequotas/q", change)
    assert await used(shared, home) == {"pods": "1", "requests.cpu": "2"}


async def test_a_burst_is_counted_in_as_many_steps_as_it_has_pods(
    shared: Api, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await allow(shared, home, hard={"pods": "50"})
    count = 0

    def counted(table: str, obj: Object) -> Amounts:
        nonlocal count
        count += 1
        return usage_of(table, obj)

    usage_of = usage.usage_of
    monkeypatch.setattr(usage, "usage_of", counted)
    posts = [shared.send("POST", f"{home}/pods", pod(f"p{number}")) for number in range(60)]
    codes = [answer.status for answer in await asyncio.gather(*posts)]
    assert (codes.count(201), codes.count(403)) == (50, 10)
    assert count <= 4 * 60
    assert await used(shared, home) == {"pods": "50"}


async def test_what_could_not_be_stored_is_given_back() -> None:
    class Failing(MemoryLog):
        is_full = False

        def append(self, *arguments: Any) -> None:
            if self.is_full:
                raise StorageError("the disk is full")
            super().append(*arguments)

    log = Failing()
    api = await started(log)
    home = "/api/v1/namespaces/default"
    await allow(api, home, hard={"pods": "1"})
    log.is_full = True
    await api.post(f"{home}/pods", pod("a"))
    assert api.status == 500
    log.is_full = False
    await api.post(f"{home}/pods", pod("b"))
    assert api.status == 201
    await api.post(f"{home}/pods", pod("c"))
    assert api.status == 403
    await api.instance.stop()
