"""The names that a pod can resolve, and the files that say so."""

from typing import Any

import pytest

from fleetqueue.runtime import hosts
from fleetqueue.runtime.hosts import (
    View,
    collect,
    domain_of,
    hostname_of,
    kernel_hostname_of,
    resolver_text,
    switch_text,
)

HERE = View("ns")


def pod(name: str, address: str = "", namespace: str = "ns", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": {"job": "j"}},
        "spec": {"containers": [{"name": "c"}], **spec},
        "status": {"podIP": address, "phase": "Running"} if address else {},
    }


def service(name: str, address: str = "None", namespace: str = "ns", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterIP": address, "selector": {"job": "j"}, **spec},
    }


def visible(
    pods: list[dict[str, Any]], service: dict[str, Any], view: View = HERE
) -> dict[str, list[str]]:
    """What a Service lets others see of pods."""
    entries = [hosts.service_entry(service)]
    peers = [hosts.peer_of(each) for each in pods]
    entries += [hosts.pod_entry(service, peer) for peer in peers if peer is not None]
    return collect([entry for entry in entries if entry is not None], view)


ZERO = pod("j-0-abc", "127.1.0.1", hostname="j-0", subdomain="j")
ONE = pod("j-1-def", "127.1.0.2", hostname="j-1", subdomain="j")
FORMS = ("", ".ns", ".ns.svc", ".ns.svc.cluster.local")


@pytest.mark.rule("jobs C.6")
def test_pods_of_a_headless_service_have_names() -> None:
    names = visible([ZERO, ONE], service("j"))
    for form in FORMS:
        assert names[f"j-0.j{form}"] == ["127.1.0.1"]
        assert names[f"j{form}"] == ["127.1.0.1", "127.1.0.2"]
    assert "j-0" not in names


@pytest.mark.rule("jobs C.6")
def test_a_service_with_an_address_leads_there() -> None:
    names = visible([ZERO], service("web", "127.1.255.9"))
    assert names == {f"web{form}": ["127.1.255.9"] for form in FORMS}


def test_other_namespaces_need_a_longer_name() -> None:
    other = pod("x", "127.1.0.9", "other", hostname="x", subdomain="s")
    names = visible([other], service("s", namespace="other"))
    assert "s" not in names
    assert "x.s" not in names
    assert names["x.s.other"] == names["s.other.svc.cluster.local"] == ["127.1.0.9"]


def test_a_service_names_pods_of_its_own_namespace_that_it_selects() -> None:
    assert visible([pod("x", "127.1.0.9", "other")], service("j")) == {}
    assert visible([ZERO], service("j", selector={"job": "k"})) == {}
    assert visible([ZERO], service("j", selector={})) == {}
    assert visible([ZERO], service("j", type="ExternalName")) == {}


# fmt: off
PROBED = {"containers": [{"name": "c", "readinessProbe": {}}]}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
PUBLISHED = {
    "before it runs":                   ({},     {"phase": "Pending"},     False, True),
    "with a probe that is not passed":  (PROBED, {},                       False, False),
    "with a probe that is passed":      (PROBED, READY,                    False, True),
    "where the service does not mind":  (PROBED, {},                       True,  True),
    "not without an address":           ({},     {"podIP": ""},            False, False),
    "not after its end":                ({},     {"phase": "Succeeded"},   True,  False),
}
# fmt: on


@pytest.mark.rule("jobs C.6")
@pytest.mark.parametrize(
    ("spec", "status", "not_ready", "is_named"), PUBLISHED.values(), ids=PUBLISHED.keys()
)
def test_which_pods_are_named(
    spec: dict[str, Any], status: dict[str, Any], not_ready: bool, is_named: bool
) -> None:
    seen = pod("p", "127.1.0.1", hostname="p", subdomain="j", **spec)
    seen["status"].update(status)
    names = visible([seen], service("j", publishNotReadyAddresses=not_ready))
    assert ("p.j" in names) == is_named


def test_a_pod_that_is_being_deleted_is_not_named() -> None:
    leaving = pod("p", "127.1.0.1")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert visible([leaving], service("j")) == {}


def test_search_domains_shorten_names() -> None:
    searching = pod("launcher", dnsConfig={"searches": ["j.ns.svc.cluster.local"]})
    view = hosts.view_of(searching)
    assert visible([ZERO], service("j"), view)["j-0"] == ["127.1.0.1"]


def test_services_without_a_selector_have_what_their_endpoints_say() -> None:
    ready, lost = {"conditions": {"ready": True}}, {"conditions": {"ready": False}}
    endpoints = [{**ready, "addresses": ["10.0.0.9"]}, {**lost, "addresses": ["10.0.0.8"]}]
    piece = {"addressType": "IPv4", "endpoints": endpoints}
    entries = hosts.slice_entries(service("ext", selector={}), piece)
    assert collect(entries, HERE)["ext"] == ["10.0.0.9"]
    assert hosts.slice_entries(service("ext"), piece) == []
    assert hosts.slice_entries(service("ext", "127.1.255.4", selector={}), piece) == []


LONG = "a" * 62 + "-" + "b"
# fmt: off
HOSTNAMES = {
    "the pod's name":          (pod("p"), "p", "", "p"),
    "its own":                 (pod("p", hostname="h"), "h", "", "h"),
    "with a domain":           (pod("p", hostname="h", subdomain="s"), "h",
                                "s.ns.svc.cluster.local", "h"),
    "the whole as host name":  (pod("p", hostname="h", subdomain="s", setHostnameAsFQDN=True), "h",
                                "s.ns.svc.cluster.local", "h.s.ns.svc.cluster.local"),
    "cut where it is long":    (pod(LONG), "a" * 62, "", "a" * 62),
}
# fmt: on


@pytest.mark.rule("jobs C.6")
@pytest.mark.parametrize(
    ("seen", "host", "domain", "kernel"), HOSTNAMES.values(), ids=HOSTNAMES.keys()
)
def test_host_names(seen: dict[str, Any], host: str, domain: str, kernel: str) -> None:
    assert (hostname_of(seen), domain_of(seen), kernel_hostname_of(seen)) == (host, domain, kernel)


@pytest.mark.rule("jobs C.6")
def test_the_lines_of_a_hosts_file() -> None:
    aliased = pod("p", hostAliases=[{"ip": "1.2.3.4", "hostnames": ["x", "y"]}])
    head = hosts.header_of(hosts.view_of(aliased)).splitlines()
    assert head[:2] == ["# Kubernetes-managed hosts file.", "127.0.0.1\tlocalhost"]
    assert head[-1] == "1.2.3.4\tx\ty"
    assert hosts.own_line(ONE, "127.1.0.2") == "127.1.0.2\tj-1.j.ns.svc.cluster.local\tj-1\n"
    assert hosts.own_line(pod("p"), "127.1.0.3") == "127.1.0.3\tp\n"
    peer = hosts.peer_of(ZERO)
    assert peer is not None
    entry = hosts.pod_entry(service("j"), peer)
    assert entry is not None
    address, names = hosts.entry_line(entry, HERE).split("\t")
    assert address == "127.1.0.1"
    assert set(names.split()) == {f"{name}{form}" for name in ("j-0.j", "j") for form in FORMS}


HOST_RESOLVER = "# made\nsearch corp\nnameserver 10.0.0.2\noptions rotate\n"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {},
            "search ns.svc.cluster.local svc.cluster.local cluster.local corp\n"
            "nameserver 10.0.0.2\noptions ndots:5\n",
        ),
        ({"dnsPolicy": "Default"}, "search corp\nnameserver 10.0.0.2\n"),
        (
            {
                "dnsPolicy": "None",
                "dnsConfig": {
                    "nameservers": ["9.9.9.9"],
                    "searches": ["a"],
                    "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
                },
            },
            "search a\nnameserver 9.9.9.9\noptions ndots:2 edns0\n",
        ),
    ],
)
def test_the_resolver_file(spec: dict[str, Any], expected: str) -> None:
    assert resolver_text(pod("p", **spec), HOST_RESOLVER) == expected


def test_the_hosts_file_must_be_asked_first() -> None:
    assert switch_text("hosts: files dns\n") is None
    assert switch_text("passwd: files\n") is None
    switched = switch_text("passwd: files\nhosts: resolve files\n")
    assert switched == "passwd: files\nhosts: files dns\n"
