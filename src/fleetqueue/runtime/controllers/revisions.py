"""ControllerRevisions: the templates that a StatefulSet or DaemonSet had, numbered."""

from collections.abc import Iterable, Sequence

from fleetqueue.kube.plan import child
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import templates
from fleetqueue.runtime.hashing import content_hash
from fleetqueue.runtime.kinds import CONTROLLER_REVISION

NAME_PREFIX_MAX = 223


def snapshot(parent: Object) -> Object:
    """The template as a patch that brings it back, which is how kubectl undoes a roll-out."""
    return {"spec": {"template": {**parent["spec"]["template"], "$patch": "replace"}}}


def hash_of(parent: Object, collisions: int) -> str:
    return content_hash(snapshot(parent), collisions)


def name_of(parent: Object, hashed: str) -> str:
    return f"{parent['metadata']['name'][:NAME_PREFIX_MAX]}-{hashed}"


def new_revision(parent: Object, number: int, hashed: str, hash_label: str) -> Object:
    template = parent["spec"]["template"].get("metadata") or {}
    metadata: Object = {
        "name": name_of(parent, hashed),
        "labels": {**(template.get("labels") or {}), hash_label: hashed},
    }
    if parent["metadata"].get("annotations"):
        metadata["annotations"] = dict(parent["metadata"]["annotations"])
    data = snapshot(parent)
    return child(CONTROLLER_REVISION, parent, metadata, data=data, revision=number)


def in_order(revisions: Iterable[Object]) -> list[Object]:
    return sorted(revisions, key=_order)


def next_number(revisions: Sequence[Object]) -> int:
    return max([0, *(int(each["revision"]) for each in revisions)]) + 1


def template_of(revision: Object) -> Object:
    """The template it holds, without the word that makes it a patch."""
    spec = (revision.get("data") or {}).get("spec") or {}
    held = dict(spec.get("template") or {})
    held.pop("$patch", None)
    return held


def is_of(revision: Object, parent: Object) -> bool:
    """Whether it holds the template that the parent has now."""
    return templates.same(template_of(revision), parent["spec"]["template"])


def _order(revision: Object) -> tuple[int, str, str]:
    metadata = revision["metadata"]
    return revision["revision"], metadata.get("creationTimestamp") or "", metadata["name"]
