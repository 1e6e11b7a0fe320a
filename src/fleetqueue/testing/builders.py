"""Objects in one line, for tests: only what a test is about has to be said."""

from typing import Any

Object = dict[str, Any]


def named(kind: str, api_version: str, name: str, namespace: str = "", **fields: Any) -> Object:
    """Any object: `named("ConfigMap", "v1", "a", "default", data={...})`."""
    metadata: Object = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    for part in ("labels", "annotations", "finalizers"):
        value = fields.pop(part, None)
        if value is not None:
            metadata[part] = value
    owner = fields.pop("owner", None)
    if owner is not None:
        metadata["ownerReferences"] = [owner_reference(owner)]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def namespace(name: str, **fields: Any) -> Object:
    return named("Namespace", "v1", name, **fields)


def config_map(name: str, data: dict[str, str] | None = None, **fields: Any) -> Object:
    home = fields.pop("namespace", "default")
    return named("ConfigMap", "v1", name, home, data=data or {}, **fields)


def secret(name: str, data: dict[str, str] | None = None, **fields: Any) -> Object:
    home = fields.pop("namespace", "default")
    return named("Secret", "v1", name, home, stringData=data or {}, **fields)


def pod(name: str, *, image: str = "busybox", **fields: Any) -> Object:
    home = fields.pop("namespace", "default")
    spec = {"containers": [{"name": "main", "image": image}], **fields.pop("spec", {})}
    return named("Pod", "v1", name, home, spec=spec, **fields)


def job(name: str, *, parallelism: int = 1, cpu: str = "", **fields: Any) -> Object:
    home = fields.pop("namespace", "default")
    container: Object = {"name": "main", "image": "busybox"}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    spec = {"parallelism": parallelism, "template": template, **fields.pop("spec", {})}
    return named("Job", "batch/v1", name, home, spec=spec, **fields)


def crd(group: str, kind: str, *, versions: tuple[str, ...] = ("v1",), **more: Any) -> Object:
    """A definition whose objects may hold anything in spec and status."""
    plural = f"{kind.lower()}s"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    listed = [
        {
            "name": version,
            "served": True,
            "storage": number == 0,
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}},
        }
        for number, version in enumerate(versions)
    ]
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"plural": plural, "kind": kind},
        "versions": listed,
        **more,
    }
    name = f"{plural}.{group}"
    return named("CustomResourceDefinition", "apiextensions.k8s.io/v1", name, spec=spec)


def owner_reference(owner: Object, *, controller: bool = True) -> Object:
    metadata = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": controller,
        "blockOwnerDeletion": True,
    }
