"""Objects that have the name of a child but are nobody's, or somebody else's: whoever may make the
parent need not have any right to them.
"""

from fleetqueue.api.owners import controller_uid
from fleetqueue.kube.plan import Look, Note
from fleetqueue.kube.resources import Object

STRANGER_SECONDS = 10.0
"""How often it is looked whether one has gone."""


def is_stranger(look: Look, found: Object) -> bool:
    return controller_uid(found) != look.uid


def complain(look: Look, stranger: Object) -> Note:
    kind, name = stranger["kind"], stranger["metadata"]["name"]
    text = (
        f'Resource "{name}" of Kind "{kind}" already exists and is not managed by'
        f" {look.parent['kind']} {look.namespace}/{look.name}: it is left as it is."
        " Delete it, or use another name"
    )
    return Note("ErrResourceExists", text, "Warning")
