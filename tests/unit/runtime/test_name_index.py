"""Names come and go one change at a time."""

from typing import Any

from tests.support.held import entries

from fleetqueue.api.meta import Key
from fleetqueue.runtime.hosts import Peer
from fleetqueue.runtime.name_index import NameIndex

HEADLESS = {"clusterIP": "None"}


def service(namespace: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": namespace, "name": name}, "spec": {**HEADLESS, **spec}}


def piece(namespace: str, service: str) -> dict[str, Any]:
    labels = {"kubernetes.io/service-name": service}
    return {
        "metadata": {"namespace": namespace, "name": f"{service}-1", "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.9"]}],
    }


def test_what_came_and_went_leaves_nothing_behind() -> None:
    index = NameIndex()
    before = entries(index)
    for namespace in ("one", "two", "three"):
        chosen, written = Key(namespace, "chosen"), Key(namespace, "written")
        peer = Peer(namespace, "10.0.0.1", {"app": "a"})
        index.set_service(chosen, service(namespace, "chosen", selector={"app": "a"}))
        index.set_service(written, service(namespace, "written"))
        index.set_pod(namespace, "uid", peer)
        index.set_slice(Key(namespace, "written-1"), piece(namespace, "written"))
        assert len(index.take_changes()) == 2

        index.set_pod(namespace, "uid", None)
        index.set_pod(namespace, "unknown", None)
        index.set_slice(Key(namespace, "written-1"), None)
        for key in (chosen, written):
            index.set_service(key, None)
        assert set(index.take_changes().values()) == {None}

    assert entries(index) == before
