"""Discovery in the forms that clients ask for."""

from typing import Any

import pytest

from fleetqueue.apiserver import discovery
from fleetqueue.base import codec

AGGREGATED = discovery.AGGREGATED_TYPE


async def test_everything_comes_at_once_where_it_is_asked_for(api: Any) -> None:
    response = await api.send("GET", "/apis", accept=f"{AGGREGATED},application/json")
    found = codec.decode(response.encoded())
    assert response.content_type == AGGREGATED
    assert found["kind"] == "APIGroupDiscoveryList"
    names = [item["metadata"]["name"] for item in found["items"]]
    assert names[:2] == ["apiregistration.k8s.io", "apps"]


async def test_what_a_client_has_is_not_sent_again(api: Any) -> None:
    first = await api.send("GET", "/apis", accept=AGGREGATED)
    again = await api.send("GET", "/apis", accept=AGGREGATED, if_none_match=first.headers["ETag"])
    assert (again.status, again.body) == (304, b"")


async def test_the_old_form_is_the_default(api: Any) -> None:
    assert (await api.get("/api"))["versions"] == ["v1"]
    assert (await api.get("/apis"))["kind"] == "APIGroupList"


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("application/yaml", 200),
        ("*/*", 200),
        ("application/xml", 406),
        (AGGREGATED.replace("v=v2", "v=v9"), 406),
        (f"{AGGREGATED.replace('v=v2', 'v=v9')},application/json", 200),
    ],
)
async def test_forms_that_are_offered_are_tried(api: Any, accept: str, status: int) -> None:
    assert (await api.send("GET", "/apis", accept=accept)).status == status


async def test_what_is_not_there_is_not_found(api: Any) -> None:
    for path in ("/api/v2", "/apis/none.example", "/apis/apps/v9"):
        assert (await api.send("GET", path)).status == 404


@pytest.mark.parametrize(
    ("versions", "ordered"),
    [
        (["v1alpha1", "v1", "v10", "v2beta3", "v2"], ["v10", "v2", "v1", "v2beta3", "v1alpha1"]),
        (["foo", "v1beta1", "bar"], ["v1beta1", "bar", "foo"]),
    ],
)
def test_versions_are_ordered_by_how_stable_they_are(
    versions: list[str], ordered: list[str]
) -> None:
    assert sorted(versions, key=discovery.priority) == ordered
