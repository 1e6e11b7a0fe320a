"""Pages of a list, when the server forgets its revision meanwhile; and names by which resources
are found.
"""

from random import Random
from typing import Any

import pytest

from fleetqueue.apiserver.request import Response
from fleetqueue.cli.kueuectl import pages
from fleetqueue.cli.kueuectl.failures import Failure
from fleetqueue.cli.kueuectl.kinds import CLUSTER_QUEUE
from fleetqueue.cli.kueuectl.pages import Asked
from fleetqueue.cli.kueuectl.served import Catalogue
from fleetqueue.kube.client import Client
from fleetqueue.kube.transport import InProcessTransport, LocalRequest

pytestmark = pytest.mark.rule("kueue 11.4")
NAMES = ("a", "b", "c", "d")


def answered(body: Any, status: int = 200) -> Response:
    return Response(status, object=body)


async def forgetful(request: LocalRequest) -> Response:
    """Two at a time, and no second page."""
    if request.query.get("continue"):
        gone = {"kind": "Status", "reason": "Expired", "code": 410, "message": "too old"}
        return answered(gone, 410)
    limit = int((request.query.get("limit") or ["0"])[0]) or len(NAMES)
    items = [{"metadata": {"name": name}} for name in NAMES[:limit]]
    metadata = {"resourceVersion": "1", "continue": "x" if limit < len(NAMES) else ""}
    return answered({"metadata": metadata, "items": items})


async def test_what_is_left_comes_in_one_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(pages.LIMIT, "2")
    client = Client(InProcessTransport(forgetful), random=Random(1))
    found = [
        [each["metadata"]["name"] for each in page]
        async for page in pages.pages(client, CLUSTER_QUEUE, Asked())
    ]
    assert found == [["a", "b"], ["c", "d"]]


def test_limits() -> None:
    assert pages.page_limit({}) == 100
    assert pages.page_limit({pages.LIMIT: "7"}) == 7
    for text in ("x", "-1", "1.5"):
        with pytest.raises(Failure, match="must be a number"):
            pages.page_limit({pages.LIMIT: text})


async def old_server(request: LocalRequest) -> Response:
    """One that tells a group at a time only."""
    documents: dict[str, Any] = {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {
            "kind": "APIGroupList",
            "groups": [
                {
                    "name": "batch",
                    "versions": [{"groupVersion": "batch/v1"}],
                    "preferredVersion": {"groupVersion": "batch/v1"},
                }
            ],
        },
        "/api/v1": {"groupVersion": "v1", "resources": [entry("pods", "Pod", "po")]},
        "/apis/batch/v1": {
            "groupVersion": "batch/v1",
            "resources": [entry("jobs", "Job"), {**entry("jobs/status", "Job")}],
        },
    }
    return answered(documents[request.path])


def entry(name: str, kind: str, *short: str) -> dict[str, Any]:
    return {
        "name": name,
        "kind": kind,
        "singularName": kind.lower(),
        "namespaced": True,
        "shortNames": list(short),
    }


@pytest.mark.parametrize(
    ("text", "plural"),
    [
        ("po", "pods"),
        ("pod", "pods"),
        ("Pods", "pods"),
        ("pods.v1", "pods"),
        ("job", "jobs"),
        ("jobs.batch", "jobs"),
        ("job.v1.batch", "jobs"),
    ],
)
async def test_resources_are_found_on_servers_of_any_age(text: str, plural: str) -> None:
    client = Client(InProcessTransport(old_server), random=Random(1))
    assert (await Catalogue(client).find(text)).plural == plural


@pytest.mark.parametrize("text", ["cronjob", "jobs.apps", "job.v2.batch", "jobs/status"])
async def test_others_are_not(text: str) -> None:
    client = Client(InProcessTransport(old_server), random=Random(1))
    with pytest.raises(Failure) as raised:
        await Catalogue(client).find(text)
    assert raised.value.message == f'the server doesn\'t have a resource type "{text}"'
