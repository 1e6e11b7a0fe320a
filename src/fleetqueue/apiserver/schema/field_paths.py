"""Reads the JSON paths that rules and selectable fields point with: `.spec.names['a']`."""

import re

from fleetqueue.apiserver.schema.node import Node

_TOKEN = re.compile(r"[.\[\]]|'(?:[^'\\]|\\.)*'|[^.\[\]]+")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPES |= {"'": "'", "\\": "\\"}


class PathError(ValueError):
    """The path does not lead anywhere; the message is the API server's."""


def resolve(path: str, node: Node, *, allows_brackets: bool = True) -> tuple[str, Node]:
    """The path as errors print it, and the schema it leads to. Raises PathError."""
    shown = ""
    tokens = _TOKEN.findall(path)
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token == "[":
            if not allows_brackets:
                raise PathError("array notation is not allowed")
            name = _unquoted(_at(tokens, at + 1))
            if _at(tokens, at + 2) != "]":
                raise PathError(f"expected ] but got {tokens[at + 2]}")
            at += 3
        elif token == ".":
            name = _at(tokens, at + 1)
            at += 2
        else:
            raise PathError(f"expected [ or . but got: {token}")
        shown, node = _step(shown, name, node)
    return shown, node


def _at(tokens: list[str], index: int) -> str:
    if index >= len(tokens):
        raise PathError("unexpected end of JSON path")
    return tokens[index]


def _step(shown: str, name: str, node: Node) -> tuple[str, Node]:
    if node.raw.get("properties") is not None:
        if name not in node.properties:
            raise PathError("does not refer to a valid field")
        return (f"{shown}.{name}" if shown else name), node.properties[name]
    if node.values is None:
        raise PathError("does not refer to a valid field")
    return f"{shown}[{name}]", node.values


def _unquoted(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise PathError(f"expected single quoted string but got {token}")

    def unescape(found: re.Match[str]) -> str:
        if found[1] not in _ESCAPES:
            raise PathError(f"invalid string literal: invalid escape char {found[0]}")
        return _ESCAPES[found[1]]

    return re.sub(r"\\(.)", unescape, token[1:-1])
