"""Written cases: YAML files in `cases/`, each a list of small stories told in requests.

    - case: a merge patch with null removes a key
      steps:
      - POST /api/v1/namespaces/{ns}/configmaps: {metadata: {name: a}, data: {x: "1"}}
      - PATCH /api/v1/namespaces/{ns}/configmaps/a: {data: {x: null}}
        type: merge
      - GET /api/v1/namespaces/{ns}/configmaps/a

A step may have `type` (content type), `accept`, `headers`, `raw` (a body sent as it stands),
`user` (a name whose token is used), `ignore` (paths of the normalised answer that are not
compared), `until` (a status to wait for: the step is repeated until it is answered), `gone` and
`has` (wait until the body no longer has that text, or has it) and `watch` (how many events to
read; `during` holds the steps played meanwhile). `apiVersion` and `kind` are filled in from the
path where a POST or PUT body has none. The step `SEEN reviews` shows what webhooks were sent so
far in the case.

Placeholders in paths, bodies and users: `{ns}`; `{rv}`, `{uid}`, `{continue}` and `{token}` of
the last answer; `{uid:NAME}` and `{rv:NAME}` of the last object seen with that name; `{hook}` and
`{bundle}` for the address and certificate of the suite's webhook server.

A case with `widgets` first defines a kind of its own: see `definition`. Its objects are at
`{widgets}`. A step with `definition` sends such a CRD as its body.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

from fleetqueue.base import documents

FOLDER = Path(__file__).parent / "cases"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "FROB", "SEEN")
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "{ns}.example.com"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/{{ns}}/widgets"
RV = ("body.metadata.resourceVersion",)
_TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
    "yaml": "application/yaml",
}
_ACCEPTS = {
    "table": "application/json;as=Table;v=v1;g=meta.k8s.io",
    "metadata": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "metadata list": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "yaml": "application/yaml",
}
_OPTIONS = {
    *("type", "accept", "headers", "raw", "user", "ignore", "until", "gone", "has", "watch"),
    *("during", "definition"),
}


@dataclass(frozen=True)
class Step:
    """One request."""

    method: str
    path: str
    body: Any = None
    raw: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    user: str = ""
    ignore: tuple[str, ...] = ()
    until: int = 0
    gone: str = ""
    has: str = ""
    watch: int = 0
    during: tuple["Step", ...] = ()


@dataclass(frozen=True)
class Case:
    """One story; it has a namespace of its own on each server."""

    name: str
    steps: tuple[Step, ...]

    @property
    def namespace(self) -> str:
        """The same in every run, since answers may depend on it (hashes, field errors)."""
        return f"case-{crc32(self.name.encode()):08x}"


def load_cases() -> list[Case]:
    # Discovery lists what other cases define, so it comes first.
    paths = sorted(FOLDER.glob("*.yaml"), key=lambda path: (path.stem != "discovery", path))
    found = [case for path in paths for case in load_file(path)]
    assert len({case.name for case in found}) == len(found), "two cases have one name"
    return found


def load_file(path: Path) -> list[Case]:
    found = []
    for raw in documents.load(path.read_text()):
        steps = [_step(step) for step in raw["steps"]]
        if "widgets" in raw:
            steps = [*_definition_steps(raw["widgets"] or {}), *steps]
        found.append(Case(f"{path.stem}: {raw['case']}", tuple(steps)))
    return found


def definition(told: dict[str, Any]) -> dict[str, Any]:
    """A CRD for Widgets from what a case tells: `spec` and `status` are schemas of these fields,
    `schema` is added to the whole schema, `version` to the version, `definition` to the CRD's spec.
    """
    properties = {name: told[name] for name in ("spec", "status") if name in told}
    schema = {"type": "object", "properties": properties, **told.get("schema", {})}
    if not schema["properties"]:
        schema["x-kubernetes-preserve-unknown-fields"] = True
        del schema["properties"]
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        **told.get("version", {}),
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": f"widgets.{GROUP}"}, "spec": spec | told.get("definition", {})}


def _definition_steps(told: dict[str, Any]) -> list[Step]:
    return [Step("POST", CRDS, definition(told)), Step("GET", WIDGETS, until=200, ignore=RV)]


def _step(raw: Any) -> Step:
    if isinstance(raw, str):
        raw = {raw: None}
    line = next(key for key in raw if key.split(" ")[0] in METHODS)
    unknown = set(raw) - _OPTIONS - {line}
    assert not unknown, f"unknown options {unknown} in {line}"
    method, path = line.split(" ", 1)
    headers = {name: str(value) for name, value in (raw.get("headers") or {}).items()}
    if "type" in raw:
        headers["Content-Type"] = _TYPES.get(raw["type"], raw["type"])
    if "accept" in raw:
        headers["Accept"] = _ACCEPTS.get(raw["accept"], raw["accept"])
    return Step(
        method,
        path.replace("{widgets}", WIDGETS).replace("{crds}", CRDS),
        definition(raw["definition"]) if "definition" in raw else raw[line],
        raw.get("raw"),
        headers,
        raw.get("user", ""),
        tuple(raw.get("ignore") or ()),
        raw.get("until", 0),
        raw.get("gone", ""),
        raw.get("has", ""),
        raw.get("watch", 0),
        tuple(_step(step) for step in raw.get("during") or ()),
    )
