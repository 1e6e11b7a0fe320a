"""Reads and writes YAML and JSON documents by the rules that Kubernetes tools follow.

Plain scalars mean what they mean to kubectl: `yes` and `on` are booleans, `010` is eight, `1e3` is
a number, a date is a string, nothing is counted in base 60, and no key may come twice.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from fleetqueue.base import codec


class DocumentError(ValueError):
    """The text is no YAML or JSON; the sentence names the line."""


def load(text: str | bytes) -> Any:
    """The one document in the text; None when there is none."""
    documents = load_all(text)
    if len(documents) > 1:
        raise DocumentError(f"expected one document, found {len(documents)}")
    return documents[0] if documents else None


def load_all(text: str | bytes) -> list[Any]:
    """Every document of a stream, empty ones left out. JSON values may also follow each other."""
    content = _as_text(text)
    if content.lstrip()[:1] in ("{", "["):
        found = _load_json_stream(content)
        if found is not None:
            return found
    # A server reads and writes JSON nearly always, and the YAML library is slow to load.
    from fleetqueue.base import yaml_reading

    return [document for document in yaml_reading.load_all(content) if document is not None]


def dump(value: Any) -> str:
    """Block style with sorted keys, as kubectl prints it."""
    from fleetqueue.base import yaml_writing

    return yaml_writing.dump(value)


def dump_all(values: Iterable[Any]) -> str:
    return "---\n".join(dump(value) for value in values)


def _as_text(text: str | bytes) -> str:
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = text[: error.start].count(b"\n") + 1
        raise DocumentError(f"line {line}: the text is not UTF-8") from None


def _load_json_stream(text: str) -> list[Any] | None:
    """None when it is no JSON after all; flow-style YAML begins the same way."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique_pairs, parse_float=codec.decode)
    found: list[Any] = []
    position = 0
    while True:
        position = _after_blanks(text, position)
        if position == len(text):
            return None if _has_lone_surrogate(text, found) else found
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return None
        found.append(value)


def _has_lone_surrogate(text: str, found: list[Any]) -> bool:
    """JSON may escape half a character; YAML, which these documents are, may not."""
    if "\\ud" not in text and "\\uD" not in text:
        return False
    try:
        codec.encode(found)
    except UnicodeEncodeError:
        return True
    return False


def _after_blanks(text: str, position: int) -> int:
    match = re.compile(r"[ \t\r\n]*").match(text, position)
    assert match is not None
    return match.end()


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key comes twice; the YAML reader will say where")
    return made
