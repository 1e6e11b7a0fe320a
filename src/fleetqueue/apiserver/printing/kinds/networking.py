"""Tables of services, what stands behind them, and what leads to them."""

from fleetqueue.apiserver.printing import cells
from fleetqueue.apiserver.printing.cells import AGE, NAME, NONE, UNSET, age_of, at, dig, only
from fleetqueue.apiserver.printing.layout import Column, Layout, Object

HOSTS_SHOWN = 3


def _load_balancer(obj: Object) -> str:
    points = dig(obj, "status", "loadBalancer", "ingress") or ()
    found = {point.get("ip") or point.get("hostname") or "" for point in points}
    return ",".join(sorted(found - {""}))


def _external(obj: Object) -> str:
    kind = dig(obj, "spec", "type")
    own = ",".join(dig(obj, "spec", "externalIPs") or ())
    if kind in ("ClusterIP", "NodePort"):
        return own or NONE
    if kind == "LoadBalancer":
        return ",".join(filter(None, (_load_balancer(obj), own))) or "<pending>"
    if kind == "ExternalName":
        return dig(obj, "spec", "externalName") or ""
    return cells.UNKNOWN


def _ports(obj: Object) -> str:
    return ",".join(_port(port) for port in dig(obj, "spec", "ports") or ()) or NONE


def _port(port: Object) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node}/{port.get('protocol') or ''}"


def _cluster_address(obj: Object) -> str:
    addresses = dig(obj, "spec", "clusterIPs") or ()
    return addresses[0] if addresses else NONE


def _endpoints(obj: Object) -> str:
    subsets = obj.get("subsets") or ()
    if not subsets:
        return NONE
    found = []
    for subset in subsets:
        ports = [port["port"] for port in subset.get("ports") or ()] or [None]
        for port in ports:
            found += [_host(one["ip"], port) for one in subset.get("addresses") or ()]
    return cells.first_few(found)


def _host(address: str, port: int | None) -> str:
    if port is None:
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _slice_ports(obj: Object) -> str:
    ports = obj.get("ports") or ()
    return cells.first_few(str(_slice_port(port)) for port in ports) or UNSET


def _slice_port(port: Object) -> object:
    if port.get("port") is not None:
        return port["port"]
    return "*" if port.get("name") is None else port["name"]


def _slice_addresses(obj: Object) -> str:
    points = obj.get("endpoints") or ()
    found = (address for point in points for address in point.get("addresses") or ())
    return cells.first_few(found) or UNSET


def _hosts(obj: Object) -> str:
    rules = dig(obj, "spec", "rules") or ()
    shown: list[str] = []
    is_cut = False
    for rule in rules:
        # Rules without a host are counted once the list is full, never listed.
        is_cut = is_cut or len(shown) == HOSTS_SHOWN
        if not is_cut and rule.get("host"):
            shown.append(rule["host"])
    if not shown:
        return "*"
    more = f" + {len(rules) - HOSTS_SHOWN} more..." if is_cut else ""
    return ",".join(shown) + more


def _class_parameters(obj: Object) -> str:
    found = dig(obj, "spec", "parameters")
    if found is None:
        return NONE
    group = found.get("apiGroup")
    kind = found["kind"] if group is None else f"{found['kind']}.{group}"
    return f"{kind}/{found['name']}"


def _parent(obj: Object) -> str:
    parent = dig(obj, "spec", "parentRef")
    if parent is None:
        return NONE
    group, resource = parent.get("group") or "", parent.get("resource") or ""
    kind = (f"{resource}.{group}" if group else resource).lower()
    where = f"/{parent['namespace']}" if parent.get("namespace") else ""
    return f"{kind}{where}/{parent.get('name') or ''}"


def _pod_selector(obj: Object) -> str:
    return cells.selector(dig(obj, "spec", "podSelector") or {})


LAYOUTS = {
    ("", "Service"): Layout(
        (
            NAME,
            Column("Type", at("spec", "type")),
            Column("Cluster-IP", only(_cluster_address)),
            Column("External-IP", only(_external)),
            Column("Port(s)", only(_ports)),
            AGE,
            Column("Selector", cells.labels_at("spec", "selector"), priority=1),
        )
    ),
    ("", "Endpoints"): Layout((NAME, Column("Endpoints", only(_endpoints)), AGE)),
    ("discovery.k8s.io", "EndpointSlice"): Layout(
        (
            NAME,
            Column("AddressType", at("addressType")),
            Column("Ports", only(_slice_ports)),
            Column("Endpoints", only(_slice_addresses)),
            AGE,
        )
    ),
    ("networking.k8s.io", "Ingress"): Layout(
        (
            NAME,
            Column("Class", at("spec", "ingressClassName", default=NONE)),
            Column("Hosts", only(_hosts)),
            Column("Address", only(_load_balancer)),
            Column("Ports", only(lambda obj: "80, 443" if dig(obj, "spec", "tls") else "80")),
            AGE,
        )
    ),
    ("networking.k8s.io", "IngressClass"): Layout(
        (
            NAME,
            Column("Controller", at("spec", "controller")),
            Column("Parameters", only(_class_parameters)),
            AGE,
        )
    ),
    ("networking.k8s.io", "NetworkPolicy"): Layout(
        (NAME, Column("Pod-Selector", only(_pod_selector)), AGE)
    ),
    ("networking.k8s.io", "ServiceCIDR"): Layout(
        (NAME, Column("CIDRs", only(lambda obj: ",".join(dig(obj, "spec", "cidrs") or ()))), AGE)
    ),
    # kube-apiserver sends an age that no column announces, and clients expect as many cells.
    ("networking.k8s.io", "IPAddress"): Layout(
        (NAME, Column("ParentRef", only(_parent))), hidden=(age_of,)
    ),
}
