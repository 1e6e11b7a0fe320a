from typing import Any

import pytest

from fleetqueue.apiserver.merge import entries
from fleetqueue.apiserver.merge.entries import MalformedEntries
from fleetqueue.apiserver.merge.managed import keep_times, track_update
from fleetqueue.apiserver.schema.node import Node

EARLIER = "2020-01-01T00:00:00Z"
NOW = "2026-01-01T00:00:00Z"
STATUS = {"f:status": {}}

Object = dict[str, Any]


def config(data: Object, managed: list[Object] | None = None, **metadata: Any) -> Object:
    names = {"name": "c", "namespace": "n", "uid": "u", **metadata}
    if managed is not None:
        names["managedFields"] = managed
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": names, "data": data}


def entry(manager: str, fields: Object, **more: Any) -> Object:
    known = {"operation": "Update", "apiVersion": "v1", "time": EARLIER, "fieldsType": "FieldsV1"}
    return {"manager": manager, **known, "fieldsV1": fields, **more}


CONFIG = Node(
    {
        "type": "object",
        "properties": {"data": {"type": "object", "additionalProperties": {"type": "string"}}},
    }
)


def track(live: Object | None, new: Object, manager: str = "me", **more: Any) -> list[Object]:
    asked: Any = {"api_version": "v1", "subresource": "", "now": NOW, **more}
    return track_update(live, new, CONFIG, manager=manager, **asked)


def test_whoever_creates_a_pod_owns_what_it_says(pod: Node) -> None:
    new = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "n", "labels": {"app": "x"}, "uid": "u"},
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": {}}],
            "securityContext": {},
            "nodeSelector": {"disk": "ssd"},
        },
        "status": {"phase": "Pending"},
    }
    found = track_update(
        None,
        new,
        pod,
        manager="kubectl-create",
        api_version="v1",
        subresource="",
        now=NOW,
        reset=STATUS,
    )
    assert found == [
        {
            "manager": "kubectl-create",
            "operation": "Update",
            "apiVersion": "v1",
            "time": NOW,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"c"}': {".": {}, "f:image": {}, "f:name": {}, "f:resources": {}}
                    },
                    "f:nodeSelector": {},
                    "f:securityContext": {},
                },
            },
        }
    ]


def test_a_custom_resource_shows_that_its_spec_is_new(widget: Node) -> None:
    new = {"apiVersion": "t.io/v1", "kind": "T", "metadata": {"name": "a"}, "spec": {"n": 1}}
    found = track_update(
        None, new, widget, manager="", api_version="t.io/v1", subresource="", now=NOW
    )
    assert found[0]["manager"] == "unknown"
    assert found[0]["fieldsV1"] == {"f:spec": {".": {}, "f:n": {}}}


def test_an_update_takes_over_what_it_changes() -> None:
    live = config(
        {"a": "1", "b": "1"},
        [entry("old", {"f:data": {".": {}, "f:a": {}, "f:b": {}}})],
    )
    assert track(live, config({"a": "2", "b": "1"})) == [
        entry("old", {"f:data": {".": {}, "f:b": {}}}),
        entry("me", {"f:data": {"f:a": {}}}, time=NOW),
    ]


def test_a_field_that_goes_has_no_owner() -> None:
    live = config({"a": "1"}, [entry("old", {"f:data": {"f:a": {}}}), entry("x", {"f:y": {}})])
    assert track(live, config({})) == [entry("x", {"f:y": {}})]


def test_a_write_that_changes_nothing_keeps_times() -> None:
    managed = [entry("me", {"f:data": {".": {}, "f:a": {}}})]
    live = config({"a": "1"}, managed)
    assert track(live, config({"a": "1"})) == managed
    assert track(live, config({"a": "1"}, resourceVersion="9", generation=3)) == managed


def test_a_manager_keeps_one_entry_for_each_subresource() -> None:
    live = config({"a": "1"}, [entry("me", {"f:data": {"f:a": {}}})])
    found = track(live, config({"a": "1", "b": "1"}), subresource="status")
    assert [(e["manager"], e.get("subresource")) for e in found] == [("me", None), ("me", "status")]


def test_fields_that_a_write_cannot_change_are_not_tracked() -> None:
    live = config({"a": "1"}, [entry("old", {"f:data": {"f:a": {}}})])
    assert track(live, config({"a": "2"}), reset={"f:data": {}}) == [
        entry("old", {"f:data": {"f:a": {}}})
    ]


@pytest.mark.parametrize("sent", [[], [{}]])
def test_a_client_can_reset_ownership(sent: list[Object]) -> None:
    live = config({"a": "1"}, [entry("old", {"f:data": {"f:a": {}}})])
    assert track(live, config({"a": "2"}, sent)) == []


def test_without_ownership_an_object_stays_untracked() -> None:
    assert track(config({"a": "1"}), config({"a": "2"})) == []


@pytest.mark.parametrize(
    "sent",
    [
        None,
        [{"manager": "x"}],
        [entry("x", {"f:data": {}}, operation="Create")],
        [entry("x", {"f:data": {}}, apiVersion="")],
        [entry("x", {"f:data": {}}, fieldsType="FieldsV2")],
        [entry("x", {"data": {}})],
        [entry("x", {"f:data": {}}, time="yesterday")],
    ],
)
def test_managed_fields_that_are_left_out_or_garbled_change_nothing(sent: Any) -> None:
    managed = [entry("old", {"f:data": {"f:a": {}}})]
    assert track(config({"a": "1"}, managed), config({"a": "1"}, sent)) == managed


def test_a_client_can_set_managed_fields() -> None:
    live = config({"a": "1"}, [entry("old", {"f:data": {"f:a": {}}})])
    mine = entry("x", {"f:data": {"f:b": {}, "f:a": {}}}, time="2020-01-01T02:00:00+02:00")
    found = track(live, config({"a": "1"}, [mine]))
    assert found == [entry("x", {"f:data": {"f:a": {}, "f:b": {}}})]
    assert track(live, config({"a": "1"}, [mine]), subresource="status")[0]["manager"] == "old"


def test_of_more_than_ten_updaters_the_oldest_become_one() -> None:
    managed = [
        entry(f"m{i:02}", {"f:data": {f"f:k{i:02}": {}}}, time=f"2020-01-01T00:{i:02}:00Z")
        for i in range(10)
    ]
    data = {f"k{i:02}": "1" for i in range(10)}
    found = track(config(data, managed), config({**data, "new": "1"}))
    assert len(found) == entries.UPDATERS_MAX
    assert found[0] == entry(
        "ancient-changes", {"f:data": {"f:k00": {}, "f:k01": {}}}, time="2020-01-01T00:01:00Z"
    )
    assert found[-1]["manager"] == "me"


def test_entries_come_by_operation_time_manager_version_and_subresource() -> None:
    rows = [
        ("Update", EARLIER, "a", "v1", ""),
        ("Update", EARLIER, "a", "v1", "status"),
        ("Update", EARLIER, "a", "v2", ""),
        ("Update", EARLIER, "b", "v1", ""),
        ("Update", NOW, "a", "v3", ""),
        ("Apply", NOW, "z", "v1", ""),
    ]
    known = {
        entries.owner(manager, operation, version, sub): entries.Entry({"f:a": {}}, version, time)
        for operation, time, manager, version, sub in reversed(rows)
    }
    written = entries.write(known)
    keys = ("operation", "time", "manager", "apiVersion")
    found = [(*(e[key] for key in keys), e.get("subresource", "")) for e in written]
    assert found == [rows[-1], *rows[:-1]]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([{}, {}], "operation must be `Apply` or `Update`"),
        ([{"operation": "Apply"}], "apiVersion must not be empty"),
        (
            [{"operation": "Apply", "apiVersion": "v1"}],
            "missing fieldsType in managed fields entry 0",
        ),
        (
            [{"operation": "Apply", "apiVersion": "v1", "fieldsType": "V2"}],
            'invalid fieldsType "V2" in managed fields entry 0',
        ),
    ],
)
def test_malformed_entries_say_what_is_wrong(raw: list[Object], message: str) -> None:
    with pytest.raises(MalformedEntries) as raised:
        entries.check(raw)
    assert str(raised.value) == message


def test_a_list_that_cannot_be_indexed_costs_the_bookkeeping_not_the_write(widget: Node) -> None:
    live = {"apiVersion": "t.io/v1", "kind": "T", "metadata": {}, "spec": {}}
    new = {**live, "spec": {"items": [{"v": "no name"}]}}
    found = track_update(
        live, new, widget, manager="m", api_version="t.io/v1", subresource="", now=NOW
    )
    assert found == []


def test_times_stay_where_only_they_would_change() -> None:
    old = config({"a": "1"}, [entry("m", {"f:data": {}})])
    new = config({"a": "1"}, [entry("m", {"f:data": {}}, time=NOW)])
    assert keep_times(old, new) == old["metadata"]["managedFields"]
    changed = config({"a": "2"}, [entry("m", {"f:data": {}}, time=NOW)])
    assert keep_times(old, changed) == changed["metadata"]["managedFields"]
    more = config({"a": "1"}, [entry("m", {"f:data": {}}, time=NOW), entry("n", {"f:x": {}})])
    assert keep_times(old, more) == more["metadata"]["managedFields"]


def renamed(obj: Object, version: str) -> tuple[Object, Node] | None:
    """v2 calls `data` `content`; there is no v3."""
    names = {"v1": "data", "v2": "content"}
    if version not in names:
        return None
    spoken = names[obj["apiVersion"]]
    kept = {key: value for key, value in obj.items() if key != spoken}
    if spoken in obj:
        kept[names[version]] = obj[spoken]
    text = CONFIG.raw["properties"]["data"]
    node = Node({"type": "object", "properties": {names[version]: text}})
    return {**kept, "apiVersion": version}, node


def test_entries_of_another_version_lose_what_changed_in_their_own_terms() -> None:
    managed = [
        entry("two", {"f:content": {"f:a": {}, "f:b": {}}}, apiVersion="v2"),
        entry("three", {"f:other": {}}, apiVersion="v3"),
    ]
    live = config({"a": "1", "b": "1"}, managed)
    assert track(live, config({"a": "2", "b": "1"}), convert=renamed) == [
        entry("two", {"f:content": {"f:b": {}}}, apiVersion="v2"),
        entry("me", {"f:data": {"f:a": {}}}, time=NOW),
    ]


def test_without_conversion_entries_of_other_versions_are_kept() -> None:
    managed = [entry("two", {"f:content": {"f:a": {}}}, apiVersion="v2")]
    found = track(config({"a": "1"}, managed), config({"a": "2"}))
    assert found[0] == managed[0]
