"""The server's own hooks, in the order in which they look at a write."""

from fleetqueue.apiserver.access.gate import Gate
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks import Hook
from fleetqueue.apiserver.hooks.certificates import Certificates
from fleetqueue.apiserver.hooks.escalation import Escalation
from fleetqueue.apiserver.hooks.limit_ranger import LimitRanger
from fleetqueue.apiserver.hooks.namespace_lifecycle import NamespaceLifecycle
from fleetqueue.apiserver.hooks.pod_placement import (
    DefaultTolerationSeconds,
    RuntimeClasses,
    TaintNodes,
)
from fleetqueue.apiserver.hooks.pod_security import PodSecurity
from fleetqueue.apiserver.hooks.policy_access import PolicyAccess
from fleetqueue.apiserver.hooks.priority import Priority
from fleetqueue.apiserver.hooks.service_account import ServiceAccounts
from fleetqueue.apiserver.hooks.service_addresses import ServiceAddresses
from fleetqueue.apiserver.hooks.storage import (
    ClaimResize,
    DefaultIngressClass,
    DefaultStorageClass,
    StorageProtection,
)


def own_hooks(core: Core, gate: Gate) -> list[Hook]:
    return [
        NamespaceLifecycle(core),
        LimitRanger(core),
        ServiceAccounts(core),
        TaintNodes(),
        PodSecurity(core),
        Priority(core),
        DefaultTolerationSeconds(),
        DefaultStorageClass(core),
        StorageProtection(),
        ClaimResize(core),
        RuntimeClasses(core),
        Certificates(core, gate),
        DefaultIngressClass(core),
        Escalation(gate),
        PolicyAccess(core, gate),
        ServiceAddresses(core),
    ]
