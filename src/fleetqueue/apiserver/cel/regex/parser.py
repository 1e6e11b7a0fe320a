"""Reads RE2 syntax, as Go's regexp package accepts it, into a tree."""

from fleetqueue.apiserver.cel.regex import classes
from fleetqueue.apiserver.cel.regex.tree import (
    EMPTY,
    LAST_CODE_POINT,
    Assertion,
    Chars,
    Choice,
    Group,
    PatternError,
    Ranges,
    Repeat,
    Sequence,
    Tree,
    inverted,
    normalised,
)

_REPEAT_MAX = 1000
_ESCAPED = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_ALL = ((0, LAST_CODE_POINT),)
_NOT_NEWLINE = inverted(((10, 10),))


def parse(pattern: str) -> Tree:
    return _Parser(pattern).whole()


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0
        self.flags: frozenset[str] = frozenset()

    def whole(self) -> Tree:
        tree = self._choice()
        if self.at < len(self.text):
            raise PatternError("unexpected )", self.text)
        return tree

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self, word: str) -> bool:
        if self.text.startswith(word, self.at):
            self.at += len(word)
            return True
        return False

    def _choice(self) -> Tree:
        branches = [self._sequence()]
        while self._take("|"):
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def _sequence(self) -> Tree:
        items: list[Tree] = []
        while self.at < len(self.text) and self._peek() not in "|)":
            start = self.at
            atom = self._atom()
            if atom is not None:
                items.append(self._repeated(atom, start))
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def _repeated(self, atom: Tree, start: int) -> Tree:
        before = self.at
        bounds = self._bounds()
        if bounds is None:
            return atom
        least, most = bounds
        is_greedy = not self._take("?")
        if "U" in self.flags:
            is_greedy = not is_greedy
        after = self.at
        if self._bounds() is not None:
            raise PatternError(
                "invalid nested repetition operator", self.text[before : self.at] or "**"
            )
        self.at = after
        return Repeat(atom, least, most, is_greedy)

    def _bounds(self) -> tuple[int, int | None] | None:
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        char = self._peek()
        if char in simple and char:
            self.at += 1
            return simple[char]
        return self._counted() if char == "{" else None

    def _counted(self) -> tuple[int, int | None] | None:
        """`{n}`, `{n,}` or `{n,m}`; anything else that opens a brace is a literal brace."""
        end = self.text.find("}", self.at)
        inner = self.text[self.at + 1 : end] if end > 0 else ""
        low, comma, high = inner.partition(",")
        if not (low.isdecimal() and (not high or high.isdecimal())):
            return None
        least = int(low)
        most = least if not comma else int(high) if high else None
        shown = self.text[self.at : end + 1]
        if least > _REPEAT_MAX or (most or 0) > _REPEAT_MAX or (most is not None and most < least):
            raise PatternError("invalid repeat count", shown)
        self.at = end + 1
        return least, most

    def _atom(self) -> Tree | None:
        char = self._peek()
        if char in "*+?":
            raise PatternError("missing argument to repetition operator", char)
        if char == "(":
            return self._group()
        if char == "[":
            return Chars(self._folded(self._class()))
        self.at += 1
        if char == "\\":
            return self._escape()
        if char == ".":
            return Chars(_ALL if "s" in self.flags else _NOT_NEWLINE)
        if char == "^":
            return Assertion("line begin" if "m" in self.flags else "begin")
        if char == "$":
            return Assertion("line end" if "m" in self.flags else "end")
        return self._literal(char)

    def _literal(self, char: str) -> Tree:
        return Chars(self._folded(((ord(char), ord(char)),)))

    def _folded(self, ranges: Ranges) -> Ranges:
        return classes.folded(ranges) if "i" in self.flags else ranges

    def _group(self) -> Tree | None:
        start, outer = self.at, self.flags
        self.at += 1
        captures = True
        if self._take("?"):
            captures = self._group_head(start)
            if self._take(")"):
                return None
            if not captures and not self._take(":"):
                raise PatternError("missing argument to repetition operator", "?")
        inner = self._choice()
        if not self._take(")"):
            raise PatternError("missing closing )", self.text)
        self.flags = outer
        return Group(inner) if captures else Sequence((inner,))

    def _group_head(self, start: int) -> bool:
        """What follows `(?`: a name, which captures, or flags, which do not."""
        for opening in ("P<", "<"):
            if self._take(opening):
                name, found, _ = self.text[self.at :].partition(">")
                if not found or not name.isidentifier():
                    raise PatternError("invalid named capture", self.text[start:])
                self.at += len(name) + 1
                return True
        on, off, negative = set(self.flags), set[str](), False
        while (char := self._peek()) and char not in ":)":
            self.at += 1
            if char == "-" and not negative:
                negative = True
            elif char in "imsU":
                (off if negative else on).add(char)
            else:
                shown = self.text[start : self.at]
                raise PatternError("invalid or unsupported Perl syntax", shown)
        if not self._peek():
            raise PatternError("missing closing )", self.text)
        self.flags = frozenset(on - off)
        return False

    def _escape(self) -> Tree:
        char = self._peek()
        anchors = {"A": "begin", "z": "end", "b": "word", "B": "not word"}
        if char in anchors and char:
            self.at += 1
            return Assertion(anchors[char])
        if char == "Q":
            self.at += 1
            quoted, _, _ = self.text[self.at :].partition("\\E")
            self.at = min(len(self.text), self.at + len(quoted) + 2)
            return Sequence(tuple(self._literal(c) for c in quoted)) if quoted else EMPTY
        return Chars(self._folded(self._class_escape()))

    def _class_escape(self) -> Ranges:
        """What may stand behind a backslash both inside and outside of brackets."""
        if self.at >= len(self.text):
            raise PatternError("trailing backslash at end of expression", "")
        char = self._peek()
        self.at += 1
        if char in classes.PERL:
            return classes.PERL[char]
        if char in "pP":
            return self._unicode(char == "P")
        point = self._escaped_point(char)
        return ((point, point),)

    def _escaped_point(self, char: str) -> int:
        if char in _ESCAPED:
            return _ESCAPED[char]
        if char in _PUNCTUATION:
            return ord(char)
        if char == "x":
            return self._hexadecimal()
        if char in "01234567":
            digits = char
            while len(digits) < 3 and self._peek() and self._peek() in "01234567":
                digits += self._peek()
                self.at += 1
            if char == "0" or len(digits) > 1:
                return int(digits, 8)
        raise PatternError("invalid escape sequence", f"\\{char}")

    def _hexadecimal(self) -> int:
        if self._take("{"):
            digits, _, _ = self.text[self.at :].partition("}")
            self.at += len(digits) + 1
        else:
            digits = self.text[self.at : self.at + 2]
            self.at += 2
        try:
            point = int(digits, 16)
        except ValueError:
            point = LAST_CODE_POINT + 1
        if point > LAST_CODE_POINT:
            raise PatternError("invalid escape sequence", f"\\x{digits}")
        return point

    def _unicode(self, is_negative: bool) -> Ranges:
        start = self.at - 2
        if self._take("{"):
            name, _, _ = self.text[self.at :].partition("}")
            self.at += len(name) + 1
        else:
            name = self._peek()
            self.at += 1
        if name.startswith("^"):
            name, is_negative = name[1:], not is_negative
        ranges = classes.unicode_class(name, self.text[start : self.at])
        return inverted(ranges) if is_negative else ranges

    def _class(self) -> Ranges:
        start = self.at
        self.at += 1
        is_negative = self._take("^")
        pairs: list[tuple[int, int]] = []
        is_first = True
        while is_first or self._peek() != "]":
            if self.at >= len(self.text):
                raise PatternError("missing closing ]", self.text[start:])
            pairs.extend(self._class_item())
            is_first = False
        self.at += 1
        ranges = normalised(pairs)
        if is_negative:
            return inverted(self._folded(ranges))
        return ranges

    def _class_item(self) -> Ranges:
        if self.text.startswith("[:", self.at) and ":]" in self.text[self.at :]:
            return self._posix()
        start = self.at
        low = self._class_char()
        if len(low) != 1 or low[0][0] != low[0][1]:
            return low
        if self._peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
            self.at += 1
            high = self._class_char()
            if len(high) != 1 or high[0][1] < low[0][0]:
                raise PatternError("invalid character class range", self.text[start : self.at])
            return ((low[0][0], high[0][1]),)
        return low

    def _class_char(self) -> Ranges:
        char = self._peek()
        self.at += 1
        if char == "\\":
            return self._class_escape()
        if not char:
            raise PatternError("missing closing ]", self.text)
        return ((ord(char), ord(char)),)

    def _posix(self) -> Ranges:
        end = self.text.index(":]", self.at) + 2
        shown = self.text[self.at : end]
        name = shown[2:-2]
        ranges = classes.POSIX.get(name.removeprefix("^"))
        if ranges is None:
            raise PatternError("invalid character class range", shown)
        self.at = end
        return inverted(ranges) if name.startswith("^") else ranges
