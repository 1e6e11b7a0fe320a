"""How bodies of built-in kinds are read and printed, as Go reads and prints its structs."""

from typing import Any

import pytest

from fleetqueue.apiserver.schema import decoding
from fleetqueue.base import codec

JOB = "io.k8s.api.batch.v1.Job"
POD = "io.k8s.api.core.v1.Pod"
CONFIG_MAP = "io.k8s.api.core.v1.ConfigMap"
LEASE = "io.k8s.api.coordination.v1.Lease"


def job(**spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "c"}]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template, **spec}}


def pod(**container: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", **container}]}}


FIELD = "into Go struct field"
ERRORS: dict[str, tuple[str, Any, str]] = {
    "text for a number": (
        JOB,
        job(parallelism="1"),
        f"json: cannot unmarshal string {FIELD} JobSpec.spec.parallelism of type int32",
    ),
    "a fraction": (
        JOB,
        job(parallelism=1.5),
        f"json: cannot unmarshal number 1.5 {FIELD} JobSpec.spec.parallelism of type int32",
    ),
    "too large a number": (
        JOB,
        job(parallelism=2**40),
        f"json: cannot unmarshal number {2**40} {FIELD} JobSpec.spec.parallelism of type int32",
    ),
    "a named type": (
        JOB,
        job(completionMode=1),
        f"json: cannot unmarshal number {FIELD} JobSpec.spec.completionMode of type "
        "v1.CompletionMode",
    ),
    "a list for a struct": (
        JOB,
        job(template=[]),
        f"json: cannot unmarshal array {FIELD} JobSpec.spec.template of type v1.PodTemplateSpec",
    ),
    "a number in a map of text": (
        CONFIG_MAP,
        {"data": {"a": 1}},
        f"json: cannot unmarshal number {FIELD} ConfigMap.data of type string",
    ),
    "a struct in a list": (
        POD,
        pod(image=1),
        f"json: cannot unmarshal number {FIELD} Container.spec.containers.image of type string",
    ),
    "a bad quantity": (
        POD,
        pod(resources={"limits": {"cpu": "abc"}}),
        "quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    "a bad time": (
        POD,
        {"metadata": {"creationTimestamp": "soon"}},
        'parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"',
    ),
    "a time without microseconds": (
        LEASE,
        {"spec": {"renewTime": "2020-01-01T00:00:00Z"}},
        'parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": '
        'cannot parse "Z" as ".000000"',
    ),
    "a truth for a port": (
        POD,
        pod(livenessProbe={"httpGet": {"port": True}}),
        f"json: cannot unmarshal bool {FIELD} "
        "HTTPGetAction.spec.containers.livenessProbe.httpGet.port of type int32",
    ),
    "no base64": (
        CONFIG_MAP,
        {"binaryData": {"a": "!!"}},
        "illegal base64 data at input byte 0",
    ),
}


@pytest.mark.parametrize(("kind", "body", "error"), ERRORS.values(), ids=ERRORS.keys())
def test_a_body_of_the_wrong_type(kind: str, body: Any, error: str) -> None:
    assert decoding.decode(body, decoding.node_of(kind)).error == error


def test_unknown_fields_are_dropped_and_named() -> None:
    body = {"foo": 1, "spec": {"containers": [{"name": "c", "imagee": "x"}]}}
    decoded = decoding.decode(body, decoding.node_of(POD))
    assert decoded.unknown == ["foo", "spec.containers[0].imagee"]
    assert decoded.value == {"spec": {"containers": [{"name": "c"}]}}


def test_field_names_are_case_sensitive() -> None:
    decoded = decoding.decode(pod(Image="x"), decoding.node_of(POD))
    assert decoded.unknown == ["spec.containers[0].Image"]


DECODED: dict[str, tuple[str, Any, Any]] = {
    "null means not set": (CONFIG_MAP, {"data": None, "immutable": None}, {}),
    "an empty map vanishes": (CONFIG_MAP, {"data": {}}, {}),
    "a null in a map of text is empty text": (
        CONFIG_MAP,
        {"data": {"a": None}},
        {"data": {"a": ""}},
    ),
    "a pointer keeps its zero": (CONFIG_MAP, {"immutable": False}, {"immutable": False}),
    "a value loses its zero": (POD, {"spec": {"hostNetwork": False}}, {"spec": {}}),
    "quantities are canonical": (
        POD,
        pod(resources={"limits": {"cpu": "1000m", "memory": 1073741824}}),
        pod(resources={"limits": {"cpu": "1", "memory": "1073741824"}}),
    ),
    "times are in UTC": (
        POD,
        {"metadata": {"creationTimestamp": "2020-01-01T00:00:00+02:00"}},
        {"metadata": {"creationTimestamp": "2019-12-31T22:00:00Z"}},
    ),
    "an int or string stays what it is": (
        POD,
        pod(livenessProbe={"httpGet": {"port": "http"}}),
        pod(livenessProbe={"httpGet": {"port": "http"}}),
    ),
}


@pytest.mark.parametrize(("kind", "body", "value"), DECODED.values(), ids=DECODED.keys())
def test_what_is_held(kind: str, body: Any, value: Any) -> None:
    before = codec.copy(body)
    decoded = decoding.decode(body, decoding.node_of(kind))
    assert (decoded.value, decoded.error) == (value, "")
    assert body == before


@pytest.mark.parametrize(("kind", "body", "value"), DECODED.values(), ids=DECODED.keys())
def test_a_careful_look_finds_the_same_as_a_quick_one(kind: str, body: Any, value: Any) -> None:
    odd = {**body, "nothing": 1}
    decoded = decoding.decode(odd, decoding.node_of(kind))
    assert decoded == (value, ["nothing"], "")


def test_what_is_held_is_private_to_the_caller() -> None:
    body = pod(command=["a"], env=[{"name": "A"}])
    body["metadata"] = {"labels": {"a": "b"}, "finalizers": ["x/y"]}
    before = codec.copy(body)
    held = decoding.decode(body, decoding.node_of(POD)).value
    held["metadata"]["labels"]["c"] = "d"
    held["metadata"]["finalizers"].append("z")
    held["spec"]["containers"][0]["command"].append("b")
    held["spec"]["containers"][0]["env"][0]["name"] = "B"
    assert body == before


NORMAL: dict[str, tuple[str, Any, Any]] = {
    "structs are always printed": (
        POD,
        pod(),
        {
            "metadata": {},
            "spec": {"containers": [{"name": "c", "resources": {}}]},
            "status": {},
        },
    ),
    "a required list is null if there is none": (
        "io.k8s.api.rbac.v1.ClusterRole",
        {"metadata": {"name": "x"}},
        {"metadata": {"name": "x"}, "rules": None},
    ),
    "a required number is zero": (
        "io.k8s.api.scheduling.v1.PriorityClass",
        {},
        {"metadata": {}, "value": 0},
    ),
    "empty maps are left out": (CONFIG_MAP, {"data": {}}, {"metadata": {}}),
    "timestamps of old kinds are null": (
        "io.k8s.api.core.v1.Event",
        {},
        {
            "metadata": {},
            "involvedObject": {},
            "source": {},
            "firstTimestamp": None,
            "lastTimestamp": None,
            "eventTime": None,
            "reportingComponent": "",
            "reportingInstance": "",
        },
    ),
}


@pytest.mark.parametrize(("kind", "obj", "printed"), NORMAL.values(), ids=NORMAL.keys())
def test_what_is_printed(kind: str, obj: Any, printed: Any) -> None:
    assert decoding.normalise(obj, decoding.node_of(kind)) == printed


def test_schemas_inside_of_schemas_are_read_as_well() -> None:
    kind = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    inner = {"type": "string", "odd": 1, "description": ""}
    schema = {"items": inner, "additionalProperties": {"items": inner}, "default": {"odd": ""}}
    decoded = decoding.decode(schema, decoding.node_of(kind))
    assert decoded.unknown == []
    assert decoded.value == {
        "items": {"type": "string"},
        "additionalProperties": {"items": {"type": "string"}},
        "default": {"odd": ""},
    }
    assert decoding.decode({"additionalProperties": True}, decoding.node_of(kind)).value == {
        "additionalProperties": True
    }


def test_an_empty_list_is_forgotten_when_it_was_stored() -> None:
    role = {"metadata": {"name": "a"}, "rules": []}
    decoding.settle(role, decoding.node_of("io.k8s.api.rbac.v1.Role"))
    assert role == {"metadata": {"name": "a"}, "rules": None}


def test_an_empty_struct_is_kept_when_it_was_stored() -> None:
    pod = {"spec": {"securityContext": {}, "containers": [{"name": "c", "resources": {}}]}}
    before = codec.copy(pod)
    decoding.settle(pod, decoding.node_of("io.k8s.api.core.v1.Pod"))
    assert pod == before


def test_bytes_may_be_given_as_a_list_of_numbers() -> None:
    node = decoding.node_of("io.k8s.api.core.v1.Secret")
    value, _, error = decoding.decode({"data": {"a": [104, 105], "b": []}}, node)
    assert (value, error) == ({"data": {"a": "aGk=", "b": ""}}, "")


def test_base64_that_is_cut_short_is_blamed_from_its_last_group() -> None:
    node = decoding.node_of("io.k8s.api.core.v1.Secret")
    _, _, error = decoding.decode({"data": {"a": "aGkhaG"}}, node)
    assert "illegal base64 data at input byte 4" in error
