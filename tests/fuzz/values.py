"""Scalars that hurt: odd texts, numbers at the edge, quantities, selectors and CEL expressions."""

from random import Random
from typing import Any

TEXTS = (
    *(
        "",
        " ",
        "a",
        "b",
        "web",
        "default",
        "kube-system",
        "fuzz",
        "x" * 300,
        "UPPER",
        "-a",
        "a-",
        "a_b",
    ),
    *(
        "a/b",
        "../..",
        "%2e%2e",
        "a.b.c",
        "*",
        "\0",
        "a\0b",
        "\n",
        "\t\r\n",
        "\u2028",
        "ß",
        "日本語",
        "🎉",
    ),
    *(
        "\ufeffbom",
        "e\u0301",
        "\ud7ff",
        "\uffff",
        "\u202eabc",
        "\x7f",
        "null",
        "true",
        "0",
        "-1",
        "1e9",
    ),
    *(
        "<script>",
        "'; --",
        "${x}",
        "{{x}}",
        "%s%n",
        "\\",
        '"',
        "$(A)",
        "=",
        ",",
        "!",
        "a=b",
        "a in (b",
    ),
    *(
        "v1",
        "apps/v1",
        "Pod",
        "ConfigMap",
        "2026-01-01T00:00:00Z",
        "2026-13-45T99:99:99Z",
        "1h",
        "10.0.0.1",
    ),
    *(
        "::1",
        "http",
        "TCP",
        "IfNotPresent",
        "Always",
        "RollingUpdate",
        "kubernetes.io/x",
        "nvidia.com/gpu",
    ),
    *(
        "1970-01-01T00:00:00.000000Z",
        "a" * 64,
        "a." * 130,
        "-",
        ".",
        "..",
        "/",
        "//",
        "YQ==",
        "not base64",
    ),
)
NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 7, 80, 100, 443, 65535, 65536, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**63 - 1),
    *(2**63, -(2**63) - 1, 2**64, 10**25, 0.5, -0.0, 1e-9, 1.5e300, 1e21, 3.0),
)
QUANTITIES = (
    *(
        "0",
        "1",
        "1.5",
        "100m",
        "1Gi",
        "1e3",
        "1E6",
        "-1",
        "+1",
        ".5",
        "5.",
        "1n",
        "1u",
        "9223372036854775808",
    ),
    *(
        "1Ei",
        "99999999999Ei",
        "0.0000000001",
        "1e999999999",
        "1e-999999999",
        "",
        " 1",
        "1 ",
        "1K",
        "1ki",
    ),
    *(
        "Gi",
        "0x10",
        "1,5",
        "١",
        "NaN",
        "inf",
        "9" * 400,
        "1e" + "9" * 50,
        "0." + "0" * 300 + "1",
        "1m1",
    ),
)
SELECTORS = (
    *(
        "a=b",
        "a==b",
        "a!=b",
        "a in (b,c)",
        "a notin (b)",
        "!a",
        "a",
        "a>1",
        "a<x",
        "a=b,c=d",
        ",",
        "a=b=c",
    ),
    *(
        "a in ()",
        "a in (b",
        "in in (in)",
        "notin notin (x)",
        "=",
        "a=",
        "=b",
        "!",
        "!!a",
        "x" * 300,
        "a=日本",
    ),
    *(
        "metadata.name=a",
        "metadata.name!=a",
        "metadata.namespace=default",
        "status.phase=Running",
        "spec.x=1",
    ),
    *(
        "metadata.name=a\\,b",
        "metadata.name=\\",
        "metadata.name",
        "involvedObject.name=a",
        "\0=\0",
        "a b",
        "()",
    ),
    *(
        "type=Opaque",
        "spec.nodeName=",
        "metadata.name=a,metadata.name=b",
        "((((",
        "a in (" + "b," * 500 + "c)",
    ),
)
CEL_ATOMS = (
    *(
        "self",
        "oldSelf",
        "self.a",
        "self.size",
        "self.items",
        "self.labels",
        "self.name",
        "1",
        "-1",
        "1u",
        "1.5",
    ),
    *(
        "true",
        "null",
        "''",
        "'abc'",
        "b'x'",
        "[]",
        "[1,2]",
        "{}",
        "{'a':1}",
        "self.?a",
        "duration('1h')",
    ),
    *(
        "timestamp('2026-01-01T00:00:00Z')",
        "quantity('1Gi')",
        "9223372036854775807",
        "optional.none()",
        "type(1)",
    ),
    *(
        "url('http://a/b')",
        "ip('10.0.0.1')",
        "cidr('10.0.0.0/8')",
        "semver('1.2.3')",
        "unknown",
        "self.a.b.c",
    ),
    *(
        "'a'.matches('(a+)+$')",
        "self.items.map(x, x)",
        "self.items.all(i, i > 0)",
        "format.dns1123Label()",
    ),
)
CEL_RULES = (
    *("self.a >= 0", "has(self.a) && self.a < 100", "self.size % 7 != 1", "1 / self.a > 0"),
    *("self.items.all(i, i > 0)", "self.items[3] == 1", "self.a * self.a > 0"),
    *("self.items.map(i, i * 9223372036854775807).size() > 0", "self.labels['x'] == 'y'"),
    *("self.name.matches('(a+)+$')", "self.name.substring(self.size) != ''"),
    *("self.a >= oldSelf.a", "self.?name.orValue('x').lowerAscii() != 'b'"),
    *("quantity(self.name).isGreaterThan(quantity('1'))", "duration(self.name) > duration('1s')"),
    *("timestamp(self.name) > timestamp('2020-01-01T00:00:00Z')", "int(self.name) > 0"),
    *("self.items.sum() + self.items.max() > 0", "self.name.indexOf('n', self.a) >= 0"),
    *(
        "self.name.split('')[0] == self.name.replace('a', 'b', self.a)",
        "ip(self.name).family() == 4",
    ),
    *("url(self.name).getHost() != ''", "self.items.exists(i, 10 / i == self.size)"),
    *("self.labels.all(k, self.labels[k].size() < self.size)", "self.name.find('[0-9]+') != 'x'"),
)
CEL_OPERATORS = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in")
CEL_SHAPES = (
    *(
        "({0})",
        "!{0}",
        "-{0}",
        "{0} ? {1} : {2}",
        "size({0})",
        "{0}.size()",
        "has({0})",
        "has(self.{0})",
    ),
    *(
        "{0}.contains({1})",
        "{0}.startsWith({1})",
        "{0}.matches({1})",
        "{0}[{1}]",
        "string({0})",
        "int({0})",
    ),
    *(
        "{0}.all(x, {1})",
        "{0}.exists(x, x == {1})",
        "{0}.map(x, {1})",
        "{0}.filter(x, {1})",
        "dyn({0})",
    ),
    *(
        "{0}.exists_one(x, {1})",
        "double({0})",
        "uint({0})",
        "{0}.split({1})",
        "{0}.orValue({1})",
        "[{0},{1}]",
    ),
    *(
        "{{{0}: {1}}}",
        "{0}.sum()",
        "{0}.isSorted()",
        "{0}.lowerAscii()",
        "{0}.indexOf({1})",
        "{0}.sort()",
    ),
    *(
        "{0}.replace({1}, {2})",
        "{0}.substring({1})",
        "{0}.find({1})",
        "{0}.asInteger()",
        "{0}.hasValue()",
    ),
)
DOCUMENTS = (
    *(
        b"",
        b"{",
        b"}",
        b"null",
        b"[]",
        b"0",
        b'"x"',
        b"true",
        b"{}",
        b"\xff\xfe",
        b"\0",
        b"{\0}",
        b"k8s\0",
    ),
    *(
        b'{"a":1e999}',
        b'{"a":' + b"9" * 500 + b"}",
        b'{"metadata":{"name":"\\ud800"}}',
        b'{"a":"\xc3\x28"}',
    ),
    *(
        b'{"kind":"Pod","kind":"Pod"}',
        b'{"a":NaN}',
        b"{'a':1}",
        b'{"a":1,}',
        b"\xef\xbb\xbf{}",
        b"- a\n- b\n",
    ),
    *(
        b"[" * 100_000,
        b'{"a":' * 20_000,
        b'{"a":' * 900 + b"1" + b"}" * 900,
        b"a: &a [*a]",
        b"a: *b",
        b"? [a]\n",
    ),
    *(
        b'{"metadata":' * 300 + b"{}" + b"}" * 300,
        b"- " * 5000,
        b"{a: " * 3000,
        b"&a [" * 2000,
        b"!!python/x y",
    ),
    *(
        b"a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n",
        b"%YAML 9.9\n---\n",
        b"---\n---\n{}",
        b"\t",
        b"a: !!binary x",
    ),
    *(
        b"k8s\0" + bytes(range(256)),
        b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x05\x0a\xff\xff\xff\x0f",
        b"\n" * 999,
    ),
)


def text(random: Random) -> str:
    if random.random() < 0.85:
        return random.choice(TEXTS)
    letters = (chr(random.randrange(1, 0xD7FF)) for _ in range(random.randrange(1, 12)))
    return "".join(letters)


def scalar(random: Random) -> Any:
    kind = random.randrange(8)
    if kind < 3:
        return text(random)
    if kind == 3:
        return random.choice(QUANTITIES)
    if kind == 4:
        return random.choice((True, False, None))
    return random.choice(NUMBERS)


def anything(random: Random, depth: int = 3) -> Any:
    kind = random.randrange(6) if depth else 0
    if kind == 1:
        return [anything(random, depth - 1) for _ in range(random.randrange(4))]
    if kind == 2:
        return {text(random): anything(random, depth - 1) for _ in range(random.randrange(4))}
    if kind == 3 and random.random() < 0.02:
        return nested(random.choice((30, 200, 400)))
    return scalar(random)


def nested(levels: int) -> Any:
    value: Any = {}
    for level in range(levels):
        value = {"a": value} if level % 2 else [value]
    return value


def cel(random: Random, depth: int = 3) -> str:
    if not depth or random.random() < 0.3:
        return random.choice(CEL_ATOMS)
    below = [cel(random, depth - 1) for _ in range(3)]
    if random.random() < 0.4:
        return f"{below[0]} {random.choice(CEL_OPERATORS)} {below[1]}"
    made = random.choice(CEL_SHAPES).format(*below)
    if random.random() < 0.08:
        cut = random.randrange(len(made) + 1)
        made = made[:cut] + random.choice(TEXTS) + made[cut:]
    return made
