"""Puts the name and the labels of a member in the place of placeholders in the values of override
rules: `${MEMBER-CLUSTER-NAME}` and `${MEMBER-CLUSTER-LABEL-KEY-<key>}`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.base import codec

CLUSTER_NAME = "${MEMBER-CLUSTER-NAME}"
LABEL = "${MEMBER-CLUSTER-LABEL-KEY-"


class PlaceholderError(Exception):
    """A placeholder that cannot be filled in; the text says why."""


def filled(value: Any, cluster: str, labels: Mapping[str, str]) -> Any:
    """The value with every placeholder filled in, at any depth; one without any is not copied."""
    text = codec.encode(value).decode()
    if "${MEMBER-CLUSTER-" not in text:
        return value
    whole = text.replace(CLUSTER_NAME, cluster)
    return _each_text(value, lambda found: _filled_text(found, whole, cluster, labels))


def _filled_text(text: str, whole: str, cluster: str, labels: Mapping[str, str]) -> str:
    """Values are not looked at again: a label whose value looks like a placeholder stays so."""
    rest, done = text.replace(CLUSTER_NAME, cluster), ""
    while LABEL in rest:
        before, _, rest = rest.partition(LABEL)
        key, bracket, rest = rest.partition("}")
        if not bracket:
            raise PlaceholderError(f"input {whole} is missing the closing bracket `}}`")
        if key not in labels:
            raise PlaceholderError(f"label key {key} not found on cluster {cluster}")
        done += before + labels[key]
    return done + rest


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _each_text(each, change) for key, each in value.items()}
    return [_each_text(each, change) for each in value] if isinstance(value, list) else value
