"""What a name will lead to, also before the pod behind it runs: for machines where names cannot be
looked up and are replaced by addresses when a process starts.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fleetqueue.kube.resources import Object
from fleetqueue.runtime import hosts
from fleetqueue.runtime.pod_facts import is_terminal

_NAME = re.compile(r"(?<![\w.-])[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?", re.IGNORECASE)
_LETTER = re.compile(r"[a-z]", re.IGNORECASE)
_SUFFIXES = (f".svc.{hosts.CLUSTER_DOMAIN}", ".svc")


@dataclass(frozen=True, slots=True)
class Directory:
    """Where names are looked for."""

    service: Callable[[str, str], Object | None]
    """By namespace and name."""
    pods: Callable[[str], Sequence[Object]]
    """Those of a namespace."""
    expect: Callable[[str, str], str]
    """The address that whoever comes with this host name in a namespace will have."""


def expected_names(
    texts: Iterable[str], pod: Object, address: str, directory: Directory
) -> dict[str, list[str]]:
    """The names of the cluster that are mentioned in texts, and their addresses."""
    host, domain = hosts.hostname_of(pod), hosts.domain_of(pod)
    own = {host: [address], **({f"{host}.{domain}": [address]} if domain else {})}
    for alias in (pod.get("spec") or {}).get("hostAliases") or ():
        own |= {name: [alias["ip"]] for name in alias.get("hostnames") or ()}
    found: dict[str, list[str]] = {}
    for name in {name for text in texts for name in _mentioned(text)}:
        addresses = own.get(name) or _look_up(name, pod, directory)
        if addresses:
            found[name] = addresses
    return found


def _mentioned(text: str) -> Iterable[str]:
    return (name for name in _NAME.findall(text) if _LETTER.search(name))


def _look_up(name: str, pod: Object, directory: Directory) -> list[str]:
    found = _look_up_whole(name, pod["metadata"]["namespace"], directory)
    if found or "." in name:
        return found
    # With a search list any word may be a name, so there must be somebody who has it.
    for search in ((pod.get("spec") or {}).get("dnsConfig") or {}).get("searches") or ():
        namespace = _without_suffix(search.rstrip(".")).partition(".")[2]
        if any(hosts.hostname_of(each) == name for each in directory.pods(namespace)):
            return _look_up_whole(f"{name}.{search.rstrip('.')}", namespace, directory)
    return []


def _look_up_whole(name: str, namespace: str, directory: Directory) -> list[str]:
    labels = _without_suffix(name).split(".")
    found = _addresses(labels, namespace, directory)
    if not found and len(labels) > 1:
        found = _addresses(labels[:-1], labels[-1], directory)
    return found


def _without_suffix(name: str) -> str:
    for suffix in _SUFFIXES:
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    return name


def _addresses(labels: Sequence[str], namespace: str, directory: Directory) -> list[str]:
    """Of `service`, or of `hostname.service`."""
    if len(labels) > 2:
        return []
    service = directory.service(namespace, labels[-1])
    if service is None:
        return []
    own = hosts.service_entry(service)
    if own is not None:
        return [own.address] if len(labels) == 1 else []
    if len(labels) == 2:
        return [directory.expect(namespace, labels[0])]
    selector: Mapping[str, str] = (service.get("spec") or {}).get("selector") or {}
    behind = [
        hosts.hostname_of(each)
        for each in directory.pods(namespace)
        if selector
        and selector.items() <= (each["metadata"].get("labels") or {}).items()
        and not is_terminal(each)
    ]
    # A Service of a training job is called as the one pod behind it will be.
    return [
        directory.expect(namespace, each) for each in behind or ([labels[0]] if selector else [])
    ]
