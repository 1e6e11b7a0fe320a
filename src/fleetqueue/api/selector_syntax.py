"""Reads the string form of a label selector; what it cannot read it says in upstream's words."""

import re

from fleetqueue.api.requirements import Requirement, SelectorError, key_faults, new_requirement

_BINARY_OPERATORS = ("in", "notin", "=", "==", "!=", "gt", "lt")
_SYMBOLS = "=!(),><"
_TOKENS = {")", ",", "!", "==", "=", ">", "in", "<", "!=", "notin", "("}
_TOKEN_OPERATORS = {"in": "in", "notin": "notin", "=": "=", "==": "==", "!=": "!="}
_TOKEN_OPERATORS |= {">": "gt", "<": "lt"}
_END, _WORD = "end", "word"


def _scan(text: str) -> list[tuple[str, str]]:
    """Pairs of a token's kind and its text; the kind of a symbol or keyword is itself."""
    # A NUL byte ends the text upstream.
    pieces = re.findall(r"[=!(),><]+|[^=!(),>< \t\r\n]+", text.split("\0")[0])
    tokens: list[tuple[str, str]] = []
    for piece in pieces:
        if piece[0] not in _SYMBOLS:
            tokens.append((piece if piece in ("in", "notin") else _WORD, piece))
            continue
        while piece:
            two = piece[:2] if piece[:2] in _TOKENS else piece[0]
            tokens.append((two, two))
            piece = piece[len(two) :]
    return [*tokens, (_END, "")]


class Parser:
    """Reads the string form of a label selector, left to right."""

    def __init__(self, text: str) -> None:
        self._tokens = _scan(text)
        self._position = 0

    def parse(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            kind, text = self._peek()
            if kind == _END:
                return found
            if kind not in (_WORD, "!"):
                raise SelectorError(f"found '{text}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            if self._is_last():
                return found

    def _is_last(self) -> bool:
        kind, text = self._next()
        if kind == _END:
            return True
        if kind != ",":
            raise SelectorError(f"found '{text}', expected: ',' or 'end of string'")
        kind, text = self._peek()
        if kind not in (_WORD, "!"):
            raise SelectorError(f"found '{text}', expected: identifier after ','")
        return False

    def _requirement(self) -> Requirement:
        key, operator = self._key()
        if operator:
            return new_requirement(key, operator, [])
        operator = self._operator()
        values = self._value_set() if operator in ("in", "notin") else self._one_value()
        return new_requirement(key, operator, sorted(values))

    def _key(self) -> tuple[str, str]:
        kind, text = self._next()
        operator = ""
        if kind == "!":
            operator = "!"
            kind, text = self._next()
        if kind != _WORD:
            raise SelectorError(f"found '{text}', expected: identifier")
        for one in key_faults(text, "<nil>"):
            raise SelectorError(str(one))
        if self._peek()[0] in (_END, ","):
            operator = operator or "exists"
        return text, operator

    def _operator(self) -> str:
        kind, text = self._next(is_value=False)
        if kind not in _TOKEN_OPERATORS:
            raise SelectorError(f"found '{text}', expected: {', '.join(_BINARY_OPERATORS)}")
        return _TOKEN_OPERATORS[kind]

    def _one_value(self) -> set[str]:
        if self._peek()[0] in (_END, ","):
            return {""}
        kind, text = self._next()
        if kind != _WORD:
            raise SelectorError(f"found '{text}', expected: identifier")
        return {text}

    def _value_set(self) -> set[str]:
        kind, text = self._next()
        if kind != "(":
            raise SelectorError(f"found '{text}' expected: '('")
        kind, text = self._peek()
        if kind == ")":
            self._next()
            return {""}
        if kind not in (_WORD, ","):
            raise SelectorError(f"found '{text}', expected: ',', ')' or identifier")
        values = self._listed_values()
        if self._next()[0] != ")":
            raise SelectorError(f"found '{text}', expected: ')'")
        return values

    def _listed_values(self) -> set[str]:
        values: set[str] = set()
        while True:
            kind, text = self._next()
            following, following_text = self._peek()
            if kind == _WORD:
                values.add(text)
                if following == ")":
                    return values
                if following != ",":
                    raise SelectorError(f"found '{following_text}', expected: ',' or ')'")
            elif kind == ",":
                if not values or following == ")":
                    values.add("")
                if following == ")":
                    return values
                if following == ",":
                    self._next()
                    values.add("")
            else:
                raise SelectorError(f"found '{text}', expected: ',', or identifier")

    def _peek(self) -> tuple[str, str]:
        return self._as_value(self._tokens[self._position])

    def _next(self, is_value: bool = True) -> tuple[str, str]:
        # The end is never passed: reading on from it yields the end again.
        token = self._tokens[self._position]
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return self._as_value(token) if is_value else token

    @staticmethod
    def _as_value(token: tuple[str, str]) -> tuple[str, str]:
        return (_WORD, token[1]) if token[0] in ("in", "notin") else token
