"""Cuts the text of an expression into tokens."""

import re
from typing import Any, NamedTuple

from fleetqueue.apiserver.cel.errors import CompileError, Issue

KEYWORDS = frozenset(("true", "false", "null", "in"))
RESERVED = frozenset(
    ("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop")
) | {"package", "namespace", "return", "var", "void", "while"}

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n\f]+|//[^\n]*)
  | (?P<string>(?:[rR][bB]?|[bB][rR]?)?(?:'''|\"\"\"|'|"))
  | (?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
  | (?P<int>0x[0-9a-fA-F]+[uU]?|[0-9]+[uU]?)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<operator>&&|\|\||<=|>=|==|!=|[-+*/%<>!?:.,()\[\]{}])
    """,
    re.VERBOSE,
)
_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_HEX_DIGITS = {"x": 2, "X": 2, "u": 4, "U": 8}


class Token(NamedTuple):
    """`kind`: name, int, uint, float, string, bytes, operator (its own text) or end."""

    kind: str
    value: Any
    position: int
    text: str


def tokens(source: str) -> list[Token]:
    found: list[Token] = []
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            raise _error(source, at, f"token recognition error at: '{source[at]}'")
        kind = match.lastgroup or ""
        if kind == "string":
            token, at = _string(source, at, match[0])
            found.append(token)
            continue
        if kind != "space":
            found.append(_token(kind, match[0], at))
        at = match.end()
    return [*found, Token("end", None, len(source), "<EOF>")]


def _token(kind: str, text: str, at: int) -> Token:
    if kind == "int":
        is_unsigned = text[-1] in "uU"
        digits = text.rstrip("uU")
        value = int(digits, 16 if digits.startswith("0x") else 10)
        return Token("uint" if is_unsigned else "int", value, at, text)
    if kind == "float":
        return Token("float", float(text), at, text)
    if kind == "name" and text not in KEYWORDS:
        return Token("name", text, at, text)
    return Token(text, text, at, text)


def _string(source: str, start: int, opening: str) -> tuple[Token, int]:
    prefix = opening.rstrip("'\"").lower()
    quote = opening[len(prefix) :]
    is_raw, is_bytes = "r" in prefix, "b" in prefix
    parts: list[str] = []
    at = start + len(opening)
    while not source.startswith(quote, at):
        char = source[at : at + 1]
        if not char or (len(quote) == 1 and char in "\r\n"):
            shown = source[start : at + 1]
            raise _error(source, start, f"token recognition error at: '{shown}'")
        if char == "\\" and not is_raw:
            text, at = _escape(source, at, is_bytes)
            parts.append(text)
        else:
            width = 2 if char == "\\" else 1
            parts.append(_plain(source[at : at + width], is_bytes))
            at += width
    end = at + len(quote)
    text = "".join(parts)
    if is_bytes:
        return Token("bytes", text.encode("latin-1"), start, source[start:end]), end
    return Token("string", text, start, source[start:end]), end


def _plain(text: str, is_bytes: bool) -> str:
    """Bytes are collected as characters below 256, one for each byte."""
    return text.encode().decode("latin-1") if is_bytes else text


def _escape(source: str, at: int, is_bytes: bool) -> tuple[str, int]:
    char = source[at + 1 : at + 2]
    if char in _ESCAPES and char:
        return _ESCAPES[char], at + 2
    if char in _HEX_DIGITS and char:
        digits = source[at + 2 : at + 2 + _HEX_DIGITS[char]]
        width = 2 + _HEX_DIGITS[char]
        base = 16
    else:
        digits, width, base = source[at + 1 : at + 4], 4, 8
    try:
        point = int(digits, base) if len(digits) == width - (2 if base == 16 else 1) else -1
        text = chr(point)
    except (ValueError, OverflowError):
        raise _error(source, at, "unable to unescape string") from None
    if is_bytes and (char in "uU" or point > 255):
        raise _error(source, at, "unable to unescape string")
    return text, at + width


def _error(source: str, at: int, message: str) -> CompileError:
    return CompileError(source, [Issue(at, f"Syntax error: {message}")])
