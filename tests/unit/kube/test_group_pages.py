"""A group that is answered beside the API server: what is told of it, and to whom."""

import json
from typing import Any

import pytest

from fleetqueue.api.served_groups import Answered, Asked, ServedGroup, not_found
from fleetqueue.kube.delegated_access import Person
from fleetqueue.kube.errors import Forbidden
from fleetqueue.kube.group_pages import GroupPages
from fleetqueue.kube.page_server import Question

pytestmark = pytest.mark.rule("kueue 11.1")


class Access:
    """Lets ada do everything, and others nothing; about zoe the API server answers nothing."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def who(self, headers: Any, certificate: Any) -> Person | None:
        name = dict(headers).get("user")
        return Person(name) if name else None

    async def may(self, person: Person, wanted: Any) -> tuple[bool, str]:
        self.asked.append(wanted)
        if person.name == "zoe":
            raise Forbidden({"message": "subjectaccessreviews is forbidden"})
        return person.name == "ada", ""


def group() -> ServedGroup:
    def answer(asked: Asked) -> dict[str, Any]:
        if asked.name == "missing":
            raise not_found("shown.example.com", "thing", "missing")
        return {"kind": "Look", "where": asked.namespace, "limit": asked.number("limit", 7)}

    resources = (
        Answered("things", "thing", "Thing", True, "look", "Look", ("limit",)),
        Answered("hosts", "host", "Host", False, "look", "Look"),
    )
    schemas = {"Look": {"type": "object"}}
    return ServedGroup("shown.example.com", "Shown", ("v2", "v1"), resources, schemas, answer)


async def ask(
    path: str, user: str = "ada", method: str = "GET", **query: list[str]
) -> tuple[int, Any, list[Any]]:
    access = Access()
    pages = GroupPages([group()], access)  # type: ignore[arg-type]
    headers = (("user", user),) if user else ()
    page = await pages.answer(Question(method, path, query, headers))
    return page.status, json.loads(page.body), access.asked


BASE = "/apis/shown.example.com/v2"
LOOK = f"{BASE}/namespaces/team/things/one/look"


async def test_an_answer_is_asked_for_with_its_place() -> None:
    status, body, asked = await ask(LOOK, limit=["3"])

    assert (status, body) == (200, {"kind": "Look", "where": "team", "limit": 3})
    assert asked == [
        {
            "resourceAttributes": {
                "verb": "get",
                "group": "shown.example.com",
                "version": "v2",
                "resource": "things",
                "subresource": "look",
                "namespace": "team",
                "name": "one",
            }
        }
    ]


async def test_where_nobody_can_tell_whether_they_may_it_is_our_fault() -> None:
    status, body, _ = await ask(LOOK, "zoe")

    assert (status, body["code"], body["reason"]) == (500, 500, "InternalError")
    assert "subjectaccessreviews is forbidden" in body["message"]


@pytest.mark.parametrize("user", ["eve", ""])
async def test_who_may_not_is_told_so(user: str) -> None:
    status, body, _ = await ask(LOOK, user)

    name = user or "system:anonymous"
    assert (status, body["reason"]) == (403, "Forbidden")
    assert body["message"] == (
        f'things.shown.example.com "one" is forbidden: User "{name}" cannot get resource '
        '"things/look" in API group "shown.example.com" in the namespace "team"'
    )
    status, body, _ = await ask(BASE, user)
    assert (status, body["message"]) == (403, f'forbidden: User "{name}" cannot get path "{BASE}"')


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        (f"{BASE}/namespaces/team/things/missing/look", "GET", 404),
        (f"{BASE}/namespaces/team/things/one", "GET", 404),
        (f"{BASE}/namespaces/team/things/one/other", "GET", 404),
        (f"{BASE}/things/one/look", "GET", 404),
        (f"{BASE}/namespaces/team/hosts/one/look", "GET", 404),
        (f"{BASE}/hosts/one/look", "GET", 200),
        ("/apis/shown.example.com/v9/hosts/one/look", "GET", 404),
        ("/apis/other.example.com/v1/hosts/one/look", "GET", 404),
        (LOOK, "POST", 405),
        ("/apis/shown.example.com/v9", "GET", 404),
        ("/elsewhere", "GET", 404),
    ],
)
async def test_what_there_is_not(path: str, method: str, status: int) -> None:
    assert (await ask(path, method=method))[0] == status


async def test_the_group_is_discovered() -> None:
    groups = (await ask("/apis"))[1]["groups"]
    assert [each["name"] for each in groups] == ["shown.example.com"]
    assert (await ask("/apis/shown.example.com"))[1]["preferredVersion"]["version"] == "v2"
    listed = (await ask(BASE))[1]["resources"]
    names = [(each["name"], each["namespaced"], each["verbs"]) for each in listed]
    assert names == [
        ("things", True, []),
        ("things/look", True, ["get"]),
        ("hosts", False, []),
        ("hosts/look", False, ["get"]),
    ]


async def test_all_references_lead_somewhere() -> None:
    whole = (await ask("/openapi/v2"))[1]
    assert whole["info"]["title"] == "Shown"
    for item in whole["paths"].values():
        name = item["get"]["responses"]["200"]["schema"]["$ref"].removeprefix("#/definitions/")
        assert name in whole["definitions"]
    index = (await ask("/openapi/v3"))[1]["paths"]
    assert set(index) == {"apis/shown.example.com/v1", "apis/shown.example.com/v2"}
    for told in index.values():
        document = (await ask(told["serverRelativeURL"]))[1]
        for item in document["paths"].values():
            [content] = item["get"]["responses"]["200"]["content"].values()
            name = content["schema"]["$ref"].removeprefix("#/components/schemas/")
            assert name in document["components"]["schemas"]
