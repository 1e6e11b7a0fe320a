"""The `ray start` command of a node: the user's flags, what is missing of them, and what the
container's resources say.
"""

import json
import re

from fleetqueue.api.quantity import Quantity, QuantityError
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import ray_names as names

_TELLING_FLAGS = ("log-color", "include-dashboard")
"""Flags whose value is told even where it is true or false."""
_ACCELERATORS = {"aws.amazon.com/neuroncore": "neuron_cores", "google.com/tpu": "TPU"}
_GPU_SLICE = re.compile(r"nvidia\.com/mig-\d+g\.\d+gb$")


def start_command(cluster: Object, group: Object, node_type: str) -> str:
    flags = complete_flags(cluster, group, node_type)
    head = " --head" if node_type == names.HEAD else ""
    return f"ray start{head} {''.join(_shown(key, flags[key]) for key in sorted(flags))}"


def head_port(cluster: Object) -> str:
    params = names.head_group(cluster).get("rayStartParams") or {}
    return str(params.get("port") or names.GCS_PORT)


def complete_flags(cluster: Object, group: Object, node_type: str) -> dict[str, str]:
    flags: dict[str, str] = {
        **{key: str(value) for key, value in (group.get("rayStartParams") or {}).items()},
        **_resource_flags(group.get("resources") or {}),
    }
    if group.get("labels"):
        flags["labels"] = ",".join(
            f"{key}={value}" for key, value in sorted(group["labels"].items())
        )
    if node_type == names.WORKER:
        flags.setdefault("address", f"{names.head_address(cluster)}:{head_port(cluster)}")
    else:
        flags.setdefault("dashboard-host", "0.0.0.0")
        flags |= _head_flags(cluster)
    flags.setdefault("metrics-export-port", str(names.METRICS_PORT))
    flags["block"] = "true"
    flags.setdefault("dashboard-agent-listen-port", str(names.AGENT_PORT))
    _add_container_resources(flags, names.containers(group)[0].get("resources") or {})
    return flags


def is_gpu(resource: str) -> bool:
    return resource.endswith("gpu") or _GPU_SLICE.search(resource) is not None


def _head_flags(cluster: Object) -> dict[str, str]:
    flags = {}
    if names.is_autoscaled(cluster["spec"]):
        flags["no-monitor"] = "true"
    options = cluster["spec"].get("gcsFaultToleranceOptions") or {}
    if options.get("redisUsername"):
        flags["redis-username"] = "$REDIS_USERNAME"
    if options.get("redisPassword"):
        flags["redis-password"] = "$REDIS_PASSWORD"
    return flags


def _resource_flags(resources: Object) -> dict[str, str]:
    """What the group says of its resources in Ray's own terms."""
    flags: dict[str, str] = {}
    others = {}
    for name, text in resources.items():
        try:
            amount = Quantity.of(text)
        except QuantityError:
            continue
        known = {"cpu": "num-cpus", "memory": "memory"}.get(name.lower())
        if known or is_gpu(name.lower()):
            flags[known or "num-gpus"] = str(amount.value())
        else:
            others[name] = _number(amount)
    if others:
        flags["resources"] = _quoted(others)
    return flags


def _add_container_resources(flags: dict[str, str], resources: Object) -> None:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    cpu = Quantity.of(limits.get("cpu") or 0) or Quantity.of(requests.get("cpu") or 0)
    memory = Quantity.of(limits.get("memory") or 0)
    if cpu:
        flags.setdefault("num-cpus", str(cpu.value()))
    if memory:
        flags.setdefault("memory", str(memory.value()))
    for name in sorted(limits):
        if is_gpu(name) and Quantity.of(limits[name]):
            flags.setdefault("num-gpus", str(Quantity.of(limits[name]).value()))
    _add_accelerator(flags, limits)


def _add_accelerator(flags: dict[str, str], limits: Object) -> None:
    """At most one kind, and none where the user has named one already."""
    try:
        known = json.loads(flags.get("resources", "{}").strip("'\"` "))
    except ValueError:
        return
    if any(name in known for name in _ACCELERATORS.values()):
        return
    for resource in sorted(limits):
        amount = Quantity.of(limits[resource])
        if resource in _ACCELERATORS and amount:
            flags["resources"] = _quoted({**known, _ACCELERATORS[resource]: _number(amount)})
            return


def _shown(flag: str, value: str) -> str:
    if value.lower() in ("true", "false") and flag not in _TELLING_FLAGS:
        return f" --{flag} " if value.lower() == "true" else ""
    return f" --{flag}={value} "


def _number(amount: Quantity) -> int | float:
    return amount.milli_value() / 1000 if amount.milli_value() % 1000 else amount.value()


def _quoted(resources: Object) -> str:
    return f"'{json.dumps(resources, sort_keys=True, separators=(',', ':'))}'"
