"""A hub and its members, each a kube-apiserver; beside the hub `fleetqueue controller hub`, beside
each member `fleetqueue controller member`. Each runs as the account that was made for it, and on
the hub a member's agent has nothing but the Role that the hub gives it.
"""

import base64
import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fleetqueue.fleet import kinds
from fleetqueue.kube.resources import Resource
from support.kueue_doors import command, run
from support.ports import free_port
from support.reference import start_reference
from support.server import Server, wait_until

Object = dict[str, Any]
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
PODS = Resource("", "v1", "pods", "Pod")
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
EVENTS = Resource("", "v1", "events", "Event")
SECRETS = Resource("", "v1", "secrets", "Secret")
ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", False
)
SYSTEM = "fleet-system"
MERGE = "application/merge-patch+json"
POLL_SECONDS = 0.1
DEADLINE_SECONDS = 120.0
USER = {"Impersonate-User": "test-user", "Impersonate-Group": "system:authenticated"}
"""Somebody who may do everything, and is no master."""
HUB_FLAGS = (
    "--resource-snapshot-creation-minimum-interval=0s",
    "--resource-changes-collection-duration=0s",
    "--metrics-bind-address=0",
    "--health-probe-bind-address=0",
    "--enable-guard-rail=true",
    "--enable-workload=true",
)


class Side:
    """One kube-apiserver as a test uses it: plain requests, as its administrator."""

    def __init__(self, name: str, directory: Path, controllers: Sequence[str] = ()) -> None:
        self.name = name
        self.directory = directory
        self.server: Server = start_reference(directory, more_controllers=controllers)

    def stop(self) -> None:
        self.server.stop()

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        token: str | None = None,
    ) -> tuple[int, Any]:
        with self.server.client(token) as client:
            answer = client.send(method, path, body, headers)
        return answer.status, answer.json

    def create(self, kind: Resource, obj: Object) -> Object:
        about = {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
        path = kind.path(obj["metadata"].get("namespace", ""))
        status, made = self.send("POST", path, about)
        assert status == 201, made
        found: Object = made
        return found

    def find(self, kind: Resource, name: str, namespace: str = "") -> Object | None:
        status, found = self.send("GET", kind.path(namespace, name))
        assert status in (200, 404), found
        return found if status == 200 else None

    def get(self, kind: Resource, name: str, namespace: str = "") -> Object:
        found = self.find(kind, name, namespace)
        assert found is not None, f"{self.name}: no {kind.kind} {namespace}/{name}"
        return found

    def all(self, kind: Resource, namespace: str = "") -> list[Object]:
        status, answer = self.send("GET", kind.path(namespace))
        assert status == 200, answer
        found: list[Object] = answer["items"]
        return found

    def names(self, kind: Resource, namespace: str = "") -> list[str]:
        return sorted(str(each["metadata"]["name"]) for each in self.all(kind, namespace))

    def patch(
        self, kind: Resource, name: str, patch: Object, namespace: str = "", subresource: str = ""
    ) -> Object:
        path = kind.path(namespace, name, subresource)
        status, answer = self.send("PATCH", path, patch, {"Content-Type": MERGE})
        assert status == 200, answer
        found: Object = answer
        return found

    def delete(self, kind: Resource, name: str, namespace: str = "") -> None:
        path = f"{kind.path(namespace, name)}?propagationPolicy=Background"
        assert self.send("DELETE", path)[0] in (200, 202)

    def events(self, name: str, namespace: str = "default") -> list[tuple[str, str, str]]:
        """Type, reason and message of those about an object, as they came."""
        found = [
            each for each in self.all(EVENTS, namespace) if each["involvedObject"]["name"] == name
        ]
        found.sort(key=lambda each: int(each["metadata"]["resourceVersion"]))
        return [(each["type"], each["reason"], each["message"]) for each in found]

    def log_text(self) -> str:
        logs = (self.directory / f"{name}.log" for name in ("hub", "member"))
        return "".join(log.read_text() for log in logs if log.exists())

    def spawn(
        self,
        role: str,
        *flags: str,
        environment: Mapping[str, str] | None = None,
        profile: str = "",
    ) -> None:
        """`fleetqueue controller hub` or `member`, as the account that was installed for it;
        `profile` takes what it spent its time on, when it ends.
        """
        config = account_kubeconfig(self, f"fleet-{role}-agent")
        arguments = command("controller", role, "--kubeconfig", str(config), "-v", *flags)
        if profile:
            arguments[1:1] = ["-m", "cProfile", "-o", profile]
        with (self.directory / f"{role}.log").open("ab") as log:
            process = subprocess.Popen(
                arguments, stdout=log, stderr=log, env=os.environ | dict(environment or {})
            )
        self.server.processes.append(process)

    def end_agent(self) -> None:
        """The last process that was started here."""
        ended = self.server.processes.pop()
        ended.terminate()
        ended.wait(60)


class Fleet:
    """A hub, and its members by name."""

    def __init__(self, hub: Side, members: dict[str, Side]) -> None:
        self.hub = hub
        self.members = members
        self.port = free_port()

    def stop(self) -> None:
        for each in (self.hub, *self.members.values()):
            each.stop()

    def start_hub(self, *flags: str, is_new: bool = False, profile: str = "") -> None:
        """Returns when its webhooks answer."""
        url = f"--webhook-url=https://127.0.0.1:{self.port}"
        listen = ("--webhook-host=127.0.0.1", f"--webhook-port={self.port}")
        hub, asked = self.hub, (*HUB_FLAGS, *flags, url)
        if is_new:
            config = str(hub.server.kubeconfig)
            run(hub.directory, "install", "hub", "--kubeconfig", config, *asked)
        hub.spawn("hub", *asked, *listen, profile=profile)
        wait_until("the hub's webhooks", self._refuses, 120)

    def _refuses(self) -> bool:
        """What only a webhook refuses."""
        assert self.hub.server.processes[-1].poll() is None, self.hub.log_text()[-3000:]
        kind = kinds.CLUSTER_SCOPE.placement
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "no"}}
        selector = {"group": "", "version": "v1", "kind": "ConfigMap", "name": "x"}
        path = f"{kind.path()}?dryRun=All"
        body["spec"] = {"resourceSelectors": [selector]}
        status, answer = self.hub.send("POST", path, body)
        return status == 403 and "fleet.clusterresourceplacement" in answer["message"]

    def join(self, name: str, *flags: str) -> None:
        """As a person does it who has both kubeconfigs: the agent finds its hub by a Secret."""
        member = self.members[name]
        mine, hubs = member.server.kubeconfig, self.hub.server.kubeconfig
        run(member.directory, "join", "--fleet", "--kubeconfig", str(mine), "--name", name,
            "--manager-kubeconfig", str(hubs))  # fmt: skip
        member.spawn("member", *MEMBER_FLAGS, *flags)

    def join_by_environment(self, name: str) -> None:
        """As KubeFleet's own charts do it: a MemberCluster by hand, and variables for the agent."""
        member, account = self.members[name], f"agent-of-{name}"
        self.hub.create(ACCOUNTS, {"metadata": {"name": account, "namespace": SYSTEM}})
        identity = {"kind": "ServiceAccount", "name": account, "namespace": SYSTEM}
        spec = {"identity": identity, "heartbeatPeriodSeconds": 15}
        self.hub.create(kinds.MEMBER_CLUSTER, {"metadata": {"name": name}, "spec": spec})
        file = member.directory / "hub-token"
        file.write_text(token_of(self.hub, account))
        authority = Path(self.hub.server.authority).read_bytes()
        environment = {
            "HUB_SERVER_URL": self.hub.server.url,
            "MEMBER_CLUSTER_NAME": name,
            "CONFIG_PATH": str(file),
            "HUB_CERTIFICATE_AUTHORITY": base64.b64encode(authority).decode(),
        }
        member.spawn("member", *MEMBER_FLAGS, environment=environment)

    def until(self, what: str, is_so: Callable[[], Any], seconds: float = DEADLINE_SECONDS) -> Any:
        """Asks again and again: what is looked at is in several clusters."""
        ends_at = time.monotonic() + seconds
        found = None
        while time.monotonic() < ends_at:
            found = is_so()
            if found:
                return found
            time.sleep(POLL_SECONDS)
        raise AssertionError(f"never: {what}: {found}\n{self._told()}")

    def until_equal(self, what: str, look: Callable[[], Any], wanted: Any) -> None:
        """The same, with the difference where it never comes."""
        seen: list[Any] = [None]

        def is_so() -> bool:
            seen[0] = look()
            return bool(seen[0] == wanted)

        try:
            self.until(what, is_so)
        except AssertionError as error:
            assert seen[0] == wanted, error  # noqa: PT017
            raise

    def _told(self) -> str:
        lines = []
        for scope in kinds.SCOPES:
            for each in self.hub.all(scope.placement):
                lines.append(f"{each['metadata']['name']}: {json.dumps(each.get('status'))}")
        lines += [each.log_text()[-2500:] for each in (self.hub, *self.members.values())]
        return "\n".join(lines)


MEMBER_FLAGS = (
    "--property-provider=none",
    "--metrics-bind-address=0",
    "--health-probe-bind-address=0",
)


def start(
    directory: Path,
    members: Sequence[str],
    hub_flags: Sequence[str] = (),
    hub_profile: str = "",
    controllers: Sequence[str] = (),
) -> Fleet:
    """The servers, the hub, and what members need; nobody has joined yet. `controllers`: what else
    each kube-controller-manager runs.
    """
    names = ("hub", *members)
    with ThreadPoolExecutor(len(names)) as pool:
        started = [pool.submit(Side, name, directory / name, controllers) for name in names]
    sides = [each.result() for each in started if each.exception() is None]
    try:
        failed = [each.exception() for each in started if each.exception() is not None]
        assert not failed, failed
        fleet = Fleet(sides[0], dict(zip(members, sides[1:], strict=True)))
        for each in fleet.members.values():
            run(each.directory, "install", "member", "--kubeconfig", str(each.server.kubeconfig))
        fleet.start_hub(*hub_flags, is_new=True, profile=hub_profile)
        _admit_user(fleet.hub)
    except BaseException:
        for each in sides:
            each.stop()
        raise
    return fleet


def token_of(side: Side, account: str) -> str:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = ACCOUNTS.path(SYSTEM, account, "token")
    status, made = side.send("POST", path, body)
    assert status == 201, made
    return str(made["status"]["token"])


def account_kubeconfig(side: Side, account: str) -> Path:
    server = side.server
    assert server.kubeconfig is not None
    text = server.kubeconfig.read_text().replace(server.token, token_of(side, account))
    path = side.directory / f"{account}.kubeconfig"
    path.write_text(text)
    return path


def _admit_user(hub: Side) -> None:
    """Rights are not what the user lacks."""
    role = {"apiGroup": BINDINGS.group, "kind": "ClusterRole", "name": "cluster-admin"}
    subject = {"apiGroup": BINDINGS.group, "kind": "User", "name": "test-user"}
    name = {"metadata": {"name": "test-user"}}
    hub.create(BINDINGS, {**name, "roleRef": role, "subjects": [subject]})


def add_node(side: Side, name: str, cpu: str, memory: str) -> None:
    side.create(NODES, {"metadata": {"name": name}})
    room = {"cpu": cpu, "memory": memory, "pods": "110"}
    side.patch(NODES, name, {"status": {"capacity": room, "allocatable": room}}, "", "status")


def add_pod(side: Side, name: str, node: str, cpu: str, memory: str) -> None:
    """One that takes of what is available there."""
    resources = {"requests": {"cpu": cpu, "memory": memory}}
    container = {"name": "c", "image": "none", "resources": resources}
    spec = {"nodeName": node, "containers": [container]}
    side.create(PODS, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
