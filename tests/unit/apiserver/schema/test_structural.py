"""Which CustomResourceDefinitions are refused, and in which words. Recorded from upstream."""

from typing import Any

import pytest

from fleetqueue.apiserver.builtin.definitions import default_definition, prepare_definition
from fleetqueue.apiserver.schema.structural import validate_crd
from fleetqueue.base import codec

SCHEMAS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nullable root": (
        {"type": "object", "nullable": True},
        ["$.nullable: Forbidden: nullable cannot be true at the root"],
    ),
    "root no type": (
        {"properties": {"a": {"type": "string"}}},
        ["$.type: Required value: must not be empty at the root"],
    ),
    "root array": (
        {"type": "array", "items": {"type": "string"}},
        ['$.type: Invalid value: "array": must be object at the root'],
    ),
    "array noitems": (
        {"type": "object", "properties": {"a": {"type": "array"}}},
        ["$.properties[a].items: Required value: must be specified"],
    ),
    "no type": (
        {
            "type": "object",
            "properties": {
                "a": {},
                "b": {"type": "array", "items": {}},
                "c": {"type": "object", "additionalProperties": {}},
            },
        },
        [
            ("$.properties[a].type: Required value: must not be empty for specified object fields"),
            (
                "$.properties[b].items.type: Required value: must not be empty for "
                "specified array items"
            ),
            (
                "$.properties[c].additionalProperties.type: Required value: must not "
                "be empty for specified object fields"
            ),
        ],
    ),
    "bad type": (
        {"type": "object", "properties": {"a": {"type": "foo"}}},
        [
            (
                '$.properties[a].type: Unsupported value: "foo": supported values: '
                '"array", "boolean", "integer", "number", "object", "string"'
            )
        ],
    ),
    "null type": (
        {"type": "object", "properties": {"a": {"type": "null"}}},
        [
            (
                '$.properties[a].type: Unsupported value: "null": supported values: '
                '"array", "boolean", "integer", "number", "object", "string"'
            ),
            (
                "$.properties[a].type: Forbidden: type cannot be set to null, use "
                "nullable as an alternative"
            ),
        ],
    ),
    "root addl": (
        {"type": "object", "additionalProperties": {"type": "string"}},
        ["$.additionalProperties: Forbidden: must not be used at the root"],
    ),
    "props+addl": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "object",
                    "properties": {"x": {"type": "string"}},
                    "additionalProperties": {"type": "string"},
                }
            },
        },
        [
            (
                "$.properties[a].additionalProperties: Forbidden: "
                "additionalProperties and properties are mutual exclusive"
            )
        ],
    ),
    "props+addl false": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "object",
                    "properties": {"x": {"type": "string"}},
                    "additionalProperties": False,
                }
            },
        },
        [
            (
                "$.properties[a].additionalProperties: Forbidden: "
                "additionalProperties and properties are mutual exclusive"
            )
        ],
    ),
    "props+addl true": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "object",
                    "properties": {"x": {"type": "string"}},
                    "additionalProperties": True,
                }
            },
        },
        [],
    ),
    "ref": (
        {"type": "object", "properties": {"a": {"$ref": "#/x"}}},
        ["$.properties[a].$ref: Forbidden: $ref is not supported"],
    ),
    "definitions": (
        {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "definitions": {"x": {"type": "string"}},
            "patternProperties": {"x": {"type": "string"}},
            "id": "q",
            "dependencies": {"a": ["b"]},
        },
        [
            "$.id: Forbidden: id is not supported",
            "$.patternProperties: Forbidden: patternProperties is not supported",
            "$.definitions: Forbidden: definitions is not supported",
            "$.dependencies: Forbidden: dependencies is not supported",
        ],
    ),
    "items array": (
        {"type": "object", "properties": {"a": {"type": "array", "items": [{"type": "string"}]}}},
        [("$.properties[a].items: Forbidden: items must be a schema object and not an array")],
    ),
    "uniqueItems": (
        {
            "type": "object",
            "properties": {
                "a": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
            },
        },
        [
            (
                "$.properties[a].uniqueItems: Forbidden: uniqueItems cannot be set "
                "to true since the runtime complexity becomes quadratic"
            )
        ],
    ),
    "meta type": (
        {
            "type": "object",
            "properties": {
                "metadata": {"type": "string"},
                "kind": {"type": "integer"},
                "apiVersion": {"type": "integer"},
            },
        },
        [
            ('$.properties[apiVersion].type: Invalid value: "integer": must be string'),
            '$.properties[kind].type: Invalid value: "integer": must be string',
            '$.properties[metadata].type: Invalid value: "string": must be object',
        ],
    ),
    "meta props": (
        {
            "type": "object",
            "properties": {
                "metadata": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "labels": {"type": "string"}},
                }
            },
        },
        [
            (
                "$.properties[metadata]: Forbidden: must not specify anything other "
                "than name and generateName, but metadata is implicitly specified"
            )
        ],
    ),
    "meta ok": (
        {
            "type": "object",
            "properties": {
                "metadata": {
                    "type": "object",
                    "properties": {"name": {"type": "string", "pattern": "^a"}},
                }
            },
        },
        [],
    ),
    "meta desc": (
        {"type": "object", "properties": {"metadata": {"type": "object", "description": "x"}}},
        [
            (
                "$.properties[metadata]: Forbidden: must not specify anything other "
                "than name and generateName, but metadata is implicitly specified"
            )
        ],
    ),
    "meta default": (
        {
            "type": "object",
            "properties": {
                "metadata": {"type": "object", "default": {}},
                "kind": {"type": "string", "default": "x"},
            },
        },
        [
            ("$.properties[metadata].default: Forbidden: must not be set in top-level metadata"),
            ("$.properties[kind].default: Forbidden: must not be set in top-level kind"),
        ],
    ),
    "intorstring preserve": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "x-kubernetes-int-or-string": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                    "x-kubernetes-embedded-resource": True,
                }
            },
        },
        [
            (
                "$.properties[a].type: Required value: must be object if "
                "x-kubernetes-embedded-resource is true"
            ),
            (
                "$.properties[a].x-kubernetes-embedded-resource: Invalid value: "
                "true: must be false if x-kubernetes-int-or-string is true"
            ),
            (
                "$.properties[a].x-kubernetes-preserve-unknown-fields: Invalid "
                "value: true: must be false if x-kubernetes-int-or-string is true"
            ),
        ],
    ),
    "intorstring anyOf": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                }
            },
        },
        [],
    ),
    "intorstring allOf": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "x-kubernetes-int-or-string": True,
                    "allOf": [
                        {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                        {"pattern": "x"},
                    ],
                }
            },
        },
        [],
    ),
    "intorstring anyOf bad": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "string"}, {"type": "integer"}],
                }
            },
        },
        [
            ("$.properties[a].anyOf[0].type: Forbidden: must be empty to be structural"),
            ("$.properties[a].anyOf[1].type: Forbidden: must be empty to be structural"),
        ],
    ),
    "anyOf nested": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "object",
                    "properties": {"x": {"type": "string"}},
                    "anyOf": [
                        {
                            "type": "object",
                            "properties": {
                                "y": {"pattern": "q"},
                                "x": {
                                    "type": "string",
                                    "description": "d",
                                    "nullable": True,
                                    "default": "a",
                                },
                            },
                        }
                    ],
                    "not": {
                        "additionalProperties": {"type": "string"},
                        "properties": {"metadata": {}},
                    },
                    "oneOf": [{"items": {"pattern": "z"}}],
                    "allOf": [
                        {
                            "x-kubernetes-list-type": "set",
                            "x-kubernetes-validations": [{"rule": "true"}],
                            "title": "t",
                            "x-kubernetes-preserve-unknown-fields": True,
                        }
                    ],
                }
            },
        },
        [
            ("$.properties[a].allOf[0].title: Forbidden: must be empty to be structural"),
            (
                "$.properties[a].allOf[0].x-kubernetes-list-type: Forbidden: must be "
                "undefined to be structural"
            ),
            (
                "$.properties[a].allOf[0].x-kubernetes-preserve-unknown-fields: "
                "Forbidden: must be false to be structural"
            ),
            (
                "$.properties[a].allOf[0].x-kubernetes-validations: Forbidden: must "
                "be empty to be structural"
            ),
            (
                "$.properties[a].anyOf[0].properties[x].default: Forbidden: must be "
                "undefined to be structural"
            ),
            (
                "$.properties[a].anyOf[0].properties[x].description: Forbidden: must "
                "be empty to be structural"
            ),
            (
                "$.properties[a].anyOf[0].properties[x].nullable: Forbidden: must be "
                "false to be structural"
            ),
            (
                "$.properties[a].anyOf[0].properties[x].type: Forbidden: must be "
                "empty to be structural"
            ),
            ("$.properties[a].anyOf[0].type: Forbidden: must be empty to be structural"),
            (
                "$.properties[a].not.additionalProperties: Forbidden: must be "
                "undefined to be structural"
            ),
            (
                "$.properties[a].not.properties[metadata]: Forbidden: must not be "
                "specified in a nested context"
            ),
            (
                "$.properties[a].not.additionalProperties: Forbidden: "
                "additionalProperties and properties are mutual exclusive"
            ),
            (
                "$.properties[a].allOf[0].type: Required value: must be array if "
                "x-kubernetes-list-type is specified"
            ),
        ],
    ),
    "bad pattern": (
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "pattern": "("},
                "b": {"type": "string", "anyOf": [{"pattern": "["}]},
            },
        },
        [
            (
                '$.properties[a].pattern: Invalid value: "(": must be a valid '
                "regular expression, but isn't: error parsing regexp: missing "
                "closing ): `(`"
            ),
            (
                '$.properties[b].anyOf[0].pattern: Invalid value: "[": must be a '
                "valid regular expression, but isn't: error parsing regexp: missing "
                "closing ]: `[`"
            ),
        ],
    ),
    "embedded": (
        {
            "type": "object",
            "properties": {
                "a": {"x-kubernetes-embedded-resource": True},
                "b": {"type": "object", "x-kubernetes-embedded-resource": True},
                "c": {"type": "string", "x-kubernetes-embedded-resource": True},
                "d": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "additionalProperties": {"type": "string"},
                    "x-kubernetes-preserve-unknown-fields": True,
                },
            },
        },
        [
            (
                "$.properties[a].properties: Required value: must not be empty if "
                "x-kubernetes-embedded-resource is true without "
                "x-kubernetes-preserve-unknown-fields"
            ),
            (
                "$.properties[a].type: Required value: must be object if "
                "x-kubernetes-embedded-resource is true"
            ),
            (
                "$.properties[b].properties: Required value: must not be empty if "
                "x-kubernetes-embedded-resource is true without "
                "x-kubernetes-preserve-unknown-fields"
            ),
            (
                "$.properties[c].properties: Required value: must not be empty if "
                "x-kubernetes-embedded-resource is true without "
                "x-kubernetes-preserve-unknown-fields"
            ),
            (
                '$.properties[c].type: Invalid value: "string": must be object if '
                "x-kubernetes-embedded-resource is true"
            ),
            (
                "$.properties[d].additionalProperties: Forbidden: must not be used "
                "if x-kubernetes-embedded-resource is set"
            ),
        ],
    ),
    "embedded in meta": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "properties": {
                        "metadata": {
                            "type": "object",
                            "properties": {
                                "x": {
                                    "type": "object",
                                    "x-kubernetes-embedded-resource": True,
                                    "x-kubernetes-preserve-unknown-fields": True,
                                }
                            },
                        },
                        "kind": {"type": "integer"},
                    },
                }
            },
        },
        [
            ('$.properties[a].properties[kind].type: Invalid value: "integer": must be string'),
            (
                "$.properties[a].properties[metadata].properties[x].x-kubernetes-embe"
                "dded-resource: Forbidden: must not be used inside of resource meta"
            ),
        ],
    ),
    "preserve false": (
        {
            "type": "object",
            "properties": {"a": {"type": "object", "x-kubernetes-preserve-unknown-fields": False}},
        },
        [
            (
                "$.properties[a].x-kubernetes-preserve-unknown-fields: Invalid "
                "value: false: must be true or undefined"
            )
        ],
    ),
    "map type": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "items": {"type": "string"},
                    "x-kubernetes-map-type": "atomic",
                },
                "b": {"x-kubernetes-map-type": "foo", "x-kubernetes-preserve-unknown-fields": True},
                "c": {"type": "object", "x-kubernetes-map-type": "foo"},
            },
        },
        [
            (
                '$.properties[a].type: Invalid value: "array": must be object if '
                "x-kubernetes-map-type is specified"
            ),
            (
                "$.properties[b].type: Required value: must be object if "
                "x-kubernetes-map-type is specified"
            ),
            (
                '$.properties[b].x-kubernetes-map-type: Unsupported value: "foo": '
                'supported values: "atomic", "granular"'
            ),
            (
                '$.properties[c].x-kubernetes-map-type: Unsupported value: "foo": '
                'supported values: "atomic", "granular"'
            ),
        ],
    ),
    "list type": (
        {
            "type": "object",
            "properties": {
                "a": {"type": "object", "x-kubernetes-list-type": "atomic"},
                "b": {
                    "x-kubernetes-list-type": "foo",
                    "x-kubernetes-preserve-unknown-fields": True,
                },
                "c": {
                    "type": "array",
                    "items": {"type": "string"},
                    "x-kubernetes-list-type": "foo",
                },
            },
        },
        [
            (
                '$.properties[a].type: Invalid value: "object": must be array if '
                "x-kubernetes-list-type is specified"
            ),
            (
                "$.properties[b].type: Required value: must be array if "
                "x-kubernetes-list-type is specified"
            ),
            (
                '$.properties[b].x-kubernetes-list-type: Unsupported value: "foo": '
                'supported values: "atomic", "set", "map"'
            ),
            (
                '$.properties[c].x-kubernetes-list-type: Unsupported value: "foo": '
                'supported values: "atomic", "set", "map"'
            ),
        ],
    ),
    "set items": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "x-kubernetes-list-type": "set",
                    "items": {"type": "object", "properties": {"x": {"type": "string"}}},
                },
                "b": {
                    "type": "array",
                    "x-kubernetes-list-type": "set",
                    "items": {
                        "type": "array",
                        "items": {"type": "string"},
                        "x-kubernetes-list-type": "set",
                    },
                },
                "c": {
                    "type": "array",
                    "x-kubernetes-list-type": "set",
                    "items": {"type": "string", "nullable": True},
                },
            },
        },
        [
            (
                "$.properties[a].items.x-kubernetes-map-type: Invalid value: null: "
                "must be atomic as item of a list with x-kubernetes-list-type=set"
            ),
            (
                '$.properties[b].items.x-kubernetes-list-type: Invalid value: "set": '
                "must be atomic as item of a list with x-kubernetes-list-type=set"
            ),
            (
                "$.properties[c].items.nullable: Forbidden: cannot be nullable when "
                "x-kubernetes-list-type is set"
            ),
        ],
    ),
    "map keys": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "items": {"type": "object", "properties": {"x": {"type": "string"}}},
                },
                "b": {
                    "type": "array",
                    "x-kubernetes-list-map-keys": ["x"],
                    "items": {"type": "object", "properties": {"x": {"type": "string"}}},
                },
                "c": {
                    "type": "array",
                    "x-kubernetes-list-type": "set",
                    "x-kubernetes-list-map-keys": ["x"],
                    "items": {"type": "string"},
                },
                "d": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["x", "y", "x", "o"],
                    "items": {
                        "type": "object",
                        "properties": {
                            "x": {"type": "string"},
                            "o": {"type": "object", "properties": {}},
                        },
                    },
                },
                "e": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["x"],
                    "items": {"type": "string"},
                },
            },
        },
        [
            (
                "$.properties[a].x-kubernetes-list-map-keys: Required value: must "
                "not be empty if x-kubernetes-list-type is map"
            ),
            (
                "$.properties[b].x-kubernetes-list-type: Required value: must be map "
                "if x-kubernetes-list-map-keys is non-empty"
            ),
            (
                '$.properties[c].x-kubernetes-list-type: Invalid value: "set": must '
                "be map if x-kubernetes-list-map-keys is non-empty"
            ),
            (
                "$.properties[d].x-kubernetes-list-map-keys: Invalid value: "
                '["x","y","x","o"]: entries must all be names of item properties'
            ),
            (
                "$.properties[d].x-kubernetes-list-map-keys: Invalid value: "
                '["x","y","x","o"]: must not contain duplicate entries'
            ),
            (
                '$.properties[d].items.properties[o].type: Invalid value: "object": '
                "must be a scalar type if parent array's x-kubernetes-list-type is "
                "map"
            ),
            (
                "$.properties[d].items.properties[x].default: Required value: this "
                "property is in x-kubernetes-list-map-keys, so it must have a "
                "default or be a required property"
            ),
            (
                "$.properties[d].items.properties[x].default: Required value: this "
                "property is in x-kubernetes-list-map-keys, so it must have a "
                "default or be a required property"
            ),
            (
                "$.properties[d].items.properties[o].default: Required value: this "
                "property is in x-kubernetes-list-map-keys, so it must have a "
                "default or be a required property"
            ),
            (
                '$.properties[e].items.type: Invalid value: "string": must be object '
                "if parent array's x-kubernetes-list-type is map"
            ),
        ],
    ),
    "map keys default": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["x"],
                    "items": {
                        "type": "object",
                        "required": ["x"],
                        "properties": {"x": {"type": "string", "nullable": True}},
                    },
                }
            },
        },
        [
            (
                "$.properties[a].items.properties[x].nullable: Forbidden: this "
                "property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            )
        ],
    ),
    "default wrong type": (
        {"type": "object", "properties": {"a": {"type": "string", "default": 1}}},
        [
            (
                '$.properties[a].default: Invalid value: "integer":  in body must be '
                'of type string: "integer"'
            )
        ],
    ),
    "default unknown": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "object",
                    "default": {"x": "1", "z": 1},
                    "properties": {"x": {"type": "string"}},
                }
            },
        },
        [('$.properties[a].default: Invalid value: {"x":"1","z":1}: must not have unknown fields')],
    ),
    "default nested bad": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "object",
                    "default": {"x": 1},
                    "properties": {"x": {"type": "string"}},
                },
                "b": {"type": "array", "default": ["a"], "items": {"type": "integer"}},
            },
        },
        [
            (
                '$.properties[a].default.x: Invalid value: "integer": x in body must '
                'be of type string: "integer"'
            ),
            (
                '$.properties[b].default.[0]: Invalid value: "string": [0] in body '
                'must be of type integer: "string"'
            ),
        ],
    ),
    "default required": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "object",
                    "default": {},
                    "required": ["x"],
                    "properties": {"x": {"type": "string"}},
                }
            },
        },
        ["$.properties[a].default.x: Required value"],
    ),
    "default pattern": (
        {
            "type": "object",
            "properties": {"a": {"type": "string", "default": "b", "pattern": "^a"}},
        },
        [("$.properties[a].default: Invalid value: \"b\":  in body should match '^a'")],
    ),
    "default cel": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "string",
                    "default": "b",
                    "x-kubernetes-validations": [{"rule": "self == 'a'", "message": "m"}],
                }
            },
        },
        ['$.properties[a].default: Invalid value: "string": m'],
    ),
    "default cel old": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "string",
                    "default": "b",
                    "x-kubernetes-validations": [{"rule": "self != oldSelf", "message": "m"}],
                }
            },
        },
        ['$.properties[a].default: Invalid value: "string": m'],
    ),
    "default in not": (
        {"type": "object", "properties": {"a": {"type": "string", "not": {"default": "x"}}}},
        [("$.properties[a].not.default: Forbidden: must be undefined to be structural")],
    ),
    "rule bad": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "string",
                    "x-kubernetes-validations": [
                        {"rule": "self.foo == 1"},
                        {"rule": "self + 1 == 2", "message": "hi", "reason": "FieldValueInvalid"},
                        {"rule": "self"},
                        {"rule": "1 +"},
                    ],
                }
            },
        },
        [
            (
                "$.properties[a].x-kubernetes-validations[0].rule: Invalid value: "
                '{"Rule":"self.foo == 1","Message":"","MessageExpression":"","Reason"'
                ':null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: '
                "ERROR: <input>:1:5: type 'string' does not support field selection\n "
                "| self.foo == 1\n | ....^"
            ),
            (
                "$.properties[a].x-kubernetes-validations[1].rule: Invalid value: "
                '{"Rule":"self + 1 == 2","Message":"hi","MessageExpression":"","Reaso'
                'n":"FieldValueInvalid","FieldPath":"","OptionalOldSelf":null}: '
                "compilation failed: ERROR: <input>:1:6: found no matching overload "
                "for '_+_' applied to '(string, int)'\n | self + 1 == 2\n | .....^"
            ),
            (
                "$.properties[a].x-kubernetes-validations[2].rule: Invalid value: "
                '{"Rule":"self","Message":"","MessageExpression":"","Reason":null,"Fi'
                'eldPath":"","OptionalOldSelf":null}: cel expression must evaluate '
                "to a bool"
            ),
            (
                "$.properties[a].x-kubernetes-validations[3].rule: Invalid value: "
                '{"Rule":"1 +","Message":"","MessageExpression":"","Reason":null,"Fie'
                'ldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: '
                "<input>:1:4: Syntax error: mismatched input '<EOF>' expecting {'[', "
                "'{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, "
                "NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | 1 +\n | ...^"
            ),
        ],
    ),
    "rule root": (
        {
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "x-kubernetes-validations": [
                {"rule": "self.metadata.name.startsWith('x')"},
                {"rule": "self.metadata.labels.size() > 1"},
                {"rule": "self.status.x == 1"},
            ],
        },
        [
            (
                "$.x-kubernetes-validations[1].rule: Invalid value: "
                '{"Rule":"self.metadata.labels.size() \\u003e '
                '1","Message":"","MessageExpression":"","Reason":null,"FieldPath":"",'
                '"OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:14: '
                "undefined field 'labels'\n | self.metadata.labels.size() > 1\n | "
                ".............^"
            ),
            (
                "$.x-kubernetes-validations[2].rule: Invalid value: "
                '{"Rule":"self.status.x == 1","Message":"","MessageExpression":"","Re'
                'ason":null,"FieldPath":"","OptionalOldSelf":null}: compilation '
                "failed: ERROR: <input>:1:5: undefined field 'status'\n | "
                "self.status.x == 1\n | ....^"
            ),
        ],
    ),
    "rule empty": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "string",
                    "x-kubernetes-validations": [
                        {"rule": ""},
                        {"rule": "  "},
                        {"rule": "true", "message": "  "},
                        {"rule": "true", "message": "a\nb"},
                        {"rule": "true\n&& true"},
                        {"rule": "true", "messageExpression": " "},
                        {"rule": "true", "reason": "Foo"},
                        {"rule": "true", "fieldPath": " "},
                        {"rule": "true", "fieldPath": ".x\n"},
                    ],
                }
            },
        },
        [
            (
                "$.properties[a].x-kubernetes-validations[0].rule: Required value: "
                "rule is not specified"
            ),
            (
                "$.properties[a].x-kubernetes-validations[1].rule: Required value: "
                "rule is not specified"
            ),
            (
                "$.properties[a].x-kubernetes-validations[2].message: Invalid value: "
                '"  ": must be non-empty if specified'
            ),
            (
                "$.properties[a].x-kubernetes-validations[3].message: Invalid value: "
                '"a\\nb": must not contain line breaks'
            ),
            (
                "$.properties[a].x-kubernetes-validations[4].message: Required "
                "value: message must be specified if rule contains line breaks"
            ),
            (
                "$.properties[a].x-kubernetes-validations[5].messageExpression: "
                "Required value: messageExpression must be non-empty if specified"
            ),
            (
                "$.properties[a].x-kubernetes-validations[6].reason: Unsupported "
                'value: "Foo": supported values: "FieldValueDuplicate", '
                '"FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"'
            ),
            (
                "$.properties[a].x-kubernetes-validations[7].fieldPath: Invalid "
                'value: " ": must be non-empty if specified'
            ),
            (
                "$.properties[a].x-kubernetes-validations[7].fieldPath: Invalid "
                'value: " ": must be a valid path'
            ),
            (
                "$.properties[a].x-kubernetes-validations[8].fieldPath: Invalid "
                'value: ".x\\n": must not contain line breaks'
            ),
            (
                "$.properties[a].x-kubernetes-validations[8].fieldPath: Invalid "
                'value: ".x\\n": must be a valid path'
            ),
        ],
    ),
    "rule fieldPath": (
        {
            "type": "object",
            "properties": {
                "spec": {
                    "type": "object",
                    "properties": {
                        "a": {"type": "object", "properties": {"b": {"type": "string"}}},
                        "m": {"type": "object", "additionalProperties": {"type": "string"}},
                    },
                    "x-kubernetes-validations": [
                        {"rule": "true", "fieldPath": ".a.b"},
                        {"rule": "true", "fieldPath": ".x"},
                        {"rule": "true", "fieldPath": "a"},
                        {"rule": "true", "fieldPath": ".m.foo"},
                        {"rule": "true", "fieldPath": ".m['foo']"},
                        {"rule": "true", "fieldPath": ".a["},
                        {"rule": "true", "fieldPath": ".a[x]"},
                    ],
                }
            },
        },
        [
            (
                "$.properties[spec].x-kubernetes-validations[1].fieldPath: Invalid "
                'value: ".x": must be a valid path'
            ),
            (
                "$.properties[spec].x-kubernetes-validations[2].fieldPath: Invalid "
                'value: "a": must be a valid path'
            ),
            (
                "$.properties[spec].x-kubernetes-validations[5].fieldPath: Invalid "
                'value: ".a[": must be a valid path'
            ),
            (
                "$.properties[spec].x-kubernetes-validations[6].fieldPath: Invalid "
                'value: ".a[x]": must be a valid path'
            ),
        ],
    ),
    "rule msgexpr": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "string",
                    "x-kubernetes-validations": [
                        {"rule": "true", "messageExpression": "1"},
                        {"rule": "true", "messageExpression": "self.x"},
                        {"rule": "true", "messageExpression": "'a' + self"},
                    ],
                }
            },
        },
        [
            (
                "$.properties[a].x-kubernetes-validations[0].messageExpression: "
                'Invalid value: {"Rule":"true","Message":"","MessageExpression":"1","'
                'Reason":null,"FieldPath":"","OptionalOldSelf":null}: '
                "messageExpression must evaluate to a string"
            ),
            (
                "$.properties[a].x-kubernetes-validations[1].messageExpression: "
                'Invalid value: {"Rule":"true","Message":"","MessageExpression":"self'
                '.x","Reason":null,"FieldPath":"","OptionalOldSelf":null}: '
                "messageExpression compilation failed: ERROR: <input>:1:5: type "
                "'string' does not support field selection\n | self.x\n | ....^"
            ),
        ],
    ),
    "rule oldself list": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "maxItems": 5,
                    "items": {
                        "type": "string",
                        "maxLength": 5,
                        "x-kubernetes-validations": [{"rule": "self == oldSelf"}],
                    },
                },
                "b": {
                    "type": "array",
                    "maxItems": 5,
                    "items": {
                        "type": "object",
                        "properties": {
                            "c": {
                                "type": "string",
                                "x-kubernetes-validations": [{"rule": "self == oldSelf"}],
                            }
                        },
                    },
                },
            },
        },
        [
            (
                "$.properties[a].items.x-kubernetes-validations[0].rule: Invalid "
                'value: "self == oldSelf": oldSelf cannot be used on the '
                "uncorrelatable portion of the schema within $.properties[a]"
            ),
            (
                "$.properties[b].items.properties[c].x-kubernetes-validations[0].rule"
                ': Invalid value: "self == oldSelf": oldSelf cannot be used on the '
                "uncorrelatable portion of the schema within $.properties[b]"
            ),
        ],
    ),
    "rule oldself map list": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "maxItems": 5,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["x"],
                    "items": {
                        "type": "object",
                        "required": ["x"],
                        "properties": {"x": {"type": "string", "maxLength": 3}},
                        "x-kubernetes-validations": [{"rule": "self.x == oldSelf.x"}],
                    },
                }
            },
        },
        [],
    ),
    "rule optionalOldSelf": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "string",
                    "x-kubernetes-validations": [
                        {"rule": "true", "optionalOldSelf": True},
                        {"rule": "oldSelf.hasValue()", "optionalOldSelf": True},
                        {"rule": "oldSelf == self", "optionalOldSelf": True},
                        {"rule": "oldSelf == self", "optionalOldSelf": False},
                    ],
                }
            },
        },
        [
            (
                "$.properties[a].x-kubernetes-validations[0].optionalOldSelf: "
                "Invalid value: true: may not be set if oldSelf is not used in rule"
            ),
            (
                "$.properties[a].x-kubernetes-validations[2].rule: Invalid value: "
                '{"Rule":"oldSelf == self","Message":"","MessageExpression":"","Reaso'
                'n":null,"FieldPath":"","OptionalOldSelf":true}: compilation failed: '
                "ERROR: <input>:1:9: found no matching overload for '_==_' applied "
                "to '(optional_type(string), string)'\n | oldSelf == self\n | ........^"
            ),
            (
                "$.properties[a].x-kubernetes-validations[2].optionalOldSelf: "
                "Invalid value: true: may not be set if oldSelf is not used in rule"
            ),
        ],
    ),
    "rule on preserve": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "x-kubernetes-preserve-unknown-fields": True,
                    "x-kubernetes-validations": [{"rule": "true"}],
                }
            },
        },
        [
            (
                "$.properties[a].x-kubernetes-validations: Internal error: internal "
                "error: failed to construct type information for "
                "x-kubernetes-validations rules: unable to convert structural schema "
                "to CEL declarations"
            )
        ],
    ),
    "rule on intorstring": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "x-kubernetes-int-or-string": True,
                    "x-kubernetes-validations": [{"rule": "type(self) == int"}],
                }
            },
        },
        [],
    ),
    "rule math": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "integer",
                    "x-kubernetes-validations": [
                        {"rule": "math.abs(self) > 1"},
                        {"rule": "[self].distinct().size() == 1"},
                        {"rule": "[1].reverse() == [1]"},
                    ],
                }
            },
        },
        [
            (
                "$.properties[a].x-kubernetes-validations[0].rule: Invalid value: "
                '{"Rule":"math.abs(self) \\u003e '
                '1","Message":"","MessageExpression":"","Reason":null,"FieldPath":"",'
                '"OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:1: '
                "undeclared reference to 'math' (in container '')\n | math.abs(self) "
                "> 1\n | ^\nERROR: <input>:1:9: undeclared reference to 'abs' (in "
                "container '')\n | math.abs(self) > 1\n | ........^"
            ),
            (
                "$.properties[a].x-kubernetes-validations[1].rule: Invalid value: "
                '{"Rule":"[self].distinct().size() == '
                '1","Message":"","MessageExpression":"","Reason":null,"FieldPath":"",'
                '"OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:16: '
                "undeclared reference to 'distinct' (in container '')\n | "
                "[self].distinct().size() == 1\n | ...............^"
            ),
            (
                "$.properties[a].x-kubernetes-validations[2].rule: Invalid value: "
                '{"Rule":"[1].reverse() == [1]","Message":"","MessageExpression":"","'
                'Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation '
                "failed: ERROR: <input>:1:12: undeclared reference to 'reverse' (in "
                "container '')\n | [1].reverse() == [1]\n | ...........^"
            ),
        ],
    ),
    "example ok": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "string",
                    "example": "x",
                    "externalDocs": {"url": "x"},
                    "title": "t",
                    "description": "d",
                    "enum": ["a"],
                    "format": "int32",
                }
            },
        },
        [],
    ),
}
"""Errors with `$` for the path of the schema."""

SPECS: dict[str, tuple[dict[str, Any], list[str]]] = {
    # name: (changes to a good definition's spec or its version, errors)
    "group nodot": (
        {"group": "example"},
        [
            (
                'metadata.name: Invalid value: "foos.example.com": must be '
                'spec.names.plural+"."+spec.group'
            ),
            ('spec.group: Invalid value: "example": should be a domain with at least one dot'),
        ],
    ),
    "bad scope": (
        {"scope": "X"},
        [('spec.scope: Unsupported value: "X": supported values: "Cluster", "Namespaced"')],
    ),
    "bad plural": (
        {"names": {"plural": "Foos", "kind": "Foo"}},
        [
            (
                'metadata.name: Invalid value: "foos.example.com": must be '
                'spec.names.plural+"."+spec.group'
            ),
            (
                'spec.names.plural: Invalid value: "Foos": a DNS-1035 label must '
                "consist of lower case alphanumeric characters or '-', start with an "
                "alphabetic character, and end with an alphanumeric character (e.g. "
                "'my-name',  or 'abc-123', regex used for validation is "
                "'[a-z]([-a-z0-9]*[a-z0-9])?')"
            ),
        ],
    ),
    "bad kind": (
        {
            "names": {
                "plural": "foos",
                "kind": "Foo_x",
                "listKind": "Foo_x",
                "shortNames": ["F", "ok"],
                "categories": ["A b"],
            }
        },
        [
            (
                'spec.names.singular: Invalid value: "foo_x": a DNS-1035 label must '
                "consist of lower case alphanumeric characters or '-', start with an "
                "alphabetic character, and end with an alphanumeric character (e.g. "
                "'my-name',  or 'abc-123', regex used for validation is "
                "'[a-z]([-a-z0-9]*[a-z0-9])?')"
            ),
            (
                'spec.names.kind: Invalid value: "Foo_x": may have mixed case, but '
                "should otherwise match: a DNS-1035 label must consist of lower case "
                "alphanumeric characters or '-', start with an alphabetic character, "
                "and end with an alphanumeric character (e.g. 'my-name',  or "
                "'abc-123', regex used for validation is "
                "'[a-z]([-a-z0-9]*[a-z0-9])?')"
            ),
            (
                'spec.names.listKind: Invalid value: "Foo_x": may have mixed case, '
                "but should otherwise match: a DNS-1035 label must consist of lower "
                "case alphanumeric characters or '-', start with an alphabetic "
                "character, and end with an alphanumeric character (e.g. 'my-name',  "
                "or 'abc-123', regex used for validation is "
                "'[a-z]([-a-z0-9]*[a-z0-9])?')"
            ),
            (
                'spec.names.shortNames[0]: Invalid value: "F": a DNS-1035 label must '
                "consist of lower case alphanumeric characters or '-', start with an "
                "alphabetic character, and end with an alphanumeric character (e.g. "
                "'my-name',  or 'abc-123', regex used for validation is "
                "'[a-z]([-a-z0-9]*[a-z0-9])?')"
            ),
            ('spec.names.listKind: Invalid value: "Foo_x": kind and listKind may not be the same'),
            (
                'spec.names.categories[0]: Invalid value: "A b": a DNS-1035 label '
                "must consist of lower case alphanumeric characters or '-', start "
                "with an alphabetic character, and end with an alphanumeric "
                "character (e.g. 'my-name',  or 'abc-123', regex used for validation "
                "is '[a-z]([-a-z0-9]*[a-z0-9])?')"
            ),
        ],
    ),
    "no plural": (
        {"names": {"kind": "Foo"}},
        [
            (
                'metadata.name: Invalid value: "foos.example.com": must be '
                'spec.names.plural+"."+spec.group'
            ),
            "spec.names.plural: Required value",
        ],
    ),
    "no kind": (
        {"names": {"plural": "foos"}},
        [
            "spec.names.singular: Required value",
            "spec.names.kind: Required value",
            "spec.names.listKind: Required value",
        ],
    ),
    "no versions": (
        {"versions": []},
        [
            (
                "spec.versions: Invalid value: []: must have exactly one version "
                "marked as storage version"
            ),
            ("status.storedVersions: Invalid value: null: must have at least one stored version"),
        ],
    ),
    "no storage": (
        {
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": False,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"a": {"type": "string"}}}
                            },
                        }
                    },
                }
            ]
        },
        [
            (
                'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":'
                'false,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Su'
                'bresources":null,"AdditionalPrinterColumns":null,"SelectableFields":'
                "null}]: must have exactly one version marked as storage version"
            ),
            ("status.storedVersions: Invalid value: null: must have at least one stored version"),
        ],
    ),
    "two storage": (
        {
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"a": {"type": "string"}}}
                            },
                        }
                    },
                },
                {
                    "name": "v2",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"a": {"type": "string"}}}
                            },
                        }
                    },
                },
            ]
        },
        [
            (
                'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":'
                'true,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Sub'
                'resources":null,"AdditionalPrinterColumns":null,"SelectableFields":n'
                'ull},{"Name":"v2","Served":true,"Storage":true,"Deprecated":false,"D'
                'eprecationWarning":null,"Schema":null,"Subresources":null,"Additiona'
                'lPrinterColumns":null,"SelectableFields":null}]: must have exactly '
                "one version marked as storage version"
            ),
            ('status.storedVersions: Invalid value: ["v1"]: must have the storage version v2'),
        ],
    ),
    "dup version": (
        {
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"a": {"type": "string"}}}
                            },
                        }
                    },
                },
                {
                    "name": "v1",
                    "served": True,
                    "storage": False,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"a": {"type": "string"}}}
                            },
                        }
                    },
                },
            ]
        },
        [
            (
                'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":'
                'true,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Sub'
                'resources":null,"AdditionalPrinterColumns":null,"SelectableFields":n'
                'ull},{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"'
                'DeprecationWarning":null,"Schema":null,"Subresources":null,"Addition'
                'alPrinterColumns":null,"SelectableFields":null}]: must contain '
                "unique version names"
            )
        ],
    ),
    "bad version name": (
        {
            "versions": [
                {
                    "name": "V1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"a": {"type": "string"}}}
                            },
                        }
                    },
                }
            ]
        },
        [
            (
                'spec.versions[0].name: Invalid value: "V1": a DNS-1035 label must '
                "consist of lower case alphanumeric characters or '-', start with an "
                "alphabetic character, and end with an alphanumeric character (e.g. "
                "'my-name',  or 'abc-123', regex used for validation is "
                "'[a-z]([-a-z0-9]*[a-z0-9])?')"
            ),
            (
                'spec.version: Invalid value: "V1": a DNS-1035 label must consist of '
                "lower case alphanumeric characters or '-', start with an alphabetic "
                "character, and end with an alphanumeric character (e.g. 'my-name',  "
                "or 'abc-123', regex used for validation is "
                "'[a-z]([-a-z0-9]*[a-z0-9])?')"
            ),
        ],
    ),
    "no schema": (
        {"versions": [{"name": "v1", "served": True, "storage": True}]},
        ["spec.versions[0].schema.openAPIV3Schema: Required value"],
    ),
    "empty schema": (
        {"versions": [{"name": "v1", "served": True, "storage": True, "schema": {}}]},
        ["spec.versions[0].schema.openAPIV3Schema: Required value"],
    ),
    "no schema 2": (
        {
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"a": {"type": "string"}}}
                            },
                        }
                    },
                },
                {"name": "v2", "served": True, "storage": False},
            ]
        },
        ["spec.versions[1].schema.openAPIV3Schema: Required value"],
    ),
    "differing schema": (
        {
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"a": {"type": "string"}}}
                            },
                        }
                    },
                },
                {
                    "name": "v2",
                    "served": True,
                    "storage": False,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {}}}},
                },
            ]
        },
        [
            (
                "spec.versions[1].schema.openAPIV3Schema.properties[spec].type: "
                "Required value: must not be empty for specified object fields"
            )
        ],
    ),
    "deprecation": (
        {
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"a": {"type": "string"}}}
                            },
                        }
                    },
                    "deprecationWarning": "x",
                }
            ]
        },
        [
            (
                'spec.versions[0].deprecationWarning: Invalid value: "x": can only '
                "be set for deprecated versions"
            )
        ],
    ),
    "deprecation2": (
        {
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"a": {"type": "string"}}}
                            },
                        }
                    },
                    "deprecated": True,
                    "deprecationWarning": "a\nb",
                }
            ]
        },
        [
            (
                'spec.versions[0].deprecationWarning: Invalid value: "a\\nb": must '
                "only contain printable UTF-8 characters; non-printable character "
                "found at index 1"
            )
        ],
    ),
    "preserveUnknown": (
        {"preserveUnknownFields": True},
        [
            (
                "spec.preserveUnknownFields: Invalid value: true: cannot set to "
                "true, set x-kubernetes-preserve-unknown-fields to true in "
                "spec.versions[*].schema instead"
            )
        ],
    ),
    "conv bad": (
        {"conversion": {"strategy": "X"}},
        [('spec.conversion.strategy: Unsupported value: "X": supported values: "None", "Webhook"')],
    ),
    "conv none w/ webhook": (
        {
            "conversion": {
                "strategy": "None",
                "webhook": {
                    "clientConfig": {"url": "https://x"},
                    "conversionReviewVersions": ["v1"],
                },
            }
        },
        [
            (
                "spec.conversion.webhookClientConfig: Forbidden: should not be set "
                "when strategy is not set to Webhook"
            ),
            (
                "spec.conversion.conversionReviewVersions: Forbidden: should not be "
                "set when strategy is not set to Webhook"
            ),
        ],
    ),
    "conv webhook missing": (
        {"conversion": {"strategy": "Webhook"}},
        [
            (
                "spec.conversion.webhookClientConfig: Required value: required when "
                "strategy is set to Webhook"
            ),
            "spec.conversion.conversionReviewVersions: Required value",
        ],
    ),
    "conv webhook both": (
        {
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {
                        "url": "https://x",
                        "service": {"name": "a", "namespace": "b"},
                    },
                    "conversionReviewVersions": ["v2", "v2"],
                },
            }
        },
        [
            (
                "spec.conversion.webhookClientConfig: Required value: exactly one of "
                "url or service is required"
            ),
            ('spec.conversion.conversionReviewVersions[1]: Invalid value: "v2": duplicate version'),
            (
                "spec.conversion.conversionReviewVersions: Invalid value: "
                '["v2","v2"]: must include at least one of v1, v1beta1'
            ),
        ],
    ),
    "conv webhook url": (
        {
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {"url": "http://u:p@x/y?q#f"},
                    "conversionReviewVersions": ["v1"],
                },
            }
        },
        [
            (
                'spec.conversion.webhookClientConfig.url: Invalid value: "http": '
                "'https' is the only allowed URL scheme; desired format: "
                "https://host[/path]"
            ),
            (
                'spec.conversion.webhookClientConfig.url: Invalid value: "u:p": user '
                "information is not permitted in the URL"
            ),
            (
                'spec.conversion.webhookClientConfig.url: Invalid value: "f": '
                "fragments are not permitted in the URL"
            ),
            (
                'spec.conversion.webhookClientConfig.url: Invalid value: "q": query '
                "parameters are not permitted in the URL"
            ),
        ],
    ),
    "conv webhook svc": (
        {
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {
                        "service": {"name": "a", "namespace": "", "port": 0, "path": "x//Y/"}
                    },
                    "conversionReviewVersions": ["v1"],
                },
            }
        },
        [
            "spec.conversion.webhookClientConfig.service.name: Required value",
            (
                "spec.conversion.webhookClientConfig.service.port: Invalid value: 0: "
                "port is not valid: must be between 1 and 65535, inclusive"
            ),
            (
                "spec.conversion.webhookClientConfig.service.path: Invalid value: "
                "\"x//Y/\": must start with a '/'"
            ),
            (
                "spec.conversion.webhookClientConfig.service.path: Invalid value: "
                '"x//Y/": segment[0] may not be empty'
            ),
            (
                "spec.conversion.webhookClientConfig.service.path: Invalid value: "
                '"x//Y/": segment[1] may not be empty'
            ),
            (
                "spec.conversion.webhookClientConfig.service.path: Invalid value: "
                '"x//Y/": segment[2]: a lowercase RFC 1123 subdomain must consist of '
                "lower case alphanumeric characters, '-' or '.', and must start and "
                "end with an alphanumeric character (e.g. 'example.com', regex used "
                "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9"
                "]*[a-z0-9])?)*')"
            ),
        ],
    ),
    "scale": (
        {
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"a": {"type": "string"}}}
                            },
                        }
                    },
                    "subresources": {
                        "scale": {
                            "specReplicasPath": "spec.x",
                            "statusReplicasPath": ".spec.x",
                            "labelSelectorPath": ".foo",
                        }
                    },
                }
            ]
        },
        [
            (
                'spec.subresources.scale.specReplicasPath: Invalid value: "spec.x": '
                "must be a simple json path starting with ."
            ),
            (
                "spec.subresources.scale.statusReplicasPath: Invalid value: "
                '".spec.x": should be a json path under .status'
            ),
            (
                'spec.subresources.scale.labelSelectorPath: Invalid value: ".foo": '
                "should be a json path under either .spec or .status"
            ),
        ],
    ),
    "scale empty": (
        {
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"a": {"type": "string"}}}
                            },
                        }
                    },
                    "subresources": {"scale": {"specReplicasPath": "", "statusReplicasPath": ""}},
                }
            ]
        },
        [
            "spec.subresources.scale.specReplicasPath: Required value",
            "spec.subresources.scale.statusReplicasPath: Required value",
        ],
    ),
    "columns": (
        {
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"a": {"type": "string"}}}
                            },
                        }
                    },
                    "additionalPrinterColumns": [
                        {"name": "", "type": "foo", "jsonPath": "spec.x", "format": "q"},
                        {"name": "a", "type": "string", "jsonPath": ""},
                        {"name": "b", "type": "", "jsonPath": ".x"},
                    ],
                }
            ]
        },
        [
            "spec.additionalPrinterColumns[0].name: Required value",
            (
                'spec.additionalPrinterColumns[0].type: Invalid value: "foo": must '
                "be one of boolean,date,integer,number,string"
            ),
            (
                'spec.additionalPrinterColumns[0].format: Invalid value: "q": must '
                "be one of byte,date,date-time,double,float,int32,int64,password"
            ),
            (
                'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec.x": '
                "must be a simple json path starting with ."
            ),
            "spec.additionalPrinterColumns[1].JSONPath: Required value",
            (
                "spec.additionalPrinterColumns[2].type: Required value: must be one "
                "of boolean,date,integer,number,string"
            ),
        ],
    ),
    "selectable": (
        {
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"a": {"type": "string"}}}
                            },
                        }
                    },
                    "selectableFields": [
                        {"jsonPath": ".spec.a"},
                        {"jsonPath": ".spec.a"},
                        {"jsonPath": ".spec.b"},
                        {"jsonPath": ".spec"},
                        {"jsonPath": ""},
                        {"jsonPath": ".spec['a']"},
                        {"jsonPath": "spec"},
                    ],
                }
            ]
        },
        [
            'spec.selectableFields[1].jsonPath: Duplicate value: ".spec.a"',
            (
                'spec.selectableFields[2].jsonPath: Invalid value: ".spec.b": is an '
                "invalid path: does not refer to a valid field"
            ),
            (
                'spec.selectableFields[3].jsonPath: Invalid value: ".spec": must '
                "point to a field of type string, boolean or integer. Enum string "
                "fields and strings with formats are allowed."
            ),
            "spec.selectableFields[4].jsonPath: Required value",
            (
                "spec.selectableFields[5].jsonPath: Invalid value: \".spec['a']\": is "
                "an invalid path: array notation is not allowed"
            ),
            (
                'spec.selectableFields[6].jsonPath: Invalid value: "spec": is an '
                "invalid path: expected [ or . but got: spec"
            ),
        ],
    ),
    "status root type": (
        {
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "array", "items": {"type": "string"}}},
                    "subresources": {"status": {}},
                }
            ]
        },
        [
            (
                'spec.validation.openAPIV3Schema.type: Invalid value: "array": only '
                '"object" is allowed as the type at the root of the schema if the '
                "status subresource is enabled"
            ),
            (
                'spec.validation.openAPIV3Schema.type: Invalid value: "array": must '
                "be object at the root"
            ),
        ],
    ),
}


def definition(**spec: Any) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True}
    text = {"type": "string"}
    fields = {"type": "object", "properties": {"a": text}}
    schema = {"type": "object", "properties": {"spec": fields}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "foos", "kind": "Foo"},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
            **spec,
        },
    }
    copied: dict[str, Any] = codec.copy(crd)
    default_definition(copied)
    prepare_definition(copied)
    return copied


def errors_of(crd: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    return [str(error) for error in validate_crd(crd, old)]


def test_a_good_definition_has_no_errors() -> None:
    assert errors_of(definition()) == []


@pytest.mark.parametrize(("schema", "errors"), SCHEMAS.values(), ids=SCHEMAS.keys())
def test_a_schema(schema: dict[str, Any], errors: list[str]) -> None:
    version = {"name": "v1", "served": True, "storage": True}
    crd = definition(versions=[{**version, "schema": {"openAPIV3Schema": schema}}])
    shown = [error.replace("spec.validation.openAPIV3Schema", "$") for error in errors_of(crd)]
    assert shown == errors


@pytest.mark.parametrize(("spec", "errors"), SPECS.values(), ids=SPECS.keys())
def test_a_spec(spec: dict[str, Any], errors: list[str]) -> None:
    assert errors_of(definition(**spec)) == errors


def test_the_name_is_made_of_plural_and_group() -> None:
    crd = definition()
    crd["metadata"]["name"] = "bars.example.com"
    assert errors_of(crd) == [
        'metadata.name: Invalid value: "bars.example.com": must be spec.names.plural+"."+spec.group'
    ]


@pytest.mark.parametrize(
    ("annotation", "problem"),
    [
        ("", "Required value: protected groups must have approval annotation"),
        ("yes", 'Invalid value: "yes": protected groups must have approval annotation'),
        ("unapproved, legacy", ""),
        ("https://example.com/pull/1", ""),
    ],
)
def test_community_groups_need_approval(annotation: str, problem: str) -> None:
    crd = definition(group="x.k8s.io")
    crd["metadata"] = {"name": "foos.x.k8s.io"}
    if annotation:
        crd["metadata"]["annotations"] = {"api-approved.kubernetes.io": annotation}
    errors = errors_of(crd)
    assert len(errors) == (1 if problem else 0)
    assert all(problem in error for error in errors)


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("scope", "Cluster", 'spec.scope: Invalid value: "Cluster": field is immutable'),
        ("group", "a.org", 'spec.group: Invalid value: "a.org": field is immutable'),
    ],
)
def test_an_established_definition_keeps(field: str, value: str, error: str) -> None:
    old = definition()
    old["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    new = codec.copy(old)
    new["spec"][field] = value
    assert errors_of(new, old) == [error]


def test_a_stored_version_must_stay() -> None:
    old = definition()
    new = codec.copy(old)
    new["spec"]["versions"][0]["name"] = "v2"
    [missing, gone] = errors_of(new, old)
    assert missing == (
        'status.storedVersions: Invalid value: ["v1"]: must have the storage version v2'
    )
    assert gone.startswith('status.storedVersions[0]: Invalid value: "v1": missing from')
