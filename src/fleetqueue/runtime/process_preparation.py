"""Prepares pods that run as processes: directories, volumes, an address, names, and the command of
each container.
"""

import asyncio
import logging
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from fleetqueue.api.meta import Key
from fleetqueue.base.clock import Clock
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.resources import Object, Resource, key_of
from fleetqueue.runtime import commands, container_places, environment, hosts, ports
from fleetqueue.runtime.addresses import AddressPool
from fleetqueue.runtime.claimed_volumes import path_of
from fleetqueue.runtime.downward import Whereabouts
from fleetqueue.runtime.environment import Environment, Sources
from fleetqueue.runtime.expected_names import Directory
from fleetqueue.runtime.gpus import GpuAllocator, gpu_count, visible_devices
from fleetqueue.runtime.images import ImageEnvironment, ImageTable
from fleetqueue.runtime.job_ports import PortsOfJobs
from fleetqueue.runtime.kinds import (
    CLAIM,
    CONFIG_MAP,
    ENDPOINT_SLICE,
    NODE,
    POD,
    SECRET,
    SERVICE,
    VOLUME,
)
from fleetqueue.runtime.mount_links import remove_links
from fleetqueue.runtime.packages import package_variables
from fleetqueue.runtime.payloads import Objects
from fleetqueue.runtime.pod_facts import is_terminal
from fleetqueue.runtime.pod_names import PodNames
from fleetqueue.runtime.pod_tokens import Tokens, fetch_tokens
from fleetqueue.runtime.port_claims import PortClaims
from fleetqueue.runtime.preparation import Image, NotReady, Sandbox
from fleetqueue.runtime.processes import Command, Mount
from fleetqueue.runtime.ray_nodes import place_ray
from fleetqueue.runtime.substitutes import Place, Substitutes, Words
from fleetqueue.runtime.volumes import Volumes

REFRESH_SECONDS = 30.0
API = Key("default", "kubernetes")

logger = logging.getLogger(__name__)


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
    extras: Callable[[Object], Mapping[str, str]] = lambda pod: {}
    """Variables that some pods get beyond those of their images; what a pod says itself wins."""
    why_no_namespaces: str = ""
    """What stands against private views of the file system; "" where containers have them."""
    claims: PortClaims = field(default_factory=PortClaims)


@dataclass(slots=True)
class _Prepared:
    """One pod while it is on the machine."""

    pod: Object
    sandbox: Sandbox
    volumes: Volumes
    tokens: Tokens
    names_file: Path
    owner: Key | None
    """By what its address is kept for it; None for one that has the machine's own."""


class ProcessPreparation:
    """Implements `Preparation` on this machine: with private views of the file system where it has
    them, by other words where it has not.
    """

    def __init__(self, cluster: Cluster, clock: Clock, around: Surrounding) -> None:
        self._cluster = cluster
        self._clock = clock
        self._around = around
        self._prepared: dict[str, _Prepared] = {}
        self._holders: dict[Key, str] = {}
        """Who has the address of a host name: a pod that comes again takes it over."""
        for kind in (CONFIG_MAP, SECRET, SERVICE, CLAIM, VOLUME, NODE, POD):
            cluster.informer(kind)
        self._names = names = PodNames(around.directory / "names", cluster.cached_all)
        self._ports = PortsOfJobs(around.claims)
        cluster.informer(POD).listen(self._pod_changed)
        cluster.informer(POD).listen(names.pod_changed)
        cluster.informer(SERVICE).listen(names.service_changed)
        cluster.informer(ENDPOINT_SLICE).listen(names.slice_changed)
        self._substitutes = self._without_namespaces() if around.why_no_namespaces else None

    def _without_namespaces(self) -> Substitutes:
        around = self._around
        logger.warning(
            "no namespaces: paths and names are replaced where containers are told them",
            extra={"why": around.why_no_namespaces},
        )
        names = Directory(
            lambda namespace, name: self._cluster.cached(SERVICE, name, namespace),
            lambda namespace: self._cluster.cached_all(POD, namespace),
            lambda namespace, hostname: around.addresses.expect(Key(namespace, hostname)),
        )
        api = f"https://{around.api_host}:{around.api_port}"
        directory, why = around.directory, around.why_no_namespaces
        return Substitutes(directory, why, names, api, self._warn)

    def _warn(self, pod: Object, reason: str, message: str) -> None:
        self._cluster.events.record(pod, "Warning", reason, message, component="kubelet")

    # What all containers of a pod share

    async def sandbox(self, pod: Object) -> Sandbox:
        uid = pod["metadata"]["uid"]
        known = self._prepared.get(uid)
        if known is None:
            known = self._prepared[uid] = self._begin(pod)
        await fetch_tokens(pod, known.tokens, self._cluster, self._clock)
        await asyncio.to_thread(known.volumes.prepare, self._clock.now())
        return known.sandbox

    def _begin(self, pod: Object) -> _Prepared:
        around = self._around
        directory = self.directory_of(pod)
        directory.mkdir(parents=True, exist_ok=True)
        owner = None if pod["spec"].get("hostNetwork") else self._identity(pod)
        address = around.host_address if owner is None else self._address(pod, owner)
        moved = self._ports.join(pod, address)
        sandbox = Sandbox(
            directory,
            address,
            around.host_address,
            container_places.named_ports(pod),
            moved.used if moved is not None else {},
        )
        tokens: Tokens = {}
        objects = Objects(
            self._finder(CONFIG_MAP, pod),
            self._finder(SECRET, pod),
            self._where(pod, sandbox),
            lambda audience, seconds: tokens[audience, seconds][0],
        )
        volumes = Volumes(pod, directory / "volumes", objects, partial(self._claim, pod))
        return _Prepared(pod, sandbox, volumes, tokens, self._names.open(pod, address), owner)

    def _address(self, pod: Object, owner: Key) -> str:
        addresses = self._around.addresses
        self._holders[owner] = pod["metadata"]["uid"]
        known = (pod.get("status") or {}).get("podIP")
        if known:
            addresses.keep(owner, known)
        return addresses.take(owner)

    def _identity(self, pod: Object) -> Key:
        """A pod that is made again under the same name keeps its address: its peers may hold it.
        One that only has the same host name as another has an address of its own.
        """
        metadata = pod["metadata"]
        key = Key(metadata["namespace"], hosts.hostname_of(pod))
        holder = self._prepared.get(self._holders.get(key, ""))
        if holder is None or holder.pod["metadata"]["name"] == metadata["name"]:
            return key
        return Key(metadata["namespace"], f"{key.name}/{metadata['uid']}")

    def _finder(self, kind: Resource, pod: Object) -> Callable[[str], Object | None]:
        namespace = pod["metadata"]["namespace"]
        return lambda name: self._cluster.cached(kind, name, namespace)

    def _where(self, pod: Object, sandbox: Sandbox) -> Whereabouts:
        node = self._cluster.cached(NODE, pod["spec"].get("nodeName") or "")
        allocatable = ((node or {}).get("status") or {}).get("allocatable") or {}
        return Whereabouts((sandbox.address,), (sandbox.host_address,), allocatable)

    def _claim(self, pod: Object, name: str) -> Path | None:
        claim = self._cluster.cached(CLAIM, name, pod["metadata"]["namespace"])
        if claim is None:
            return None
        return path_of(claim, self._cluster.cached(VOLUME, claim["spec"].get("volumeName") or ""))

    def retire(self, pod: Object) -> None:
        self._around.gpus.release(pod["metadata"]["uid"])

    async def release(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        prepared = self._prepared.pop(uid, None)
        self._around.gpus.release(uid)
        self._ports.leave(uid)
        self._names.close(pod)
        if self._substitutes is not None:
            self._substitutes.forget(uid)
        if prepared is not None:
            if prepared.owner is not None and self._holders.get(prepared.owner) == uid:
                del self._holders[prepared.owner]
                self._around.addresses.release(prepared.owner)
            await asyncio.to_thread(prepared.volumes.release)
        await asyncio.to_thread(_remove, self.directory_of(pod))

    async def sweep(self) -> None:
        """Removes what pods left that are gone since an earlier runtime ran them."""
        known = {pod["metadata"]["uid"] for pod in self._cluster.cached_all(POD)}
        await asyncio.to_thread(_remove_others, self._around.directory / "pods", known)

    def directory_of(self, pod: Object) -> Path:
        return self._around.directory / "pods" / str(pod["metadata"]["uid"])

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        """The ports of a job are for those of its pods that have not ended."""
        if new is not None and is_terminal(new):
            self._ports.leave(str(new["metadata"]["uid"]))

    def place_of(self, address: str, port: int) -> tuple[str, int]:
        """Where a process listens that others look for at a pod's address and port."""
        return address, self._ports.used_port(address, port)

    async def keep_fresh(self) -> None:
        """Writes what changed behind volumes, until it is cancelled."""
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            for prepared in list(self._prepared.values()):
                try:
                    await fetch_tokens(prepared.pod, prepared.tokens, self._cluster, self._clock)
                except NotReady:
                    continue
                await asyncio.to_thread(prepared.volumes.refresh, self._clock.now())

    def close(self) -> None:
        """Others may have the ports of jobs that are not followed to their end here."""
        self._around.claims.close()

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
        words = self._map_ports(pod, sandbox, Words(argv, variables), is_first=True)
        return self._command(pod, container, sandbox, image, words)

    async def hook(
        self, pod: Object, container: Object, argv: list[str], sandbox: Sandbox
    ) -> Command:
        image = self._image(container)
        given = Words(tuple(argv), self._variables(pod, container, sandbox, image))
        words = self._map_ports(pod, sandbox, given, is_first=False)
        return self._command(pod, container, sandbox, image, words)

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
        private = container_places.private_variables(sandbox, container)
        base = {
            **private,
            **({} if image.root else package_variables(image.env["PATH"], private["HOME"])),
            **image.env,
            **self._devices(pod, container),
            **self._ray_variables(container, sandbox, image),
            **self._around.extras(pod),
        }
        return environment.compose(pod, container, base, hosts.hostname_of(pod), sources)

    def _ray_mounts(
        self, container: Object, sandbox: Sandbox, image: ImageEnvironment
    ) -> tuple[Mount, ...]:
        if self._substitutes is not None or image.root:
            return ()
        return container_places.ray_mounts(
            container, container_places.scratch_of(sandbox, container)
        )

    def _ray_variables(
        self, container: Object, sandbox: Sandbox, image: ImageEnvironment
    ) -> dict[str, str]:
        is_there = bool(self._ray_mounts(container, sandbox, image))
        return {"RAY_TMPDIR": container_places.RAY_DIRECTORY} if is_there else {}

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
        words: Words,
    ) -> Command:
        prepared = self._prepared[pod["metadata"]["uid"]]
        scratch = container_places.scratch_of(sandbox, container)
        files = (
            *container_places.name_mounts(pod, sandbox, prepared.names_file),
            container_places.message_mount(sandbox, container),
        )
        volumes = prepared.volumes.mounts(container, words.environment.declared)
        place = Place(pod, container, sandbox, scratch, prepared.names_file, volumes, files)
        cwd = Path(container.get("workingDir") or image.workdir or scratch)
        places = self._ray_mounts(container, sandbox, image)
        mounts = (*container_places.root_mounts(image.root, scratch), *places, *files, *volumes)
        if self._substitutes is not None:
            self._check_root(image)
            (words, cwd), mounts = self._substitutes.adapt(place, words, cwd), ()
        return Command(
            argv=image.replace_program(words.argv),
            env=words.environment.variables,
            cwd=cwd,
            hostname=hosts.kernel_hostname_of(pod),
            mounts=mounts,
            limits=container_places.limits_of(container),
            user=container_places.user_of(pod, container, "runAsUser", image.user),
            group=container_places.user_of(pod, container, "runAsGroup", None),
            tty=bool(container.get("tty")),
            stdin=bool(container.get("stdin")),
        )

    def _map_ports(self, pod: Object, sandbox: Sandbox, words: Words, *, is_first: bool) -> Words:
        services = self._cluster.cached_all(SERVICE, pod["metadata"]["namespace"])
        own = self._ports.join(pod, sandbox.address, services)
        if own is None:
            return words
        if not is_first:
            own = own.settled()
        given = words.environment
        told = ports.map_variables(given.declared, own)
        mapped = Environment({**given.variables, **told}, told)
        argv = place_ray(ports.map_arguments(words.argv, own), sandbox.address, own)
        return Words(argv, mapped)

    def _check_root(self, image: ImageEnvironment) -> None:
        if image.root:
            raise NotReady(
                "CreateContainerError",
                f'image "{image.reference}" has a file system of its own, which needs namespaces: '
                f"{self._around.why_no_namespaces}",
            )


def _remove(directory: Path) -> None:
    remove_links(directory)
    shutil.rmtree(directory, ignore_errors=True)


def _remove_others(directory: Path, known: set[str]) -> None:
    for path in directory.iterdir() if directory.is_dir() else ():
        if path.name not in known:
            _remove(path)
