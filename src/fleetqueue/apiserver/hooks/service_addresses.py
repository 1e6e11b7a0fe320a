"""Gives services their cluster addresses and node ports, each to one service at a time.

What is taken is read from the store once and then followed. An address that was given out stays
reserved until the service is stored, or for a minute if it never is.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from fleetqueue.api.field_errors import FieldError
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.builtin.service_address_rules import validate_addresses
from fleetqueue.apiserver.builtin.service_facts import (
    NONE,
    needs_address,
    needs_health_check,
    needs_node_port,
    ports_of,
)
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks import Hook, Operation
from fleetqueue.apiserver.storage import Change

Object = dict[str, Any]
Thing = str | int
"""An address or a port."""

NODE_PORTS = range(30000, 32768)
STATIC_ADDRESSES = 16
"""The first of the range are left to services that ask for a certain one."""
RESERVED = timedelta(minutes=1)


class ServiceAddresses(Hook):
    """Looks at services that are created or changed."""

    resources = (("", "services"),)

    def __init__(self, core: Core) -> None:
        self._core = core
        self._taken: dict[Thing, str] | None = None
        self._reserved: dict[Thing, tuple[str, datetime]] = {}
        core.store.listen(self._follow)

    def mutate(self, operation: Operation) -> None:
        if operation.resource != "services" or operation.group or operation.subresource:
            return
        if operation.obj is None:
            return
        service, old = operation.obj, operation.old
        _match_addresses(service, old)
        if old is not None:
            _keep_allocated(service, old)
        _set_families(operation, service, old)
        self._give(operation, service)

    # What is taken

    def _follow(self, changes: Sequence[Change]) -> None:
        if self._taken is None:
            return
        for change in changes:
            if change.resource != "services":
                continue
            key = change.stored.key
            if change.before is not None:
                self._forget(key, self._core.store.decoded(change.before))
            if change.after is not None:
                self._note(key, self._core.store.decoded(change.after))

    def _forget(self, key: str, service: Object) -> None:
        assert self._taken is not None
        for thing in things_of(service):
            if self._taken.get(thing) == key:
                del self._taken[thing]

    def _note(self, key: str, service: Object) -> None:
        assert self._taken is not None
        for thing in things_of(service):
            self._taken[thing] = key
            self._reserved.pop(thing, None)

    def _holder(self, thing: Thing) -> str:
        """The service that has it, or is about to; empty: it is free."""
        if self._taken is None:
            self._taken = {}
            for key, stored in self._core.store.table("services").live.items():
                self._note(key, self._core.store.decoded(stored))
        holder = self._taken.get(thing, "")
        if holder or thing not in self._reserved:
            return holder
        key, until = self._reserved[thing]
        if until > self._core.clock.now():
            return key
        del self._reserved[thing]
        return ""

    def _reserve(self, operation: Operation, key: str, thing: Thing) -> None:
        if not operation.is_dry_run and self._holder(thing) != key:
            self._reserved[thing] = (key, self._core.clock.now() + RESERVED)

    # Giving

    def _give(self, operation: Operation, service: Object) -> None:
        name = service["metadata"].get("name") or service["metadata"].get("generateName", "")
        key = f"{operation.namespace}/{name}"
        spec = service["spec"]
        if needs_address(service) and not spec.get("clusterIPs"):
            address = self._next_address()
            spec["clusterIP"], spec["clusterIPs"] = address, [address]
            self._reserve(operation, key, address)
        elif needs_address(service) and spec["clusterIPs"] != [NONE]:
            for address in spec["clusterIPs"]:
                self._take_address(operation, key, address)
        if needs_node_port(service):
            self._give_node_ports(operation, key, service)
        had_check = operation.old is not None and needs_health_check(operation.old)
        if needs_health_check(service) and not had_check:
            port = spec.get("healthCheckNodePort") or self._next_port()
            self._take_port(operation, key, port, "spec.healthCheckNodePort")
            spec["healthCheckNodePort"] = port

    def _next_address(self) -> str:
        network = self._core.service_network
        hosts = [network[index] for index in range(1, network.num_addresses - 1)]
        for some in (hosts[STATIC_ADDRESSES:], hosts[:STATIC_ADDRESSES]):
            free = [str(address) for address in some if not self._holder(str(address))]
            if free:
                return self._core.random.choice(free)
        raise problems.internal("failed to allocate a serviceIP: range is full")

    def _take_address(self, operation: Operation, key: str, address: str) -> None:
        why = ""
        if ipaddress.ip_address(address) not in self._core.service_network:
            why = "the provided network does not match the current range"
        elif self._holder(address) not in ("", key):
            why = "provided IP is already allocated"
        if why:
            listed = operation.obj["spec"]["clusterIPs"] if operation.obj else [address]
            text = f"failed to allocate IP {address}: {why}"
            raise _invalid(operation, fields.wrong("spec.clusterIPs", listed, text))
        self._reserve(operation, key, address)

    def _give_node_ports(self, operation: Operation, key: str, service: Object) -> None:
        wants_ports = service["spec"].get("allocateLoadBalancerNodePorts") is not False
        given: dict[int, int] = {}
        for index, port in enumerate(ports_of(service)):
            if not port.get("nodePort") and not wants_ports:
                continue
            number = port.get("port", 0)
            # The same port for TCP and UDP gets the same node port.
            chosen = port.get("nodePort") or given.get(number) or self._next_port()
            self._take_port(operation, key, chosen, f"spec.ports[{index}].nodePort")
            port["nodePort"] = chosen
            given.setdefault(number, chosen)

    def _next_port(self) -> int:
        for _ in range(100):
            port = self._core.random.choice(NODE_PORTS)
            if not self._holder(port):
                return port
        free = next((port for port in NODE_PORTS if not self._holder(port)), None)
        if free is None:
            raise problems.internal("failed to allocate a nodePort: range is full")
        return free

    def _take_port(self, operation: Operation, key: str, port: int, path: str) -> None:
        why = ""
        if port not in NODE_PORTS:
            bounds = f"{NODE_PORTS.start}-{NODE_PORTS.stop - 1}"
            why = f"provided port is not in the valid range. The range of valid ports is {bounds}"
        elif self._holder(port) not in ("", key):
            why = "provided port is already allocated"
        if why:
            raise _invalid(operation, fields.wrong(path, port, why))
        self._reserve(operation, key, port)


def things_of(service: Object) -> Iterable[Thing]:
    spec = service.get("spec") or {}
    for address in spec.get("clusterIPs") or ():
        if address != NONE:
            yield address
    for port in ports_of(service):
        if port.get("nodePort"):
            yield port["nodePort"]
    if spec.get("healthCheckNodePort"):
        yield spec["healthCheckNodePort"]


def _invalid(operation: Operation, *errors: FieldError) -> problems.ApiError:
    name = operation.name or (operation.obj or {})["metadata"].get("name", "")
    return problems.invalid("", "Service", name, errors)


def _match_addresses(service: Object, old: Object | None) -> None:
    """Clients that know one address only, and those that know two, mean the same."""
    spec = service["spec"]
    one, many = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if old is None:
        if one and not many:
            spec["clusterIPs"] = [one]
        return
    was_one = old["spec"].get("clusterIP") or ""
    was_many = old["spec"].get("clusterIPs") or []
    if was_many and not many and one == was_one:
        spec["clusterIPs"] = list(was_many)
    elif one != was_one and many == was_many:
        spec["clusterIPs"] = [one] if one else []


def _keep_allocated(service: Object, old: Object) -> None:
    """What an update leaves out, and the service had, it keeps."""
    spec, before = service["spec"], old["spec"]
    if needs_address(service) and needs_address(old):
        spec["clusterIP"] = spec.get("clusterIP") or before.get("clusterIP") or ""
        spec["clusterIPs"] = spec.get("clusterIPs") or list(before.get("clusterIPs") or ())
    if needs_node_port(service) and needs_node_port(old):
        used = {p.get("nodePort") for p in ports_of(service)}
        known = {p.get("name", ""): p.get("nodePort") for p in ports_of(old)}
        for port in ports_of(service):
            number = known.get(port.get("name", ""))
            if not port.get("nodePort") and number and number not in used:
                port["nodePort"] = number
    is_checked = needs_health_check(service) and needs_health_check(old)
    if is_checked and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before.get("healthCheckNodePort")


def _set_families(operation: Operation, service: Object, old: Object | None) -> None:
    if not needs_address(service):
        return
    spec = service["spec"]
    is_bare = spec.get("clusterIP") == NONE and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        before = (old or {"spec": {}})["spec"].get("ipFamilyPolicy")
        spec["ipFamilyPolicy"] = before or ("RequireDualStack" if is_bare else "SingleStack")
    if errors := validate_addresses(service):
        raise _invalid(operation, *errors)
    families = spec.get("ipFamilies") or []
    if is_bare:
        families = families or ["IPv4"]
        if len(families) < 2 and spec["ipFamilyPolicy"] != "SingleStack":
            families = [*families, "IPv6" if families[0] == "IPv4" else "IPv4"]
    elif errors := _family_errors(spec, families):
        raise _invalid(operation, *errors)
    spec["ipFamilies"] = families or ["IPv4"]


def _family_errors(spec: Object, families: list[str]) -> list[FieldError]:
    policy, path = spec["ipFamilyPolicy"], "spec.ipFamilyPolicy"
    if policy == "SingleStack":
        needs = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
        counts = (("cluster IPs", spec.get("clusterIPs") or []), ("IP families", families))
        found = [
            fields.wrong(path, policy, needs.format(what))
            for what, many in counts
            if len(many) == 2
        ]
        if found:
            return found
    errors = []
    if policy == "RequireDualStack":
        why = "this cluster is not configured for dual-stack services"
        errors.append(fields.wrong(path, policy, why))
    for index, family in enumerate(families):
        if family != "IPv4":
            at = f"spec.ipFamilies[{index}]"
            errors.append(fields.wrong(at, family, "not configured on this cluster"))
    return errors
