"""How an answer is written: plain JSON, YAML, a Table for kubectl, or metadata only."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fleetqueue.api import field_errors as fields
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.call import Call

Object = dict[str, Any]

SUPPORTED = (
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
)
STREAMED = ("application/json", "application/vnd.kubernetes.protobuf")
ANYTHING = ("*/*", "application/*")
INCLUDES = ("Metadata", "Object", "None")
_META_VERSIONS = ("v1", "v1beta1")


class Form(NamedTuple):
    """The representation a client asked for."""

    media_type: str = "application/json"
    transform: str = ""
    """"", "Table", "PartialObjectMetadata" or "PartialObjectMetadataList"."""
    version: str = "v1"
    include: str = "Metadata"
    """Of each object in a Table's rows: Metadata, Object or None."""
    pretty: bool = False

    @property
    def is_yaml(self) -> bool:
        return self.media_type == "application/yaml"


PLAIN = Form()


def choose(call: Call) -> Form:
    """The first form of the Accept header that the server can write."""
    accept = call.request.headers.get("accept", "")
    pretty = call.request.first("pretty") not in ("", "false", "0")
    if not accept or accept == "application/json":
        return Form(pretty=pretty) if pretty else PLAIN
    clauses = _by_quality(accept)
    for clause in clauses:
        form = _form(clause, call)
        if form is not None:
            return form._replace(pretty=pretty)
    if any(clause.type in (*SUPPORTED, *ANYTHING) for clause in clauses):
        raise problems.not_acceptable(
            f"only the following media types are accepted: {', '.join(SUPPORTED)}"
        )
    listed = [*SUPPORTED, *(f"{name};stream=watch" for name in STREAMED)]
    error = problems.not_acceptable(
        f"406: Not Acceptable\n\nAvailable representations: {', '.join(listed)}"
    )
    error.details = {}
    raise error


def media_type(accept: str) -> str:
    """In which a refusal is written: as asked, if that is one we can write."""
    if not accept or accept == "application/json":
        return "application/json"
    first = next((c for c in _by_quality(accept) if c.type in (*SUPPORTED[:2], *ANYTHING)), None)
    return "application/yaml" if first and first.type == "application/yaml" else "application/json"


def _form(clause: "_Clause", call: Call) -> Form | None:
    if clause.type in (*ANYTHING, "application/json"):
        media_type = "application/json"
    elif clause.type == "application/yaml":
        media_type = clause.type
    else:
        return None
    parameters = clause.parameters
    transform = parameters.get("as", "")
    if not transform:
        return Form(media_type)
    if parameters.get("g") != "meta.k8s.io" or parameters.get("v") not in _META_VERSIONS:
        return None
    if transform not in ("Table", "PartialObjectMetadata", "PartialObjectMetadataList"):
        return None
    include = call.request.first("includeObject") or "Metadata"
    if transform == "Table" and include not in INCLUDES:
        wrong = fields.wrong(
            "includeObject", include, "must be 'Metadata', 'Object', 'None', or empty"
        )
        raise problems.bad_request(f"Unable to convert to Table as requested: {wrong}")
    return Form(media_type, transform, parameters["v"], include)


def check_is_object(call: Call, form: Form) -> None:
    if form.transform == "PartialObjectMetadataList":
        kind = _go_type(call, call.version.kind, "")
        raise problems.not_acceptable(
            "you requested PartialObjectMetadataList, but the requested object is not a list "
            f"({kind})"
        )


def check_is_list(call: Call, form: Form) -> None:
    if form.transform == "PartialObjectMetadata":
        kind = _go_type(call, call.resource.list_kind, "List")
        raise problems.not_acceptable(
            f"you requested PartialObjectMetadata, but the requested object is a list ({kind})"
        )


def _go_type(call: Call, kind: str, suffix: str) -> str:
    """The name of the type in the program that clients expect to talk to."""
    if call.resource.is_custom:
        return f"*unstructured.Unstructured{suffix}"
    return f"*{call.resource.group.split('.')[0] or 'core'}.{kind}"


class _Clause(NamedTuple):
    type: str
    parameters: Mapping[str, str]
    quality: float


def _by_quality(accept: str) -> list[_Clause]:
    clauses = []
    for part in accept.split(","):
        kind, *rest = (piece.strip() for piece in part.split(";"))
        pairs = (piece.split("=", 1) for piece in rest if "=" in piece)
        parameters = {name.strip(): value.strip().strip('"') for name, value in pairs}
        try:
            quality = float(parameters.pop("q", 1))
        except ValueError:
            quality = 0.0
        clauses.append(_Clause(kind.lower(), parameters, quality))
    return sorted(clauses, key=lambda clause: -clause.quality)


def metadata_only(obj: Object, version: str) -> Object:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": obj.get("metadata", {}),
    }
