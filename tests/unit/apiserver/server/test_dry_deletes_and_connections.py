"""What kubectl and client-go rely on: dry runs asked for in a body, and pods that run nowhere."""

from typing import Any

import pytest

HOME = "/api/v1/namespaces/default"
POD = {
    "metadata": {"name": "one"},
    "spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "x"}]},
}


async def test_a_deletion_that_is_a_dry_run_by_its_body_deletes_nothing(api: Any) -> None:
    await api.post(f"{HOME}/configmaps", {"metadata": {"name": "one"}})
    await api.delete(f"{HOME}/configmaps/one", {"dryRun": ["All"]})
    assert api.status == 200
    assert (await api.get(f"{HOME}/configmaps/one"))["metadata"]["name"] == "one"
    await api.delete(f"{HOME}/configmaps/one", {"dryRun": ["Some"]})
    assert api.status == 422


async def test_a_pod_without_a_node_has_an_empty_log(api: Any) -> None:
    await api.post(f"{HOME}/pods", POD)
    response = await api.send("GET", f"{HOME}/pods/one/log?container=a")
    assert (response.status, response.encoded()) == (204, b"")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("log", "a container name must be specified for pod one, choose one of: [a b]"),
        ("log?container=none", "container none is not valid for pod one"),
        ("exec?container=none&command=ls", "container none is not valid for pod one"),
        ("exec?container=a&command=ls", "pod one does not have a host assigned"),
        ("portforward", "pod one does not have a host assigned"),
    ],
)
async def test_a_connection_says_what_is_missing(api: Any, path: str, message: str) -> None:
    await api.post(f"{HOME}/pods", POD)
    found = await api.get(f"{HOME}/pods/one/{path}")
    assert (api.status, found["message"]) == (400, message)


async def test_endpoints_warn_that_they_are_deprecated(api: Any) -> None:
    await api.get(f"{HOME}/endpoints")
    assert api.warnings == [
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    ]
