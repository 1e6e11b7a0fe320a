"""Merge patches by which a rollout changes bindings: what they deliver, and how it is applied."""

from typing import Any

from fleetqueue.api.fleet import defaults, labels
from fleetqueue.api.fleet.binding import BindingState
from fleetqueue.base import codec
from fleetqueue.fleet.decide.bindings import locked

Json = dict[str, Any]


def delivery(snapshot_name: str, overrides: Json) -> Json:
    """What the spec of an up-to-date binding says; `overrides` are its lists of snapshots."""
    return {
        "state": BindingState.BOUND.value,
        "resourceSnapshotName": snapshot_name,
        **overrides,
    }


def is_delivered(binding: Json, wanted: Json) -> bool:
    spec = binding["spec"]
    return all((spec.get(name) or None) == (value or None) for name, value in wanted.items())


def delivery_patch(binding: Json, wanted: Json, *, in_steps: bool = True) -> Json:
    """Lists that are empty are left out, or taken out. `in_steps`: that the roll-out has started
    is written next; else the binding is marked, and who writes its status first says so.
    """
    spec = {
        name: value or None
        for name, value in wanted.items()
        if value or binding["spec"].get(name) is not None
    }
    metadata = locked(binding)
    if not in_steps:
        generation = int(binding["metadata"].get("generation") or 0) + 1
        metadata["annotations"] = {labels.ROLLED_OUT: str(generation)}
    return {"metadata": metadata, "spec": spec}


def apply_strategy_patch(binding: Json, wanted: Json) -> Json | None:
    """None where the binding has that strategy already; what it says beyond it is taken out."""
    known = binding["spec"].get("applyStrategy")
    if known is not None and _said(known) == _said(wanted):
        return None
    gone = dict.fromkeys(name for name in known or {} if name not in wanted)
    return {"metadata": locked(binding), "spec": {"applyStrategy": {**gone, **wanted}}}


def _said(strategy: Json) -> Json:
    """With its defaults, and without what says nothing."""
    whole: Json = codec.copy(strategy)
    defaults.fill_apply_strategy(whole)
    return {name: value for name, value in whole.items() if value not in (None, False)}
