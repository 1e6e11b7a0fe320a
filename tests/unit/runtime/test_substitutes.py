"""What a container is told on a machine without namespaces."""

import json
from pathlib import Path
from typing import Any

import pytest

from fleetqueue.runtime.environment import Environment
from fleetqueue.runtime.expected_names import Directory
from fleetqueue.runtime.preparation import Sandbox
from fleetqueue.runtime.processes import Mount
from fleetqueue.runtime.substitutes import ACCOUNT_PATH, Place, Substitutes, Words

Object = dict[str, Any]


class World:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.events: list[tuple[str, str]] = []
        service = {"metadata": {"name": "j", "namespace": "ns"}, "spec": {"selector": {"a": "b"}}}
        names = Directory(
            lambda namespace, name: service if name == "j" else None,
            lambda namespace: [],
            lambda namespace, hostname: "127.1.0.7",
        )
        self.substitutes = Substitutes(
            directory, "not permitted", names, "https://127.0.0.1:6443",
            lambda pod, reason, text: self.events.append((reason, text)),
        )  # fmt: skip

    def volume(self, name: str) -> Path:
        path = self.directory / "volumes" / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def adapt(
        self,
        *argv: str,
        mounts: dict[str, str] | None = None,
        env: dict[str, str] | None = None,
        cwd: str = "",
        annotations: dict[str, str] | None = None,
        read_only: bool = False,
    ) -> tuple[Words, Path]:
        listed = [
            {"name": name, "mountPath": path, "readOnly": read_only}
            for name, path in (mounts or {}).items()
        ]
        metadata = {"name": "p", "namespace": "ns", "uid": "u", "annotations": annotations or {}}
        place = Place(
            {"metadata": metadata, "spec": {}},
            {"name": "c", "volumeMounts": listed},
            Sandbox(self.directory / "pod", "127.1.0.9", "127.0.0.1"),
            self.directory / "scratch",
            self.directory / "hosts",
            tuple(Mount(self.volume(each["name"]), each["mountPath"]) for each in listed),
            (Mount(self.directory / "message", "/dev/termination-log"),),
        )
        variables = {"PATH": "/bin", "HOME": "/etc/home", **(env or {})}
        words = Words(argv, Environment(variables, env or {}))
        return self.substitutes.adapt(place, words, Path(cwd or self.directory))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.rule("jobs C.4")
def test_paths_of_volumes_are_replaced_in_what_the_pod_says(world: World) -> None:
    words, _ = world.adapt(
        "cat", "/etc/app/x", mounts={"my-app": "/etc/app"}, env={"CONFIG": "/etc/app/y"}
    )
    where = world.volume("my-app")
    assert words.argv == ("cat", f"{where}/x")
    variables = words.environment.variables
    assert variables["CONFIG"] == f"{where}/y"
    assert variables["FLEETQUEUE_MOUNT_MY_APP"] == str(where)
    assert variables["HOME"] == "/etc/home", "what the runtime says is meant as it is"
    assert json.loads(variables["FLEETQUEUE_PLACES"])["/etc/app"] == str(where)
    ((reason, text),) = world.events
    assert reason == "NoNamespaces"
    assert text == (
        'volume "my-app" cannot be mounted at /etc/app without namespaces (not permitted): its '
        "path is replaced in the command, the arguments and the variables. A program that has the "
        "path built in finds the volume at $FLEETQUEUE_MOUNT_MY_APP"
    )


@pytest.mark.rule("jobs C.4")
def test_an_event_is_told_once_for_each_pod(world: World) -> None:
    for _ in range(3):
        world.adapt("true", mounts={"v": "/etc/v"}, read_only=True)
    assert len(world.events) == 2
    assert "can be written although it is mounted read-only" in world.events[1][1]
    world.substitutes.forget("u")
    world.adapt("true", mounts={"v": "/etc/v"})
    assert len(world.events) == 3


@pytest.mark.rule("jobs C.4")
def test_rewriting_can_be_turned_off(world: World) -> None:
    off = {"fleetqueue.io/rewrite-paths": "false"}
    words, _ = world.adapt("cat", "/etc/app/x", mounts={"app": "/etc/app"}, annotations=off)
    assert words.argv == ("cat", "/etc/app/x")
    assert "FLEETQUEUE_PLACES" not in words.environment.variables
    assert "its path is replaced nowhere" in world.events[0][1]


@pytest.mark.rule("jobs C.4")
def test_a_free_path_needs_no_other_words(world: World, tmp_path: Path) -> None:
    free = tmp_path / "free"
    words, _ = world.adapt("cat", f"{free}/x", mounts={"v": str(free)})
    assert words.argv == ("cat", f"{free}/x")
    assert free.readlink() == world.volume("v")
    assert world.events == []


def test_shared_memory_is_the_machines(world: World) -> None:
    words, _ = world.adapt("ls", "/dev/shm", mounts={"shm": "/dev/shm"})
    assert words.argv == ("ls", "/dev/shm")
    assert world.events == []


@pytest.mark.rule("jobs C.4")
def test_the_token_is_found_by_clients_of_the_api(world: World) -> None:
    words, _ = world.adapt("kubectl", "get", "pods", mounts={"kube-api-access-x": ACCOUNT_PATH})
    file = Path(words.environment.variables["KUBECONFIG"])
    config = json.loads(file.read_text())
    account = world.volume("kube-api-access-x")
    assert config["users"][0]["user"] == {"tokenFile": f"{account}/token"}
    cluster = {"server": "https://127.0.0.1:6443", "certificate-authority": f"{account}/ca.crt"}
    assert config["clusters"][0]["cluster"] == cluster
    assert config["contexts"][0]["context"]["namespace"] == "ns"
    assert world.events == [], "every pod has one"
    own = {"KUBECONFIG": "/mine"}
    words, _ = world.adapt("kubectl", mounts={"kube-api-access-x": ACCOUNT_PATH}, env=own)
    assert words.environment.variables["KUBECONFIG"] == "/mine"


@pytest.mark.rule("jobs C.2")
def test_the_file_for_last_words_is_found(world: World) -> None:
    words, _ = world.adapt("sh", "-c", "echo bye >/dev/termination-log")
    assert words.argv[-1] == f"echo bye >{world.directory}/message"


@pytest.mark.rule("jobs C.6")
def test_names_become_addresses(world: World) -> None:
    words, _ = world.adapt("run", "--at=j-0.j:29500", env={"MASTER_ADDR": "j-0.j"})
    assert words.argv == ("run", "--at=127.1.0.7:29500")
    variables = words.environment.variables
    assert variables["MASTER_ADDR"] == "127.1.0.7"
    assert variables["FLEETQUEUE_NAMES"] == str(world.directory / "hosts")
    assert variables["PYTHONPATH"] == str(world.directory / "preload")
    assert variables["PATH"] == f"{world.directory}/programs:/bin"


@pytest.mark.rule("jobs C.3")
def test_a_directory_that_the_machine_lacks_is_the_containers_own(world: World) -> None:
    words, cwd = world.adapt("cat", "/no-such-place/x", cwd="/no-such-place")
    assert cwd == world.directory / "scratch" / "root" / "no-such-place"
    assert words.argv == ("cat", f"{cwd}/x")
    _, cwd = world.adapt("true", cwd="/usr")
    assert cwd == Path("/usr")
    inside = world.volume("v") / "in"
    inside.mkdir()
    _, cwd = world.adapt("true", mounts={"v": "/etc/v"}, cwd="/etc/v/in")
    assert cwd == inside
