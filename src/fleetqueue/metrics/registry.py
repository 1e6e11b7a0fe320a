"""Keeps the counters and histograms of one process, asks for gauges when somebody looks, and shows
all of it as Prometheus reads it.
"""

import asyncio
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import version
from typing import Any, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector

from fleetqueue.metrics.custom_labels import CustomLabels, Json
from fleetqueue.metrics.definitions import DEFINITIONS, Definition, Kind

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
STANDALONE, LEADER, FOLLOWER = "standalone", "leader", "follower"
Reading: TypeAlias = tuple[str, tuple[str, ...], float]
"""The name of a metric, the values of its labels, its value."""
Source: TypeAlias = Callable[[], Iterable[Reading]]
Labels: TypeAlias = tuple[str, ...]
_READ: Mapping[Kind, Any] = {Kind.GAUGE: GaugeMetricFamily, Kind.COUNTER: CounterMetricFamily}
_MAKERS: Mapping[Kind, Any] = {Kind.COUNTER: Counter, Kind.HISTOGRAM: Histogram}


class Metrics:
    """One process; nothing of it is global. `role` says what the process is among its replicas."""

    def __init__(self, role: Callable[[], str] = lambda: STANDALONE) -> None:
        self.role = role
        self.custom = CustomLabels()
        self.sources: list[Source] = [build_info, self._read_plain]
        """Asked each time somebody looks, on the event loop: gauges, and what others count."""
        self._registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self._registry)
        self._parents: dict[str, Any] = {}
        self._series: dict[str, dict[Labels, Any]] = {}
        """The children that exist, by name and labels: asking the library for one is slow."""
        self._plain: dict[tuple[str, Labels], float] = {}
        """Counters that the library would give other names."""

    def count(self, name: str, *labels: str, by: float = 1.0, workload: Json | None = None) -> None:
        """`workload`: what was counted, for the labels that users take from it."""
        if _is_plain(DEFINITIONS[name]):
            self._plain[name, labels] = self._plain.get((name, labels), 0.0) + by
        else:
            self._child(name, labels, workload).inc(by)

    def observe(
        self, name: str, seconds: float, *labels: str, workload: Json | None = None
    ) -> None:
        self._child(name, labels, workload).observe(max(0.0, seconds))

    def remove(self, prefix: str = "", /, **labels: str) -> None:
        """Forgets the counters and histograms whose labels say all of this, of the metrics whose
        names begin so; metrics that have no such labels stay.
        """
        for name, series in self._series.items():
            if not name.startswith(prefix):
                continue
            places = _places(DEFINITIONS[name], labels)
            for values in _matching(series, places) if places else ():
                del series[values]
                self._parents[name].remove(*values)

    def families(self) -> list[Metric]:
        """Everything as it is now; nothing that has no series."""
        found = [_without_created(each) for each in self._registry.collect()]
        return [each for each in (*found, *self._read()) if each.samples]

    def text(self) -> bytes:
        return _written(self.families())

    async def exposed(self) -> bytes:
        """The same; only what has to be is done on the event loop."""
        return await asyncio.to_thread(_written, self.families())

    def _child(self, name: str, labels: Labels, workload: Json | None) -> Any:
        series = self._series.setdefault(name, {})
        values = labels
        if DEFINITIONS[name].has_role:
            custom = self.custom.values(DEFINITIONS[name], labels, workload)
            values = (*labels, *custom, self.role())
        found = series.get(values)
        if found is None:
            found = series[values] = self._parent(name).labels(*values)
        return found

    def _parent(self, name: str) -> Any:
        found = self._parents.get(name)
        if found is None:
            told = DEFINITIONS[name]
            more = {"buckets": told.buckets} if told.kind is Kind.HISTOGRAM else {}
            found = self._parents[name] = _MAKERS[told.kind](
                told.full_name, told.help, self._names(told), registry=self._registry, **more
            )
        return found

    def _read(self) -> Iterator[Metric]:
        families: dict[str, Any] = {}
        role = self.role()
        for source in self.sources:
            for name, labels, value in source():
                told = DEFINITIONS[name]
                if name not in families:
                    make = _PlainCounter if _is_plain(told) else _READ[told.kind]
                    families[name] = make(told.full_name, told.help, labels=self._names(told))
                if told.has_role:
                    labels = (*labels, *self.custom.values(told, labels, None), role)
                families[name].add_metric(labels, value)
        return iter(families.values())

    def _read_plain(self) -> Iterator[Reading]:
        return ((name, labels, value) for (name, labels), value in self._plain.items())

    def _names(self, told: Definition) -> Labels:
        """The label that tells the role is the last."""
        return (*told.labels, *self.custom.names(told), *told.all_labels[len(told.labels) :])


def build_info() -> Iterator[Reading]:
    running = f"python{platform.python_version()}"
    where = f"{sys.platform}/{platform.machine()}"
    program = f"v{version('fleetqueue')}"
    compiler = platform.python_implementation()
    yield "build_info", (program, "", "", running, compiler, where), 1.0


def _places(told: Definition, labels: Mapping[str, str]) -> list[tuple[int, str]]:
    """Where in the values of a metric these labels stand; empty where one is missing."""
    if not set(labels) <= set(told.labels):
        return []
    return [(told.labels.index(name), value) for name, value in labels.items()]


def _matching(series: Mapping[Labels, Any], places: list[tuple[int, str]]) -> list[Labels]:
    return [values for values in series if all(values[at] == value for at, value in places)]


def _without_created(family: Metric) -> Metric:
    """Nobody asks when a series began, and it would double their number."""
    family.samples = [each for each in family.samples if not each.name.endswith("_created")]
    return family


class _PlainCounter(Metric):
    """A counter whose name does not end as the library has them end."""

    def __init__(self, name: str, help: str, labels: Labels) -> None:
        super().__init__(name, help, "counter")
        self._labels = labels

    def add_metric(self, labels: Labels, value: float) -> None:
        self.add_sample(self.name, dict(zip(self._labels, labels, strict=True)), value)


def _is_plain(told: Definition) -> bool:
    return told.kind is Kind.COUNTER and not told.name.endswith("_total")


def _written(families: list[Metric]) -> bytes:
    text = generate_latest(_Collected(families))
    for each in families:
        if isinstance(each, _PlainCounter):
            for lead in ("# HELP", "# TYPE"):
                wrong, right = f"{lead} {each.name}_total ", f"{lead} {each.name} "
                text = text.replace(wrong.encode(), right.encode())
    return text


class _Collected(CollectorRegistry):
    """Families that were collected already, in the shape that the library writes."""

    def __init__(self, families: list[Metric]) -> None:
        super().__init__()
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return iter(self._families)
