"""The names that KubeFleet gives to objects, and the hashes that go into them."""

import hashlib
import json
from typing import Any

SYSTEM_NAMESPACE = "fleet-system"
RESERVED_PREFIXES = ("fleet-", "kube-")

_PLACEMENT_PART = 26
_CLUSTER_PART = 27


def member_namespace(cluster: str) -> str:
    """The namespace on the hub through which a member gets its Works."""
    return f"fleet-member-{cluster}"


def member_role(cluster: str) -> str:
    return f"fleet-role-{cluster}"


def member_role_binding(cluster: str) -> str:
    return f"fleet-rolebinding-{cluster}"


def is_reserved_namespace(name: str) -> bool:
    """Whether the system keeps this namespace to itself."""
    return name.startswith(RESERVED_PREFIXES)


def is_selectable_namespace(name: str) -> bool:
    """Whether a placement may select this namespace."""
    return name != "default" and not is_reserved_namespace(name)


def policy_snapshot(placement: str, index: int) -> str:
    return f"{placement}-{index}"


def master_resource_snapshot(placement: str, index: int) -> str:
    return f"{placement}-{index}-snapshot"


def resource_snapshot_shard(placement: str, index: int, subindex: int) -> str:
    return f"{placement}-{index}-{subindex}"


def override_snapshot(override: str, index: int) -> str:
    return f"{override}-{index}"


def binding(placement: str, cluster: str, suffix: str) -> str:
    """At most 63 characters; the random suffix, eight of them, tells cut names apart."""
    return f"{_cut(placement, _PLACEMENT_PART)}-{_cut(cluster, _CLUSTER_PART)}-{suffix}"


def work_base(placement: str, namespace: str = "") -> str:
    """What the names of a placement's Works begin with."""
    return f"{namespace}.{placement}" if namespace else placement


def first_work(base: str) -> str:
    return f"{base}-work"


def shard_work(base: str, subindex: int) -> str:
    return f"{base}-{subindex}"


def envelope_work(work: str, envelope_type: str, namespace: str, name: str) -> str:
    """The Work of what an envelope holds, beside the Work that the envelope itself would be in."""
    identity = f"{envelope_type}/{namespace}/{name}"
    return f"{work}-envelope-{hashlib.sha256(identity.encode()).hexdigest()[:16]}"


def approval_before(run: str, stage: str) -> str:
    return f"{run}-before-{stage}"


def approval_after(run: str, stage: str) -> str:
    return f"{run}-after-{stage}"


def content_hash(value: Any) -> str:
    """The hash of plain JSON, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text_hash(text)


def text_hash(text: str) -> str:
    """Of JSON as upstream writes it: letters that mean something in HTML are escaped."""
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return hashlib.sha256(text.encode()).hexdigest()


def _cut(name: str, length: int) -> str:
    """No part of a name between dots may begin with a dash, so none ends with a dot here."""
    kept = name[:length]
    return f"{kept[:-1]}-" if kept.endswith(".") else kept
