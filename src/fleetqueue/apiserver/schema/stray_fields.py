"""Fields that are not where a schema has them: those that belong one level or more above, and those
that a kind once had.
"""

import json
from collections.abc import Mapping
from typing import Any

RETIRED_KEY = "fleetqueue.dev/retired-fields"
"""On a CRD: fields that older versions of the kind had, as a JSON object of paths and of the values
that say what happens now without them.
"""

Schema = Mapping[str, Any]
Object = dict[str, Any]


def hint(schema: Schema, path: str) -> str:
    """Where a field of that name belongs, if an object around the wrong place has one."""
    *around, name = path.split(".")
    # All objects have the fields at the top; who repeats one of those below has not lost it.
    for depth in range(len(around), 0, -1):
        if name in _properties(schema, around[:depth]):
            right = ".".join([*around[:depth], name])
            return f' (it belongs at "{right}")'
    return ""


def retired(annotations: Mapping[str, str] | None) -> Mapping[str, Any]:
    """What a CRD says of them; nothing where it says something else."""
    try:
        found = json.loads((annotations or {}).get(RETIRED_KEY) or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def drop_retired(obj: Object, fields: Mapping[str, Any]) -> None:
    """Those that say what happens anyway; others stay, for whoever sent them has to know."""
    for path, value in fields.items():
        *around, name = path.split(".")
        below: Any = obj
        for each in around:
            below = below.get(each) if isinstance(below, dict) else None
        if isinstance(below, dict) and name in below and below[name] == value:
            del below[name]


def _properties(schema: Schema, names: list[str]) -> Schema:
    for name in names:
        field, _, index = name.partition("[")
        schema = (schema.get("properties") or {}).get(field) or {}
        for _ in range(index.count("]")):
            schema = schema.get("items") or {}
    found: Schema = schema.get("properties") or {}
    return found
