"""What expressions may cost at worst, in the numbers of kube-apiserver's own estimator."""

from typing import Any

import pytest

from fleetqueue.apiserver.cel import cost
from fleetqueue.apiserver.cel.cost.bounds import bound_of
from fleetqueue.apiserver.cel.program import compile_rule
from fleetqueue.apiserver.schema.node import Node

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "name": {"type": "string", "maxLength": 10},
        "kind_of": {"type": "string", "enum": ["a", "bbbb", "é"]},
        "number": {"type": "integer"},
        "flag": {"type": "boolean"},
        "data": {"type": "string", "format": "byte", "maxLength": 9},
        "time": {"type": "string", "format": "date-time"},
        "port": {"x-kubernetes-int-or-string": True, "maxLength": 5},
        "any_port": {"x-kubernetes-int-or-string": True},
        "words": {"type": "array", "items": {"type": "string"}},
        "names": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 4}},
        "numbers": {"type": "array", "maxItems": 6, "items": {"type": "integer"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "short": {
            "type": "object",
            "maxProperties": 7,
            "additionalProperties": {"type": "string", "maxLength": 8},
        },
        "x-y": {"type": "string", "maxLength": 7},
        "namespace": {"type": "string", "maxLength": 7},
        "a": {
            "type": "object",
            "properties": {
                "b": {
                    "type": "object",
                    "properties": {
                        "c": {
                            "type": "array",
                            "maxItems": 9,
                            "items": {
                                "type": "object",
                                "properties": {
                                    "count": {"type": "integer"},
                                    "name": {"type": "string", "maxLength": 5},
                                    "text": {"type": "string"},
                                    "parts": {
                                        "type": "array",
                                        "maxItems": 9,
                                        "items": {
                                            "type": "object",
                                            "properties": {
                                                "name": {"type": "string", "maxLength": 5}
                                            },
                                        },
                                    },
                                },
                            },
                        }
                    },
                }
            },
        },
        "whole": {"type": "object", "x-kubernetes-embedded-resource": True},
    },
}
COSTS: list[tuple[int, str]] = [
    (3, "self.text == 'abc'"),
    (8, "self.text != self.name"),
    (8, "self.text < self.name"),
    (5, "self.data <= self.data"),
    (2, "self.number == 1"),
    (1, "1 == 1"),
    (2, "self.flag == true"),
    (629_148, "self.text.matches('^[a-z]+$')"),
    (3, "matches(self.text, '^[a-z]+$')"),
    (1_258_296, "self.name.contains(self.text)"),
    (6, "self.text.startsWith('abc') && self.name.endsWith('d')"),
    (4, "self.text.size() > 3"),
    (5, "self.kind_of.matches('abcdefghijk')"),
    (8, "self.port.matches('abcdef')"),
    (3, "self.any_port == 'abc'"),
    (7, "type(self.port) == string ? self.port.endsWith('%') : self.port < 5"),
    (4, "self.time > timestamp('2020-01-01T00:00:00Z')"),
    (314_578, "string(self.time) == self.text"),
    (6, "string(self.data) == self.text"),
    (9, "bytes(self.name) == self.data"),
    (17, "strings.quote(self.name) == self.text"),
    (1_844_674_407_370_955_277, "'%s'.format([self.text]).matches('a')"),
    (314_580, "self.x__dash__y == 'abcdefgh' && self.namespace == self.text"),
    (314_576, "self.metadata.name.matches('abc')"),
    (314_581, "self.whole.metadata.name.matches('abc') && self.whole.kind == 'abc'"),
    (3, "has(self.text) && has(self.a.b)"),
    (5_242_878, "self.words.all(w, w == 'abc')"),
    (233, "self.names.all(n, self.names.exists(m, n != m))"),
    (24, "self.names.exists_one(n, n == 'a')"),
    (34, "self.names.existsOne(i, n, i == 0 && n == 'b')"),
    (345_881_509_131_242_703, "self.words.all(w, self.words.all(v, w == v))"),
    (109, "self.names.map(n, n + 'a').all(m, m == 'abcdefghijklm')"),
    (109, "self.names.map(n, n != 'b', n).all(m, m == 'abcdefghijklm')"),
    (109, "self.names.filter(n, n != 'b').all(m, m == 'abcdefghijklm')"),
    (128, "self.numbers.map(n, n * 2).all(m, m > 4)"),
    (119, "self.names.transformList(i, n, i > 1, n + 'a').all(m, m == 'abcdefghijkl')"),
    (
        139,
        "self.short.transformMap(k, v, v + 'a').all(k, w, k.matches('aaa') && w.matches('aa'))",
    ),
    (314, "self.short.transformMapEntry(k, v, {v: k}).all(k, k.matches('aaaaa'))"),
    (101, "self.short.all(k, self.short[k].matches('abcd') && k.matches('abcdefgh'))"),
    (2_359_293, "self.labels.exists(k, v, v == 'abc')"),
    (1_844_674_407_370_955_271, "self.labels.a.matches('abc') && self.labels['b'] == 'c'"),
    (314_577, "(self.flag ? self.text : self.name).matches('abc')"),
    (20, "(self.flag ? [self.name] : ['bbbb']).all(x, x.matches('cccc'))"),
    (23, "['aaa', 'bbbbb'].all(x, x == self.text)"),
    (49, "{'a': 'bbb', 'cccccc': 'd'}.all(k, v, k == self.text && v == self.text)"),
    (39, "[self.names][0].all(x, x == 'abc')"),
    (11, "[].all(x, x == self.text)"),
    (1_048_593, "self.text in ['a', 'b'] || self.text in self.words"),
    (50, "(self.names + ['abcdef']).all(x, x == self.text)"),
    (314_582, "self.text + self.name == 'abc'"),
    (12, "(self.name + 'x').matches('abc')"),
    (32, "dyn(self.name).matches('abc') && dyn(self.names).all(n, n == 'a')"),
    (10, "dyn(self.text) < dyn(self.name)"),
    (329_854_432_052, "self.words.isSorted()"),
    (3_689_348_814_741_910_540, "['b', 'a'].isSorted()"),
    (26, "self.numbers.sum() == 3 && self.numbers.max() > self.numbers.min()"),
    (314_594, "self.names.indexOf('a') == 1 && self.text.lastIndexOf('a') == 1"),
    (314_585, "self.name.lowerAscii() == self.text.trim()"),
    (24, "self.name.replace('a', 'bbb') == self.text"),
    (29, "self.name.replace('', 'bbb') == self.text"),
    (16, "self.name.replace('aaa', 'b') == self.text"),
    (314_589, "self.name.replace(self.name, self.text) == self.text"),
    (211, "self.name.split('.').all(x, x.matches('a'))"),
    (23, "self.name.split('.', 3).all(x, x == 'abc')"),
    (22, "self.names.join(',') == self.text"),
    (168, "self.name.findAll('a+').all(x, x == 'c')"),
    (2_097_181, "sets.contains(self.names, ['a']) && sets.equivalent(self.words, ['a'])"),
    (314_583, "quantity(self.name) == quantity('1') && isQuantity(self.text)"),
    (1_844_674_407_370_955_271, "quantity(self.name) != quantity('1')"),
    (629_167, "url(self.name).getHost() == self.text && url(self.text) == url(self.name)"),
    (629_156, "ip(self.name) == ip('1.2.3.4') && ip.isCanonical(self.text)"),
    (314_596, "cidr(self.name).containsIP(self.text) || cidr(self.name).containsIP(ip('1.2.3.4'))"),
    (314_597, "cidr(self.name).containsCIDR(self.text) || cidr(self.name).ip() == ip('1.2.3.4')"),
    (314_585, "semver(self.name) == semver('1.2.3') && semver(self.text).major() > 1"),
    (142, "!format.dns1123Label().validate(self.name).hasValue() && format.uri() == format.uuid()"),
    (1_844_674_407_370_955_267, "self.?text.orValue('x').matches('abc')"),
    (1_844_674_407_371_269_858, "self.?name.optMap(n, n + 'a').orValue('b') == self.text"),
    (19, "self.?names.optFlatMap(n, n[?0]).hasValue()"),
    (9, "self.?names[0].orValue('a') == 'b' && self.?number.orValue(3) == 4"),
    (345_882_608_640_773_328, "self.words.all(w, oldSelf.words.exists(v, w == v))"),
    (59, "self.a.b.c.all(x, x.parts.all(y, y.name.matches('abcd') && x.count > 0))"),
    (59, "self.a.b.c.all(x, x.parts.all(y, x.count > 0 && y.name.matches('abcd')))"),
    (2_831_225, "self.a.b.c.all(i, x, string(i) == x.text)"),
]


@pytest.mark.parametrize(("expected", "rule"), COSTS, ids=[rule for _, rule in COSTS])
def test_a_rule_costs_what_kube_apiserver_says(expected: int, rule: str) -> None:
    assert cost_of(rule, SCHEMA, is_root=True) == expected


def cost_of(rule: str, schema: dict[str, Any], is_root: bool = False) -> int:
    node = Node(schema)
    program = compile_rule(rule, node, is_root=is_root).program
    bound = bound_of(node, is_root)
    assert bound is not None
    return cost.estimate(program.tree, bound)


TEXT = {"type": "string"}
CARDINALITIES: list[tuple[int, dict[str, Any]]] = [
    (1_048_576, TEXT),
    (1_572_864, {"type": "integer"}),
    (629_145, {"type": "boolean"}),
    (142_987, {"type": "string", "format": "date-time"}),
    (241_979, {"type": "string", "format": "date"}),
    (786_432, {"type": "string", "format": "duration"}),
    (1_572_864, {"x-kubernetes-int-or-string": True}),
    (1_048_576, {"type": "array", "items": TEXT}),
    (1_048_576, {"type": "object", "additionalProperties": TEXT}),
    (1_048_576, {"type": "object", "properties": {"a": TEXT}}),
    (
        112_347,
        {
            "type": "object",
            "properties": {"a": TEXT, "bb": {"type": "boolean"}, "é": TEXT},
            "required": ["a", "bb", "é", "none"],
        },
    ),
    (
        1_048_576,
        {
            "type": "object",
            "properties": {"a": {"type": "string", "default": "x"}},
            "required": ["a"],
        },
    ),
]


@pytest.mark.parametrize(("expected", "schema"), CARDINALITIES)
def test_as_many_values_as_a_request_can_hold(expected: int, schema: dict[str, Any]) -> None:
    bound = bound_of(Node(schema))
    assert bound is not None
    assert bound.cardinality == expected


def test_a_root_that_tells_its_name_bounds_it() -> None:
    meta = {"type": "object", "properties": {"name": TEXT | {"maxLength": 5}, "generateName": TEXT}}
    told = {
        "type": "object",
        "properties": {"kind": TEXT, "apiVersion": TEXT, "metadata": meta},
    }
    rule = "self.metadata.name.matches('abcd')"
    assert cost_of(rule, told, is_root=True) == 6
    del meta["properties"]["generateName"]  # type: ignore[attr-defined]
    assert cost_of(rule, told, is_root=True) == 314_576


def test_what_expressions_cannot_see_has_no_bound() -> None:
    assert bound_of(Node({"type": "array", "items": {}})) is None
    assert bound_of(Node({"type": "object", "additionalProperties": {}})) is None
    assert bound_of(Node({"x-kubernetes-preserve-unknown-fields": True})) is None
