"""How an object is named in the fields of another, as `ObjectReference` has it."""

from fleetqueue.kube.resources import Object, Resource


def reference(kind: Resource, obj: Object) -> Object:
    """Which one is meant, whatever becomes of its name."""
    metadata = obj["metadata"]
    return {
        "kind": kind.kind,
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


def exact_reference(kind: Resource, obj: Object) -> Object:
    """In which version it was seen, too."""
    return {
        **reference(kind, obj),
        "apiVersion": kind.api_version,
        "resourceVersion": obj["metadata"]["resourceVersion"],
    }
