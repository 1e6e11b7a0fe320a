"""Installs CustomResourceDefinitions that come with the program itself, without the work of a
client's request: they are known to be good, and they are large.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

from fleetqueue.apiserver.builtin.definitions import default_definition
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.custom import TABLE
from fleetqueue.apiserver.definition_status import described, judge_names

Object = dict[str, Any]
MANAGER = "fleetqueue"


async def install(core: Core, definitions: Iterable[Object]) -> None:
    """Make those that are missing, all in one commit. What exists under such a name stays."""
    writes = []
    for definition in definitions:
        name = definition["metadata"]["name"]
        if core.store.latest(TABLE, name) is None:
            writes.append(core.store.put(TABLE, name, _whole(core, definition)))
    await asyncio.gather(*writes)


def _whole(core: Core, definition: Object) -> Object:
    """As a client's would be after its creation, with the status that says it is served."""
    made: Object = {**definition, "metadata": dict(definition["metadata"])}
    default_definition(made)
    made["metadata"] |= {
        "uid": core.new_uid(),
        "creationTimestamp": core.now(),
        "generation": 1,
        "managedFields": [_nothing_owned(core)],
    }
    return described(made, judge_names(made, core.registry), core.now())


def _nothing_owned(core: Core) -> Object:
    """Whoever applies such a definition later has no conflict with fields that nobody set."""
    return {
        "manager": MANAGER,
        "operation": "Update",
        "apiVersion": "apiextensions.k8s.io/v1",
        "time": core.now(),
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {}},
    }
