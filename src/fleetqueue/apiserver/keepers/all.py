"""The keepers that every server runs."""

from fleetqueue.apiserver.access.tokens import Issuer
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.internal import Internal
from fleetqueue.apiserver.keepers import Keeper
from fleetqueue.apiserver.keepers.definitions import DefinitionKeeper
from fleetqueue.apiserver.keepers.garbage import GarbageCollector
from fleetqueue.apiserver.keepers.namespaces import NamespaceKeeper


def all_keepers(core: Core, internal: Internal, issuer: Issuer, authority: bytes) -> list[Keeper]:
    return [
        GarbageCollector(core, internal),
        NamespaceKeeper(core, internal, authority),
        DefinitionKeeper(core, internal),
    ]
