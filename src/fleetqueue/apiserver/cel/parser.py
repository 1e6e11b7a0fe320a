"""Reads an expression into its syntax tree, with macros expanded."""

from fleetqueue.apiserver.cel import macros
from fleetqueue.apiserver.cel.errors import CompileError, Issue
from fleetqueue.apiserver.cel.lexer import KEYWORDS, RESERVED, Token, tokens
from fleetqueue.apiserver.cel.syntax import (
    Call,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
)
from fleetqueue.apiserver.cel.types import BOOL, BYTES, DOUBLE, INT, NULL, STRING, UINT
from fleetqueue.apiserver.cel.values import UInt

_LEVELS = {
    operator: level
    for level, operators in enumerate(
        (("||",), ("&&",), ("<", "<=", ">=", ">", "==", "!=", "in"), ("+", "-"), ("*", "/", "%"))
    )
    for operator in operators
}
"""How tightly binary operators bind."""
_EXPECTED = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "
    "STRING, BYTES, IDENTIFIER}"
)
_WANTED = {"]": "{']', ','}", "}": "{'}', ','}"}
_DEPTH_MAX = 120
_LENGTH_MAX = 100_000


def parse(source: str) -> Expr:
    """Raises CompileError with the first thing that is wrong."""
    if len(source) > _LENGTH_MAX:
        sizes = f"size: {len(source)}, limit {_LENGTH_MAX}"
        raise CompileError("", [Issue(0, f"expression code point size exceeds limit: {sizes}")])
    return _Parser(source).whole()


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = tokens(source)
        self.at = 0
        self.depth = 0

    def whole(self) -> Expr:
        expr = self.expression()
        if self.token.kind != "end":
            raise self.unexpected("extraneous input", "<EOF>")
        return expr

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def advance(self) -> Token:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def take(self, kind: str) -> Token | None:
        return self.advance() if self.token.kind == kind else None

    def need(self, kind: str) -> Token:
        if self.token.kind == kind:
            return self.advance()
        if kind == ")" and self.token.kind == "end":
            message = f"Syntax error: missing ')' at '{self.token.text}'"
            raise self.error(self.token.position, message)
        raise self.unexpected("mismatched input", _WANTED.get(kind, f"'{kind}'"))

    def error(self, position: int, message: str) -> CompileError:
        return CompileError(self.source, [Issue(position, message)])

    def unexpected(self, words: str, expected: str = _EXPECTED) -> CompileError:
        message = f"Syntax error: {words} '{self.token.text}' expecting {expected}"
        return self.error(self.token.position, message)

    def not_viable(self) -> CompileError:
        """Behind a dot there is something else than a name."""
        text = "" if self.token.kind == "end" else self.token.text
        message = f"Syntax error: no viable alternative at input '.{text}'"
        return self.error(self.token.position, message)

    def expression(self) -> Expr:
        self.depth += 1
        if self.depth > _DEPTH_MAX:
            raise self.error(self.token.position, "expression recursion limit exceeded: 250")
        condition = self.binary()
        if (question := self.take("?")) is not None:
            then = self.binary()
            self.need(":")
            otherwise = self.expression()
            condition = Call(question.position, "_?_:_", [condition, then, otherwise])
        self.depth -= 1
        return condition

    def binary(self, least: int = 0) -> Expr:
        """Operands joined by operators that bind at least this tightly."""
        left = self.unary()
        while (level := _LEVELS.get(self.token.kind, -1)) >= least:
            operator = self.advance()
            right = self.binary(level + 1)
            name = "@in" if operator.kind == "in" else f"_{operator.kind}_"
            left = Call(operator.position, name, [left, right])
        return left

    def unary(self) -> Expr:
        if self.token.kind not in ("!", "-"):
            return self.member(self.primary())
        operator = self.advance()
        if operator.kind == "-" and self.token.kind in ("int", "float"):
            return self.member(self.number(self.advance(), operator.position, is_negative=True))
        count = 1
        while self.take(operator.kind) is not None:
            count += 1
        operand = self.member(self.primary())
        if count % 2 == 0:
            return operand
        return Call(operator.position, f"{operator.kind}_", [operand])

    def member(self, expr: Expr) -> Expr:
        while True:
            if (dot := self.take(".")) is not None:
                expr = self.selection(expr, dot)
            elif (bracket := self.take("[")) is not None:
                function = "_[?_]" if self.take("?") else "_[_]"
                index = self.expression()
                self.need("]")
                expr = Call(bracket.position, function, [expr, index])
            elif self.token.kind == "{" and isinstance(expr, Ident):
                message = f"undeclared reference to '{expr.name}' (in container '')"
                raise self.error(self.token.position, message)
            else:
                return expr

    def selection(self, operand: Expr, dot: Token) -> Expr:
        is_optional = self.take("?") is not None
        if self.token.kind != "name":
            raise self.not_viable()
        name = self.advance()
        if self.token.kind != "(" or is_optional:
            return Select(dot.position, operand, name.value, is_optional=is_optional)
        opening = self.advance()
        arguments = self.arguments()
        expanded = macros.expand_member(operand, name.value, arguments, opening.position)
        if isinstance(expanded, Issue):
            raise CompileError(self.source, [expanded])
        call = Call(opening.position, name.value, [operand, *arguments], is_member=True)
        return expanded or call

    def arguments(self) -> list[Expr]:
        found: list[Expr] = []
        while self.token.kind != ")":
            found.append(self.expression())
            if self.take(",") is None:
                break
        self.need(")")
        return found

    def primary(self) -> Expr:
        token = self.token
        match token.kind:
            case "(":
                self.advance()
                inner = self.expression()
                self.need(")")
                return inner
            case "[":
                return self.list_literal()
            case "{":
                return self.map_literal()
            case "." | "name":
                return self.identifier()
            case "int" | "uint" | "float":
                return self.number(self.advance(), token.position)
            case "string":
                return Literal(token.position, self.advance().value, STRING)
            case "bytes":
                return Literal(token.position, self.advance().value, BYTES)
            case "true" | "false":
                return Literal(token.position, self.advance().kind == "true", BOOL)
            case "null":
                self.advance()
                return Literal(token.position, None, NULL)
        raise self.unexpected("mismatched input")

    def identifier(self) -> Expr:
        is_rooted = self.take(".") is not None
        if is_rooted and self.token.kind != "name":
            raise self.not_viable()
        name = self.advance()
        if name.kind != "name" or name.value in RESERVED | KEYWORDS:
            raise self.error(name.position, f"reserved identifier: {name.text}")
        if self.token.kind != "(":
            return Ident(name.position, f".{name.value}" if is_rooted else name.value)
        opening = self.advance()
        arguments = self.arguments()
        if name.value == "has" and len(arguments) == 1:
            expanded = macros.expand_has(arguments[0], opening.position)
            if isinstance(expanded, Issue):
                raise CompileError(self.source, [expanded])
            return expanded
        return Call(opening.position, name.value, arguments)

    def number(self, token: Token, position: int, is_negative: bool = False) -> Expr:
        value = -token.value if is_negative else token.value
        if token.kind == "float":
            return Literal(position, value, DOUBLE)
        if token.kind == "uint":
            if value >= 2**64:
                raise self.error(position, "invalid uint literal")
            return Literal(position, UInt(value), UINT)
        if not -(2**63) <= value < 2**63:
            raise self.error(position, "invalid int literal")
        return Literal(position, value, INT)

    def list_literal(self) -> Expr:
        opening = self.advance()
        items: list[Expr] = []
        optional: set[int] = set()
        while self.token.kind != "]":
            if self.take("?"):
                optional.add(len(items))
            items.append(self.expression())
            if self.take(",") is None:
                break
        self.need("]")
        return ListLiteral(opening.position, items, frozenset(optional))

    def map_literal(self) -> Expr:
        opening = self.advance()
        entries: list[tuple[Expr, Expr, bool]] = []
        while self.token.kind != "}":
            is_optional = self.take("?") is not None
            key = self.expression()
            self.need(":")
            entries.append((key, self.expression(), is_optional))
            if self.take(",") is None:
                break
        self.need("}")
        return MapLiteral(opening.position, entries)
