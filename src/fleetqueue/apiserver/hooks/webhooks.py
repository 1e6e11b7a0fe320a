"""Calls mutating, validating and conversion webhooks, with the failure policies they ask for."""

import asyncio
import base64
from collections.abc import Sequence
from typing import Any, NamedTuple

from fleetqueue.api import patches
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.access.users import user_info
from fleetqueue.apiserver.core import Core, private
from fleetqueue.apiserver.hooks import Operation, conditions, remote
from fleetqueue.apiserver.hooks.matching import matching_version, selected
from fleetqueue.apiserver.hooks.remote import HttpsRemote, Remote
from fleetqueue.apiserver.reaching import CallFailed
from fleetqueue.apiserver.registry import ConvertLater
from fleetqueue.apiserver.storage import Change
from fleetqueue.base import codec

Object = dict[str, Any]

GROUP = "admissionregistration.k8s.io"
TABLES = {
    f"mutatingwebhookconfigurations.{GROUP}": "mutate",
    f"validatingwebhookconfigurations.{GROUP}": "validate",
}
OPTIONS = {
    "CREATE": "CreateOptions",
    "UPDATE": "UpdateOptions",
    "DELETE": "DeleteOptions",
    "CONNECT": "ConnectOptions",
}
CONVERSION_SECONDS = 30.0


class Due(NamedTuple):
    """A webhook that a write concerns, and the version in which it wants to see it."""

    webhook: Object
    api_version: str


class Webhooks:
    """The registered webhooks of one server."""

    is_idle = True
    tables = tuple(TABLES)

    def __init__(self, core: Core, remote: Remote | None = None) -> None:
        self._core = core
        self.remote = remote or HttpsRemote()
        self._webhooks: dict[str, list[Object]] = {"mutate": [], "validate": []}

    def start(self) -> None:
        for table, phase in TABLES.items():
            self._read(table, phase)

    def follow(self, changes: Sequence[Change]) -> None:
        for table in {change.resource for change in changes} & TABLES.keys():
            self._read(table, TABLES[table])

    async def stop(self) -> None:
        await self.remote.close()

    def _read(self, table: str, phase: str) -> None:
        """Configurations act in the order of their names, their webhooks in the order written."""
        live = self._core.store.table(table).live
        self._webhooks[phase] = [
            webhook
            for key in sorted(live)
            for webhook in self._core.store.decoded(live[key]).get("webhooks") or ()
        ]

    def concerns(self, operation: Operation, phase: str) -> bool:
        webhooks = self._webhooks[phase]
        return bool(webhooks) and any(matching_version(w, operation) for w in webhooks)

    # Mutating

    async def mutate(self, operation: Operation) -> bool:
        """Ask each in turn; those that asked for it are asked again if a later one changed
        something.
        """
        if operation.obj is None and operation.verb != "DELETE":
            return False
        changed_by: list[int] = []
        webhooks = self._webhooks["mutate"]
        for index, webhook in enumerate(webhooks):
            if await self._mutate_one(webhook, operation):
                changed_by.append(index)
        if changed_by:
            for index, webhook in enumerate(webhooks):
                if webhook.get("reinvocationPolicy") == "IfNeeded" and changed_by[-1] > index:
                    await self._mutate_one(webhook, operation)
        return bool(changed_by)

    async def _mutate_one(self, webhook: Object, operation: Operation) -> bool:
        due = self._due(webhook, operation)
        if due is None:
            return False
        response = await self._ask(due, operation)
        if response is None or not response.get("patch"):
            return False
        return await self._apply(due, operation, response)

    async def _apply(self, due: Due, operation: Operation, response: Object) -> bool:
        name = due.webhook["name"]
        call = operation.call
        if operation.obj is None:
            raise problems.internal(
                f'admission webhook "{name}" attempted to modify the object, which is not '
                "supported "
                "for this operation"
            )
        seen = await self._shown(due, operation, operation.obj)
        assert seen is not None
        try:
            patch = codec.decode(base64.b64decode(response["patch"]))
            patched = patches.apply_json_patch(seen, patch)
        except (ValueError, patches.PatchError) as error:
            raise problems.internal(str(error)) from error
        if not isinstance(patched, dict):
            raise problems.internal(f'the patch of webhook "{name}" leaves no object')
        if patched == seen:
            return False
        if operation.kind is not None:
            operation.obj = private(patched)
            return True
        back = (await self._core.convert(call.resource, [private(patched)], call.api_version))[0]
        try:
            operation.obj, _ = call.version.shape.clean(back)
        except problems.ApiError as error:
            raise problems.internal(error.message.partition(": ")[2]) from error
        return True

    # Validating

    async def validate(self, operation: Operation) -> None:
        due = [self._due(webhook, operation) for webhook in self._webhooks["validate"]]
        asked = [self._ask(one, operation) for one in due if one is not None]
        results = await asyncio.gather(*asked, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    # Both

    def _due(self, webhook: Object, operation: Operation) -> Due | None:
        found = matching_version(webhook, operation)
        if found is None or not selected(webhook, operation, self._core):
            return None
        if not conditions.hold(webhook, operation):
            return None
        resource, version = found
        return Due(webhook, resource.api_version(version))

    async def _ask(self, due: Due, operation: Operation) -> Object | None:
        """The webhook's response; None where it failed and its policy says to go on."""
        webhook = due.webhook
        name = webhook["name"]
        if operation.is_dry_run and webhook.get("sideEffects") not in ("None", "NoneOnDryRun"):
            raise problems.bad_request(f'admission webhook "{name}" does not support dry run')
        try:
            response = await self._call(due, operation)
        except CallFailed as error:
            if webhook.get("failurePolicy") == "Ignore":
                return None
            raise problems.internal(f'failed calling webhook "{name}": {error}') from error
        for warning in response.get("warnings") or ():
            operation.call.warn(str(warning))
        if not response.get("allowed"):
            raise _denial(name, response.get("status") or {})
        return response

    async def _call(self, due: Due, operation: Operation) -> Object:
        review = await self._review(due, operation)
        target = remote.find_target(self._core, due.webhook["clientConfig"])
        seconds = due.webhook.get("timeoutSeconds") or remote.SECONDS_DEFAULT
        url = f"{target.url}?timeout={seconds}s"
        try:
            status, body = await self.remote.post(target, codec.encode(review), seconds)
        except CallFailed as error:
            raise CallFailed(f'failed to call webhook: Post "{url}": {error}') from error
        response = remote.decode_review(body, status, "AdmissionReview", "admission.k8s.io/v1")
        why = _odd_response(response, review["request"]["uid"])
        if why:
            raise CallFailed(f"received invalid webhook response: {why}")
        return response

    async def _review(self, due: Due, operation: Operation) -> Object:
        call = operation.call
        resource, version = call.resource, due.api_version.rpartition("/")[2]
        seen = operation.kind or (resource.group, version, resource.versions[version].kind)
        asked = operation.kind or (resource.group, call.version.name, call.version.kind)
        request: Object = {
            "uid": self._core.new_uid(),
            "kind": _gvk(*seen),
            "resource": _gvr(resource.group, version, resource.plural),
            "requestKind": _gvk(*asked),
            "requestResource": _gvr(resource.group, call.version.name, resource.plural),
            "operation": operation.verb,
            "userInfo": user_info(call.user),
            "object": await self._shown(due, operation, operation.obj),
            "oldObject": await self._shown(due, operation, operation.old),
            "dryRun": operation.is_dry_run,
            "options": {"kind": OPTIONS[operation.verb], "apiVersion": "meta.k8s.io/v1",
                        **operation.options},
        }  # fmt: skip
        if operation.name:
            request["name"] = operation.name
        if resource.namespaced:
            request["namespace"] = operation.namespace
        if operation.subresource:
            request["subResource"] = request["requestSubResource"] = operation.subresource
        return {
            "kind": "AdmissionReview",
            "apiVersion": "admission.k8s.io/v1",
            "request": request,
        }

    async def _shown(self, due: Due, operation: Operation, obj: Object | None) -> Object | None:
        if obj is None or operation.kind is not None:
            return obj
        return (await self._core.convert(operation.call.resource, [obj], due.api_version))[0]


def _denial(name: str, status: Object) -> problems.ApiError:
    """A webhook may choose code, reason and message; a bare no is a 403."""
    message, reason = status.get("message"), status.get("reason")
    head = f'admission webhook "{name}" denied the request'
    if message:
        text = f"{head}: {message}"
    else:
        text = f"{head}: {reason}" if reason else f"{head} without explanation"
    code = status.get("code") or 0
    if not isinstance(code, int) or code < 400:
        code = 400
    return problems.ApiError(code, str(reason or ""), text, status.get("details"))


def _odd_response(response: Object, uid: str) -> str:
    """What is wrong with an answer, if anything is."""
    if response.get("uid") != uid:
        return f'expected response.uid="{uid}", got "{response.get("uid", "")}"'
    patch, kind = response.get("patch"), response.get("patchType")
    if patch and not kind:
        return "webhook returned response.patch but not response.patchType"
    if kind and not patch:
        return "webhook returned response.patchType but not response.patch"
    if kind and kind != "JSONPatch":
        return f'invalid response.patchType of "{kind}"'
    return ""


def _gvk(group: str, version: str, kind: str) -> Object:
    return {"group": group, "version": version, "kind": kind}


def _gvr(group: str, version: str, resource: str) -> Object:
    return {"group": group, "version": version, "resource": resource}


# Conversion


def conversion_webhook(core: Core, crd: Object) -> ConvertLater:
    """Converts the objects of a CRD through the webhook that it names."""
    settings = crd["spec"]["conversion"]["webhook"]
    kind = crd["spec"]["names"]["kind"]

    async def convert(objects: list[Object], api_version: str) -> list[Object]:
        uid = core.new_uid()
        request = {"uid": uid, "desiredAPIVersion": api_version, "objects": objects}
        review = {
            "kind": "ConversionReview",
            "apiVersion": "apiextensions.k8s.io/v1",
            "request": request,
        }
        try:
            target = remote.find_target(core, settings["clientConfig"])
            sender = core.conversion_remote or HttpsRemote()
            status, body = await sender.post(target, codec.encode(review), CONVERSION_SECONDS)
            version = "apiextensions.k8s.io/v1"
            response = remote.decode_review(body, status, "ConversionReview", version)
            return _converted(response, objects, api_version)
        except CallFailed as error:
            why = str(error).removeprefix("failed to call webhook: ")
            why = why if why.startswith("returned ") else f"failed: {why}"
            raise problems.ApiError(
                500, "", f"conversion webhook for {objects[0]['apiVersion']}, Kind={kind} {why}"
            ) from error

    return convert


def _converted(response: Object, objects: list[Object], api_version: str) -> list[Object]:
    result = response.get("result") or {}
    if result.get("status") != "Success":
        raise CallFailed(str(result.get("message") or "the webhook did not say why"))
    converted = response.get("convertedObjects") or []
    if len(converted) != len(objects):
        raise CallFailed(f"returned {len(converted)} objects, expected {len(objects)}")
    for obj, before in zip(converted, objects, strict=True):
        if not isinstance(obj, dict) or obj.get("apiVersion") != api_version:
            found = obj.get("apiVersion", "") if isinstance(obj, dict) else ""
            raise CallFailed(
                f"returned invalid converted object at index 0: invalid groupVersion (expected "
                f"{api_version}, received {found})"
            )
        for name in ("name", "namespace", "uid"):
            old, new = before["metadata"].get(name), (obj.get("metadata") or {}).get(name)
            if old != new:
                shown = {"uid": "UID"}.get(name, name)
                raise CallFailed(
                    f"returned invalid object: must have the same {shown}: {old} != {new or ''}"
                )
        # Identity and life cycle are not the webhook's to change.
        metadata = {**before["metadata"]}
        for name in ("labels", "annotations"):
            metadata.pop(name, None)
            if (obj.get("metadata") or {}).get(name):
                metadata[name] = obj["metadata"][name]
        obj["metadata"] = metadata
    return converted
