"""Which names a pod can resolve, and to which addresses; pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fleetqueue.kube.resources import Object

CLUSTER_DOMAIN = "cluster.local"
HEADER = """\
# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
"""
_HOSTNAME_MAX = 63
_TERMINAL = ("Succeeded", "Failed")


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


@dataclass(frozen=True, slots=True)
class Peer:
    """What decides the names that lead to a pod."""

    namespace: str
    address: str
    labels: Mapping[str, str] = field(default_factory=dict)
    hostname: str = ""
    """Its own, where the pod names one: others are not named below their Services."""
    subdomain: str = ""
    is_ready: bool = True


@dataclass(frozen=True, slots=True)
class Entry:
    """Names of one namespace that lead to one address, without what may follow them."""

    address: str
    namespace: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class View:
    """Who sees the same names: pods that agree in all this share one hosts file."""

    namespace: str
    searches: tuple[str, ...] = ()
    aliases: tuple[tuple[str, ...], ...] = ()
    """Of each line that the pod adds, the address and its names."""
    owner: str = ""
    """The uid of the one pod that the view is for; "" where others may share it."""


def view_of(pod: Object, owner: str = "") -> View:
    spec = pod.get("spec") or {}
    aliases = [
        (each["ip"], *(each.get("hostnames") or ())) for each in spec.get("hostAliases") or ()
    ]
    searches = (spec.get("dnsConfig") or {}).get("searches") or ()
    return View(pod["metadata"]["namespace"], tuple(searches), tuple(aliases), owner)


def header_of(view: View) -> str:
    """What does not change in a hosts file."""
    if not view.aliases:
        return HEADER
    lines = ["\t".join(alias) + "\n" for alias in view.aliases]
    return "".join([HEADER, "\n# Entries added by HostAliases.\n", *lines])


def own_line(pod: Object, address: str) -> str:
    """How a pod knows itself."""
    host, domain = hostname_of(pod), domain_of(pod)
    return f"{address}\t{host}.{domain}\t{host}\n" if domain else f"{address}\t{host}\n"


def entry_line(entry: Entry, view: View) -> str:
    return f"{entry.address}\t{' '.join(visible_names(entry, view))}\n"


def visible_names(entry: Entry, view: View) -> list[str]:
    """All forms under which a lookup from within the view finds an entry."""
    found = [form for name in entry.names for form in _forms(name, entry.namespace, view.namespace)]
    for search in view.searches:
        end = f".{search.rstrip('.')}"
        found += [form.removesuffix(end) for form in found if form.endswith(end)]
    return list(dict.fromkeys(found))


def peer_of(pod: Object, address: str = "") -> Peer | None:
    """`address` where the status does not show it yet; None where no name can lead to the pod."""
    status, spec, metadata = pod.get("status") or {}, pod.get("spec") or {}, pod["metadata"]
    address = status.get("podIP") or address
    if not address or status.get("phase") in _TERMINAL:
        return None
    return Peer(
        metadata["namespace"],
        address,
        metadata.get("labels") or {},
        spec.get("hostname") or "",
        spec.get("subdomain") or "",
        _is_ready(pod),
    )


def service_entry(service: Object) -> Entry | None:
    """Where a Service's own address is; None where it has none."""
    metadata, spec = service["metadata"], service.get("spec") or {}
    address = spec.get("clusterIP") or ""
    if spec.get("type") == "ExternalName" or address in ("", "None"):
        return None
    return Entry(address, metadata["namespace"], (metadata["name"],))


def pod_entry(service: Object, peer: Peer) -> Entry | None:
    """The names that a headless Service gives to one of its pods."""
    metadata, spec = service["metadata"], service.get("spec") or {}
    name, selector = metadata["name"], spec.get("selector") or {}
    if not is_headless(service) or metadata["namespace"] != peer.namespace or not selector:
        return None
    if not selector.items() <= peer.labels.items():
        return None
    if not peer.is_ready and not spec.get("publishNotReadyAddresses"):
        return None
    names: tuple[str, ...] = (name,)
    if peer.hostname and peer.subdomain == name:
        names = (f"{peer.hostname}.{name}", name)
    return Entry(peer.address, peer.namespace, names)


def slice_entries(service: Object, piece: Object) -> list[Entry]:
    """The names of a Service without a selector, whose endpoints somebody else writes."""
    metadata, spec = service["metadata"], service.get("spec") or {}
    if not is_headless(service) or spec.get("selector") or piece.get("addressType") != "IPv4":
        return []
    return [
        Entry(address, metadata["namespace"], (metadata["name"],))
        for endpoint in piece.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready") is not False
        for address in (endpoint.get("addresses") or ())[:1]
    ]


def is_headless(service: Object) -> bool:
    spec = service.get("spec") or {}
    return spec.get("type") != "ExternalName" and (spec.get("clusterIP") or "") in ("", "None")


def resolver_text(pod: Object, host_text: str) -> str:
    """The resolv.conf of a pod, from that of the host."""
    spec = pod.get("spec") or {}
    config = spec.get("dnsConfig") or {}
    policy = spec.get("dnsPolicy") or "ClusterFirst"
    host = [line.split() for line in host_text.splitlines() if line.strip()]
    servers = [words[1] for words in host if words[0] == "nameserver" and len(words) > 1]
    searches = [each for words in host if words[0] == "search" for each in words[1:]]
    options: dict[str, str] = {}
    if policy in ("ClusterFirst", "ClusterFirstWithHostNet"):
        own = f"{pod['metadata']['namespace']}.svc.{CLUSTER_DOMAIN}"
        searches = [own, f"svc.{CLUSTER_DOMAIN}", CLUSTER_DOMAIN, *searches]
        options = {"ndots": "5"}
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


def _is_ready(pod: Object) -> bool:
    """Whether names lead to a pod: it is ready, or will be as soon as it runs."""
    if pod["metadata"].get("deletionTimestamp"):
        return False
    conditions = {
        each["type"]: each["status"] for each in (pod.get("status") or {}).get("conditions") or ()
    }
    containers = (pod.get("spec") or {}).get("containers") or ()
    has_probe = any(each.get("readinessProbe") is not None for each in containers)
    # Programs give up at once on a name that is not known yet, so it comes before the process.
    return conditions.get("Ready") == "True" or not has_probe


def _forms(name: str, namespace: str, viewer: str) -> list[str]:
    long = f"{name}.{namespace}"
    forms = [long, f"{long}.svc", f"{long}.svc.{CLUSTER_DOMAIN}"]
    return [name, *forms] if namespace == viewer else forms


def collect(entries: Iterable[Entry], view: View) -> dict[str, list[str]]:
    """The addresses of each name, as a lookup from within the view finds them."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        for name in visible_names(entry, view):
            known = found.setdefault(name, [])
            if entry.address not in known:
                known.append(entry.address)
    return found
