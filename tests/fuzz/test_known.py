"""Requests that once made the server fail, kept by what they found."""

import pytest

from fleetqueue.apiserver.request import Request
from fuzz import play

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/fuzz.example.com/v1/namespaces/default/widgets"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"


def widgets(column: str = ".spec.a", items: str = '{"type":"integer"}') -> bytes:
    return b"""{"metadata": {"name": "widgets.fuzz.example.com"}, "spec": {
      "group": "fuzz.example.com", "scope": "Namespaced",
      "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
      "versions": [{"name": "v1", "served": true, "storage": true,
        "additionalPrinterColumns": [{"name": "A", "type": "integer", "jsonPath": "%b"}],
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
          "type": "object", "x-kubernetes-validations": [{"rule": "self.items.size() > 0"}],
          "properties": {"items": {"type": "array", "maxItems": 3, "items": %b}}}}}}}]}}""" % (
        column.encode(),
        items.encode(),
    )


def post(path: str, body: bytes) -> Request:
    return Request("POST", path, {}, {"content-type": "application/json"}, body)


def patch(path: str, kind: str, body: bytes) -> Request:
    query = {"fieldManager": ["me"]}
    return Request("PATCH", path, query, {"content-type": kind}, body)


KNOWN: dict[str, list[Request]] = {
    "bytes that are no UTF-8 in a text": [post(CONFIG_MAPS, b'{"metadata":{"name":"\xb2"}}')],
    "bytes that are no UTF-8 in a key": [post(CONFIG_MAPS, b'{"metadata":{"name":"a"},"\xb2":1}')],
    "base64 with letters beyond ASCII": [
        post(CONFIG_MAPS, '{"metadata":{"name":"a"},"binaryData":{"x":"é"}}'.encode())
    ],
    "half a character in an applied body": [
        patch(f"{CONFIG_MAPS}/a", APPLY, b'{"metadata":{"name":"\\ud800"}}')
    ],
    "a kind that a patch turns into a map": [
        post(CONFIG_MAPS, b'{"metadata":{"name":"a"}}'),
        patch(f"{CONFIG_MAPS}/a", MERGE, b'{"kind":{"x":1}}'),
    ],
    "a deep value in an applied body": [
        patch(f"{CONFIG_MAPS}/a", APPLY, b'{"data":' * 400 + b"1" + b"}" * 400)
    ],
    "a column that is no path": [
        post(CRDS, widgets(column=".spec[")),
        Request("GET", WIDGETS, {}, {"accept": play.LOOKS[2]}),
    ],
    "items that are no schema": [post(CRDS, widgets(items="1e-09"))],
    "metadata that is a text, of another kind": [
        post(CRDS, widgets()),
        post(WIDGETS, b'{"apiVersion":"fuzz.example.com/v1","kind":"x","metadata":true}'),
    ],
    "an object of a kind that is going": [
        post(CRDS, widgets()),
        post(WIDGETS, b'{"apiVersion":"fuzz.example.com/v1","kind":"Widget","metadata":'
             b'{"name":"a","finalizers":["x/y"]},"spec":{"items":[1]}}'),
        Request("DELETE", f"{CRDS}/widgets.fuzz.example.com"),
        post(WIDGETS, b'{"apiVersion":1,"metadata":"a"}'),
    ],
}  # fmt: skip


@pytest.mark.parametrize("found", KNOWN)
def test_it_does_not_come_back(found: str) -> None:
    play.play_all(KNOWN[found])
