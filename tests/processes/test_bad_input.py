"""What a user is told of pods that are asked for something impossible: a whole cluster in this
process, with real processes, and the words of kubelet and kube-scheduler.
"""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from fleetqueue.apiserver.instance import Instance, Settings
from fleetqueue.apiserver.log import MemoryLog
from fleetqueue.base.clock import SystemClock
from fleetqueue.embedded.live import Live, LiveOptions
from fleetqueue.kube.errors import Invalid
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime.images import ImageTable
from fleetqueue.runtime.kinds import NAMESPACE, POD

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.rule("jobs C.2"),
    pytest.mark.rule("jobs C.3"),
    pytest.mark.rule("jobs C.4"),
    pytest.mark.rule("jobs C.5"),
]

EVENT = Resource("", "v1", "events", "Event")
SECONDS_MAX = 60.0
_NUMBERS = itertools.count(1)
CLUSTER_NUMBER = 81
"""Its addresses are 127.81.x.y."""


class Place:
    """A namespace of the test's own in a cluster that all tests share."""

    def __init__(self, live: Live, namespace: str) -> None:
        self.client = live.client
        self.namespace = namespace

    async def add(self, api_version: str, kind: str, name: str, **rest: Any) -> None:
        metadata = {"name": name, "namespace": self.namespace}
        made = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}
        await self.client.create(made)

    async def run(self, *command: str, **rest: Any) -> None:
        """A pod `a` with one container `c`; `container` adds to that one."""
        first = {"name": "c", "image": "busybox", "command": list(command)}
        first |= rest.pop("container", {})
        spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, **rest}
        await self.add("v1", "Pod", "a", spec={"containers": [first], **spec})

    async def until(self, kind: Resource, is_so: Callable[[Object], bool]) -> Object:
        """The first object for which that holds, now or when it changes."""
        async with asyncio.timeout(SECONDS_MAX):
            while True:
                async for event in self.client.watch(kind, self.namespace):
                    if event.type != "BOOKMARK" and is_so(event.object):
                        return event.object

    async def status(self, is_so: Callable[[Object], bool]) -> Object:
        def holds(pod: Object) -> bool:
            return is_so(pod.get("status") or {})

        status: Object = (await self.until(POD, holds))["status"]
        return status

    async def ends(self) -> Object:
        return await self.status(lambda status: status.get("phase") in ("Succeeded", "Failed"))

    async def waits(self, reason: str, kind: str = "containerStatuses") -> Object:
        """The status once its first container waits for that reason."""

        def holds(status: Object) -> bool:
            shown = (status.get(kind) or ({},))[0]
            waiting = (shown.get("state") or {}).get("waiting") or {}
            return bool(waiting.get("reason") == reason)

        return await self.status(holds)

    async def told(self, reason: str, text: str) -> None:
        """Returns when a warning says exactly that of the pod."""

        def holds(event: Object) -> bool:
            said = (event["type"], event["reason"], event["message"])
            return said == ("Warning", reason, text) and event["involvedObject"]["name"] == "a"

        await self.until(EVENT, holds)

    async def uid(self) -> str:
        return str((await self.client.get(POD, "a", self.namespace))["metadata"]["uid"])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def live(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Live]:
    clock, source = SystemClock(), random.Random(1)
    directory, images = tmp_path_factory.mktemp("cluster"), ImageTable(default="reject")
    options = LiveOptions(directory, images=images, number=CLUSTER_NUMBER)
    # Every pod mounts the authority's certificate, whatever it is.
    settings = Settings(authority=b"example", service_network=options.service_network)
    instance = Instance(MemoryLog(), clock, source, settings)
    await instance.start()
    made = Live(instance, clock, source, options)
    await made.start()
    yield made
    await made.stop()
    await instance.stop()


@pytest_asyncio.fixture(loop_scope="module")
async def place(live: Live) -> AsyncIterator[Place]:
    name = f"test-{next(_NUMBERS)}"
    await live.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield Place(live, name)
    await live.client.delete(NAMESPACE, name)


def shown(status: Object, kind: str = "containerStatuses") -> Object:
    found: Object = status[kind][0]
    return found


def conditions(status: Object) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each.get("reason", "")) for each in status["conditions"]}


WAITS = {
    "PodReadyToStartContainers": ("True", ""),
    "Initialized": ("True", ""),
    "Ready": ("False", "ContainersNotReady"),
    "ContainersReady": ("False", "ContainersNotReady"),
    "PodScheduled": ("True", ""),
}


async def test_a_program_that_does_not_exist(place: Place) -> None:
    await place.run("no-such-program", "--verbose")
    status = await place.ends()
    ended = shown(status)["state"]["terminated"]
    why = 'exec: "no-such-program": executable file not found in $PATH'
    assert (status["phase"], ended["exitCode"], ended["reason"]) == ("Failed", 128, "StartError")
    assert ended["message"] == why
    await place.told("Failed", f"Error: {why}")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/no/such/file", 'exec: "/no/such/file": stat /no/such/file: no such file or directory'),
        ("/etc", 'exec: "/etc": is a directory'),
        ("/etc/hostname", 'exec: "/etc/hostname": permission denied'),
    ],
)
async def test_a_path_that_is_no_program(place: Place, path: str, why: str) -> None:
    await place.run(path, restartPolicy="OnFailure")
    status = await place.waits("RunContainerError")
    assert shown(status)["state"]["waiting"]["message"] == why
    status = await place.waits("CrashLoopBackOff")
    ended = shown(status)["lastState"]["terminated"]
    assert (ended["exitCode"], ended["reason"], ended["message"]) == (128, "StartError", why)


REFERENCES = {
    "a config map": (
        {"env": [{"name": "V", "valueFrom": {"configMapKeyRef": {"name": "x", "key": "k"}}}]},
        'configmap "x" not found',
    ),
    "a whole config map": (
        {"envFrom": [{"configMapRef": {"name": "x"}}]},
        'configmap "x" not found',
    ),
    "a secret": (
        {"env": [{"name": "V", "valueFrom": {"secretKeyRef": {"name": "x", "key": "k"}}}]},
        'secret "x" not found',
    ),
    "a key of a secret": (
        {"env": [{"name": "V", "valueFrom": {"secretKeyRef": {"name": "known", "key": "k"}}}]},
        "couldn't find key k in Secret {namespace}/known",
    ),
    "a key of a config map": (
        {"env": [{"name": "V", "valueFrom": {"configMapKeyRef": {"name": "known", "key": "k"}}}]},
        "couldn't find key k in ConfigMap {namespace}/known",
    ),
}


@pytest.mark.parametrize("what", REFERENCES)
async def test_a_variable_made_of_something_missing(place: Place, what: str) -> None:
    await place.add("v1", "ConfigMap", "known", data={"other": "1"})
    await place.add("v1", "Secret", "known", stringData={"other": "1"})
    container, text = REFERENCES[what]
    why = text.format(namespace=place.namespace)
    await place.run("true", container=container)
    status = await place.waits("CreateContainerConfigError")
    assert status["phase"] == "Pending"
    assert shown(status)["state"]["waiting"]["message"] == why
    assert conditions(status) == WAITS
    await place.told("Failed", f"Error: {why}")


@pytest.mark.parametrize(
    ("volume", "why"),
    [
        ({"configMap": {"name": "x"}}, 'configmap "x" not found'),
        ({"secret": {"secretName": "x"}}, 'secret "x" not found'),
        (
            {"configMap": {"name": "known", "items": [{"key": "k", "path": "p"}]}},
            "configmap references non-existent config key: k",
        ),
        (
            {"secret": {"secretName": "known", "items": [{"key": "k", "path": "p"}]}},
            "references non-existent secret key: k",
        ),
        (
            {"hostPath": {"path": "/no/such/place", "type": "Directory"}},
            "hostPath type check failed: /no/such/place is not a directory",
        ),
        (
            {"nfs": {"server": "s", "path": "/p"}},
            'volumes of the type "nfs" are not supported here',
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
async def test_a_volume_that_cannot_be_had(place: Place, volume: Object, why: str) -> None:
    await place.add("v1", "ConfigMap", "known", data={"other": "1"})
    await place.add("v1", "Secret", "known", stringData={"other": "1"})
    mount = {"name": "v", "mountPath": "/v"}
    await place.run("true", container={"volumeMounts": [mount]}, volumes=[{"name": "v", **volume}])
    await place.told("FailedMount", f'MountVolume.SetUp failed for volume "v" : {why}')
    status = await place.waits("ContainerCreating")
    assert status["phase"] == "Pending"
    expected = {**WAITS, "PodReadyToStartContainers": ("False", "")}
    assert conditions(status) == expected


async def test_what_was_missing_comes_and_the_pod_goes_on(place: Place) -> None:
    mount = {"name": "v", "mountPath": "/v"}
    volume = {"name": "v", "configMap": {"name": "x"}}
    source = {"secretKeyRef": {"name": "x", "key": "k"}}
    container = {"volumeMounts": [mount], "env": [{"name": "V", "valueFrom": source}]}
    script = 'test "$V $(cat /v/k)" = "hidden open"'
    await place.run("sh", "-c", script, container=container, volumes=[volume])
    await place.told(
        "FailedMount", 'MountVolume.SetUp failed for volume "v" : configmap "x" not found'
    )
    await place.add("v1", "ConfigMap", "x", data={"k": "open"})
    await place.waits("CreateContainerConfigError")
    await place.add("v1", "Secret", "x", stringData={"k": "hidden"})
    assert (await place.ends())["phase"] == "Succeeded"


@pytest.mark.parametrize(
    ("mount", "why"),
    [
        ({"subPathExpr": "$(NOBODY)/x"}, "missing value for NOBODY"),
        (
            {"subPath": "file/below"},
            'failed to create subPath directory for volumeMount "v" of container "c"',
        ),
        (
            {"subPath": "out/etc"},
            'failed to prepare subPath for volumeMount "v" of container "c"',
        ),
    ],
    ids=["a variable that is not set", "below a file", "outside of the volume"],
)
async def test_a_place_in_a_volume_that_cannot_be(
    place: Place, tmp_path: Path, mount: Object, why: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "out").symlink_to("/")
    volume = {"name": "v", "hostPath": {"path": str(tmp_path)}}
    mounts = [{"name": "v", "mountPath": "/v", **mount}]
    await place.run("true", container={"volumeMounts": mounts}, volumes=[volume])
    status = await place.waits("CreateContainerConfigError")
    assert shown(status)["state"]["waiting"]["message"] == why
    await place.told("Failed", f"Error: {why}")


@pytest.mark.parametrize(
    ("sub_path", "why"),
    [("/etc", "must be a relative path"), ("../x", "must not contain '..'")],
)
async def test_a_place_outside_of_a_volume_is_refused(
    place: Place, sub_path: str, why: str
) -> None:
    mount = {"name": "v", "mountPath": "/v", "subPath": sub_path}
    with pytest.raises(Invalid, match=why):
        await place.run("true", container={"volumeMounts": [mount]}, volumes=[{"name": "v"}])


@pytest.mark.rule("jobs C.8")
async def test_an_image_that_nothing_stands_for(place: Place) -> None:
    image = "example.com/unknown:1"
    await place.run("true", container={"image": image})
    why = f'no local environment is mapped to image "{image}"'
    status = await place.waits("ErrImagePull")
    assert shown(status)["state"]["waiting"]["message"] == why
    status = await place.waits("ImagePullBackOff")
    said = f'Back-off pulling image "{image}": ErrImagePull: {why}'
    assert shown(status)["state"]["waiting"]["message"] == said
    assert (status["phase"], conditions(status)) == ("Pending", WAITS)
    await place.told("Failed", f'Failed to pull image "{image}": {why}')
    await place.told("Failed", "Error: ErrImagePull")
    await place.told("Failed", "Error: ImagePullBackOff")


@pytest.mark.rule("jobs C.8")
async def test_an_image_that_may_not_be_pulled(place: Place) -> None:
    image = "example.com/unknown:1"
    await place.run("true", container={"image": image, "imagePullPolicy": "Never"})
    why = f'Container image "{image}" is not present with pull policy of Never'
    status = await place.waits("ErrImageNeverPull")
    assert shown(status)["state"]["waiting"]["message"] == why
    await place.told("ErrImageNeverPull", why)
    await place.told("Failed", "Error: ErrImageNeverPull")


@pytest.mark.rule("jobs C.10")
@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"container": {"resources": {"requests": {"cpu": "1000"}}}}, "1 Insufficient cpu"),
        (
            {"container": {"resources": {"limits": {"example.com/thing": "1"}}}},
            "1 Insufficient example.com/thing",
        ),
        (
            {"nodeSelector": {"pool": "nowhere"}},
            "1 node(s) didn't match Pod's node affinity/selector",
        ),
    ],
    ids=["more than there is", "what nobody offers", "where nobody is"],
)
async def test_a_pod_that_fits_nowhere(place: Place, spec: Object, why: str) -> None:
    await place.run("true", **spec)
    message = (
        f"0/1 nodes are available: {why}. preemption: 0/1 nodes are available: "
        "1 Preemption is not helpful for scheduling."
    )
    await place.told("FailedScheduling", message)
    status = await place.status(lambda status: bool(status.get("conditions")))
    (condition,) = status["conditions"]
    said = (condition["type"], condition["status"], condition["reason"], condition["message"])
    assert said == ("PodScheduled", "False", "Unschedulable", message)
    assert (status["phase"], "containerStatuses" in status) == ("Pending", False)


@pytest.mark.parametrize(
    ("probe", "words"),
    [
        ({"exec": {"command": ["sh", "-c", "echo no; exit 1"]}}, "failed: no\n"),
        (
            {"exec": {"command": ["no-such-program"]}},
            "errored and resulted in unknown state: "
            'exec: "no-such-program": executable file not found in $PATH',
        ),
        (
            {"tcpSocket": {"port": "web"}},
            'errored and resulted in unknown state: strconv.Atoi: parsing "web": invalid syntax',
        ),
        (
            {"tcpSocket": {"port": 1, "host": "127.0.0.1"}},
            "failed: dial tcp 127.0.0.1:1: connect: connection refused",
        ),
        (
            {"httpGet": {"port": 1, "host": "127.0.0.1", "path": "/x"}},
            'failed: Get "http://127.0.0.1:1/x": dial tcp 127.0.0.1:1: connect: connection refused',
        ),
        (
            {"exec": {"command": ["sleep", "60"]}},
            'failed: command timed out: "sleep 60" timed out after 1s',
        ),
    ],
    ids=["exit code", "no program", "no port", "no listener", "no server", "no end"],
)
async def test_a_probe_that_never_succeeds(place: Place, probe: Object, words: str) -> None:
    settings = {"periodSeconds": 1, "timeoutSeconds": 1}
    await place.run("sleep", "600", container={"readinessProbe": {**probe, **settings}})
    await place.told("Unhealthy", f"Readiness probe {words}")
    status = await place.status(lambda status: status.get("phase") == "Running")
    assert conditions(status)["Ready"] == ("False", "ContainersNotReady")
    assert (shown(status)["ready"], shown(status)["started"]) == (False, True)


async def test_a_crash_loop(place: Place) -> None:
    await place.run("sh", "-c", "exit 7", restartPolicy="Always")
    status = await place.waits("CrashLoopBackOff")
    who = f"a_{place.namespace}({await place.uid()})"
    waiting = shown(status)["state"]["waiting"]
    assert waiting["message"] == f"back-off 10s restarting failed container=c pod={who}"
    ended = shown(status)["lastState"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (7, "Error")
    assert (status["phase"], shown(status)["restartCount"]) == ("Running", 1)
    assert conditions(status) == WAITS
    await place.told("BackOff", f"Back-off restarting failed container c in pod {who}")


async def test_an_init_container_that_never_succeeds(place: Place) -> None:
    first = {"name": "i", "image": "busybox", "command": ["sh", "-c", "exit 3"]}
    await place.run("true", initContainers=[first], restartPolicy="OnFailure")
    status = await place.waits("CrashLoopBackOff", "initContainerStatuses")
    assert status["phase"] == "Pending"
    assert shown(status, "initContainerStatuses")["lastState"]["terminated"]["exitCode"] == 3
    assert shown(status)["state"]["waiting"]["reason"] == "PodInitializing"
    assert conditions(status)["Initialized"] == ("False", "ContainersNotInitialized")
    who = f"a_{place.namespace}({await place.uid()})"
    await place.told("BackOff", f"Back-off restarting failed container i in pod {who}")


async def test_a_pod_that_ignores_the_signal_to_end(place: Place) -> None:
    script = "trap '' TERM; echo deaf > /dev/termination-log; while true; do sleep 0.05; done"
    is_deaf = {"exec": {"command": ["test", "-s", "/dev/termination-log"]}, "periodSeconds": 1}
    await place.run("sh", "-c", script, container={"readinessProbe": is_deaf})
    await place.status(lambda status: "podIP" in status and shown(status)["ready"])
    keep = {"metadata": {"finalizers": ["example.com/keep"]}}
    await place.client.patch(POD, "a", keep, place.namespace)
    await place.client.delete(POD, "a", place.namespace)
    status = await place.ends()
    ended = shown(status)["state"]["terminated"]
    assert (status["phase"], ended["exitCode"], ended["reason"]) == ("Failed", 137, "Error")
    await place.client.patch(POD, "a", {"metadata": {"finalizers": None}}, place.namespace)


@pytest.mark.parametrize(
    ("script", "policy", "words"),
    [
        ("echo -n the reason > /dev/termination-log; exit 1", "File", "the reason"),
        ("echo the log; exit 1", "File", ""),
        ("echo the log; exit 1", "FallbackToLogsOnError", "the log\n"),
        ("echo the log", "FallbackToLogsOnError", ""),
        ("head -c 5000 /dev/zero | tr '\\0' x > /dev/termination-log", "File", "x" * 4096),
    ],
    ids=["its file", "no file", "its log", "no error", "too long"],
)
async def test_the_last_words_of_a_container(
    place: Place, script: str, policy: str, words: str
) -> None:
    await place.run("sh", "-c", script, container={"terminationMessagePolicy": policy})
    ended = shown(await place.ends())["state"]["terminated"]
    assert ended.get("message", "") == words
