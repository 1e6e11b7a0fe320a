"""Whole requests: any verb on any path with any options, most of them nearly right."""

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from fleetqueue.apiserver.registry import Registry, Resource
from fleetqueue.apiserver.request import Request
from fuzz import objects, values

ACCEPTS = (
    *(
        "application/json",
        "application/yaml",
        "*/*",
        "",
        "text/html",
        "application/json;as=Table",
        ";;;",
        "a/b;q=x",
    ),
    *(
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
    ),
    *(
        "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        "application/vnd.kubernetes.protobuf",
    ),
    *(
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        "application/json;as=Frob;v=v9;g=x",
    ),
    *(
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        "application/cbor",
        "*/*;q=0.1,a",
    ),
)
CONTENT_TYPES = (
    *(
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "text/plain",
        "",
        "/",
        ";",
    ),
    *(
        "application/json; charset=utf-16",
        "application/cbor",
        "application/merge-patch+json",
        "JSON",
        "a/b;c=d",
    ),
)
PATCHES: dict[str, Callable[[Random, Any], Any]] = {
    "application/json-patch+json": objects.json_patch,
    "application/merge-patch+json": objects.merge_patch,
    "application/strategic-merge-patch+json": objects.strategic_patch,
    "application/apply-patch+yaml": lambda random, obj: obj,
}
OPTIONS = {
    "dryRun": ("All", "all", "", "x"),
    "fieldManager": ("me", "", "x" * 200, "\0", "日本"),
    "fieldValidation": ("Strict", "Warn", "Ignore", "strict", ""),
    "force": ("true", "false", "perhaps", "1"),
    "limit": ("1", "2", "0", "-1", "x", "9" * 30, "1.5", ""),
    "resourceVersion": ("0", "1", "5", "-1", "x", "9" * 30, "", "00", "1.0", "١"),
    "resourceVersionMatch": ("Exact", "NotOlderThan", "", "x"),
    "watch": ("true", "1", "false", "x"),
    "timeoutSeconds": ("1", "0", "-1", "x", "9" * 30, "١", ""),
    "allowWatchBookmarks": ("true", "x"),
    "sendInitialEvents": ("true", "false", "x"),
    "propagationPolicy": ("Foreground", "Background", "Orphan", "x", ""),
    "gracePeriodSeconds": ("0", "1", "-1", "x", "9" * 30),
    "orphanDependents": ("true", "x"),
    "pretty": ("true", "false", "x", "1"),
    "includeObject": ("None", "Object", "Metadata", "x"),
    "labelSelector": values.SELECTORS,
    "fieldSelector": values.SELECTORS,
    "continue": (
        *(
            "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Mywic3RhcnQiOiJhXHUwMDAwIn0",
            "x",
            "",
            "AAAA",
            "bnVsbA",
            "W10",
        ),
        *(
            "eyJydiI6Ii0xIiwic3RhcnQiOjF9",
            "eyJ2IjoieCIsInJ2IjoxZTk5LCJzdGFydCI6IiJ9",
            "日本",
            "e30",
            "=",
            "MQ",
        ),
    ),
    "exclude": ("ping", "x"),
    "verbose": ("", "x"),
    "command": ("ls", ""),
    "container": ("c", ""),
    "tailLines": ("1", "x"),
    "path": ("/a", "..", ""),
}
METHODS = ("GET", "GET", "GET", "POST", "POST", "POST", "PUT", "PATCH", "PATCH", "PATCH", "DELETE")
ODD_METHODS = ("HEAD", "OPTIONS", "TRACE", "CONNECT", "FROB", "get", "")
PAGES = (
    *(
        "/",
        "/api",
        "/apis",
        "/api/v1",
        "/apis/apps",
        "/apis/apps/v1",
        "/version",
        "/healthz",
        "/livez/ping",
    ),
    *(
        "/readyz",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/openapi/v3/api/v1",
        "/openapi/v3/apis/apps/v1",
    ),
    *(
        "/openid/v1/jwks",
        "/.well-known/openid-configuration",
        "/logs",
        "/api/v1/watch",
        "/apis//v1//",
        "//",
    ),
    *(
        "/api/v1/namespaces/default/pods/a/exec",
        "/api/v1/nodes/a/proxy/x",
        "/api/v2/pods",
        "/openapi/v3/x",
    ),
)
SUBRESOURCES = (
    *(
        "status",
        "scale",
        "log",
        "exec",
        "attach",
        "portforward",
        "eviction",
        "binding",
        "ephemeralcontainers",
    ),
    *("resize", "token", "finalize", "approval", "proxy", "frob", "proxy/a/b", "status/x"),
)
DRY_RUN_KINDS = frozenset(
    # Stored, these rightly make other requests fail: their webhooks cannot be reached.
    ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "APIService")
)


class Maker:
    """Draws requests for the kinds of one server; the same seed draws the same ones."""

    def __init__(self, random: Random, registry: Registry) -> None:
        self._random = random
        self._registry = registry
        self._resources = list(registry)
        self._common = [r for r in self._resources if r.kind in objects.SEEDS]

    def first(self) -> Iterator[Request]:
        """A namespace and two good objects of each common kind in it, for others to fall upon."""
        headers = {"content-type": "application/json"}
        yield Request("POST", "/api/v1/namespaces", {}, headers, b'{"metadata":{"name":"fuzz"}}')
        for resource in self._common:
            version = resource.storage_version
            for name in ("a", "b"):
                body = {"metadata": {"name": name}, **objects.SEEDS[resource.kind]}
                body |= {"apiVersion": resource.api_version(version), "kind": resource.kind}
                path = self._collection(resource, version, "fuzz")
                yield Request("POST", path, {}, headers, _encoded(body))

    def _collection(self, resource: Resource, version: str, namespace: str) -> str:
        root = f"/apis/{resource.group}/{version}" if resource.group else f"/api/{version}"
        return f"{root}/namespaces/{namespace}/{resource.plural}"

    def draw(self) -> Request:
        random = self._random
        chance = random.random()
        if chance < 0.04:
            return Request(
                random.choice(METHODS), self._odd_path(), self._query(2), self._headers()
            )
        if chance < 0.10:
            return self._definition()
        widgets = self._registry.find(objects.GROUP, "v1", "widgets")
        if widgets is not None and chance < 0.25:
            return self._for_resource(widgets)
        pool = self._common if chance < 0.65 else self._resources
        return self._for_resource(random.choice(pool))

    def _definition(self) -> Request:
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        body = objects.definition(self._random)
        method = self._random.choice(("POST", "APPLY", "APPLY", "APPLY", "APPLY", "DELETE"))
        headers = self._headers() | {"content-type": "application/json"}
        if method == "POST":
            return Request("POST", path, self._query(0), headers, _encoded(body))
        path = f"{path}/{body['metadata']['name']}"
        if method == "DELETE":
            return Request("DELETE", path, {}, headers)
        headers["content-type"] = "application/apply-patch+yaml"
        query = {"fieldManager": ["fuzz"], "force": ["true"]}
        return Request("PATCH", path, query, headers, _encoded(body))

    def _for_resource(self, resource: Resource) -> Request:
        random = self._random
        method = random.choice(METHODS if random.random() < 0.97 else ODD_METHODS)
        version = random.choice(list(resource.versions))
        path = self._path(resource, version, method)
        query, headers = self._query(random.choice((0, 0, 0, 1, 3))), self._headers()
        if resource.kind in DRY_RUN_KINDS:
            query["dryRun"] = ["All"]
        if method in ("GET", "HEAD") or (method == "DELETE" and random.random() < 0.7):
            return Request(method, path, query, headers)
        body = objects.make(random, resource, version)
        if random.random() < 0.85 and isinstance(body.get("metadata"), dict):
            named = path.split(f"/{resource.plural}/")[-1].split("/")[0]
            body["metadata"]["name"] = random.choice(objects.NAMES) if method == "POST" else named
        if method == "PATCH":
            kind = random.choice((*PATCHES, *PATCHES, *PATCHES, *CONTENT_TYPES[:1]))
            headers["content-type"] = kind
            body = PATCHES.get(kind, lambda _, obj: obj)(random, body)
            if kind == "application/apply-patch+yaml":
                query.setdefault("fieldManager", ["fuzz"])
        elif random.random() < 0.9:
            headers["content-type"] = "application/json"
        return Request(method, path, query, headers, self._damaged(_encoded(body)))

    def _path(self, resource: Resource, version: str, method: str) -> str:
        random = self._random
        parts = ["api" if not resource.group else f"apis/{resource.group}", version]
        if random.random() < 0.02:
            parts.append("watch")
        if resource.namespaced and random.random() < 0.97:
            parts += ["namespaces", random.choice(("default", "fuzz", "fuzz"))]
            if random.random() < 0.04:
                parts[-1] = values.text(random)
        parts.append(resource.plural)
        is_named = (method == "POST") == (random.random() < 0.04)
        if is_named and random.random() < 0.95:
            name = random.choice(objects.NAMES)
            parts.append(name if random.random() < 0.95 else values.text(random))
            if random.random() < 0.2:
                known = tuple(resource.versions[version].subresources)
                parts.append(random.choice(known * 3 + SUBRESOURCES))
        return "/" + "/".join(parts)

    def _odd_path(self) -> str:
        random = self._random
        if random.random() < 0.6:
            return random.choice(PAGES)
        words = (
            "api",
            "apis",
            "v1",
            "apps",
            "namespaces",
            "pods",
            "default",
            "status",
            "proxy",
            "watch",
        )
        parts = [
            random.choice(words) if random.random() < 0.7 else values.text(random)
            for _ in range(random.randrange(1, 9))
        ]
        return "/" + "/".join(parts)

    def _query(self, count: int) -> dict[str, list[str]]:
        random = self._random
        query = {}
        for _ in range(count):
            name = random.choice(list(OPTIONS))
            query[name] = [random.choice(OPTIONS[name])]
            if random.random() < 0.1:
                query[name].append(values.text(random))
        return query

    def _headers(self) -> dict[str, str]:
        random = self._random
        headers = {"user-agent": random.choice(("fuzz/1", "", "日本/1", "x" * 300))}
        if random.random() < 0.2:
            headers["accept"] = random.choice(ACCEPTS)
        if random.random() < 0.05:
            headers["content-type"] = random.choice(CONTENT_TYPES)
        if random.random() < 0.01:
            headers["impersonate-user"] = values.text(random)
        return headers

    def _damaged(self, body: bytes) -> bytes:
        random = self._random
        chance = random.random()
        if chance < 0.03:
            return random.choice(values.DOCUMENTS)
        if chance < 0.05:
            cut = random.randrange(len(body) + 1)
            return body[:cut] + random.randbytes(random.randrange(4)) + body[cut + 1 :]
        return body


def _encoded(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
