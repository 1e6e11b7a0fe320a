"""Names that are replaced by addresses before anybody runs behind them."""

from typing import Any

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.runtime.addresses import AddressPool
from fleetqueue.runtime.expected_names import Directory, expected_names

pytestmark = pytest.mark.rule("jobs C.6")
Object = dict[str, Any]
SERVICES = {
    ("ns", "j"): {"clusterIP": "None", "selector": {"job": "j"}},
    ("ns", "t-master-0"): {"clusterIP": "None", "selector": {"job": "t"}},
    ("ns", "web"): {"clusterIP": "127.1.255.9", "selector": {"app": "web"}},
    ("other", "db"): {"clusterIP": "127.1.255.8"},
    ("ns", "bare"): {"clusterIP": "None"},
}
OWN = {
    "metadata": {"name": "me", "namespace": "ns"},
    "spec": {
        "hostname": "me", "subdomain": "j",
        "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["friend"]}],
        "dnsConfig": {"searches": ["j.ns.svc.cluster.local"]},
    },
}  # fmt: skip


def pod(name: str, phase: str = "Running") -> Object:
    metadata = {"name": name, "namespace": "ns", "labels": {"job": "j"}}
    return {"metadata": metadata, "spec": {}, "status": {"phase": phase}}


@pytest.fixture
def pool() -> AddressPool:
    return AddressPool("127.1.0.0/17")


def look(text: str, pool: AddressPool, *pods: Object) -> dict[str, list[str]]:
    def service(namespace: str, name: str) -> Object | None:
        spec = SERVICES.get((namespace, name))
        return {"metadata": {"name": name, "namespace": namespace}, "spec": spec} if spec else None

    def expect(namespace: str, hostname: str) -> str:
        return pool.expect(Key(namespace, hostname))

    directory = Directory(service, lambda namespace: pods, expect)
    return expected_names([text], OWN, "127.1.0.200", directory)


# fmt: off
CASES = {
    "a pod below a service":     ("--at j-0.j:80",             {"j-0.j": ["127.1.0.1"]}),
    "by its whole name":         ("j-0.j.ns.svc.cluster.local",
                                  {"j-0.j.ns.svc.cluster.local": ["127.1.0.1"]}),
    "the only pod of a service": ("t-master-0",                {"t-master-0": ["127.1.0.1"]}),
    "a service with an address": ("http://web.ns.svc/x",       {"web.ns.svc": ["127.1.255.9"]}),
    "another namespace":         ("db.other db.other.svc",     {"db.other": ["127.1.255.8"],
                                                                "db.other.svc": ["127.1.255.8"]}),
    "itself":                    ("me",                        {"me": ["127.1.0.200"]}),
    "an alias":                  ("friend:1",                  {"friend": ["1.2.3.4"]}),
    "by the search list":        ("j-5:80",                    {"j-5": ["127.1.0.1"]}),
    "a service without pods":    ("bare",                      {}),
    "by the list, but nobody":   ("j-6",                       {}),
    "other words":               ("train.py --steps 5 db localhost", {}),
}
# fmt: on


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES.keys())
def test_names(text: str, expected: dict[str, list[str]], pool: AddressPool) -> None:
    assert look(text, pool, pod("j-5")) == expected


def test_a_service_with_pods_leads_to_those_that_live(pool: AddressPool) -> None:
    names = look("j.ns", pool, pod("j-0"), pod("j-1", "Failed"), pod("j-2"))
    assert names["j.ns"] == [pool.take(Key("ns", "j-0")), pool.take(Key("ns", "j-2"))]


def test_who_comes_later_has_the_address_that_was_told(pool: AddressPool) -> None:
    told = look("j-0.j", pool)["j-0.j"]
    others = [pool.take(number) for number in range(100)]
    assert [pool.take(Key("ns", "j-0"))] == told
    assert told[0] not in others
