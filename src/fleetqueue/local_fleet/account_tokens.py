"""The token of an account that was just made on a cluster, and the authority behind it."""

import asyncio
import base64

from fleetqueue.errors import UserError
from fleetqueue.kube.client import Client
from fleetqueue.kube.resources import SECRETS

TRIES = 100
WAIT_SECONDS = 0.1


async def token_of(
    client: Client, secret: str, namespace: str, *, whose: str, account: str
) -> tuple[str, bytes]:
    """A controller of the cluster fills the Secret in; that takes a moment."""
    for _ in range(TRIES):
        found = await client.get(SECRETS, secret, namespace)
        data = found.get("data") or {}
        if data.get("token") and data.get("ca.crt"):
            token = base64.b64decode(data["token"]).decode()
            return token, base64.b64decode(data["ca.crt"])
        await asyncio.sleep(WAIT_SECONDS)
    raise UserError(
        f"the {whose} gave the account {account} no token: does its controller for"
        " service account tokens run?"
    )
