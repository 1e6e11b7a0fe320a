"""What a pod asks of a node and what a node has to give, in whole numbers: cpu in thousandths,
everything else in its own unit.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from fleetqueue.api.quantity import Quantity

Object = dict[str, Any]

Amounts: TypeAlias = dict[str, int]

CPU, MEMORY, PODS = "cpu", "memory", "pods"
UNSAID_CPU = 100
"""A container that requests no cpu is weighed as if it did; a node is not full of nothing."""
UNSAID_MEMORY = 200 * 1024 * 1024
_POD_LEVEL = (CPU, MEMORY)
_HUGE_PAGES = "hugepages-"


def amounts_of(quantities: Mapping[str, Any] | None) -> Amounts:
    """A resource list as the API has it."""
    return {name: _whole(name, str(value)) for name, value in (quantities or {}).items()}


def pod_requests(spec: Object, *, keeps_zeros: bool = False) -> Amounts:
    """What has to be free: containers and sidecars together, or the largest init container with the
    sidecars that run before it, whichever is more; and the overhead. `keeps_zeros`: with what is
    asked for and none of it.
    """
    total = _aggregated(spec, _requests)
    own = spec.get("resources") or {}
    for name, value in amounts_of(own.get("requests")).items():
        if name in _POD_LEVEL or name.startswith(_HUGE_PAGES):
            total[name] = value
    _add(total, amounts_of(spec.get("overhead")))
    return {name: value for name, value in total.items() if value or keeps_zeros}


def weighed_requests(spec: Object) -> tuple[int, int]:
    """Cpu and memory as scoring counts them: what a container does not say is a little."""
    total = _aggregated(spec, _weighed)
    own = amounts_of((spec.get("resources") or {}).get("requests"))
    overhead = amounts_of(spec.get("overhead"))
    cpu, memory = (
        own.get(name, total.get(name, 0)) + overhead.get(name, 0) for name in (CPU, MEMORY)
    )
    return cpu, memory


def _aggregated(spec: Object, requests: Any) -> Amounts:
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, requests(container))
    beside: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        wanted = requests(container)
        if container.get("restartPolicy") == "Always":
            _add(total, wanted)
            _add(beside, wanted)
            _raise_to(peak, beside.items())
        else:
            names = wanted.keys() | beside.keys()
            both = [(name, wanted.get(name, 0) + beside.get(name, 0)) for name in names]
            _raise_to(peak, both)
    _raise_to(total, peak.items())
    return total


def _requests(container: Object) -> Amounts:
    """What is limited and not requested is requested as much as it is limited."""
    resources = container.get("resources") or {}
    return amounts_of({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _weighed(container: Object) -> Amounts:
    said = _requests(container)
    return {CPU: said.get(CPU, UNSAID_CPU), MEMORY: said.get(MEMORY, UNSAID_MEMORY)}


def _add(total: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _raise_to(total: Amounts, least: Iterable[tuple[str, int]]) -> None:
    for name, value in least:
        if name not in total or value > total[name]:
            total[name] = value


@lru_cache(maxsize=4096)
def _whole(name: str, text: str) -> int:
    quantity = Quantity.of(text)
    return quantity.milli_value() if name == CPU else quantity.value()
