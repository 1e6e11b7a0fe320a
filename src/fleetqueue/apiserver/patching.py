"""PATCH in its four forms: JSON patch, merge patch, strategic merge patch and server-side apply."""

from typing import Any

from fleetqueue.api import field_errors as fields
from fleetqueue.api import patches
from fleetqueue.apiserver import bodies, known_kinds, problems
from fleetqueue.apiserver.call import Call, check_options
from fleetqueue.apiserver.core import Core, private
from fleetqueue.apiserver.field_owners import reset_fields
from fleetqueue.apiserver.merge import apply as applying
from fleetqueue.apiserver.merge import go_text, strategic
from fleetqueue.apiserver.merge.conflicts import Conflicts
from fleetqueue.apiserver.strategy import Aspect
from fleetqueue.apiserver.writes import Writer, Written
from fleetqueue.base import codec, documents, go_json

Object = dict[str, Any]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
ALL_PATCHES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)
GO_LIST = "[]handlers.jsonPatchOp"
GO_MAP = "map[string]interface {}"
REJECTED = "the server rejected our request due to an error in our request"


class Patcher:
    """Turns a patch into a change that the writer carries out."""

    def __init__(self, core: Core, writer: Writer) -> None:
        self._core = core
        self._writer = writer

    async def patch(self, call: Call, aspect: Aspect) -> Written:
        kind = self.check(call)
        if kind == APPLY_PATCH:
            return await self._apply(call, aspect)
        patch, found = self.read_patch(call, kind)
        return await self._writer.change(
            call, aspect, lambda old: self.patched(call, kind, patch, found, old)
        )

    def check(self, call: Call) -> str:
        """The kind of patch; raises where it, or an option, cannot be taken."""
        kind = bodies.media_type(call)
        accepted = list(ALL_PATCHES)
        if call.resource.is_custom:
            accepted.remove(STRATEGIC_PATCH)
        if kind not in ALL_PATCHES:
            raise problems.ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
        if kind not in accepted:
            raise problems.unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: "
                + ", ".join(accepted)
            )
        self._check_options(call, kind)
        return kind

    def _check_options(self, call: Call, kind: str) -> None:
        check_options(call, "PatchOptions")
        errors = []
        if kind == APPLY_PATCH:
            if not call.request.first("fieldManager"):
                errors.append(fields.required("fieldManager", "is required for apply patch"))
        elif call.request.first("force"):
            errors.append(fields.forbidden("force", "may not be specified for non-apply patch"))
        if errors:
            raise problems.invalid("meta.k8s.io", "PatchOptions", "", errors)

    def read_patch(self, call: Call, kind: str) -> tuple[Any, list[str]]:
        """The patch, and what strict decoding finds wrong with its own fields."""
        wanted, name = (list, GO_LIST) if kind == JSON_PATCH else (dict, GO_MAP)
        patch, found = call.request.object, []
        # Kinds whose lists merge are decoded by another path, which does not say so.
        prefix = "" if kind == STRATEGIC_PATCH else "error decoding patch: "
        if patch is None:
            patch = read_json(call.request.body, prefix)
            if call.field_validation != "Ignore" and isinstance(patch, wanted):
                found = _odd_fields(call.request.body, patch)
        if not isinstance(patch, wanted):
            given = bodies.json_type(patch)
            raise problems.bad_request(
                f"{prefix}json: cannot unmarshal {given} into Go value of type {name}"
            )
        return patch, found

    def patched(self, call: Call, kind: str, patch: Any, odd: list[str], old: Object) -> Object:
        try:
            new = self._merge(call, kind, patch, old)
        except patches.MalformedPatch as error:
            raise problems.bad_request(str(error)) from error
        except patches.PatchError as error:
            raise problems.ApiError(422, "Invalid", REJECTED, {}) from error
        obj = self._own(call, new)
        if kind == STRATEGIC_PATCH:
            # It is merged into the type of the resource, whatever type the patch names.
            obj |= {"apiVersion": old["apiVersion"], "kind": old["kind"]}
        self._check_type(call, obj, old)
        try:
            cleaned, found = call.version.shape.clean(obj)
            bodies.keep_reset(obj, cleaned)
            obj = cleaned
            bodies.report_unknown(call, odd + found)
        except problems.ApiError as error:
            raise _unfit(patch if kind == STRATEGIC_PATCH else new, kind, error) from error
        self._check_place(call, obj, old)
        return obj

    def _own(self, call: Call, new: Any) -> Any:
        """What a patch leaves shares its unchanged parts with the live object."""
        if call.version.shape.cleans_in_place or not isinstance(new, dict):
            return private(new)
        return dict(new)

    def _merge(self, call: Call, kind: str, patch: Any, old: Object) -> Any:
        if kind == JSON_PATCH:
            return patches.apply_json_patch(old, patch)
        if kind == MERGE_PATCH:
            return patches.apply_merge_patch(old, patch)
        return strategic.strategic_merge(old, patch, call.version.shape.node)

    def _check_type(self, call: Call, obj: Any, old: Object) -> None:
        if not isinstance(obj, dict) or not isinstance(obj.get("metadata") or {}, dict):
            raise _unfit(obj, "", problems.bad_request("the patch leaves no object"))
        obj["metadata"] = obj.get("metadata") or {}
        version, kind = obj.get("apiVersion", ""), obj.get("kind", "")
        if (version, kind) == (old["apiVersion"], old["kind"]):
            return
        if call.resource.is_custom:
            raise _other_type(call, version, kind)
        group, _, short = str(version).rpartition("/")
        is_served = group == call.resource.group and known_kinds.is_known(group, short, str(kind))
        if is_served and kind == old["kind"]:
            obj["apiVersion"] = old["apiVersion"]
        else:
            raise _unfit(obj, "", problems.bad_request(bodies.wrong_type(call, version, kind)))

    def _check_place(self, call: Call, obj: Object, old: Object) -> None:
        name = obj["metadata"].get("name")
        if name != call.route.name:
            raise bodies.wrong_name(call, name)
        bodies.check_namespace(call, obj)

    # Server-side apply

    async def _apply(self, call: Call, aspect: Aspect) -> Written:
        applied = self.read_applied(call)
        if self._core.store.latest(call.resource.table, call.key) is None:
            try:
                return await self._apply_new(call, aspect, applied)
            except problems.ApiError as error:
                # Somebody may have created it while a webhook was asked.
                if error.reason != "AlreadyExists":
                    raise
        return await self._writer.change(
            call, aspect, lambda old: self.applied(call, aspect, applied, old), owned=True
        )

    async def _apply_new(self, call: Call, aspect: Aspect, applied: Object) -> Written:
        if aspect.name:
            raise call.not_found()
        metadata = applied["metadata"] if isinstance(applied["metadata"], dict) else {}
        if metadata.get("uid"):
            raise problems.conflict(
                call.resource.group,
                call.resource.plural,
                call.route.name,
                f"uid mismatch: the provided object specified uid {metadata['uid']}, "
                "and no existing object was found",
            )
        obj = self.applied(call, aspect, applied, None)
        if not metadata.get("name"):
            raise bodies.wrong_name(call, "")
        obj["metadata"].pop("resourceVersion", None)
        return await self._writer.create_object(call, obj, owned=True)

    def read_applied(self, call: Call) -> Object:
        obj = call.request.object
        if obj is None:
            try:
                obj = documents.load(call.request.body.decode())
            except (ValueError, RecursionError) as error:
                raise problems.bad_request(
                    f"error decoding YAML: error converting YAML to JSON: yaml: {error}"
                ) from error
        return as_applied(obj)

    def applied(self, call: Call, aspect: Aspect, applied: Object, old: Object | None) -> Object:
        try:
            merged = applying.apply(
                old,
                applied,
                call.version.shape.node,
                manager=call.manager,
                subresource=aspect.name,
                force=call.request.flag("force"),
                now=self._core.now(),
                reset=reset_fields(call, aspect),
                # Converting a built-in kind back and forth defaults it anew, which loses fields.
                convert=self._writer.owners.converter(call) if call.resource.is_custom else None,
                api_version=call.api_version,
                kind=call.version.kind,
            )
        except Conflicts as conflicts:
            raise conflicts.as_api_error() from conflicts
        merged["metadata"].setdefault("name", call.route.name)
        if merged["metadata"]["name"] != call.route.name:
            raise bodies.wrong_name(call, merged["metadata"]["name"])
        bodies.check_namespace(call, merged)
        obj, found = call.version.shape.clean(self._own(call, merged))
        bodies.report_unknown(call, found)
        return obj


def as_applied(obj: Any) -> Object:
    """A private copy of what is applied; something that is no object is refused as Go would."""
    if not isinstance(obj, dict | None):
        found = bodies.json_type(obj)
        raise problems.bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot "
            f"unmarshal {found} into Go value of type {GO_MAP}"
        )
    copied: Object = codec.copy(obj or {})
    if copied.get("metadata") is None:
        copied["metadata"] = {}
    return copied


def read_json(data: bytes, what: str) -> Any:
    try:
        return codec.decode(data)
    except codec.DecodeError as error:
        message = go_json.syntax_error(data) or str(error)
        raise problems.bad_request(f"{what}{message}") from error
    except RecursionError as error:
        raise problems.bad_request(f"{what}{go_json.too_deep(data)}") from error


def _odd_fields(data: bytes, patch: Any) -> list[str]:
    """Fields that come twice, and members of JSON patch operations that mean nothing."""
    found = [f'duplicate field "{path}"' for path in codec.duplicate_keys(data, patch)]
    if isinstance(patch, dict):
        return found
    found += [
        f'unknown field "[{index}].{name}"'
        for index, operation in enumerate(patch)
        if isinstance(operation, dict)
        for name in operation
        if name not in ("op", "path", "from", "value")
    ]
    return [f"json patch {text}" for text in found]


def _other_type(call: Call, version: Any, kind: Any) -> problems.ApiError:
    errors = []
    if version != call.api_version:
        errors.append(fields.wrong("apiVersion", version, f"must be {call.api_version}"))
    if kind != call.version.kind:
        errors.append(fields.wrong("kind", kind, f"must be {call.version.kind}"))
    group = str(version).rpartition("/")[0]
    return problems.invalid(group, str(kind), call.route.name, errors)


def _unfit(patched: Any, kind: str, error: problems.ApiError) -> problems.ApiError:
    """The patch was fine, what it leaves is not; the client is shown what that is."""
    is_map = kind == STRATEGIC_PATCH
    shown = go_text.plain(patched) if is_map else codec.encode(patched).decode()
    _, found, detail = error.message.partition("strict decoding error: ")
    why = f"{found}{detail}" if found else error.message.split(": ", 1)[-1]
    why = go_text.conversion_error(why) if is_map else why
    return problems.invalid("", "", "", [fields.wrong("patch", shown, why)])
