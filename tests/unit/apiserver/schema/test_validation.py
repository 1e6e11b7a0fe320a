"""What the server says about custom resources that break their schema. Recorded from upstream."""

from typing import Any

import pytest

from fleetqueue.apiserver.schema.compiled import CompiledSchema
from fleetqueue.apiserver.schema.node import Node

Case = tuple[dict[str, Any], dict[str, Any], Any, list[str]]

CREATES: dict[str, Case] = {
    # name: (schema of spec, what the root schema has besides, spec, errors)
    "int given string": (
        {"type": "object", "properties": {"x": {"type": "integer"}}},
        {},
        {"x": "a"},
        [('spec.x: Invalid value: "string": spec.x in body must be of type integer: "string"')],
    ),
    "string given int": (
        {"type": "object", "properties": {"x": {"type": "string"}}},
        {},
        {"x": 1},
        [('spec.x: Invalid value: "integer": spec.x in body must be of type string: "integer"')],
    ),
    "object given list": (
        {
            "type": "object",
            "properties": {"x": {"type": "object", "properties": {"y": {"type": "string"}}}},
        },
        {},
        {"x": [1]},
        [('spec.x: Invalid value: "array": spec.x in body must be of type object: "array"')],
    ),
    "list given object": (
        {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "string"}}}},
        {},
        {"x": {"a": 1}},
        [('spec.x: Invalid value: "object": spec.x in body must be of type array: "object"')],
    ),
    "bool given string": (
        {"type": "object", "properties": {"x": {"type": "boolean"}}},
        {},
        {"x": "true"},
        [('spec.x: Invalid value: "string": spec.x in body must be of type boolean: "string"')],
    ),
    "number given string": (
        {"type": "object", "properties": {"x": {"type": "number"}}},
        {},
        {"x": "1"},
        [('spec.x: Invalid value: "string": spec.x in body must be of type number: "string"')],
    ),
    "integer float": (
        {"type": "object", "properties": {"x": {"type": "integer"}}},
        {},
        {"x": 1.5},
        [('spec.x: Invalid value: "number": spec.x in body must be of type integer: "number"')],
    ),
    "number int": ({"type": "object", "properties": {"x": {"type": "number"}}}, {}, {"x": 1}, []),
    "null non nullable": (
        {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "string"}}},
        {},
        {"x": None},
        [],
    ),
    "null nullable": (
        {"type": "object", "properties": {"x": {"type": "string", "nullable": True}}},
        {},
        {"x": None},
        [],
    ),
    "null default": (
        {"type": "object", "properties": {"x": {"type": "string", "default": "d"}}},
        {},
        {"x": None},
        [],
    ),
    "null in list": (
        {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "string"}}}},
        {},
        {"x": [None]},
        [('spec.x[0]: Invalid value: "null": spec.x[0] in body must be of type string: "null"')],
    ),
    "nullable enum": (
        {
            "type": "object",
            "properties": {"x": {"type": "string", "nullable": True, "enum": ["a"]}},
        },
        {},
        {"x": None},
        ['spec.x: Unsupported value: null: supported values: "a"'],
    ),
    "unknown": (
        {"type": "object", "properties": {"x": {"type": "string"}}},
        {},
        {"x": "a", "y": 1, "z": {"a": 1}},
        [],
    ),
    "unknown nested list": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"a": {"type": "string"}}},
                }
            },
        },
        {},
        {"x": [{"a": "1", "b": 2}, {"c": 3}]},
        [],
    ),
    "unknown map": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "object",
                        "properties": {"a": {"type": "string"}},
                    },
                }
            },
        },
        {},
        {"x": {"k": {"a": "1", "b": 2}}},
        [],
    ),
    "preserve": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {
                        "a": {"type": "object", "properties": {"b": {"type": "string"}}}
                    },
                }
            },
        },
        {},
        {"x": {"a": {"b": "1", "c": 2}, "z": {"q": 1}}},
        [],
    ),
    "preserve leaf": (
        {"type": "object", "properties": {"x": {"x-kubernetes-preserve-unknown-fields": True}}},
        {},
        {"x": {"a": {"b": "1", "c": 2}, "z": [1]}},
        [],
    ),
    "scalar given object": (
        {"type": "object", "properties": {"x": {"type": "string"}}},
        {},
        {"x": {"a": 1}},
        [('spec.x: Invalid value: "object": spec.x in body must be of type string: "object"')],
    ),
    "defaults nested": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "object",
                    "default": {},
                    "properties": {
                        "b": {"type": "integer", "default": 3},
                        "c": {
                            "type": "object",
                            "properties": {"d": {"type": "string", "default": "x"}},
                        },
                    },
                }
            },
        },
        {},
        {},
        [],
    ),
    "defaults nested2": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "object",
                    "properties": {
                        "b": {"type": "integer", "default": 3},
                        "c": {
                            "type": "object",
                            "properties": {"d": {"type": "string", "default": "x"}},
                        },
                    },
                }
            },
        },
        {},
        {"a": {"c": {}}},
        [],
    ),
    "defaults items": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"b": {"type": "integer", "default": 3}},
                    },
                }
            },
        },
        {},
        {"a": [{}, {"b": 1}]},
        [],
    ),
    "defaults map": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "object",
                        "properties": {"b": {"type": "integer", "default": 3}},
                    },
                }
            },
        },
        {},
        {"a": {"k": {}}},
        [],
    ),
    "required": (
        {
            "type": "object",
            "required": ["x", "y"],
            "properties": {"x": {"type": "string"}, "y": {"type": "string"}},
        },
        {},
        {"x": "a"},
        ["spec.y: Required value"],
    ),
    "required nested": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["x"],
                        "properties": {"x": {"type": "string"}},
                    },
                }
            },
        },
        {},
        {"a": [{}]},
        ["spec.a[0].x: Required value"],
    ),
    "enum": (
        {"type": "object", "properties": {"x": {"type": "string", "enum": ["a", "b"]}}},
        {},
        {"x": "c"},
        ['spec.x: Unsupported value: "c": supported values: "a", "b"'],
    ),
    "enum int": (
        {"type": "object", "properties": {"x": {"type": "integer", "enum": [1, 2]}}},
        {},
        {"x": 3},
        ['spec.x: Unsupported value: 3: supported values: "1", "2"'],
    ),
    "enum wrong type": (
        {"type": "object", "properties": {"x": {"type": "string", "enum": ["a"]}}},
        {},
        {"x": 3},
        [
            ('spec.x: Invalid value: "integer": spec.x in body must be of type string: "integer"'),
            'spec.x: Unsupported value: 3: supported values: "a"',
        ],
    ),
    "maxLength": (
        {"type": "object", "properties": {"x": {"type": "string", "maxLength": 3}}},
        {},
        {"x": "abcd"},
        ["spec.x: Too long: may not be more than 3 bytes"],
    ),
    "maxLength1": (
        {"type": "object", "properties": {"x": {"type": "string", "maxLength": 1}}},
        {},
        {"x": "abcd"},
        ["spec.x: Too long: may not be more than 1 byte"],
    ),
    "minLength": (
        {"type": "object", "properties": {"x": {"type": "string", "minLength": 3}}},
        {},
        {"x": "a"},
        [('spec.x: Invalid value: "a": spec.x in body should be at least 3 chars long')],
    ),
    "pattern": (
        {"type": "object", "properties": {"x": {"type": "string", "pattern": "^[a-z]+$"}}},
        {},
        {"x": "A1"},
        ["spec.x: Invalid value: \"A1\": spec.x in body should match '^[a-z]+$'"],
    ),
    "min/max": (
        {"type": "object", "properties": {"x": {"type": "integer", "minimum": 3, "maximum": 1}}},
        {},
        {"x": 2},
        [
            ("spec.x: Invalid value: 2: spec.x in body should be greater than or equal to 3"),
            ("spec.x: Invalid value: 2: spec.x in body should be less than or equal to 1"),
        ],
    ),
    "excl": (
        {
            "type": "object",
            "properties": {
                "x": {"type": "integer", "minimum": 3, "exclusiveMinimum": True},
                "y": {"type": "number", "maximum": 2.5, "exclusiveMaximum": True},
            },
        },
        {},
        {"x": 3, "y": 2.5},
        [
            "spec.x: Invalid value: 3: spec.x in body should be greater than 3",
            "spec.y: Invalid value: 2.5: spec.y in body should be less than 2.5",
        ],
    ),
    "number max": (
        {"type": "object", "properties": {"y": {"type": "number", "maximum": 2.5}}},
        {},
        {"y": 2.75},
        [("spec.y: Invalid value: 2.75: spec.y in body should be less than or equal to 2.5")],
    ),
    "number max int val": (
        {"type": "object", "properties": {"y": {"type": "number", "maximum": 2.5}}},
        {},
        {"y": 3},
        [("spec.y: Invalid value: 3: spec.y in body should be less than or equal to 2")],
    ),
    "number max2": (
        {"type": "object", "properties": {"y": {"type": "number", "maximum": 100000000}}},
        {},
        {"y": 100000000.5},
        [
            (
                "spec.y: Invalid value: 1.000000005e+08: spec.y in body should be "
                "less than or equal to 1e+08"
            )
        ],
    ),
    "multipleOf": (
        {
            "type": "object",
            "properties": {
                "x": {"type": "integer", "multipleOf": 3},
                "y": {"type": "number", "multipleOf": 0.5},
            },
        },
        {},
        {"x": 4, "y": 0.7},
        [
            "spec.x: Invalid value: 4: spec.x in body should be a multiple of 3",
            ("spec.y: Invalid value: 0.7: spec.y in body should be a multiple of 0.5"),
        ],
    ),
    "maxItems": (
        {
            "type": "object",
            "properties": {"x": {"type": "array", "maxItems": 1, "items": {"type": "string"}}},
        },
        {},
        {"x": ["a", "b"]},
        ["spec.x: Too many: 2: must have at most 1 item"],
    ),
    "minItems": (
        {
            "type": "object",
            "properties": {"x": {"type": "array", "minItems": 3, "items": {"type": "string"}}},
        },
        {},
        {"x": ["a", "b"]},
        [("spec.x: Invalid value: 2: spec.x in body should have at least 3 items")],
    ),
    "maxProps": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "object",
                    "maxProperties": 1,
                    "additionalProperties": {"type": "string"},
                }
            },
        },
        {},
        {"x": {"a": "1", "b": "2"}},
        ["spec.x: Too many: 2: must have at most 1 item"],
    ),
    "minProps": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "object",
                    "minProperties": 3,
                    "additionalProperties": {"type": "string"},
                }
            },
        },
        {},
        {"x": {"a": "1", "b": "2"}},
        [("spec.x: Invalid value: 2: spec.x in body should have at least 3 properties")],
    ),
    "map values": (
        {
            "type": "object",
            "properties": {"x": {"type": "object", "additionalProperties": {"type": "integer"}}},
        },
        {},
        {"x": {"a.b": "1", "c": 2}},
        [
            (
                'spec.x.a.b: Invalid value: "string": spec.x.a.b in body must be of '
                'type integer: "string"'
            )
        ],
    ),
    "int-or-string": (
        {
            "type": "object",
            "properties": {
                "x": {"x-kubernetes-int-or-string": True},
                "y": {"x-kubernetes-int-or-string": True},
                "z": {"x-kubernetes-int-or-string": True},
            },
        },
        {},
        {"x": 1, "y": "a", "z": True},
        [
            (
                'spec.z: Invalid value: "boolean": spec.z in body must be of type '
                'integer,string: "boolean"'
            )
        ],
    ),
    "int-or-string any": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                    "pattern": "^[0-9]+$",
                }
            },
        },
        {},
        {"x": "abc"},
        ["spec.x: Invalid value: \"abc\": spec.x in body should match '^[0-9]+$'"],
    ),
    "int-or-string float": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                }
            },
        },
        {},
        {"x": 1.5},
        [
            (
                'spec.x: Invalid value: "number": spec.x in body must be of type '
                'integer,string: "number"'
            ),
            ('<nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf)'),
            ('spec.x: Invalid value: "number": spec.x in body must be of type integer: "number"'),
        ],
    ),
    "int32 range": (
        {"type": "object", "properties": {"x": {"type": "integer", "format": "int32"}}},
        {},
        {"x": 99999999999},
        [],
    ),
    "anyOf": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
                }
            },
        },
        {},
        {"x": {}},
        [
            ('<nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf)'),
            "spec.x.a: Required value",
        ],
    ),
    "oneOf none": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                }
            },
        },
        {},
        {"x": {}},
        [
            (
                '<nil>: Invalid value: "": "spec.x" must validate one and only one '
                "schema (oneOf). Found none valid"
            ),
            "spec.x.a: Required value",
        ],
    ),
    "oneOf both": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                }
            },
        },
        {},
        {"x": {"a": "1", "b": "2"}},
        [
            (
                '<nil>: Invalid value: "": "spec.x" must validate one and only one '
                "schema (oneOf). Found 2 valid alternatives"
            )
        ],
    ),
    "oneOf one": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                }
            },
        },
        {},
        {"x": {"a": "1"}},
        [],
    ),
    "oneOf best": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "oneOf": [
                        {"required": ["a", "b"]},
                        {"required": ["b"], "properties": {"b": {"pattern": "^z"}}},
                    ],
                }
            },
        },
        {},
        {"x": {"b": "1"}},
        [
            (
                '<nil>: Invalid value: "": "spec.x" must validate one and only one '
                "schema (oneOf). Found none valid"
            ),
            "spec.x.b: Invalid value: \"1\": spec.x.b in body should match '^z'",
        ],
    ),
    "anyOf best": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "string",
                    "anyOf": [{"pattern": "^a"}, {"minLength": 10}, {"enum": ["q"]}],
                }
            },
        },
        {},
        {"x": "zz"},
        [
            ('<nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf)'),
            "spec.x: Invalid value: \"zz\": spec.x in body should match '^a'",
        ],
    ),
    "allOf": (
        {
            "type": "object",
            "properties": {"x": {"type": "string", "allOf": [{"pattern": "^a"}, {"minLength": 3}]}},
        },
        {},
        {"x": "b"},
        [
            "spec.x: Invalid value: \"b\": spec.x in body should match '^a'",
            ('spec.x: Invalid value: "b": spec.x in body should be at least 3 chars long'),
            (
                '<nil>: Invalid value: "": "spec.x" must validate all the schemas '
                "(allOf). None validated"
            ),
        ],
    ),
    "allOf part": (
        {
            "type": "object",
            "properties": {"x": {"type": "string", "allOf": [{"pattern": "^b"}, {"minLength": 3}]}},
        },
        {},
        {"x": "b"},
        [
            ('spec.x: Invalid value: "b": spec.x in body should be at least 3 chars long'),
            ('<nil>: Invalid value: "": "spec.x" must validate all the schemas (allOf)'),
        ],
    ),
    "not": (
        {"type": "object", "properties": {"x": {"type": "string", "not": {"pattern": "^b"}}}},
        {},
        {"x": "b"},
        [('<nil>: Invalid value: "": "spec.x" must not validate the schema (not)')],
    ),
    "not root": (
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"not": {"required": ["spec"]}},
        {"a": "x"},
        ['<nil>: Invalid value: "": "" must not validate the schema (not)'],
    ),
    "root oneOf": (
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {},
        [
            (
                '<nil>: Invalid value: "": "" must validate one and only one schema '
                "(oneOf). Found none valid"
            ),
            "a: Required value",
        ],
    ),
    "root required": (
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"required": ["data"]},
        {},
        ["data: Required value"],
    ),
    "set dup": (
        {
            "type": "object",
            "properties": {
                "x": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
            },
        },
        {},
        {"x": ["a", "b", "a", "a"]},
        ['spec.x[2]: Duplicate value: "a"'],
    ),
    "set dup ints": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "array",
                    "x-kubernetes-list-type": "set",
                    "items": {"type": "integer"},
                }
            },
        },
        {},
        {"x": [1, 1]},
        ["spec.x[1]: Duplicate value: 1"],
    ),
    "map dup": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {
                        "type": "object",
                        "required": ["k"],
                        "properties": {"k": {"type": "string"}, "v": {"type": "string"}},
                    },
                }
            },
        },
        {},
        {"x": [{"k": "a"}, {"k": "a", "v": "1"}]},
        ['spec.x[1]: Duplicate value: {"k":"a"}'],
    ),
    "map dup2": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k", "p"],
                    "items": {
                        "type": "object",
                        "required": ["k"],
                        "properties": {
                            "k": {"type": "string"},
                            "p": {"type": "integer", "default": 1},
                        },
                    },
                }
            },
        },
        {},
        {"x": [{"k": "a"}, {"k": "a", "p": 1}, {"k": "a", "p": 2}]},
        ['spec.x[1]: Duplicate value: {"k":"a","p":1}'],
    ),
    "embedded": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                }
            },
        },
        {},
        {"x": {"a": 1}},
        ["spec.x.apiVersion: Required value", "spec.x.kind: Required value"],
    ),
    "embedded2": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "properties": {
                        "spec": {"type": "object", "properties": {"a": {"type": "string"}}}
                    },
                }
            },
        },
        {},
        {
            "x": {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": "x",
                    "foo": 1,
                    "labels": {"#": "b"},
                    "creationTimestamp": None,
                },
                "spec": {"a": "1", "b": 2},
            }
        },
        [
            (
                'spec.x.metadata.labels: Invalid value: "#": name part must consist '
                "of alphanumeric characters, '-', '_' or '.', and must start and end "
                "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
                "'123-abc', regex used for validation is "
                "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
            )
        ],
    ),
    "embedded3": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                }
            },
        },
        {},
        {
            "x": {
                "apiVersion": "a/b/c",
                "kind": "P_d",
                "metadata": {"name": "..", "namespace": "$$"},
            }
        },
        [
            ('spec.x.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'),
            (
                'spec.x.kind: Invalid value: "P_d": may have mixed case, but should '
                "otherwise match: a DNS-1035 label must consist of lower case "
                "alphanumeric characters or '-', start with an alphabetic character, "
                "and end with an alphanumeric character (e.g. 'my-name',  or "
                "'abc-123', regex used for validation is "
                "'[a-z]([-a-z0-9]*[a-z0-9])?')"
            ),
            "spec.x.metadata.name: Invalid value: \"..\": may not be '..'",
            (
                'spec.x.metadata.namespace: Invalid value: "$$": a lowercase RFC '
                "1123 label must consist of lower case alphanumeric characters or "
                "'-', and must start and end with an alphanumeric character (e.g. "
                "'my-name',  or '123-abc', regex used for validation is "
                "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
            ),
        ],
    ),
    "CEL: simple": (
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "x-kubernetes-validations": [
                {"rule": "self.a > self.b", "message": "a must be bigger"}
            ],
        },
        {},
        {"a": 1, "b": 2},
        ['spec: Invalid value: "object": a must be bigger'],
    ),
    "CEL: nomessage": (
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.a > self.b"}],
        },
        {},
        {"a": 1, "b": 2},
        ['spec: Invalid value: "object": failed rule: self.a > self.b'],
    ),
    "CEL: messageExpr": (
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "x-kubernetes-validations": [
                {"rule": "self.a > self.b", "messageExpression": "'a is %d'.format([self.a])"}
            ],
        },
        {},
        {"a": 1, "b": 2},
        ['spec: Invalid value: "object": a is 1'],
    ),
    "CEL: messageExpr err": (
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "x-kubernetes-validations": [
                {
                    "rule": "self.a > 5",
                    "message": "m",
                    "messageExpression": "'a is ' + string(self.b)",
                }
            ],
        },
        {},
        {"a": 1},
        ['spec: Invalid value: "object": m'],
    ),
    "CEL: fieldPath": (
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "x-kubernetes-validations": [
                {
                    "rule": "self.a > self.b",
                    "fieldPath": ".a",
                    "reason": "FieldValueRequired",
                    "message": "x",
                }
            ],
        },
        {},
        {"a": 1, "b": 2},
        ["spec.a: Required value: x"],
    ),
    "CEL: reason": (
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "x-kubernetes-validations": [
                {"rule": "self.a > self.b", "reason": "FieldValueForbidden", "message": "x"},
                {"rule": "false", "reason": "FieldValueDuplicate", "message": "y"},
            ],
        },
        {},
        {"a": 1, "b": 2},
        ["spec: Forbidden: x", 'spec: Duplicate value: "object"'],
    ),
    "CEL: missing key": (
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.a > self.b"}],
        },
        {},
        {"a": 1},
        [('spec: Invalid value: "object": no such key: b evaluating rule: self.a > self.b')],
    ),
    "CEL: dyn overload": (
        {
            "type": "object",
            "properties": {"a": {"x-kubernetes-int-or-string": True}},
            "x-kubernetes-validations": [{"rule": "self.a > 5"}],
        },
        {},
        {"a": "x"},
        [
            (
                "spec: Invalid value: \"object\": 'no such overload': call arguments "
                "did not match a supported operator, function or macro signature for "
                "rule: self.a > 5"
            )
        ],
    ),
    "CEL: root": (
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {
            "x-kubernetes-validations": [
                {"rule": "self.metadata.name == 'y'", "message": "name"},
                {"rule": "has(self.spec.b)"},
            ]
        },
        {"a": "x"},
        [
            '<nil>: Invalid value: "object": name',
            (
                '<nil>: Invalid value: "object": rule compile error: compilation '
                "failed: ERROR: <input>:1:4: undefined field 'b'\n | "
                "has(self.spec.b)\n | ...^"
            ),
        ],
    ),
    "CEL: root2": (
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"x-kubernetes-validations": [{"rule": "self.metadata.name == 'y'", "message": "name"}]},
        {"a": "x"},
        ['<nil>: Invalid value: "object": name'],
    ),
    "CEL: scalar": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "string",
                    "x-kubernetes-validations": [{"rule": "self.startsWith('z')", "message": "zz"}],
                }
            },
        },
        {},
        {"a": "x"},
        ['spec.a: Invalid value: "string": zz'],
    ),
    "CEL: list items": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "items": {
                        "type": "string",
                        "x-kubernetes-validations": [{"rule": "self != 'b'", "message": "zz"}],
                    },
                }
            },
        },
        {},
        {"a": ["a", "b"]},
        ['spec.a[1]: Invalid value: "string": zz'],
    ),
    "CEL: map values": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "string",
                        "x-kubernetes-validations": [{"rule": "self != 'b'", "message": "zz"}],
                    },
                }
            },
        },
        {},
        {"a": {"k.x": "b"}},
        ['spec.a[k.x]: Invalid value: "string": zz'],
    ),
    "CEL: transition create": (
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.a == oldSelf.a", "message": "immutable"}],
        },
        {},
        {"a": 1},
        [],
    ),
    "CEL: optionalOldSelf": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "integer",
                    "x-kubernetes-validations": [
                        {
                            "rule": "oldSelf.hasValue() || self == 5",
                            "optionalOldSelf": True,
                            "message": "m",
                        }
                    ],
                }
            },
        },
        {},
        {"a": 1},
        ['spec.a: Invalid value: "integer": m'],
    ),
    "CEL: blocking": (
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.a > self.b"}],
        },
        {},
        {"a": "1", "b": 2},
        [
            ('spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"'),
            (
                "<nil>: Invalid value: null: some validation rules were not checked "
                "because the object was invalid; correct the existing errors to "
                "complete validation"
            ),
        ],
    ),
    "CEL: nonblocking": (
        {
            "type": "object",
            "properties": {"a": {"type": "string", "pattern": "^x"}},
            "x-kubernetes-validations": [{"rule": "self.a == 'x'"}],
        },
        {},
        {"a": "1"},
        [
            "spec.a: Invalid value: \"1\": spec.a in body should match '^x'",
            "spec: Invalid value: \"object\": failed rule: self.a == 'x'",
        ],
    ),
    "CEL: set add": (
        {
            "type": "object",
            "properties": {
                "a": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
            },
            "x-kubernetes-validations": [
                {
                    "rule": "(self.a + ['x','z']).size() == 3 && (self.a + ['x']) == ['y','x']",
                    "message": "sum",
                }
            ],
        },
        {},
        {"a": ["x", "y"]},
        [],
    ),
    "CEL: maplist add": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {
                        "type": "object",
                        "required": ["k"],
                        "properties": {"k": {"type": "string"}, "v": {"type": "string"}},
                    },
                }
            },
            "x-kubernetes-validations": [{"rule": "(self.a + self.a).size() == 1"}],
        },
        {},
        {"a": [{"k": "1"}]},
        [],
    ),
    "CEL: timestamps": (
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "format": "date-time"},
                "d": {"type": "string", "format": "duration"},
                "b": {"type": "string", "format": "byte"},
                "e": {"type": "string", "format": "date"},
            },
            "x-kubernetes-validations": [
                {
                    "rule": (
                        "self.a > timestamp('2019-01-01T00:00:00Z') && self.d == "
                        "duration('90m') && self.b == b'abc' && self.e.getFullYear() == 2020"
                    )
                },
                {"rule": "self.a == self.e"},
                {"rule": "type(self.a) == google.protobuf.Timestamp"},
            ],
        },
        {},
        {"a": "2020-01-01T00:00:00Z", "d": "1h30m", "b": "YWJj", "e": "2020-01-01"},
        [],
    ),
    "CEL: list of times": (
        {
            "type": "object",
            "properties": {
                "a": {"type": "array", "items": {"type": "string", "format": "date-time"}}
            },
            "x-kubernetes-validations": [
                {
                    "rule": (
                        "self.a.all(t, t > timestamp('2019-01-01T00:00:00Z')) && "
                        "self.a.max() == timestamp('2021-01-01T00:00:00Z')"
                    )
                },
                {"rule": "self.a[0].getFullYear() == 2021"},
                {"rule": "timestamp('2020-01-01T00:00:00Z') in self.a"},
            ],
        },
        {},
        {"a": ["2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"]},
        [('spec: Invalid value: "object": failed rule: self.a[0].getFullYear() == 2021')],
    ),
    "CEL: number": (
        {
            "type": "object",
            "properties": {"a": {"type": "number"}},
            "x-kubernetes-validations": [
                {"rule": "self.a == 1.0 && self.a / 2.0 == 0.5 && type(self.a) == double"}
            ],
        },
        {},
        {"a": 1},
        [],
    ),
    "CEL: map of numbers": (
        {
            "type": "object",
            "properties": {"a": {"type": "object", "additionalProperties": {"type": "number"}}},
            "x-kubernetes-validations": [
                {
                    "rule": (
                        "self.a['x'] / 2.0 == 0.5 && self.a.x == 1.0 && self.a.all(k, "
                        "type(self.a[k]) == double)"
                    )
                }
            ],
        },
        {},
        {"a": {"x": 1}},
        [],
    ),
    "CEL: escaped": (
        {
            "type": "object",
            "properties": {
                "a-b": {"type": "string"},
                "namespace": {"type": "string"},
                "x.y": {"type": "string"},
                "c/d": {"type": "string"},
                "e__f": {"type": "string"},
            },
            "x-kubernetes-validations": [
                {
                    "rule": (
                        "self.a__dash__b == '1' && self.__namespace__ == '2' && "
                        "self.x__dot__y == '3' && self.c__slash__d == '4' && "
                        "self.e__underscores__f == '5'"
                    )
                }
            ],
        },
        {},
        {"a-b": "1", "namespace": "2", "x.y": "3", "c/d": "4", "e__f": "5"},
        [],
    ),
    "CEL: embedded": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                    "x-kubernetes-validations": [
                        {
                            "rule": "self.kind == 'Job' && self.metadata.name == 'q'",
                            "message": "kind",
                        }
                    ],
                }
            },
        },
        {},
        {"x": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "q"}}},
        ['spec.x: Invalid value: "object": kind'],
    ),
    "CEL: allOf": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "object",
                    "properties": {"b": {"type": "string"}},
                    "allOf": [
                        {
                            "x-kubernetes-validations": [
                                {"rule": "self.b == 'x'", "message": "in allOf"}
                            ]
                        },
                        {
                            "properties": {
                                "b": {
                                    "x-kubernetes-validations": [
                                        {"rule": "self == 'q'", "message": "nested allOf"}
                                    ]
                                }
                            }
                        },
                    ],
                }
            },
        },
        {},
        {"a": {"b": "y"}},
        [],
    ),
    "CEL: compile error": (
        {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "x-kubernetes-validations": [{"rule": "self.b == 1"}],
        },
        {},
        {"a": "x"},
        [
            (
                'spec: Invalid value: "object": rule compile error: compilation '
                "failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b == 1\n | "
                "....^"
            )
        ],
    ),
    "CEL: compile type": (
        {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "x-kubernetes-validations": [{"rule": "self.a"}],
        },
        {},
        {"a": "x"},
        [
            (
                'spec: Invalid value: "object": rule compile error: cel expression '
                "must evaluate to a bool"
            )
        ],
    ),
    "CEL: nullable": (
        {
            "type": "object",
            "properties": {"a": {"type": "string", "nullable": True}},
            "x-kubernetes-validations": [{"rule": "has(self.a)"}],
        },
        {},
        {"a": None},
        ['spec: Invalid value: "object": failed rule: has(self.a)'],
    ),
    "CEL: nullable cmp": (
        {
            "type": "object",
            "properties": {
                "a": {"type": "object", "nullable": True, "properties": {"x": {"type": "string"}}}
            },
            "x-kubernetes-validations": [{"rule": "self.a == null"}],
        },
        {},
        {"a": None},
        [('spec: Invalid value: "object": no such key: a evaluating rule: self.a == null')],
    ),
    "CEL: multi": (
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}},
            "x-kubernetes-validations": [
                {"rule": "self.a > 1", "message": "m1"},
                {"rule": "self.a > 2", "message": "m2"},
                {"rule": "self.a < 5", "message": "m3"},
            ],
        },
        {},
        {"a": 1},
        ['spec: Invalid value: "object": m1', 'spec: Invalid value: "object": m2'],
    ),
    "CEL: preserve obj": (
        {
            "type": "object",
            "properties": {"a": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            "x-kubernetes-validations": [{"rule": "has(self.a)"}],
        },
        {},
        {"a": {"z": 1}},
        [],
    ),
    "CEL: quantity": (
        {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "x-kubernetes-validations": [
                {"rule": "quantity(self.a).isGreaterThan(quantity('1Gi'))", "message": "q"}
            ],
        },
        {},
        {"a": "500Mi"},
        ['spec: Invalid value: "object": q'],
    ),
    "CEL: intorstring": (
        {
            "type": "object",
            "properties": {"a": {"x-kubernetes-int-or-string": True}},
            "x-kubernetes-validations": [
                {
                    "rule": (
                        "type(self.a) == int ? self.a > 5 : "
                        "quantity(self.a).isGreaterThan(quantity('5'))"
                    ),
                    "message": "q",
                }
            ],
        },
        {},
        {"a": "4"},
        ['spec: Invalid value: "object": q'],
    ),
}

UPDATES: dict[str, tuple[dict[str, Any], Any, Any, list[str]]] = {
    # name: (schema of spec, old spec, new spec, errors)
    "map dup old": (
        {
            "type": "object",
            "properties": {
                "x": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
            },
        },
        {"x": ["b", "b"]},
        {"x": ["a", "a"]},
        [],
    ),
    "ratchet same": (
        {
            "type": "object",
            "properties": {"x": {"type": "string", "pattern": "^a"}, "y": {"type": "string"}},
        },
        {"x": "b", "y": "1"},
        {"x": "b", "y": "2"},
        [],
    ),
    "ratchet changed": (
        {
            "type": "object",
            "properties": {"x": {"type": "string", "pattern": "^a"}, "y": {"type": "string"}},
        },
        {"x": "b", "y": "1"},
        {"x": "c", "y": "2"},
        ["spec.x: Invalid value: \"c\": spec.x in body should match '^a'"],
    ),
    "ratchet list atomic": (
        {
            "type": "object",
            "properties": {"x": {"type": "array", "items": {"type": "string", "pattern": "^a"}}},
        },
        {"x": ["b"]},
        {"x": ["b", "a"]},
        ["spec.x[0]: Invalid value: \"b\": spec.x[0] in body should match '^a'"],
    ),
    "ratchet list same": (
        {
            "type": "object",
            "properties": {
                "x": {"type": "array", "items": {"type": "string", "pattern": "^a"}},
                "y": {"type": "string"},
            },
        },
        {"x": ["b"], "y": "1"},
        {"x": ["b"], "y": "2"},
        [],
    ),
    "ratchet list map": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {
                        "type": "object",
                        "required": ["k"],
                        "properties": {
                            "k": {"type": "string"},
                            "v": {"type": "string", "pattern": "^a"},
                        },
                    },
                }
            },
        },
        {"x": [{"k": "1", "v": "b"}]},
        {"x": [{"k": "1", "v": "b"}, {"k": "2", "v": "c"}]},
        [("spec.x[1].v: Invalid value: \"c\": spec.x[1].v in body should match '^a'")],
    ),
    "ratchet required": (
        {
            "type": "object",
            "required": ["z"],
            "properties": {"x": {"type": "string"}, "z": {"type": "string"}},
        },
        {"x": "1"},
        {"x": "2"},
        ["spec.z: Required value"],
    ),
    "ratchet required same": (
        {
            "type": "object",
            "required": ["z"],
            "properties": {"x": {"type": "string"}, "z": {"type": "string"}},
        },
        {"x": "1"},
        {"x": "1"},
        [],
    ),
    "ratchet type": (
        {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "string"}}},
        {"x": "a", "y": "1"},
        {"x": "a", "y": "2"},
        [],
    ),
    "ratchet maxItems": (
        {
            "type": "object",
            "properties": {
                "x": {"type": "array", "maxItems": 1, "items": {"type": "string"}},
                "y": {"type": "string"},
            },
        },
        {"x": ["a", "b"], "y": "1"},
        {"x": ["a", "b"], "y": "2"},
        [],
    ),
    "ratchet oneOf": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                },
                "y": {"type": "string"},
            },
        },
        {"x": {}, "y": "2"},
        {"x": {}, "y": "1"},
        [],
    ),
    "CEL: transition update": (
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.a == oldSelf.a", "message": "immutable"}],
        },
        {"a": 2},
        {"a": 1},
        ['spec: Invalid value: "object": immutable'],
    ),
    "CEL: transition field": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "integer",
                    "x-kubernetes-validations": [
                        {"rule": "self == oldSelf", "message": "immutable"}
                    ],
                }
            },
        },
        {"a": 2},
        {"a": 1},
        ['spec.a: Invalid value: "integer": immutable'],
    ),
    "CEL: transition new field": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "integer",
                    "x-kubernetes-validations": [
                        {"rule": "self == oldSelf", "message": "immutable"}
                    ],
                }
            },
        },
        {},
        {"a": 1},
        [],
    ),
    "CEL: optionalOldSelf upd": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "integer",
                    "x-kubernetes-validations": [
                        {
                            "rule": "!oldSelf.hasValue() || oldSelf.value() == self",
                            "optionalOldSelf": True,
                            "message": "m",
                        }
                    ],
                }
            },
        },
        {"a": 2},
        {"a": 1},
        ['spec.a: Invalid value: "integer": m'],
    ),
    "CEL: list transition atomic": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "items": {
                        "type": "string",
                        "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "imm"}],
                    },
                }
            },
        },
        {"a": ["a"]},
        {"a": ["b"]},
        [],
    ),
    "CEL: list transition map": (
        {
            "type": "object",
            "properties": {
                "x": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {
                        "type": "object",
                        "required": ["k"],
                        "properties": {"k": {"type": "string"}, "v": {"type": "string"}},
                        "x-kubernetes-validations": [
                            {"rule": "self.v == oldSelf.v", "message": "imm"}
                        ],
                    },
                }
            },
        },
        {"x": [{"k": "1", "v": "z"}]},
        {"x": [{"k": "1", "v": "b"}, {"k": "2", "v": "c"}]},
        ['spec.x[0]: Invalid value: "object": imm'],
    ),
    "CEL: ratchet": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "string",
                    "x-kubernetes-validations": [{"rule": "self.startsWith('z')", "message": "zz"}],
                },
                "y": {"type": "string"},
            },
        },
        {"a": "x", "y": "2"},
        {"a": "x", "y": "1"},
        [],
    ),
    "CEL: ratchet changed": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "string",
                    "x-kubernetes-validations": [{"rule": "self.startsWith('z')", "message": "zz"}],
                },
                "y": {"type": "string"},
            },
        },
        {"a": "x", "y": "2"},
        {"a": "w", "y": "1"},
        ['spec.a: Invalid value: "string": zz'],
    ),
    "CEL: ratchet parent changed": (
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "y": {"type": "string"}},
            "x-kubernetes-validations": [{"rule": "self.a.startsWith('z')", "message": "zz"}],
        },
        {"a": "x", "y": "2"},
        {"a": "x", "y": "1"},
        ['spec: Invalid value: "object": zz'],
    ),
    "CEL: ratchet list": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "items": {
                        "type": "string",
                        "x-kubernetes-validations": [
                            {"rule": "self.startsWith('z')", "message": "zz"}
                        ],
                    },
                },
                "y": {"type": "string"},
            },
        },
        {"a": ["x"], "y": "2"},
        {"a": ["x"], "y": "1"},
        [],
    ),
    "CEL: set eq": (
        {
            "type": "object",
            "properties": {
                "a": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
            },
            "x-kubernetes-validations": [{"rule": "self.a == oldSelf.a", "message": "same set"}],
        },
        {"a": ["y", "x"]},
        {"a": ["x", "y"]},
        [],
    ),
    "CEL: atomic eq": (
        {
            "type": "object",
            "properties": {"a": {"type": "array", "items": {"type": "string"}}},
            "x-kubernetes-validations": [{"rule": "self.a == oldSelf.a", "message": "same"}],
        },
        {"a": ["y", "x"]},
        {"a": ["x", "y"]},
        ['spec: Invalid value: "object": same'],
    ),
    "CEL: maplist eq": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {
                        "type": "object",
                        "required": ["k"],
                        "properties": {"k": {"type": "string"}, "v": {"type": "string"}},
                    },
                }
            },
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "same"}],
        },
        {"a": [{"k": "2"}, {"k": "1"}]},
        {"a": [{"k": "1"}, {"k": "2"}]},
        [],
    ),
}


def schema_of(spec: dict[str, Any], root: dict[str, Any] | None = None) -> CompiledSchema:
    properties = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": spec,
    }
    return CompiledSchema(Node({"type": "object", "properties": properties, **(root or {})}))


def resource(spec: Any) -> dict[str, Any]:
    return {"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "x"}, "spec": spec}


def errors_of(schema: CompiledSchema, spec: Any, old: Any = None) -> list[str]:
    obj = resource(spec)
    schema.default(obj)
    schema.prune(obj)
    before = None if old is None else resource(old)
    return [str(error) for error in schema.validate(obj, before)]


@pytest.mark.parametrize(("spec", "root", "value", "errors"), CREATES.values(), ids=CREATES.keys())
def test_a_new_object(
    spec: dict[str, Any], root: dict[str, Any], value: Any, errors: list[str]
) -> None:
    assert errors_of(schema_of(spec, root), value) == errors


@pytest.mark.parametrize(("spec", "old", "value", "errors"), UPDATES.values(), ids=UPDATES.keys())
def test_an_updated_object(spec: dict[str, Any], old: Any, value: Any, errors: list[str]) -> None:
    assert errors_of(schema_of(spec), value, old) == errors


def test_a_hostile_rule_runs_out_of_budget() -> None:
    rule = {"rule": "self.all(x, self.all(y, self.all(z, x + y + z > 0)))"}
    items = {"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": [rule]}
    [error] = errors_of(schema_of(items), list(range(1, 200)))
    assert "no further validation rules will be run due to call cost exceeds limit" in error


def test_a_failed_rule_on_an_unchanged_value_is_a_warning() -> None:
    rule = {"rule": "self.startsWith('z')", "message": "starts with z"}
    text = {"type": "string", "x-kubernetes-validations": [rule]}
    schema = schema_of({"type": "object", "properties": {"a": text, "b": {"type": "string"}}})
    warnings: list[str] = []

    errors = schema.validate(
        resource({"a": "x", "b": "2"}), resource({"a": "x", "b": "1"}), warnings=warnings
    )

    assert errors == []
    assert warnings == ['spec.a: Invalid value: "string": starts with z']


def test_a_status_write_is_checked_against_the_status_schema_alone() -> None:
    spec = {"type": "object", "properties": {"a": {"type": "integer"}}}
    status = {"type": "object", "properties": {"phase": {"type": "string", "enum": ["Ready"]}}}
    schema = CompiledSchema(
        Node({"type": "object", "properties": {"spec": spec, "status": status}})
    )
    obj = {"spec": {"a": "not an integer"}, "status": {"phase": "Odd"}}

    [error] = schema.validate(obj, {"spec": {"a": "x"}}, status_only=True)

    assert str(error) == 'status.phase: Unsupported value: "Odd": supported values: "Ready"'
