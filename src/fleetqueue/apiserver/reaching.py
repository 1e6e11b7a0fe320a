"""Servers behind Services: where to connect to, and how a Go client words it if that fails.

Webhooks and API servers beside this one are reached by the same rules.
"""

import errno

from fleetqueue.api.endpoint_slices import port_numbers
from fleetqueue.apiserver.core import Core


class CallFailed(Exception):
    """There is no usable answer; the words are those a Go client would use."""


def service_address(core: Core, namespace: str, name: str, port: int) -> str:
    service = core.get("services", f"{namespace}/{name}")
    if service is None:
        raise CallFailed(f'service "{name}" not found')
    spec = service.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return joined(spec["externalName"], port)
    wanted = next((p for p in spec.get("ports") or () if p["port"] == port), None)
    if wanted is None:
        raise CallFailed(f'service port {port} not found for service "{name}"')
    found = _endpoint(core, namespace, name, wanted.get("name") or "")
    if found is None:
        raise CallFailed(f'no endpoints available for service "{name}"')
    return found


def _endpoint(core: Core, namespace: str, name: str, port_name: str) -> str | None:
    slices = "endpointslices.discovery.k8s.io"
    for key in core.store.table(slices).select(f"{namespace}/"):
        part = core.get(slices, key)
        labels = (part or {}).get("metadata", {}).get("labels") or {}
        if part is None or labels.get("kubernetes.io/service-name") != name:
            continue
        numbers = port_numbers(part, port_name)
        for endpoint in part.get("endpoints") or ():
            if numbers and (endpoint.get("conditions") or {}).get("ready") is not False:
                return joined(endpoint["addresses"][0], numbers[0])
    endpoints = core.get("endpoints", f"{namespace}/{name}")
    for subset in (endpoints or {}).get("subsets") or ():
        ports = [p for p in subset.get("ports") or () if (p.get("name") or "") == port_name]
        if ports and subset.get("addresses"):
            return joined(subset["addresses"][0]["ip"], ports[0]["port"])
    return None


def go_words(error: Exception) -> str:
    """What went wrong with an HTTPS request."""
    import aiohttp

    if isinstance(error, TimeoutError):
        return "context deadline exceeded"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        why = "x509: certificate signed by unknown authority"
        return f"tls: failed to verify certificate: {why}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return _dial_error(error.host, error.port, error.os_error)
    return str(error)


def _dial_error(host: str, port: int | None, error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError) or error.errno == errno.ECONNREFUSED:
        return f"dial tcp {joined(host, port)}: connect: connection refused"
    return f"dial tcp {joined(host, port)}: {error.strerror or error}"


def joined(host: str, port: int | None) -> str:
    """Host and port as URLs have them: an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
