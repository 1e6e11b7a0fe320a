"""What Go's JSON scanner says of bytes that are no JSON; clients of Kubernetes see these words."""

_SPACE = b" \t\r\n"
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_ESCAPES = b'"\\/bfnrt'
_HEX = b"0123456789abcdefABCDEF"
_DIGITS = b"0123456789"
_DEPTH_MAX = 10_000


class _Broken(Exception):
    pass


def syntax_error(data: bytes) -> str:
    """The scanner's message, or "" for valid JSON."""
    try:
        end = _space(data, _value(data, _space(data, 0)))
        if end < len(data):
            _fail(data, end, "after top-level value")
    except _Broken as broken:
        return str(broken)
    except RecursionError:
        return too_deep(data)
    return ""


def too_deep(data: bytes) -> str:
    """The message for a document that is nested deeper than Go's scanner goes."""
    depth, is_text, is_escaped = 0, False, False
    for letter in data:
        if is_text:
            is_text = is_escaped or letter != ord('"')
            is_escaped = not is_escaped and letter == ord("\\")
        elif letter == ord('"'):
            is_text = True
        elif letter in b"[{":
            depth += 1
            if depth > _DEPTH_MAX:
                break
        elif letter in b"]}":
            depth -= 1
    else:
        letter = ord("[")
    return f"invalid character {_quoted(letter)} exceeded max depth"


def _value(data: bytes, at: int) -> int:
    first = _at(data, at)
    if first == ord("{"):
        return _object(data, at + 1)
    if first == ord("["):
        return _array(data, at + 1)
    if first == ord('"'):
        return _string(data, at + 1)
    if first in _LITERALS:
        return _literal(data, at, _LITERALS[first])
    if first == ord("-") or first in _DIGITS:
        return _number(data, at)
    return _fail(data, at, "looking for beginning of value")


def _object(data: bytes, at: int) -> int:
    at = _space(data, at)
    if _at(data, at) == ord("}"):
        return at + 1
    while True:
        at = _space(data, at)
        if _at(data, at) != ord('"'):
            _fail(data, at, "looking for beginning of object key string")
        at = _space(data, _string(data, at + 1))
        if _at(data, at) != ord(":"):
            _fail(data, at, "after object key")
        at = _space(data, _value(data, _space(data, at + 1)))
        following = _at(data, at)
        if following == ord("}"):
            return at + 1
        if following != ord(","):
            _fail(data, at, "after object key:value pair")
        at += 1


def _array(data: bytes, at: int) -> int:
    at = _space(data, at)
    if _at(data, at) == ord("]"):
        return at + 1
    while True:
        at = _space(data, _value(data, _space(data, at)))
        following = _at(data, at)
        if following == ord("]"):
            return at + 1
        if following != ord(","):
            _fail(data, at, "after array element")
        at += 1


def _string(data: bytes, at: int) -> int:
    while True:
        letter = _at(data, at)
        if letter == ord('"'):
            return at + 1
        if letter == ord("\\"):
            at = _escape(data, at + 1)
        elif letter < 0x20:
            _fail(data, at, "in string literal")
        else:
            at += 1


def _escape(data: bytes, at: int) -> int:
    letter = _at(data, at)
    if letter in _ESCAPES:
        return at + 1
    if letter != ord("u"):
        _fail(data, at, "in string escape code")
    for offset in range(1, 5):
        if _at(data, at + offset) not in _HEX:
            _fail(data, at + offset, "in \\u hexadecimal character escape")
    return at + 5


def _literal(data: bytes, at: int, word: bytes) -> int:
    for offset in range(1, len(word)):
        if _at(data, at + offset) != word[offset]:
            expected = chr(word[offset])
            _fail(data, at + offset, f"in literal {word.decode()} (expecting '{expected}')")
    return at + len(word)


def _number(data: bytes, at: int) -> int:
    if data[at] == ord("-"):
        at += 1
        if _at(data, at) not in _DIGITS:
            _fail(data, at, "in numeric literal")
    at = at + 1 if data[at] == ord("0") else _digits(data, at)
    if at < len(data) and data[at] == ord("."):
        if _at(data, at + 1) not in _DIGITS:
            _fail(data, at + 1, "after decimal point in numeric literal")
        at = _digits(data, at + 1)
    if at < len(data) and data[at] in b"eE":
        at += 1
        if _at(data, at) in b"+-":
            at += 1
        if _at(data, at) not in _DIGITS:
            _fail(data, at, "in exponent of numeric literal")
        at = _digits(data, at)
    return at


def _digits(data: bytes, at: int) -> int:
    while at < len(data) and data[at] in _DIGITS:
        at += 1
    return at


def _space(data: bytes, at: int) -> int:
    while at < len(data) and data[at] in _SPACE:
        at += 1
    return at


def _at(data: bytes, at: int) -> int:
    if at >= len(data):
        raise _Broken("unexpected end of JSON input")
    return data[at]


def _fail(data: bytes, at: int, where: str) -> int:
    raise _Broken(f"invalid character {_quoted(data[at])} {where}")


def _quoted(letter: int) -> str:
    if letter == ord("'"):
        return r"'\''"
    if letter == ord('"'):
        return "'\"'"
    character = chr(letter)
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "\a": "\\a", "\b": "\\b",
             "\f": "\\f", "\v": "\\v"}.get(character)  # fmt: skip
    if named is None and not character.isprintable():
        named = f"\\x{letter:02x}" if letter < 0x80 else f"\\u{letter:04x}"
    return f"'{named or character}'"
