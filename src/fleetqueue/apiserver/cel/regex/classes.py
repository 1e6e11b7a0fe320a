"""The named character classes of RE2: Perl's, POSIX's and Unicode's."""

import unicodedata
from functools import cache, lru_cache
from itertools import groupby

from fleetqueue.apiserver.cel.regex.tree import (
    LAST_CODE_POINT,
    PatternError,
    Ranges,
    inverted,
    normalised,
)


def _of(*pairs: str) -> Ranges:
    return normalised([(ord(pair[0]), ord(pair[-1])) for pair in pairs])


DIGIT = _of("09")
SPACE = _of("\t\n", "\f\r", "  ")
WORD = _of("09", "AZ", "__", "az")

PERL = {
    "d": DIGIT,
    "D": inverted(DIGIT),
    "s": SPACE,
    "S": inverted(SPACE),
    "w": WORD,
    "W": inverted(WORD),
}

POSIX = {
    "alnum": _of("09", "AZ", "az"),
    "alpha": _of("AZ", "az"),
    "ascii": _of("\x00\x7f"),
    "blank": _of("\t\t", "  "),
    "cntrl": _of("\x00\x1f", "\x7f\x7f"),
    "digit": DIGIT,
    "graph": _of("!~"),
    "lower": _of("az"),
    "print": _of(" ~"),
    "punct": _of("!/", ":@", "[`", "{~"),
    "space": _of("\t\r", "  "),
    "upper": _of("AZ"),
    "word": WORD,
    "xdigit": _of("09", "AF", "af"),
}

_SCRIPTS = {
    "Arabic": "ARABIC ",
    "Cyrillic": "CYRILLIC ",
    "Greek": "GREEK ",
    "Han": "CJK UNIFIED ",
    "Hangul": "HANGUL ",
    "Hebrew": "HEBREW ",
    "Hiragana": "HIRAGANA ",
    "Katakana": "KATAKANA ",
    "Latin": "LATIN ",
    "Thai": "THAI ",
}

_CATEGORIES = {
    "C": "cfos",
    "L": "lmotu",
    "M": "cen",
    "N": "dlo",
    "P": "cdefios",
    "S": "ckmo",
    "Z": "lps",
}
"""The classes of general categories, and the letters of their members."""


@lru_cache(maxsize=64)
def unicode_class(name: str, shown: str) -> Ranges:
    """`\\p{name}`: a general category or a script."""
    if name == "Any":
        return ((0, LAST_CODE_POINT),)
    if name[:1] in _CATEGORIES and name[1:] in ("", *_CATEGORIES[name[0]]):
        runs = _category_runs()
        return normalised([pair for key in runs if key.startswith(name) for pair in runs[key]])
    if name not in _SCRIPTS:
        raise PatternError("invalid character class range", shown)
    prefix, named = _SCRIPTS[name], unicodedata.name
    points = [i for i in range(LAST_CODE_POINT + 1) if named(chr(i), "").startswith(prefix)]
    return normalised([(i, i) for i in points])


@cache
def _category_runs() -> dict[str, list[tuple[int, int]]]:
    """Runs of code points by category; all at once, since looking at each of them takes time."""
    runs: dict[str, list[tuple[int, int]]] = {}
    at = 0
    for category, run in groupby(map(unicodedata.category, map(chr, range(LAST_CODE_POINT + 1)))):
        size = sum(1 for _ in run)
        runs.setdefault(category, []).append((at, at + size - 1))
        at += size
    return runs


def folded(ranges: Ranges) -> Ranges:
    """The ranges with the other case of every letter added."""
    pairs = list(ranges)
    for low, high in ranges:
        if high - low > 5000:
            continue
        for point in range(low, high + 1):
            char = chr(point)
            for other in (char.lower(), char.upper()):
                if len(other) == 1 and other != char:
                    pairs.append((ord(other), ord(other)))
    return normalised(pairs)
