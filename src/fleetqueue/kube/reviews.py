"""Admission and conversion reviews: from the JSON of an API server to a handler and back. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.kube.resources import Object

ADMISSION = "admission.k8s.io/v1"
CONVERSION = "apiextensions.k8s.io/v1"


class BadReview(Exception):
    """What came is no review."""


@dataclass(frozen=True)
class Review:
    """A request that waits for a verdict. The objects are the handler's to read, not to change."""

    uid: str
    operation: str
    """CREATE, UPDATE, DELETE or CONNECT."""
    group: str
    version: str
    plural: str
    kind: str
    name: str = ""
    namespace: str = ""
    subresource: str = ""
    object: Object | None = None
    old_object: Object | None = None
    user: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    is_dry_run: bool = False


@dataclass(frozen=True)
class Verdict:
    """What a webhook decides: let through, perhaps changed, or refuse and say why."""

    is_allowed: bool = True
    object: Object | None = None
    """For mutating webhooks: what the object shall be instead."""
    message: str = ""
    reason: str = ""
    code: int = 0
    causes: Sequence[Mapping[str, str]] = ()
    """Wrong fields, each with field, reason and message."""
    warnings: Sequence[str] = ()
    audit: Mapping[str, str] = field(default_factory=dict)


ALLOWED = Verdict()


def refused(message: str, *, reason: str = "Forbidden", code: int = 403) -> Verdict:
    return Verdict(is_allowed=False, message=message, reason=reason, code=code)


def changed(obj: Object, warnings: Sequence[str] = ()) -> Verdict:
    return Verdict(object=obj, warnings=warnings)


def read_admission(body: Any) -> Review:
    if not isinstance(body, dict) or body.get("kind") != "AdmissionReview":
        raise BadReview("the body is no AdmissionReview")
    if body.get("apiVersion") != ADMISSION:
        raise BadReview(f"only {ADMISSION} is spoken here, not {body.get('apiVersion')}")
    request = body.get("request")
    if not isinstance(request, dict) or not request.get("uid"):
        raise BadReview("the AdmissionReview has no request")
    kind, resource = request.get("kind") or {}, request.get("resource") or {}
    return Review(
        uid=request["uid"],
        operation=request.get("operation", ""),
        group=resource.get("group", ""),
        version=resource.get("version", ""),
        plural=resource.get("resource", ""),
        kind=kind.get("kind", ""),
        name=request.get("name", ""),
        namespace=request.get("namespace", ""),
        subresource=request.get("subResource", ""),
        object=request.get("object"),
        old_object=request.get("oldObject"),
        user=request.get("userInfo") or {},
        options=request.get("options") or {},
        is_dry_run=bool(request.get("dryRun")),
    )


def write_admission(review: Review, verdict: Verdict) -> tuple[Object, list[Object]]:
    """The answer without its patch, and the JSON patch that belongs into it."""
    response: Object = {"uid": review.uid, "allowed": verdict.is_allowed}
    if not verdict.is_allowed:
        response["status"] = _status(verdict)
    if verdict.warnings:
        response["warnings"] = list(verdict.warnings)
    if verdict.audit:
        response["auditAnnotations"] = dict(verdict.audit)
    patch: list[Object] = []
    if verdict.is_allowed and verdict.object is not None and review.object is not None:
        patch = create_json_patch(review.object, verdict.object)
    return {"apiVersion": ADMISSION, "kind": "AdmissionReview", "response": response}, patch


@dataclass(frozen=True)
class Conversion:
    """Objects that shall be in another version."""

    uid: str
    api_version: str
    objects: Sequence[Object]


def read_conversion(body: Any) -> Conversion:
    if not isinstance(body, dict) or body.get("kind") != "ConversionReview":
        raise BadReview("the body is no ConversionReview")
    request = body.get("request")
    if not isinstance(request, dict) or not request.get("uid"):
        raise BadReview("the ConversionReview has no request")
    wanted = request.get("desiredAPIVersion", "")
    return Conversion(request["uid"], wanted, request.get("objects") or ())


def write_conversion(
    conversion: Conversion, converted: Sequence[Object] | None, failure: str = ""
) -> Object:
    result = {"status": "Failure", "message": failure} if failure else {"status": "Success"}
    response: Object = {"uid": conversion.uid, "result": result}
    if not failure:
        response["convertedObjects"] = list(converted or ())
    return {"apiVersion": CONVERSION, "kind": "ConversionReview", "response": response}


def create_json_patch(old: Any, new: Any, path: str = "") -> list[Object]:
    """The operations that turn the one into the other; lists of another length go as a whole."""
    if isinstance(old, dict) and isinstance(new, dict):
        return _patch_mapping(old, new, path)
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        steps = [
            create_json_patch(a, b, f"{path}/{i}")
            for i, (a, b) in enumerate(zip(old, new, strict=True))
        ]
        return [step for part in steps for step in part]
    if old == new and isinstance(old, bool) == isinstance(new, bool):
        return []
    return [{"op": "replace", "path": path, "value": new}]


def _patch_mapping(old: Object, new: Object, path: str) -> list[Object]:
    steps: list[Object] = []
    for name in sorted(old.keys() | new.keys()):
        at = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
        if name not in new:
            steps.append({"op": "remove", "path": at})
        elif name not in old:
            steps.append({"op": "add", "path": at, "value": new[name]})
        else:
            steps += create_json_patch(old[name], new[name], at)
    return steps


def _status(verdict: Verdict) -> Object:
    status: Object = {"status": "Failure", "message": verdict.message, "metadata": {}}
    status["code"] = verdict.code or (422 if verdict.causes else 403)
    status["reason"] = verdict.reason or ("Invalid" if verdict.causes else "Forbidden")
    if verdict.causes:
        status["details"] = {"causes": [dict(cause) for cause in verdict.causes]}
    return status
