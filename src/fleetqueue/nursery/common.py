"""What the clusters of one machine share, because it is loaded before they are forked."""

import importlib

from fleetqueue.api import kubernetes
from fleetqueue.apiserver import builtin

MODULES = (
    "cryptography.hazmat.backends.openssl.backend",
    "encodings.idna",
    "uvloop",
    "fleetqueue.api.kueue.conversion",
    "fleetqueue.apiserver.access.issuing",
    "fleetqueue.apiserver.cel.library",
    "fleetqueue.apiserver.cel.program",
    "fleetqueue.apiserver.schema.compiled",
    "fleetqueue.embedded.hub_webhooks",
    "fleetqueue.embedded.live",
    "fleetqueue.embedded.numbers",
    "fleetqueue.fleet.hub.parts",
    "fleetqueue.fleet.member.following_hub",
    "fleetqueue.fleet.member.parts",
    "fleetqueue.fleet.webhooks.registry",
    "fleetqueue.kube.connect",
)
"""What nearly every start loads on its way."""


def load() -> None:
    for name in MODULES:
        importlib.import_module(name)
    kubernetes.resources()
    kubernetes.definition_names()
    builtin.strategies()
