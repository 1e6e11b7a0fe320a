"""Watch: the initial state, then every change, from a revision, in the form a client asked for."""

from functools import partial
from typing import Any

from fleetqueue.api import field_errors as fields
from fleetqueue.apiserver import feed, forms, problems, selection
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.feed import View
from fleetqueue.apiserver.forms import Form
from fleetqueue.apiserver.printing import tables
from fleetqueue.apiserver.request import Frame, Frames, Response
from fleetqueue.apiserver.storage import Stored
from fleetqueue.base import codec

Object = dict[str, Any]

SECONDS_MIN = 1800
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class WatchOpener:
    """Opens watches for one server."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def watch(self, call: Call) -> Response:
        core = self._core
        form = forms.choose(call)
        if form.is_yaml:
            streamed = ", ".join(f"{name};stream=watch" for name in forms.STREAMED)
            raise problems.not_acceptable(
                f"only the following media types are accepted: {streamed}"
            )
        _check_seconds(call)
        wants_initial = _wants_initial(call)
        since = self._since(call)
        view = self._view(call, form)
        if since is None or wants_initial:
            first = self._initial(call, view)
            since = core.store.revision
            if wants_initial and call.request.flag("allowWatchBookmarks"):
                first.append(self._bookmark(call, form, since, is_initial_end=True))
        else:
            if since < core.store.compacted:
                return _expired(since, core.store.compacted)
            first = []
        watcher = core.feed.open(call.resource.table, view, since)
        bookmark = None
        if call.request.flag("allowWatchBookmarks"):
            bookmark = partial(self._bookmark, call, form)
        frames: Frames = feed.Stream(
            core.feed, watcher, first, seconds=self._seconds(call), bookmark=bookmark
        )
        if self._needs_webhook(call):
            frames = self._converted(call, form, frames)
        if form.transform == "Table":
            frames = _with_header(call, frames)
        return Response(200, frames=frames)

    def _needs_webhook(self, call: Call) -> bool:
        # Even in the storage version: it may have been another one when an object was written.
        return call.resource.convert_later is not None

    async def _converted(self, call: Call, form: Form, frames: Frames) -> Frames:
        """The same frames with their objects brought to the watched version by its webhook."""
        async for batch in frames:
            stored = [frame.decode() for frame in batch if frame.type != "BOOKMARK"]
            objects = await self._core.convert(call.resource, stored, call.api_version)
            pairs = zip(stored, objects, strict=True)
            yield [
                frame
                if frame.type == "BOOKMARK"
                else self._reframed(call, form, frame, *next(pairs))
                for frame in batch
            ]

    def _reframed(self, call: Call, form: Form, frame: Frame, stored: Object, obj: Object) -> Frame:
        if obj is stored:
            return frame
        shown = self._shown(call, form, obj)
        line = codec.encode({"type": frame.type, "object": shown}) + b"\n"
        return Frame(frame.type, line, lambda: shown)

    def _since(self, call: Call) -> int | None:
        """The revision to continue from; None: begin with the present state."""
        text = call.request.first("resourceVersion")
        if text in ("", "0"):
            return None
        if not text.isdecimal():
            quoted = fields.show(text)
            raise problems.ApiError(
                500,
                "",
                f"resourceVersion: Invalid value: {quoted}: strconv.ParseUint: parsing {quoted}: "
                "invalid syntax",
            )
        return int(text)

    def _initial(self, call: Call, view: View) -> list[Frame]:
        store = self._core.store
        found = store.range_at(call.resource.table, view.prefix, store.revision)
        return [view.added(stored) for stored in found if not view.matches or view.matches(stored)]

    def _seconds(self, call: Call) -> float:
        text = call.request.first("timeoutSeconds")
        if text.isdecimal() and int(text) > 0:
            return float(text)
        return SECONDS_MIN * (1 + self._core.random.random())

    def _view(self, call: Call, form: Form) -> View:
        # With its group: two groups may show the same objects under versions of the same name.
        version = call.api_version
        decode = partial(self._decode, call)
        if form.transform:
            render = partial(self._render_form, call, form)
        else:
            render = partial(self._render, call)
        return View(
            (version, form.transform, form.include if form.transform else ""),
            selection.prefix(call),
            selection.matcher(call, self._core),
            render,
            decode,
        )

    def _decode(self, call: Call, stored: Stored) -> Object:
        obj = self._core.live(call.resource, stored)
        if self._needs_webhook(call):
            return obj
        return self._core.convert_now(call.resource, obj, call.api_version)

    def _render(self, call: Call, stored: Stored) -> bytes:
        stored = self._core.current(call.resource, stored)
        if stored.data.startswith(call.version.prefix):
            return stored.data
        return codec.encode(self._decode(call, stored))

    def _render_form(self, call: Call, form: Form, stored: Stored) -> bytes:
        return codec.encode(self._shown(call, form, self._decode(call, stored)))

    def _shown(self, call: Call, form: Form, obj: Object) -> Object:
        if form.transform == "Table":
            return tables.event_table(call, form, obj, self._core.clock.now())
        return forms.metadata_only(obj, form.version) if form.transform else obj

    def _bookmark(
        self, call: Call, form: Form, revision: int, is_initial_end: bool = False
    ) -> Frame:
        metadata: Object = {"resourceVersion": str(revision)}
        if is_initial_end:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        obj = {"kind": call.version.kind, "apiVersion": call.api_version, "metadata": metadata}
        if form.transform == "Table":
            obj = tables.event_table(call, form, obj, self._core.clock.now())
        elif form.transform:
            obj = forms.metadata_only(obj, form.version)
        line = codec.encode({"type": "BOOKMARK", "object": obj}) + b"\n"
        return Frame("BOOKMARK", line, lambda: obj)


async def _with_header(call: Call, frames: Frames) -> Frames:
    """The columns of a table travel with the first event alone."""
    is_first = True
    async for batch in frames:
        if is_first and batch:
            line = tables.with_header(call, batch[0].line)
            batch = [Frame(batch[0].type, line, batch[0].decode), *batch[1:]]
            is_first = False
        yield batch


def _wants_initial(call: Call) -> bool:
    text = call.request.first("sendInitialEvents")
    match = call.request.first("resourceVersionMatch")
    errors = []
    path = "resourceVersionMatch"
    if not text and not match and call.request.first("resourceVersion") in ("", "0"):
        # A watch without a version asks for the initial state, by default.
        text, match = "true", "NotOlderThan"
    if text and match != "NotOlderThan":
        errors.append(
            fields.forbidden(
                path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            )
        )
    if match and not text:
        errors.append(
            fields.forbidden(
                path, f"{path} is forbidden for watch unless sendInitialEvents is provided"
            )
        )
    if match not in ("", "NotOlderThan"):
        errors.append(fields.unsupported(path, match, ["NotOlderThan"]))
    if match and call.request.first("continue"):
        errors.append(fields.forbidden(path, f"{path} is forbidden when continue is provided"))
    if errors:
        raise problems.invalid("meta.k8s.io", "ListOptions", "", errors)
    return text.lower() not in ("", "false", "0")


def _check_seconds(call: Call) -> None:
    text = call.request.first("timeoutSeconds")
    if text and not text.lstrip("-+").isdecimal():
        raise problems.bad_request(f"strconv.ParseInt: parsing {fields.show(text)}: invalid syntax")


def _expired(since: int, oldest: int) -> Response:
    """A revision that is gone: the stream opens, says so and ends."""
    status = problems.expired(f"too old resource version: {since} ({oldest})").status()
    line = codec.encode({"type": "ERROR", "object": status}) + b"\n"

    async def frames() -> Frames:
        yield [Frame("ERROR", line, lambda: status)]

    return Response(200, frames=frames())
