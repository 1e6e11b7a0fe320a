"""Free ports of this machine."""

import random

from fleetqueue.runtime.port_claims import Claim, claim_on_machine, is_free_on_machine

_ASKED = range(10_000, 20_000)
"""None that the kernel gives to connections, or to whoever takes any: a server that is started
again finds its own free.
"""
_claims: list[Claim] = []
"""Held until this process ends: all who ask here have different ones."""
_source = random.SystemRandom()


def free_port() -> int:
    while True:
        port = _source.choice(_ASKED)
        if is_free_on_machine(port) and (claim := claim_on_machine(port)) is not None:
            _claims.append(claim)
            return port
