"""Bodies: objects made from the schema of any kind, damaged on purpose, and patches for them."""

from random import Random
from typing import Any

from fleetqueue.apiserver.registry import Resource
from fleetqueue.apiserver.schema.node import Node
from fuzz import values

Object = dict[str, Any]

DIRECTIVES = (
    *("$patch", "$patch", "$retainKeys", "$deleteFromPrimitiveList/x"),
    *("$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers"),
)
NAMES = ("a", "b", "c", "a", "b", "web")
GROUP = "fuzz.example.com"
_PODS = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
_SELECTOR = {"matchLabels": {"app": "x"}}
SEEDS: dict[str, Object] = {
    "Pod": {
        "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]}
    },
    "Deployment": {"spec": {"selector": _SELECTOR, "template": _PODS}},
    "StatefulSet": {"spec": {"selector": _SELECTOR, "template": _PODS, "serviceName": "x"}},
    "Job": {"spec": {"template": {"spec": {**_PODS["spec"], "restartPolicy": "Never"}}}},
    "Service": {"spec": {"ports": [{"port": 80}], "selector": {"app": "x"}}},
    "ConfigMap": {"data": {"x": "1"}},
    "Secret": {"data": {"x": "YQ=="}, "type": "Opaque"},
    "ResourceQuota": {"spec": {"hard": {"pods": "1000", "cpu": "1k"}}},
    "LimitRange": {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}}]}},
    "Role": {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    "PersistentVolumeClaim": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    },
    "Widget": {"spec": {"a": 1, "size": 3, "items": [1, 2], "name": "n", "labels": {"x": "y"}}},
}


def make(random: Random, resource: Resource, version: str) -> Object:
    """An object of the kind: a seed or one from its schema, whole or damaged."""
    shape = resource.versions[version].shape
    kind = resource.versions[version].kind
    obj: Object
    if kind in SEEDS and random.random() < 0.6:
        obj = _copied(SEEDS[kind])
    else:
        obj = _from_schema(random, shape.node, 5)
        obj = obj if isinstance(obj, dict) else {}
    obj["apiVersion"], obj["kind"] = resource.api_version(version), kind
    metadata = obj.get("metadata") if random.random() < 0.2 else None
    obj["metadata"] = metadata if isinstance(metadata, dict) else {}
    if random.random() < 0.95:
        obj["metadata"]["name"] = random.choice(NAMES)
    for _ in range(random.choice((0, 0, 0, 1, 1, 3))):
        damage(random, obj)
    return obj


def definition(random: Random) -> Object:
    """A CRD for Widgets whose schema and rules differ each time."""
    fields: Object = {
        "a": {"type": "integer"},
        "size": {"type": "integer", "default": random.choice((1, 1, 2, 3, "x", None))},
        "name": {
            "type": "string",
            "pattern": random.choice(("^n", "^.*$", "(?i)N", "(a+)+$", "(")),
        },
        "items": {"type": "array", "items": {"type": "integer"}, "maxItems": 10},
        "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 9}},
        "amount": {"x-kubernetes-int-or-string": True},
    }
    spec: Object = {"type": "object", "properties": fields}
    rules = [
        {"rule": random.choice(values.CEL_RULES) if random.random() < 0.7 else values.cel(random)}
        for _ in range(random.randrange(3))
    ]
    if rules:
        spec["x-kubernetes-validations"] = rules
    schema = {"type": "object", "properties": {"spec": spec}}
    if random.random() < 0.2:
        damage(random, schema)
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": random.choice(({}, {"status": {}})),
        "additionalPrinterColumns": [
            {
                "name": "A",
                "type": "integer",
                "jsonPath": random.choice((".spec.a", ".spec[", "a", "")),
            }
        ],
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def damage(random: Random, root: Any) -> None:
    """Replace, remove or add something at a random place, in place."""
    places = list(_places(root))
    if not places:
        return
    container, key = random.choice(places)
    action = random.randrange(5)
    if action == 0:
        del container[key]
    elif action == 1 and isinstance(container, dict):
        container[values.text(random)] = values.anything(random)
    elif action == 2 and isinstance(container, list):
        container.append(container[key])
    else:
        container[key] = values.anything(random)


def json_patch(random: Random, obj: Any) -> Any:
    pointers = ["", "/", "/metadata", "/-", "/a~2", "metadata", "/spec/x/y", "/metadata/labels/a"]
    pointers += [f"/{key}" for key in obj] if isinstance(obj, dict) else []
    pointers += [
        "/spec/containers/0",
        "/spec/containers/-",
        "/spec/containers/01",
        "/data/x",
        "/a~1b",
    ]
    operations = ("add", "remove", "replace", "move", "copy", "test", "frob")
    patch: list[Any] = []
    for _ in range(random.choice((0, 1, 1, 2, 4))):
        step: Object = {"op": random.choice(operations), "path": random.choice(pointers)}
        if random.random() < 0.8:
            step["value"] = values.anything(random)
        if random.random() < 0.4:
            step["from"] = random.choice(pointers)
        patch.append(step)
    if patch and random.random() < 0.1:
        damage(random, patch)
    return patch


def merge_patch(random: Random, obj: Any) -> Any:
    patch = {key: value for key, value in _copied(obj).items() if random.random() < 0.5}
    damage(random, patch)
    return patch


def strategic_patch(random: Random, obj: Any) -> Any:
    patch = merge_patch(random, obj)
    places = [c for c, _ in _places(patch) if isinstance(c, dict)]
    if places and random.random() < 0.6:
        place = random.choice(places)
        place[random.choice(DIRECTIVES)] = random.choice(
            ("delete", "replace", "merge", "frob", ["a"], [{"name": "c"}], 1, None)
        )
    return patch


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(below) for key, below in value.items()}
    return [_copied(below) for below in value] if isinstance(value, list) else value


def _places(value: Any, depth: int = 0) -> Any:
    if depth > 12:
        return
    keys: Any = ()
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = range(len(value))
    for key in keys:
        below = value[key]
        yield value, key
        yield from _places(below, depth + 1)


def _from_schema(random: Random, node: Node, depth: int) -> Any:
    if random.random() < 0.04:
        return values.anything(random)
    if node.is_int_or_string:
        return random.choice((80, "http", "50%", "-1%", *values.NUMBERS))
    if "Quantity" in node.definition:
        return random.choice(values.QUANTITIES)
    if node.type == "array":
        length = random.choice((0, 1, 1, 2)) if depth else 0
        return (
            [_from_schema(random, node.items, depth - 1) for _ in range(length)]
            if node.items
            else []
        )
    if node.type == "object" or node.raw.get("properties"):
        return _object_from_schema(random, node, depth)
    return _scalar_from_schema(random, node)


def _object_from_schema(random: Random, node: Node, depth: int) -> Object:
    names = list(node.raw.get("properties") or ())
    chosen = [
        n for n in names if depth and (n in node.required or random.random() < 2 / len(names))
    ]
    made = {name: _from_schema(random, node.properties[name], depth - 1) for name in chosen}
    if node.values is not None and depth:
        made[values.text(random)] = _from_schema(random, node.values, depth - 1)
    return made


def _scalar_from_schema(random: Random, node: Node) -> Any:
    if node.raw.get("enum") and random.random() < 0.8:
        return random.choice(node.raw["enum"])
    if node.type == "boolean":
        return random.random() < 0.5
    if node.type in ("integer", "number"):
        return random.choice(values.NUMBERS)
    if node.type == "string":
        return values.text(random)
    return values.anything(random)
