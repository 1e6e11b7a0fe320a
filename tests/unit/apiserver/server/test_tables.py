"""Tables as answers: what a client may ask for, and what a watch repeats."""

from typing import Any

from fleetqueue.base import codec

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
MAPS = "/api/v1/namespaces/default/configmaps"


async def table(api: Any, path: str, accept: str = TABLE) -> dict[str, Any]:
    found: dict[str, Any] = codec.decode((await api.send("GET", path, accept=accept)).encoded())
    return found


async def test_a_row_comes_with_the_metadata_of_its_object(api: Any) -> None:
    made = await api.post(MAPS, {"metadata": {"name": "a"}, "data": {"k": "1"}})
    found = await table(api, f"{MAPS}/a")
    assert found["kind"] == "Table"
    assert found["apiVersion"] == "meta.k8s.io/v1"
    assert found["metadata"] == {"resourceVersion": made["metadata"]["resourceVersion"]}
    [row] = found["rows"]
    assert row["cells"] == ["a", 1, "0s"]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"] == made["metadata"]


async def test_a_row_comes_with_its_object_or_with_nothing_where_asked(api: Any) -> None:
    made = await api.post(MAPS, {"metadata": {"name": "a"}})
    whole = await table(api, f"{MAPS}/a?includeObject=Object")
    bare = await table(api, f"{MAPS}/a?includeObject=None")
    assert (whole["rows"][0]["object"], bare["rows"][0]["object"]) == (made, None)


async def test_an_unknown_way_to_include_objects_is_refused(api: Any) -> None:
    found = await table(api, f"{MAPS}?includeObject=Some")
    assert api.status == 400
    assert found["message"] == (
        "Unable to convert to Table as requested: includeObject: Invalid value: "
        "\"Some\": must be 'Metadata', 'Object', 'None', or empty"
    )


async def test_the_older_version_of_tables_is_still_written(api: Any) -> None:
    found = await table(api, MAPS, TABLE.replace("v=v1", "v=v1beta1"))
    assert found["apiVersion"] == "meta.k8s.io/v1beta1"


async def test_an_empty_list_is_a_table_without_rows(api: Any) -> None:
    path = "/api/v1/namespaces/default"
    maps = await table(api, f"{path}/configmaps?labelSelector=none")
    ranges = await table(api, f"{path}/limitranges")
    assert (maps["rows"], ranges["rows"]) == ([], None)


async def test_a_pod_that_is_over_says_so_in_a_condition(api: Any) -> None:
    pods = "/api/v1/namespaces/default/pods"
    spec = {"containers": [{"name": "c", "image": "i"}]}
    await api.post(pods, {"metadata": {"name": "a"}, "spec": spec})
    assert "conditions" not in (await table(api, f"{pods}/a"))["rows"][0]
    await api.patch(f"{pods}/a/status", {"status": {"phase": "Succeeded"}})
    [condition] = (await table(api, f"{pods}/a"))["rows"][0]["conditions"]
    assert (condition["type"], condition["reason"]) == ("Completed", "Succeeded")


async def test_a_watch_names_the_columns_once(api: Any) -> None:
    for name in "ab":
        await api.post(MAPS, {"metadata": {"name": name, "labels": {"x": "y"}}})
    response = await api.send("GET", f"{MAPS}?watch=true&labelSelector=x", accept=TABLE)
    events = [codec.decode(frame.line) for frame in await anext(response.frames)]
    await response.frames.aclose()
    columns = [event["object"]["columnDefinitions"] for event in events]
    assert [column["name"] for column in columns[0]] == ["Name", "Data", "Age"]
    assert columns[1:] == [None]


async def test_both_groups_of_events_are_printed_alike(api: Any) -> None:
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    event = {
        "metadata": {"name": "a"},
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Why",
        "note": "What",
        "type": "Normal",
        "action": "Doing",
        "reportingController": "example.com/c",
        "reportingInstance": "i",
        "eventTime": "2026-01-01T00:00:00.000000Z",
    }
    await api.post(path, event)
    new = await table(api, f"{path}?includeObject=None")
    old = await table(api, "/api/v1/namespaces/default/events?includeObject=None")
    assert new["rows"] == old["rows"]
    assert new["rows"][0]["cells"][3:7] == ["pod/p", "", "example.com/c, i", "What"]
