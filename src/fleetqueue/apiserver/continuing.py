"""Continue tokens: where the next page of a list begins, and at which revision.

Clients must not look into them, but some make them up; what is wrong with those is told in the
words of Go's decoder, as kube-apiserver does.
"""

import base64
import binascii
import string
from typing import Any

from fleetqueue.apiserver import bodies, problems
from fleetqueue.base import codec, go_json

VERSION = "meta.k8s.io/v1"
NOT_VALID = "continue key is not valid"
_LETTERS = frozenset(string.ascii_letters + string.digits + "-_")
_MEMBERS = {"v": "string", "rv": "int64", "start": "string"}
_ZERO = {"v": "", "rv": 0, "start": ""}


def write(key: str, revision: int) -> str:
    """A token for what comes after `key`; a negative revision stands for the present."""
    body = {"v": VERSION, "rv": revision, "start": f"{key}\0"}
    return base64.urlsafe_b64encode(codec.encode(body)).decode().rstrip("=")


def read(token: str) -> tuple[str, int]:
    """The key after which to go on, and the revision."""
    body, why = _decoded(token)
    version, revision, start = body["v"], body["rv"], body["start"]
    if not why and version != VERSION:
        why = f"server does not recognize this encoded version {version}"
    elif not why and not revision:
        why = f"incorrect encoded start resourceVersion (version {version})"
    elif not why and not start:
        why = f"encoded start key empty (version {version})"
    elif not why and not _is_clean(start):
        why = start
    if why:
        raise problems.bad_request(f"invalid continue token: {NOT_VALID}: {why}")
    return start.rstrip("\0"), revision


def _decoded(token: str) -> tuple[dict[str, Any], str]:
    """What a token says, or why it says nothing."""
    odd = next((at for at, letter in enumerate(token) if letter not in _LETTERS), -1)
    if odd >= 0:
        return _ZERO, f"illegal base64 data at input byte {odd}"
    try:
        data = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except (binascii.Error, ValueError):
        return _ZERO, f"illegal base64 data at input byte {len(token) - 1}"
    try:
        body = codec.decode(data)
    except (codec.DecodeError, RecursionError) as error:
        return _ZERO, go_json.syntax_error(data) or str(error)
    if body is None:
        return _ZERO, ""
    if not isinstance(body, dict):
        given = bodies.json_type(body)
        return _ZERO, f"json: cannot unmarshal {given} into Go value of type storage.continueToken"
    return _members(body)


def _members(body: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """As Go reads them: under any case of their names, null as nothing; the first misfit counts."""
    found = dict(_ZERO)
    for name, value in body.items():
        member = name.lower()
        wanted = _MEMBERS.get(member)
        if wanted is None or value is None:
            continue
        if not _fits(value, wanted):
            given = bodies.json_type(value)
            if given == "number" and wanted == "int64":
                given = f"number {value}"
            where = f"Go struct field continueToken.{member} of type {wanted}"
            return found, f"json: cannot unmarshal {given} into {where}"
        found[member] = value
    return found, ""


def _fits(value: Any, wanted: str) -> bool:
    if wanted == "string":
        return isinstance(value, str)
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return is_whole and -(2**63) <= value < 2**63


def _is_clean(start: str) -> bool:
    """Whether the key stays below the list's own, by Go's rules for paths."""
    path = start.removeprefix("/")
    return not path or not {"", ".", ".."} & set(path.split("/"))
