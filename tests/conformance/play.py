"""Plays cases on a server and records the normalised answers."""

import http.client
import json
import re
import time
from typing import Any
from urllib.parse import urlsplit

from conformance.cases import Case, Step
from conformance.normal import Normaliser, remove
from support.hooks import HookServer
from support.server import Answer, PlainClient, Server

WAIT_SECONDS_MAX = 12.0
_PLACE = re.compile(r"\{([a-z]+(?::[^}]+)?)\}")


class Player:
    """One server on which cases are played."""

    def __init__(
        self, server: Server, tokens: dict[str, str] | None = None, hook: HookServer | None = None
    ) -> None:
        self.server = server
        self._tokens = tokens or {}
        self._hook = hook
        self._clients: dict[str, PlainClient] = {}
        self._kinds: dict[str, dict[str, str]] = {}
        self._memory: dict[str, str] = {}
        self._made: list[str] = []

    def play(self, case: Case, namespace: str, is_lasting: bool = False) -> list[dict[str, Any]]:
        """The answers. `is_lasting`: the namespace is neither waited for nor cleared away."""
        self.send("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        if not is_lasting:
            self._wait_for_furniture(namespace)
        self._memory = {"ns": namespace}
        if self._hook is not None:
            self._hook.reviews.clear()
            self._memory |= {"hook": self._hook.url, "bundle": self._hook.bundle}
        normaliser = Normaliser(namespace)
        try:
            return [self._step(step, normaliser) for step in case.steps]
        finally:
            self._clean_up()
            if not is_lasting:
                self.send("DELETE", f"/api/v1/namespaces/{namespace}")

    def _clean_up(self) -> None:
        """Cluster-wide things of a case go before the next one, which may list them."""
        made, self._made = self._made, []
        for path in reversed(made):
            self.send("DELETE", path)
        ends_at = time.monotonic() + WAIT_SECONDS_MAX
        for path in made:
            while "customresourcedefinitions" in path and time.monotonic() < ends_at:
                if self.send("GET", path).status == 404:
                    break
                time.sleep(0.02)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self.server.stop()

    def send(
        self, method: str, path: str, body: Any = None, user: str = "", **headers: str
    ) -> Answer:
        return self._client(user).send(method, path, body, headers)

    def _client(self, user: str) -> PlainClient:
        if user not in self._clients:
            token = self._tokens.get(user, user) if user else None
            self._clients[user] = self.server.client("" if user == "anonymous" else token)
        return self._clients[user]

    def _wait_for_furniture(self, namespace: str) -> None:
        account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
        for _ in range(200):
            if self.send("GET", account).status == 200:
                return
            time.sleep(0.02)
        raise AssertionError("the default service account did not appear")

    def _step(self, step: Step, normaliser: Normaliser) -> dict[str, Any]:
        if step.method == "SEEN":
            assert self._hook is not None
            return {"reviews": [normaliser.value(review) for review in self._hook.seen()]}
        path = self._filled(step.path)
        data = self._body(step, path, normaliser)
        if step.watch:
            return self._watch(step, path, normaliser)
        answer = self._send_until(step, path, data)
        self._remember(step, path, answer)
        return normaliser.answer(answer, step.ignore)

    def _send_until(self, step: Step, path: str, data: bytes | None) -> Answer:
        client = self._client(self._filled(step.user))
        ends_at = time.monotonic() + WAIT_SECONDS_MAX
        while True:
            answer = client.send(step.method, path, data, step.headers)
            has_come = not step.until or answer.status == step.until
            has_gone = not step.gone or step.gone.encode() not in answer.body
            has_come = has_come and step.has.encode() in answer.body
            if (has_come and has_gone) or time.monotonic() > ends_at:
                return answer
            time.sleep(0.02)

    def _filled(self, text: str) -> str:
        """The text with its placeholders replaced."""
        if "{" not in text:
            return text
        return _PLACE.sub(lambda found: self._memory.get(found[1], found[0]), text)

    def _remember(self, step: Step, path: str, answer: Answer) -> None:
        if answer.status >= 300 or "json" not in answer.header("Content-Type") or not answer.body:
            return
        obj = answer.json
        metadata, status = obj.get("metadata") or {}, obj.get("status")
        self._memory |= {
            "rv": metadata.get("resourceVersion", ""),
            "uid": metadata.get("uid", ""),
            "continue": metadata.get("continue", ""),
            "token": status.get("token", "") if isinstance(status, dict) else "",
        }
        if "name" in metadata:
            self._memory[f"rv:{metadata['name']}"] = metadata.get("resourceVersion", "")
            self._memory[f"uid:{metadata['name']}"] = metadata.get("uid", "")
        is_made = step.method == "POST" and answer.status == 201 and metadata.get("uid")
        if is_made and not metadata.get("namespace") and "?" not in path:
            self._made.append(f"{path}/{metadata['name']}")

    def _body(self, step: Step, path: str, normaliser: Normaliser) -> bytes | None:
        if step.raw is not None:
            return self._filled(step.raw).encode()
        if step.body is None:
            return None
        body = step.body
        if step.method in ("POST", "PUT") and isinstance(body, dict):
            body = {**self._type_of(path), **body}
            metadata = body.get("metadata")
            prefix = metadata.get("generateName") if isinstance(metadata, dict) else None
            if prefix and isinstance(prefix, str):
                normaliser.prefixes.append(prefix)
        return self._filled(json.dumps(body)).encode()

    def _type_of(self, path: str) -> dict[str, str]:
        """apiVersion and kind by the path, asked from discovery once per group version."""
        parts = urlsplit(path).path.strip("/").split("/")
        base = "/".join(parts[:2] if parts[0] == "api" else parts[:3])
        rest = parts[2:] if parts[0] == "api" else parts[3:]
        if not rest:
            return {}
        if rest[:1] == ["namespaces"] and len(rest) > 2 and rest[2] not in ("status", "finalize"):
            rest = rest[2:]
        resource = rest[0] + (f"/{rest[2]}" if len(rest) > 2 else "")
        for _ in range(100):
            if resource in self._kinds.get(base, {}):
                break
            answer = self.send("GET", f"/{base}")
            listed = (answer.json.get("resources") or []) if answer.status == 200 else []
            version = base.split("/", 1)[1]
            self._kinds[base] = {}
            for item in listed:
                group, name = item.get("group", ""), item.get("version", "")
                own = f"{group}/{name}" if group else name or version
                self._kinds[base][item["name"]] = f"{own} {item['kind']}"
            if self._memory.get("ns", "-") not in base:
                break
            # Discovery of a kind that the case defined follows a little later.
            time.sleep(0.02)
        found = self._kinds[base].get(resource)
        if found is None:
            return {}
        api_version, kind = found.rsplit(" ", 1)
        return {"apiVersion": api_version, "kind": kind}

    def _watch(self, step: Step, path: str, normaliser: Normaliser) -> dict[str, Any]:
        """The first events of a watch; a watch is read on a connection of its own."""
        address = urlsplit(self.server.url)
        connection = http.client.HTTPSConnection(
            address.hostname or "", address.port, context=self.server.context(), timeout=20
        )
        headers = {
            "Authorization": f"Bearer {self.server.token}",
            "Accept": "application/json",
            "User-Agent": "suite/1.0",
            **step.headers,
        }
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        for meanwhile in step.during:
            self._step(meanwhile, normaliser)
        events: list[Any] = []
        for _ in range(step.watch):
            line = response.readline()
            if not line:
                break
            event = json.loads(line)
            self._memory["rv"] = _version_of(event)
            events.append(normaliser.value(event))
        connection.close()
        normal = {"status": response.status, "events": events}
        for ignored in step.ignore:
            remove(normal, ignored.split("."))
        return normal


def _version_of(event: dict[str, Any]) -> str:
    version: str = event.get("object", {}).get("metadata", {}).get("resourceVersion", "")
    return version
