"""The keepers that every server runs."""

from fleetqueue.apiserver.access.tokens import Issuer
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.internal import Internal
from fleetqueue.apiserver.keepers import Keeper
from fleetqueue.apiserver.keepers.aggregation import AggregationKeeper
from fleetqueue.apiserver.keepers.api_services import ApiServiceKeeper
from fleetqueue.apiserver.keepers.definitions import DefinitionKeeper
from fleetqueue.apiserver.keepers.events import EventKeeper
from fleetqueue.apiserver.keepers.garbage import GarbageCollector
from fleetqueue.apiserver.keepers.legacy_tokens import LegacyTokenKeeper
from fleetqueue.apiserver.keepers.namespaces import NamespaceKeeper
from fleetqueue.apiserver.keepers.quotas import QuotaKeeper
from fleetqueue.apiserver.keepers.storage_protection import StorageProtectionKeeper
from fleetqueue.apiserver.quota.ledger import Ledger


def all_keepers(
    core: Core, internal: Internal, issuer: Issuer, authority: bytes, ledger: Ledger
) -> list[Keeper]:
    return [
        GarbageCollector(core, internal),
        NamespaceKeeper(core, internal, authority),
        DefinitionKeeper(core, internal),
        ApiServiceKeeper(core, internal),
        QuotaKeeper(core, internal, ledger),
        AggregationKeeper(core, internal),
        LegacyTokenKeeper(core, internal, issuer.key, authority),
        StorageProtectionKeeper(core, internal),
        EventKeeper(core),
    ]
