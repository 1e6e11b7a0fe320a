"""Volumes: which files they hold, how these are replaced, and where containers see them."""

import base64
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fleetqueue.runtime.downward import Whereabouts
from fleetqueue.runtime.environment import ConfigError
from fleetqueue.runtime.payloads import File, Missing, Objects, payload_of
from fleetqueue.runtime.processes import Mount
from fleetqueue.runtime.volumes import FailedMount, Volumes

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POD: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "ns", "uid": "u-1", "labels": {"b": "2", "a": '"1"'}},
    "spec": {"containers": [{"name": "c", "resources": {"limits": {"memory": "64Mi"}}}]},
}
CONFIG_MAPS: dict[str, Any] = {
    "cm": {"data": {"k": "v", "l": "w"}, "binaryData": {"bin": base64.b64encode(b"\0\1").decode()}}
}
SECRETS = {"s": {"data": {"key": base64.b64encode(b"hidden").decode()}}}
OBJECTS = Objects(
    CONFIG_MAPS.get,
    SECRETS.get,
    Whereabouts(["127.1.0.5"], ["10.0.0.1"], {"cpu": "4"}),
    token=lambda audience, seconds: f"token for {audience} {seconds}",
)


def files(**volume: Any) -> dict[str, tuple[str, str]]:
    payload = payload_of(POD, {"name": "v", **volume}, OBJECTS)
    return {
        path: (file.data.decode("latin-1"), oct(file.mode)[2:]) for path, file in payload.items()
    }


# fmt: off
PAYLOADS: dict[str, tuple[dict[str, Any], dict[str, tuple[str, str]]]] = {
    "a config map": (
        {"configMap": {"name": "cm"}},
        {"k": ("v", "644"), "l": ("w", "644"), "bin": ("\0\1", "644")}),
    "some of it, with modes": (
        {"configMap": {"name": "cm", "defaultMode": 0o400, "items": [
            {"key": "k", "path": "deep/er"}, {"key": "bin", "path": "b", "mode": 0o555}]}},
        {"deep/er": ("v", "400"), "b": ("\0\1", "555")}),
    "an optional one that is missing": (
        {"configMap": {"name": "no", "optional": True}}, {}),
    "an optional key that is missing": (
        {"configMap": {"name": "cm", "optional": True, "items": [{"key": "no", "path": "x"}]}}, {}),
    "a secret": (
        {"secret": {"secretName": "s", "defaultMode": 0o600}}, {"key": ("hidden", "600")}),
    "an optional secret that is missing": (
        {"secret": {"secretName": "no", "optional": True}}, {}),
    "what is known of the pod": (
        {"downwardAPI": {"items": [
            {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
            {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}, "mode": 0o440},
            {"path": "cpu", "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu"}},
            {"path": "memory", "resourceFieldRef": {
                "containerName": "c", "resource": "limits.memory", "divisor": "1Mi"}}]}},
        {"labels": ('a="\\"1\\""\nb="2"', "644"), "name": ("p", "440"),
         "cpu": ("4", "644"), "memory": ("64", "644")}),
    "many sources in one": (
        {"projected": {"sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
            {"serviceAccountToken": {"path": "other", "audience": "vault"}},
            {"configMap": {"name": "cm", "items": [{"key": "k", "path": "ca.crt"}]}},
            {"secret": {"name": "s"}},
            {"downwardAPI": {"items": [
                {"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}}]}},
        {"token": ("token for  3607", "644"), "other": ("token for vault 3600", "644"),
         "ca.crt": ("v", "644"), "key": ("hidden", "644"), "namespace": ("ns", "644")}),
}
NOT_THERE = {
    "a config map":        ({"configMap": {"name": "no"}}, 'configmap "no" not found'),
    "a secret":            ({"secret": {"secretName": "no"}}, 'secret "no" not found'),
    "a key":               ({"configMap": {"name": "cm", "items": [{"key": "x", "path": "x"}]}},
                            "configmap references non-existent config key: x"),
    "a key of a secret":   ({"secret": {"secretName": "s", "items": [{"key": "x", "path": "x"}]}},
                            "references non-existent secret key: x"),
    "one of many":         ({"projected": {"sources": [{"secret": {"name": "no"}}]}},
                            'secret "no" not found'),
    "two of many":         ({"projected": {"sources": [{"secret": {"name": "no"}},
                                                       {"configMap": {"name": "no"}}]}},
                            '[secret "no" not found, configmap "no" not found]'),
}
# fmt: on


@pytest.mark.rule("jobs C.4")
@pytest.mark.parametrize(("volume", "expected"), PAYLOADS.values(), ids=PAYLOADS.keys())
def test_files(volume: dict[str, Any], expected: dict[str, tuple[str, str]]) -> None:
    assert files(**volume) == expected


@pytest.mark.rule("jobs C.4")
@pytest.mark.parametrize(("volume", "message"), NOT_THERE.values(), ids=NOT_THERE.keys())
def test_what_is_missing_is_said_in_known_words(volume: dict[str, Any], message: str) -> None:
    with pytest.raises(Missing) as error:
        files(**volume)
    assert str(error.value) == message


def volumes(directory: Path, *listed: dict[str, Any], **more: Any) -> Volumes:
    spec = {**POD["spec"], "volumes": list(listed), **more}
    claims = {"data": directory / "pvc" / "data"}

    def claim(name: str) -> Path | None:
        if name == "foreign":
            raise Missing('persistentvolumeclaim "foreign" is not bound')
        return claims.get(name)

    return Volumes({**POD, "spec": spec}, directory / "pod", OBJECTS, claim)


@pytest.mark.rule("jobs C.4")
def test_a_reader_sees_all_old_files_or_all_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = volumes(tmp_path, {"name": "v", "configMap": {"name": "cm"}})
    made.prepare(NOW)
    place = tmp_path / "pod" / "v"
    first = os.readlink(place / "..data")
    assert first.startswith("..2026_01_01_00_00_00.")
    assert os.readlink(place / "k") == "..data/k"
    assert (place / "k").read_text() == "v"
    assert not made.refresh(NOW + timedelta(minutes=1)), "nothing changed"

    monkeypatch.setitem(CONFIG_MAPS, "cm", {"data": {"k": "new", "m": "more"}})
    assert made.refresh(NOW + timedelta(minutes=2))
    assert (place / "k").read_text() == "new"
    assert sorted(os.listdir(place)) == sorted(["..data", os.readlink(place / "..data"), "k", "m"])
    assert os.readlink(place / "..data") != first

    monkeypatch.delitem(CONFIG_MAPS, "cm")
    assert not made.refresh(NOW + timedelta(minutes=3)), "what is gone by now stays as it was"
    assert (place / "k").read_text() == "new"


@pytest.mark.rule("jobs C.4")
def test_modes_are_those_asked_for(tmp_path: Path) -> None:
    items = [{"key": "key", "path": "a/run.sh", "mode": 0o550}]
    made = volumes(tmp_path, {"name": "v", "secret": {"secretName": "s", "items": items}})
    made.prepare(NOW)
    assert (tmp_path / "pod/v/a/run.sh").stat().st_mode & 0o777 == 0o550
    assert not made.refresh(NOW)


@pytest.mark.rule("jobs C.4")
def test_each_kind_has_its_directory(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    made = volumes(
        tmp_path,
        {"name": "empty", "emptyDir": {}},
        {"name": "memory", "emptyDir": {"medium": "Memory"}},
        {"name": "host", "hostPath": {"path": str(tmp_path / "host"), "type": "Directory"}},
        {"name": "new", "hostPath": {"path": str(tmp_path / "new"), "type": "DirectoryOrCreate"}},
        {"name": "file", "hostPath": {"path": str(tmp_path / "file"), "type": "FileOrCreate"}},
        {"name": "claim", "persistentVolumeClaim": {"claimName": "data"}},
    )
    made.prepare(NOW)
    assert made.paths["empty"] == tmp_path / "pod" / "empty"
    assert made.paths["empty"].stat().st_mode & 0o777 == 0o777
    assert made.paths["memory"].is_dir()
    assert made.paths["host"] == tmp_path / "host"
    assert made.paths["new"].is_dir()
    assert made.paths["file"].is_file()
    assert made.paths["claim"] == tmp_path / "pvc" / "data"
    made.release()
    assert not made.paths["empty"].exists()
    assert not made.paths["memory"].exists()
    assert made.paths["claim"].exists()
    assert made.paths["new"].exists()


# fmt: off
FAILURES = {
    "a missing config map": ({"configMap": {"name": "no"}}, 'configmap "no" not found'),
    "a missing claim":      ({"persistentVolumeClaim": {"claimName": "no"}},
                             'persistentvolumeclaim "no" not found'),
    "an unbound claim":     ({"persistentVolumeClaim": {"claimName": "foreign"}},
                             'persistentvolumeclaim "foreign" is not bound'),
    "not a directory":      ({"hostPath": {"path": "/etc/passwd", "type": "Directory"}},
                             "hostPath type check failed: /etc/passwd is not a directory"),
    "not a file":           ({"hostPath": {"path": "/etc", "type": "File"}},
                             "hostPath type check failed: /etc is not a file"),
    "not there":            ({"hostPath": {"path": "/no/such", "type": "Socket"}},
                             "hostPath type check failed: /no/such is not a socket file"),
    "an unknown kind":      ({"nfs": {"server": "x", "path": "/"}},
                             'volumes of the type "nfs" are not supported here'),
}
# fmt: on


@pytest.mark.rule("jobs C.4")
@pytest.mark.parametrize(("volume", "words"), FAILURES.values(), ids=FAILURES.keys())
def test_a_volume_that_cannot_be_had(tmp_path: Path, volume: dict[str, Any], words: str) -> None:
    with pytest.raises(FailedMount) as error:
        volumes(tmp_path, {"name": "v", **volume}).prepare(NOW)
    assert error.value.reason == "FailedMount"
    assert error.value.message == f'MountVolume.SetUp failed for volume "v" : {words}'


@pytest.fixture
def ready(tmp_path: Path) -> Volumes:
    made = volumes(
        tmp_path,
        {"name": "data", "emptyDir": {}},
        {"name": "config", "configMap": {"name": "cm"}},
        {"name": "claim", "persistentVolumeClaim": {"claimName": "data", "readOnly": True}},
    )
    made.prepare(NOW)
    return made


def mounts(ready: Volumes, **mount: Any) -> Mount:
    container = {"name": "c", "volumeMounts": [{"name": "data", "mountPath": "/data", **mount}]}
    return ready.mounts(container, {"POD": "p-0", "EMPTY": ""})[0]


@pytest.mark.rule("jobs C.4")
def test_where_a_container_sees_a_volume(ready: Volumes) -> None:
    data = ready.paths["data"]
    assert mounts(ready) == Mount(data, "/data")
    assert mounts(ready, readOnly=True) == Mount(data, "/data", True)
    assert mounts(ready, name="config").is_read_only, "what the API holds is not written back"
    assert mounts(ready, name="claim").is_read_only
    assert mounts(ready, subPath="a/b").source == data / "a" / "b"
    assert (data / "a" / "b").is_dir()
    assert mounts(ready, subPathExpr="logs/$(POD)").source == data / "logs" / "p-0"
    key = mounts(ready, name="config", subPath="k")
    assert key.source.read_text() == "v"
    assert not key.source.is_symlink()


# fmt: off
BAD_MOUNTS = {
    "no such volume":  ({"name": "no"}, 'cannot find volume "no" to mount into container "c"'),
    "not relative":    ({"subPath": "/etc"}, "error SubPath `/etc` must not be an absolute path"),
    "backwards":       ({"subPath": "a/../.."},
                        "unable to provision SubPath `a/../..`: must not contain '..'"),
    "undefined names": ({"subPathExpr": "$(NO)/$(EMPTY)"}, "missing value for EMPTY, NO"),
    "out of the volume": ({"subPath": "escape/x"},
                        'failed to prepare subPath for volumeMount "data" of container "c"'),
}
# fmt: on


@pytest.mark.parametrize(("mount", "message"), BAD_MOUNTS.values(), ids=BAD_MOUNTS.keys())
def test_a_mount_that_cannot_be_made(ready: Volumes, mount: dict[str, Any], message: str) -> None:
    (ready.paths["data"] / "escape").symlink_to("/etc")
    with pytest.raises(ConfigError) as error:
        mounts(ready, **mount)
    assert error.value.message == message


def test_a_file_is_its_data_and_its_mode() -> None:
    assert File(b"a") == File(b"a", 0o644)
