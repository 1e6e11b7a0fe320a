"""Certificates that somebody else makes and renews: files of one folder, read again when they
change. Who has to trust them is somebody else's business too.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from fleetqueue.errors import InvalidInput
from fleetqueue.kube.certificates import Bundle, Pair, Prepared
from fleetqueue.kube.errors import BadKubeconfig
from fleetqueue.kube.tls import load_pair, server_context

LOOK_SECONDS = 10.0
CHAIN, KEY, AUTHORITY = "tls.crt", "tls.key", "ca.crt"
log = logging.getLogger(__name__)


class GivenCertificates(Prepared):
    """`tls.crt` and `tls.key`; nothing is written anywhere."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    async def prepare(self) -> Bundle:
        found = _read(self._folder)
        if found != self._bundle:
            _check(found, self._folder)
            self._bundle = found
        return found

    async def publish(self) -> None:
        """Whoever gave them makes them known."""

    async def keep(self, use: Callable[[Bundle], None]) -> None:
        """Files that do not fit, as in the middle of a change, leave the former ones in use."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            before = self.bundle
            try:
                after = await self.prepare()
            except InvalidInput as error:
                log.warning("the former certificate stays in use: %s", error)
                continue
            if after != before:
                use(after)
                log.info("the webhook certificate was replaced: folder=%s", self._folder)


def _read(folder: Path) -> Bundle:
    try:
        serving = Pair((folder / CHAIN).read_bytes(), (folder / KEY).read_bytes())
        authority = folder / AUTHORITY
        trusted = authority.read_bytes() if authority.exists() else b""
    except OSError as error:
        raise _unusable(folder, error) from error
    return Bundle(Pair(trusted, b""), serving)


def _check(bundle: Bundle, folder: Path) -> None:
    """The two fit: a server with half of a new pair would answer nobody."""
    try:
        load_pair(server_context(), bundle.serving.certificate, bundle.serving.key)
    except BadKubeconfig as error:
        raise _unusable(folder, error) from error


def _unusable(folder: Path, error: Exception) -> InvalidInput:
    return InvalidInput(
        f"the certificate in {folder} cannot be used: {error}; internalCertManagement.enable is"
        f" false, so {CHAIN} and {KEY} have to be there"
    )
