"""Which names a pod can resolve, and to which addresses: the text of its hosts file; pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fleetqueue.kube.resources import Object

CLUSTER_DOMAIN = "cluster.local"
_HOSTNAME_MAX = 63
_TERMINAL = ("Succeeded", "Failed")
_HEADER = """\
# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
"""


@dataclass(frozen=True, slots=True)
class Peers:
    """What a pod may look for: the pods and Services of all namespaces."""

    pods: Sequence[Object] = ()
    services: Sequence[Object] = ()
    endpoints: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    """The addresses of Services without a selector, by namespace and name."""


def hostname_of(pod: Object) -> str:
    spec = pod.get("spec") or {}
    name = str(spec.get("hostnameOverride") or spec.get("hostname") or pod["metadata"]["name"])
    return name if len(name) <= _HOSTNAME_MAX else name[:_HOSTNAME_MAX].rstrip("-.")


def domain_of(pod: Object) -> str:
    """What follows the host name; "" for a pod without a subdomain."""
    spec = pod.get("spec") or {}
    if not spec.get("subdomain") or spec.get("hostnameOverride"):
        return ""
    return f"{spec['subdomain']}.{pod['metadata']['namespace']}.svc.{CLUSTER_DOMAIN}"


def kernel_hostname_of(pod: Object) -> str:
    """What `hostname` prints inside."""
    domain = domain_of(pod)
    if (pod.get("spec") or {}).get("setHostnameAsFQDN") and domain:
        return f"{hostname_of(pod)}.{domain}"
    return hostname_of(pod)


def visible_names(pod: Object, peers: Peers) -> dict[str, list[str]]:
    """The addresses of each name, the way a lookup from inside the pod would find them."""
    namespace = pod["metadata"]["namespace"]
    found: dict[str, list[str]] = {}
    by_namespace: dict[str, list[Object]] = {}
    for each in peers.pods:
        by_namespace.setdefault(each["metadata"]["namespace"], []).append(each)
    for service in peers.services:
        candidates = by_namespace.get(service["metadata"]["namespace"], [])
        for name, addresses in _service_names(service, candidates, peers, namespace):
            known = found.setdefault(name, [])
            known += [address for address in addresses if address not in known]
    _add_searched(found, (pod.get("spec") or {}).get("dnsConfig") or {})
    return found


def hosts_text(pod: Object, address: str, peers: Peers) -> str:
    """The whole hosts file of a pod."""
    lines = [_HEADER]
    host, domain = hostname_of(pod), domain_of(pod)
    lines.append(f"{address}\t{host}.{domain}\t{host}\n" if domain else f"{address}\t{host}\n")
    aliases = (pod.get("spec") or {}).get("hostAliases") or ()
    if aliases:
        lines.append("\n# Entries added by HostAliases.\n")
        lines += [
            "\t".join([each["ip"], *(each.get("hostnames") or ())]) + "\n" for each in aliases
        ]
    own = {host, f"{host}.{domain}"}
    others = {k: v for k, v in visible_names(pod, peers).items() if k not in own}
    if others:
        lines.append("\n# Services and pods of the cluster.\n")
        lines += [f"{each}\t{' '.join(names)}\n" for each, names in _by_address(others)]
    return "".join(lines)


def resolver_text(namespace: str, pod: Object, host_text: str) -> str:
    """The resolv.conf of a pod, from that of the host."""
    spec = pod.get("spec") or {}
    config = spec.get("dnsConfig") or {}
    policy = spec.get("dnsPolicy") or "ClusterFirst"
    host = [line.split() for line in host_text.splitlines() if line.strip()]
    servers = [words[1] for words in host if words[0] == "nameserver" and len(words) > 1]
    searches = [each for words in host if words[0] == "search" for each in words[1:]]
    options: dict[str, str] = {}
    if policy in ("ClusterFirst", "ClusterFirstWithHostNet"):
        cluster = [f"{namespace}.svc.{CLUSTER_DOMAIN}", f"svc.{CLUSTER_DOMAIN}", CLUSTER_DOMAIN]
        searches, options = [*cluster, *searches], {"ndots": "5"}
    elif policy == "None":
        servers, searches = [], []
    servers = list(dict.fromkeys([*servers, *(config.get("nameservers") or ())]))
    searches = list(dict.fromkeys([*searches, *(config.get("searches") or ())]))
    options.update({each["name"]: each.get("value") or "" for each in config.get("options") or ()})
    words = [f"{name}:{value}" if value else name for name, value in options.items()]
    lines = [f"search {' '.join(searches)}\n"] if searches else []
    lines += [f"nameserver {each}\n" for each in servers]
    return "".join(lines + ([f"options {' '.join(words)}\n"] if words else []))


def switch_text(host_text: str) -> str | None:
    """A nsswitch.conf that asks the hosts file first; None where the host's does so already."""
    lines = host_text.splitlines()
    found = [line.partition(":")[2].split() for line in lines if line.startswith("hosts:")]
    if not found or found[-1][:1] == ["files"]:
        return None
    kept = [line for line in lines if not line.startswith("hosts:")]
    return "\n".join([*kept, "hosts: files dns", ""])


def write_in_place(path: Path, text: str) -> bool:
    """A bound file keeps its inode, so it is never replaced; whether anything changed."""
    data = text.encode()
    if path.exists() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("r+b" if path.exists() else "wb") as file:
        file.write(data)
        file.truncate()
    return True


def is_published(pod: Object, ignores_readiness: bool = False) -> bool:
    """Whether names lead to a pod: it is ready, or will be as soon as it runs."""
    status = pod.get("status") or {}
    if not status.get("podIP") or status.get("phase") in _TERMINAL:
        return False
    if ignores_readiness:
        return True
    if pod["metadata"].get("deletionTimestamp"):
        return False
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    containers = (pod.get("spec") or {}).get("containers") or ()
    has_probe = any(each.get("readinessProbe") is not None for each in containers)
    # Programs give up at once on a name that is not known yet, so it comes before the process.
    return conditions.get("Ready") == "True" or not has_probe


def _service_names(
    service: Object, pods: Sequence[Object], peers: Peers, viewer: str
) -> Iterable[tuple[str, list[str]]]:
    metadata, spec = service["metadata"], service.get("spec") or {}
    name, namespace = metadata["name"], metadata["namespace"]
    address = spec.get("clusterIP") or ""
    if spec.get("type") == "ExternalName":
        return
    if address not in ("", "None"):
        for form in _forms(name, namespace, viewer):
            yield form, [address]
        return
    ready = _selected(service, pods)
    addresses = [each["status"]["podIP"] for each in ready]
    addresses += peers.endpoints.get((namespace, name), ())
    if addresses:
        for form in _forms(name, namespace, viewer):
            yield form, addresses
    for pod in ready:
        own = pod.get("spec") or {}
        if own.get("hostname") and own.get("subdomain") == name:
            for form in _forms(f"{own['hostname']}.{name}", namespace, viewer):
                yield form, [pod["status"]["podIP"]]


def _selected(service: Object, pods: Sequence[Object]) -> list[Object]:
    spec = service.get("spec") or {}
    selector = spec.get("selector") or {}
    ignores = bool(spec.get("publishNotReadyAddresses"))
    return [
        pod
        for pod in pods
        if selector
        and selector.items() <= (pod["metadata"].get("labels") or {}).items()
        and is_published(pod, ignores)
    ]


def _forms(name: str, namespace: str, viewer: str) -> list[str]:
    long = f"{name}.{namespace}"
    forms = [long, f"{long}.svc", f"{long}.svc.{CLUSTER_DOMAIN}"]
    return [name, *forms] if namespace == viewer else forms


def _add_searched(found: dict[str, list[str]], config: Object) -> None:
    for search in config.get("searches") or ():
        end = f".{search.rstrip('.')}"
        for name in [each for each in found if each.endswith(end)]:
            found.setdefault(name.removesuffix(end), found[name])


def _by_address(names: Mapping[str, Sequence[str]]) -> Iterable[tuple[str, list[str]]]:
    lines: dict[str, list[str]] = {}
    for name in names:
        for address in names[name]:
            lines.setdefault(address, []).append(name)
    return lines.items()
