"""Prepares pods that run as processes: directories, volumes, an address, names, and the command of
each container.
"""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

from fleetqueue.api.meta import Key
from fleetqueue.api.quantity import Quantity
from fleetqueue.base.clock import Clock
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.resources import Object, Resource, key_of
from fleetqueue.runtime import commands, environment, hosts
from fleetqueue.runtime.addresses import AddressPool
from fleetqueue.runtime.downward import Whereabouts
from fleetqueue.runtime.environment import Environment, Sources
from fleetqueue.runtime.gpus import GpuAllocator, gpu_count, visible_devices
from fleetqueue.runtime.images import ImageEnvironment, ImageTable
from fleetqueue.runtime.kinds import (
    CLAIM,
    CONFIG_MAP,
    NODE,
    POD,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    VOLUME,
)
from fleetqueue.runtime.payloads import Objects
from fleetqueue.runtime.preparation import Image, NotReady, Sandbox, message_path
from fleetqueue.runtime.processes import Command, Limits, Mount
from fleetqueue.runtime.volumes import FailedMount, Volumes

REFRESH_SECONDS = 30.0
TOKEN_AGE_MAX = 0.8
"""A token is replaced when so much of its time is over."""
DEFAULT_MESSAGE_PATH = "/dev/termination-log"
API = Key("default", "kubernetes")

Tokens: TypeAlias = dict[tuple[str, int], tuple[str, float]]
"""By audience and life time: the token, and when to ask for another."""


@dataclass(frozen=True, slots=True)
class Surrounding:
    """What preparation needs to know of the machine and the cluster."""

    directory: Path
    images: ImageTable
    addresses: AddressPool
    host_address: str
    api_host: str
    api_port: int
    gpus: GpuAllocator
    gpus_are_real: bool = False


@dataclass(slots=True)
class _Prepared:
    """One pod while it is on the machine."""

    pod: Object
    sandbox: Sandbox
    volumes: Volumes
    tokens: Tokens


class ProcessPreparation:
    """Implements `Preparation` on this machine, with private views of the file system."""

    def __init__(self, cluster: Cluster, clock: Clock, around: Surrounding) -> None:
        self._cluster = cluster
        self._clock = clock
        self._around = around
        self._prepared: dict[str, _Prepared] = {}
        self._is_due = False
        for kind in (CONFIG_MAP, SECRET, SERVICE, CLAIM, VOLUME, NODE, POD):
            cluster.informer(kind)
        for kind in (POD, SERVICE):
            cluster.informer(kind).listen(self._names_changed)

    # What all containers of a pod share

    async def sandbox(self, pod: Object) -> Sandbox:
        uid = pod["metadata"]["uid"]
        known = self._prepared.get(uid)
        if known is None:
            known = self._prepared[uid] = self._begin(pod)
        await self._fetch_tokens(known)
        await asyncio.to_thread(known.volumes.prepare, self._clock.now())
        self._write_names(known)
        return known.sandbox

    def _begin(self, pod: Object) -> _Prepared:
        around = self._around
        directory = self.directory_of(pod)
        spec = pod["spec"]
        if spec.get("hostNetwork"):
            address = around.host_address
        else:
            known = (pod.get("status") or {}).get("podIP")
            if known:
                around.addresses.keep(_identity(pod), known)
            address = around.addresses.take(_identity(pod))
        sandbox = Sandbox(directory, address, around.host_address, _named_ports(pod))
        tokens: Tokens = {}
        objects = Objects(
            self._finder(CONFIG_MAP, pod),
            self._finder(SECRET, pod),
            self._where(pod, sandbox),
            lambda audience, seconds: tokens[audience, seconds][0],
        )
        claim = partial(self._claim, pod)
        directory.mkdir(parents=True, exist_ok=True)
        return _Prepared(pod, sandbox, Volumes(pod, directory / "volumes", objects, claim), tokens)

    def _finder(self, kind: Resource, pod: Object) -> Callable[[str], Object | None]:
        namespace = pod["metadata"]["namespace"]
        return lambda name: self._cluster.cached(kind, name, namespace)

    def _where(self, pod: Object, sandbox: Sandbox) -> Whereabouts:
        node = self._cluster.cached(NODE, pod["spec"].get("nodeName") or "")
        allocatable = ((node or {}).get("status") or {}).get("allocatable") or {}
        return Whereabouts((sandbox.address,), (sandbox.host_address,), allocatable)

    def _claim(self, pod: Object, name: str) -> Path | None:
        claim = self._cluster.cached(CLAIM, name, pod["metadata"]["namespace"])
        volume_name = ((claim or {}).get("spec") or {}).get("volumeName")
        volume = self._cluster.cached(VOLUME, volume_name) if volume_name else None
        spec = (volume or {}).get("spec") or {}
        for source in ("hostPath", "local"):
            if spec.get(source):
                return Path(spec[source]["path"])
        return None

    async def _fetch_tokens(self, prepared: _Prepared) -> None:
        """Tokens are asked for before the files are written, which cannot wait for an answer."""
        now = self._clock.now().timestamp()
        for audience, seconds in _token_sources(prepared.pod):
            known = prepared.tokens.get((audience, seconds))
            if known is not None and now < known[1]:
                continue
            try:
                token = await self._token(prepared.pod, audience, seconds)
            except KubeError as error:
                raise FailedMount("kube-api-access", f"failed to fetch token: {error}") from error
            prepared.tokens[audience, seconds] = (token, now + seconds * TOKEN_AGE_MAX)

    async def _token(self, pod: Object, audience: str, seconds: int) -> str:
        metadata, account = pod["metadata"], pod["spec"].get("serviceAccountName") or "default"
        bound = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": metadata["name"],
            "uid": metadata["uid"],
        }
        spec: Object = {"expirationSeconds": seconds, "boundObjectRef": bound}
        if audience:
            spec["audiences"] = [audience]
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        answer = await self._cluster.client.create_subresource(
            SERVICE_ACCOUNT, account, "token", request, metadata["namespace"]
        )
        return str(answer["status"]["token"])

    async def release(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        prepared = self._prepared.pop(uid, None)
        self._around.gpus.release(uid)
        if prepared is not None:
            await asyncio.to_thread(prepared.volumes.release)
        if not pod["spec"].get("hostNetwork"):
            self._around.addresses.release(_identity(pod))
        await asyncio.to_thread(shutil.rmtree, self.directory_of(pod), ignore_errors=True)

    async def sweep(self) -> None:
        """Removes what pods left that are gone since an earlier runtime ran them."""
        known = {pod["metadata"]["uid"] for pod in self._cluster.cached_all(POD)}
        await asyncio.to_thread(_remove_others, self._around.directory / "pods", known)

    def directory_of(self, pod: Object) -> Path:
        return self._around.directory / "pods" / str(pod["metadata"]["uid"])

    # Names

    def _names_changed(self, old: Object | None, new: Object | None) -> None:
        if not self._is_due and self._prepared:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._write_all_names)

    def _write_all_names(self) -> None:
        self._is_due = False
        for prepared in list(self._prepared.values()):
            self._write_names(prepared)

    def _write_names(self, prepared: _Prepared) -> None:
        peers = hosts.Peers(self._pods(), self._cluster.cached_all(SERVICE))
        text = hosts.hosts_text(prepared.pod, prepared.sandbox.address, peers)
        hosts.write_in_place(prepared.sandbox.directory / "etc" / "hosts", text)

    def _pods(self) -> list[Object]:
        """All pods, with the addresses that their statuses do not show yet."""
        pods = {pod["metadata"]["uid"]: pod for pod in self._cluster.cached_all(POD)}
        for uid, prepared in self._prepared.items():
            pod = pods.get(uid)
            if pod is not None and not (pod.get("status") or {}).get("podIP"):
                status = {**(pod.get("status") or {}), "podIP": prepared.sandbox.address}
                pods[uid] = {**pod, "status": status}
        return list(pods.values())

    async def keep_fresh(self) -> None:
        """Writes what changed behind volumes, until it is cancelled."""
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            for prepared in list(self._prepared.values()):
                try:
                    await self._fetch_tokens(prepared)
                except NotReady:
                    continue
                await asyncio.to_thread(prepared.volumes.refresh, self._clock.now())

    # One container

    async def image(self, pod: Object, container: Object) -> Image:
        found = self._image(container)
        return Image(found.reference, found.id)

    def _image(self, container: Object) -> ImageEnvironment:
        policy = container.get("imagePullPolicy") or "IfNotPresent"
        return self._around.images.find(str(container.get("image") or ""), policy)

    async def command(self, pod: Object, container: Object, sandbox: Sandbox) -> Command:
        image = self._image(container)
        variables = self._variables(pod, container, sandbox, image)
        argv = commands.argv_of(container, image.entrypoint, image.cmd, variables.declared)
        if not argv:
            raise NotReady("CreateContainerError", "no command specified")
        return self._command(pod, container, sandbox, image, variables, argv)

    async def hook(
        self, pod: Object, container: Object, argv: list[str], sandbox: Sandbox
    ) -> Command:
        image = self._image(container)
        variables = self._variables(pod, container, sandbox, image)
        return self._command(pod, container, sandbox, image, variables, tuple(argv))

    def _variables(
        self, pod: Object, container: Object, sandbox: Sandbox, image: ImageEnvironment
    ) -> Environment:
        services = self._cluster.cached_all(SERVICE, pod["metadata"]["namespace"])
        sources = Sources(
            self._finder(CONFIG_MAP, pod),
            self._finder(SECRET, pod),
            [service for service in services if key_of(service) != API],
            self._api_service(),
            self._where(pod, sandbox),
        )
        base = {**_private_places(sandbox, container), **image.env, **self._devices(pod, container)}
        return environment.compose(pod, container, base, hosts.hostname_of(pod), sources)

    def _api_service(self) -> Object:
        """Pods reach the API server where it listens."""
        port = {"name": "https", "port": self._around.api_port, "protocol": "TCP"}
        return {
            "metadata": {"name": API.name, "namespace": API.namespace},
            "spec": {"clusterIP": self._around.api_host, "ports": [port]},
        }

    def _devices(self, pod: Object, container: Object) -> dict[str, str]:
        wanted = gpu_count(container)
        owner = (str(pod["metadata"]["uid"]), str(container["name"]))
        given = self._around.gpus.give(owner, wanted) if wanted else ()
        if given is None:
            raise NotReady("UnexpectedAdmissionError", "no GPU is free on this machine")
        return visible_devices(given, are_real=self._around.gpus_are_real)

    def _command(
        self,
        pod: Object,
        container: Object,
        sandbox: Sandbox,
        image: ImageEnvironment,
        variables: Environment,
        argv: tuple[str, ...],
    ) -> Command:
        prepared = self._prepared[pod["metadata"]["uid"]]
        mounts = prepared.volumes.mounts(container, variables.declared)
        scratch = _scratch(sandbox, container)
        workdir = container.get("workingDir") or image.workdir
        return Command(
            argv=image.replace_program(argv),
            env=variables.variables,
            cwd=Path(workdir) if workdir else scratch,
            hostname=hosts.kernel_hostname_of(pod),
            mounts=(*_own_mounts(sandbox, container), *mounts),
            limits=_limits(container),
            user=_user(pod, container, "runAsUser", image.user),
            group=_user(pod, container, "runAsGroup", None),
            tty=bool(container.get("tty")),
            stdin=bool(container.get("stdin")),
        )


def _remove_others(directory: Path, known: set[str]) -> None:
    for path in directory.iterdir() if directory.is_dir() else ():
        if path.name not in known:
            shutil.rmtree(path, ignore_errors=True)


def _identity(pod: Object) -> Key:
    """A pod that is made again under the same name keeps its address: its peers may hold it."""
    return Key(pod["metadata"]["namespace"], hosts.hostname_of(pod))


def _token_sources(pod: Object) -> Iterable[tuple[str, int]]:
    for volume in pod["spec"].get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            wanted = source.get("serviceAccountToken")
            if wanted is not None:
                yield wanted.get("audience") or "", int(wanted.get("expirationSeconds") or 3600)


def _named_ports(pod: Object) -> Object:
    spec = pod["spec"]
    return {
        container["name"]: {
            port["name"]: port["containerPort"]
            for port in container.get("ports") or ()
            if port.get("name")
        }
        for container in (*(spec.get("initContainers") or ()), *spec["containers"])
    }


def _scratch(sandbox: Sandbox, container: Object) -> Path:
    """Where a container is at home: private, since pods of one job write the same files."""
    path = sandbox.directory / "scratch" / str(container["name"])
    for part in ("home", "tmp"):
        (path / part).mkdir(parents=True, exist_ok=True)
    return path


def _private_places(sandbox: Sandbox, container: Object) -> dict[str, str]:
    scratch = _scratch(sandbox, container)
    home = str(scratch / "home")
    return {
        "HOME": home,
        "TMPDIR": str(scratch / "tmp"),
        "XDG_CACHE_HOME": f"{home}/.cache",
        "GLOO_SOCKET_IFNAME": "lo",
        "NCCL_SOCKET_IFNAME": "lo",
        "TP_SOCKET_IFNAME": "lo",
    }


def _own_mounts(sandbox: Sandbox, container: Object) -> tuple[Mount, ...]:
    message = message_path(sandbox, container["name"])
    message.parent.mkdir(parents=True, exist_ok=True)
    message.touch()
    where = container.get("terminationMessagePath") or DEFAULT_MESSAGE_PATH
    return (Mount(sandbox.directory / "etc" / "hosts", "/etc/hosts"), Mount(message, where))


def _limits(container: Object) -> Limits:
    limits = (container.get("resources") or {}).get("limits") or {}
    memory, cpu = limits.get("memory"), limits.get("cpu")
    return Limits(
        memory_bytes=Quantity.of(memory).value() if memory is not None else None,
        cpu_millis=Quantity.of(cpu).milli_value() if cpu is not None else None,
    )


def _user(pod: Object, container: Object, name: str, default: int | None) -> int | None:
    """Honoured where we may: only root can become somebody else."""
    if os.geteuid() != 0:
        return None
    for security in (container.get("securityContext"), pod["spec"].get("securityContext")):
        if (security or {}).get(name) is not None:
            return int((security or {})[name])
    return default
