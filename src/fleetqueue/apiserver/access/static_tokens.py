"""Bearer tokens that were agreed on beforehand: a token file, and the administrator's own token."""

import csv
import io
from collections.abc import Iterable
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path

from fleetqueue.apiserver.access import key_files
from fleetqueue.apiserver.access.seams import Random
from fleetqueue.apiserver.access.users import MASTERS, User
from fleetqueue.errors import InvalidInput

ADMINISTRATOR = User("fleetqueue-admin", groups=(MASTERS,))


class StaticTokens:
    """Keeps digests, so the tokens themselves are nowhere to be printed."""

    def __init__(self, tokens: Iterable[tuple[str, User]] = ()) -> None:
        self._users: dict[bytes, User] = {}
        for token, user in tokens:
            self.add(token, user)

    def add(self, token: str, user: User) -> None:
        self._users[_digest(token)] = user

    def find(self, token: str) -> User | None:
        """Looks at every digest, so the time taken says nothing about the tokens."""
        wanted, found = _digest(token), None
        for digest, user in self._users.items():
            if compare_digest(digest, wanted):
                found = user
        return found

    def __repr__(self) -> str:
        return f"StaticTokens({len(self._users)} tokens)"


def parse_token_file(text: str, path: str = "tokens.csv") -> list[tuple[str, User]]:
    """The lines `token,user,uid,"group1,group2"` of kube-apiserver's --token-auth-file."""
    tokens: list[tuple[str, User]] = []
    for record in csv.reader(io.StringIO(text)):
        if not record:
            continue
        if len(record) < 3:
            raise InvalidInput(
                f"token file '{path}' must have at least 3 columns "
                f"(token, user name, user uid), found {len(record)}"
            )
        groups = tuple(record[3].split(",")) if len(record) > 3 else ()
        if record[0]:
            tokens.append((record[0], User(record[1], record[2], groups)))
    return tokens


def load_or_create_admin_token(path: Path, random: Random) -> str:
    """The token of `ADMINISTRATOR`, kept in a file that its owner alone can read."""
    known = key_files.read_private(path)
    if known and known.strip():
        return known.decode().strip()
    token = f"{random.getrandbits(256):064x}"
    key_files.write(path, token.encode() + b"\n")
    return token


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
