"""How documents of other servers come among ours."""

from typing import Any

from fleetqueue.apiserver.aggregation import documents


def whole(schema: Any, path: str) -> dict[str, Any]:
    reference = {"schema": {"$ref": "#/definitions/Meta"}}
    return {"paths": {path: reference}, "definitions": {"Meta": schema}}


def test_a_definition_that_means_something_else_gets_another_name() -> None:
    ours, theirs = whole({"type": "string"}, "/a"), whole({"type": "object"}, "/apis/g/v1/b")
    merged = documents.merge(ours, theirs, "/apis/g/v1/")
    assert merged["definitions"] == {"Meta": {"type": "string"}, "Meta_v2": {"type": "object"}}
    assert merged["paths"]["/apis/g/v1/b"]["schema"] == {"$ref": "#/definitions/Meta_v2"}
    assert merged["paths"]["/a"]["schema"] == {"$ref": "#/definitions/Meta"}


def test_one_that_means_the_same_is_shared() -> None:
    kinds = {"x-kubernetes-group-version-kind": [{"kind": "Meta"}]}
    ours = whole({"type": "string"}, "/a")
    merged = documents.merge(ours, whole({"type": "string", **kinds}, "/apis/g/v1/b"), "/apis/g/")
    assert merged["definitions"] == {"Meta": {"type": "string"}}


def test_groups_of_others_stand_where_their_priority_puts_them() -> None:
    own = [("apps", 17800), ("a.example.com", 1000), ("c.example.com", 1000)]
    others = [("z.example.com", 2000), ("b.example.com", 1000), ("y.example.com", 100)]
    assert documents.placed(own, others) == [
        "apps",
        "z.example.com",
        "a.example.com",
        "b.example.com",
        "c.example.com",
        "y.example.com",
    ]


def test_shared_parameters_are_written_out() -> None:
    limit = {"in": "query", "name": "limit", "type": "integer"}
    item = {"get": {"parameters": [{"$ref": "#/parameters/limit-1"}]}}
    theirs = {"paths": {"/apis/g/v1/b": item}, "parameters": {"limit-1": limit}}
    merged = documents.merge(whole({}, "/a"), theirs, "/apis/g/v1/")
    assert merged["paths"]["/apis/g/v1/b"] == {"get": {"parameters": [limit]}}
