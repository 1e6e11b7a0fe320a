"""Get and list: stored bytes joined into answers, consistent at one revision, in pages."""

from collections.abc import Iterator, Sequence
from functools import partial
from operator import methodcaller
from typing import Any, NamedTuple

from fleetqueue.api import field_errors as fields
from fleetqueue.apiserver import continuing, forms, problems, selection
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.forms import Form
from fleetqueue.apiserver.printing import tables
from fleetqueue.apiserver.ranges import Range
from fleetqueue.apiserver.request import Response
from fleetqueue.apiserver.storage import Stored
from fleetqueue.base import codec, documents

Object = dict[str, Any]

TOO_OLD_INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)
VERSION_ERROR = "invalid resource version: resourceVersion: Invalid value: {}: "
MATCHES = ("", "Exact", "NotOlderThan")
PIECE_ITEMS = 256


class Page(NamedTuple):
    """Part of a collection at a revision."""

    items: Sequence[Stored]
    revision: int
    token: str = ""
    remaining: int | None = None


class Reader:
    """Answers reads for one server."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def get(self, call: Call) -> Response:
        form = forms.choose(call)
        forms.check_is_object(call, form)
        _check_version(call.request.first("resourceVersion"))
        self._check_not_ahead(call)
        stored = self._core.store.get(call.resource.table, call.key)
        if stored is None:
            raise call.not_found()
        return await self.answer(call, form, self._core.current(call.resource, stored))

    async def answer(self, call: Call, form: Form, stored: Stored, status: int = 200) -> Response:
        """One object in the form and version asked for."""
        plain = form == forms.PLAIN
        if plain and stored.data.startswith(call.version.prefix):
            decode = partial(self._core.store.decoded, stored)
            return Response(status, body=stored.data, decode=decode)
        obj = await self._core.in_version(call.resource, stored, call.api_version)
        return self.shown(call, form, obj, status)

    def shown(self, call: Call, form: Form, obj: Object, status: int = 200) -> Response:
        if form.transform == "Table":
            obj = tables.table(call, form, [obj], obj["metadata"], self._core.clock.now())
        elif form.transform:
            obj = forms.metadata_only(obj, form.version)
        return written(form, obj, status)

    # Lists

    async def list_objects(self, call: Call) -> Response:
        form = forms.choose(call)
        forms.check_is_list(call, form)
        page = self.page(call)
        if form == forms.PLAIN and call.api_version == call.resource.stored_as:
            pieces = _joined(call, page)
            if pieces is not None:
                return Response(200, pieces=pieces)
        decoded = [self._core.store.decoded(stored) for stored in page.items]
        objects = await self._core.convert(call.resource, decoded, call.api_version)
        return self.listed(call, form, objects, page)

    def listed(self, call: Call, form: Form, objects: list[Object], page: Page) -> Response:
        metadata = list_metadata(page)
        if form.transform == "Table":
            return written(
                form, tables.table(call, form, objects, metadata, self._core.clock.now())
            )
        if form.transform:
            items = [forms.metadata_only(obj, form.version) for obj in objects]
            kind = "PartialObjectMetadataList"
            version = f"meta.k8s.io/{form.version}"
        else:
            items, kind, version = objects, call.resource.list_kind, call.api_version
            if not call.resource.is_custom:
                items = [_untyped(obj) for obj in items]
        if call.resource.is_custom and not form.transform:
            metadata = _custom_metadata(metadata)
        body = {"kind": kind, "apiVersion": version, "metadata": metadata, "items": items}
        return written(form, body)

    def page(self, call: Call) -> Page:
        """The objects a list means, at its revision, cut at its limit."""
        store, query = self._core.store, call.request
        limit = max(_number(query.first("limit"), "limit"), 0)
        _check_match(call, query.first("resourceVersion"), query.first("resourceVersionMatch"))
        start, revision = "", store.revision
        if query.first("continue"):
            if query.first("resourceVersion") not in ("", "0"):
                raise problems.bad_request(
                    "specifying resource version is not allowed when using continue"
                )
            start, revision = self._resume(query.first("continue"))
        else:
            revision = self._revision_asked(call, limit)
            # Any version will do, so upstream's cache answers, and that knows no pages.
            limit = 0 if query.first("resourceVersion") == "0" else limit
        prefix = selection.prefix(call)
        matches = selection.matcher(call, self._core)
        found = store.range_at(call.resource.table, prefix, revision, start)
        page = _cut(found, matches, limit, revision)
        if call.resource.reshaper is None:
            return page
        return page._replace(items=[self._core.current(call.resource, one) for one in page.items])

    def _resume(self, token: str) -> tuple[str, int]:
        start, revision = continuing.read(token)
        if revision < 0:
            return start, self._core.store.revision
        if revision < self._core.store.compacted:
            error = problems.expired(TOO_OLD_INCONSISTENT)
            error.metadata = {"continue": continuing.write(start, -1)}
            raise error
        return start, revision

    def _revision_asked(self, call: Call, limit: int) -> int:
        store = self._core.store
        text, match = (
            call.request.first("resourceVersion"),
            call.request.first("resourceVersionMatch"),
        )
        if not text or text == "0":
            return store.revision
        self._check_not_ahead(call)
        asked = _number(text, "resourceVersion")
        if match == "Exact" or (not match and limit):
            if asked < store.compacted:
                raise problems.expired("The resourceVersion for the provided list is too old.")
            return asked
        return store.revision

    def _check_not_ahead(self, call: Call) -> None:
        text = call.request.first("resourceVersion")
        asked = _number(text, "resourceVersion") if text else 0
        revision = self._core.store.revision
        if asked > revision:
            error = problems.timeout(f"Too large resource version: {asked}, current: {revision}")
            error.details = {
                "causes": [
                    {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
                ],
                "retryAfterSeconds": 1,
            }
            error.headers = {"Retry-After": "1"}
            raise error


def list_metadata(page: Page) -> Object:
    metadata: Object = {"resourceVersion": str(page.revision)} if page.revision else {}
    if page.token:
        metadata["continue"] = page.token
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    return metadata


def _custom_metadata(metadata: Object) -> Object:
    """Lists of custom resources always say whether they continue."""
    return {"continue": "", **metadata}


def written(form: Form, obj: Object, status: int = 200) -> Response:
    if form.is_yaml:
        return Response(
            status, body=documents.dump(obj).encode(), object=obj, content_type=form.media_type
        )
    if form.pretty:
        import msgspec

        body = msgspec.json.format(codec.encode(obj), indent=2) + b"\n"
        return Response(status, body=body, object=obj)
    return Response(status, object=obj)


def _joined(call: Call, page: Page) -> list[bytes] | None:
    """The list as bytes, without decoding an item; None where an item is of another version."""
    metadata = list_metadata(page)
    if call.resource.is_custom:
        metadata = _custom_metadata(metadata)
    head = codec.encode(
        {"kind": call.resource.list_kind, "apiVersion": call.api_version, "metadata": metadata}
    )
    prefix = call.version.prefix
    items = [stored.data for stored in page.items]
    if not all(map(methodcaller("startswith", prefix), items)):
        return None
    # Items of built-in lists carry no type of their own.
    cut = 1 if call.resource.is_custom else len(prefix)
    return [head[:-1] + b',"items":[', *_pieces(items, cut), b"]}\n"]


def _pieces(items: Sequence[bytes], cut: int) -> Iterator[bytes]:
    """The items in pieces of a few hundred, since memory for a list of megabytes costs more than to
    fill it. `cut` is what goes from the front of each item, its brace included.
    """
    for start in range(0, len(items), PIECE_ITEMS):
        opening = b",{" if start else b"{"
        piece = [data[cut:] for data in items[start : start + PIECE_ITEMS]]
        yield opening + b",{".join(piece)


def _untyped(obj: Object) -> Object:
    return {name: value for name, value in obj.items() if name not in ("kind", "apiVersion")}


def _cut(found: Range, matches: selection.Match | None, limit: int, revision: int) -> Page:
    if matches is None:
        kept = found.take(limit)
        left = len(found) - len(kept) if limit else 0
        if not left:
            return Page(kept, revision)
        return Page(kept, revision, continuing.write(kept[-1].key, revision), left)
    kept = []
    for stored in found.scan():
        if not matches(stored):
            continue
        if limit and len(kept) == limit:
            return Page(kept, revision, continuing.write(kept[-1].key, revision))
        kept.append(stored)
    return Page(kept, revision)


def _check_version(text: str) -> None:
    """Of a single object; lists word it differently."""
    if text and not text.isdecimal():
        quoted = fields.show(text)
        why = f"Invalid value: {quoted}: strconv.ParseUint: parsing {quoted}: invalid syntax"
        raise problems.ApiError(500, "", f"resourceVersion: {why}")


def _number(text: str, name: str) -> int:
    if not text:
        return 0
    try:
        number = int(text)
        if number < 0 and name == "resourceVersion":
            raise ValueError
        return number
    except ValueError as error:
        kind, how = ("ParseInt", "") if name != "resourceVersion" else ("ParseUint", VERSION_ERROR)
        quoted = fields.show(text)
        raise problems.bad_request(
            f"{how.format(quoted)}strconv.{kind}: parsing {quoted}: invalid syntax"
        ) from error


def _check_match(call: Call, version: str, match: str) -> None:
    errors = []
    path = "resourceVersionMatch"
    if match and not version:
        errors.append(
            fields.forbidden(path, f"{path} is forbidden unless resourceVersion is provided")
        )
    elif match == "Exact" and version == "0":
        errors.append(
            fields.forbidden(path, f'{path} "exact" is forbidden for resourceVersion "0"')
        )
    if match and call.request.first("continue"):
        errors.append(fields.forbidden(path, f"{path} is forbidden when continue is provided"))
    if match not in MATCHES:
        errors.append(fields.unsupported(path, match, ["Exact", "NotOlderThan", ""]))
    if call.request.first("sendInitialEvents"):
        why = "sendInitialEvents is forbidden for list"
        errors.append(fields.forbidden("sendInitialEvents", why))
    if errors:
        raise problems.invalid("meta.k8s.io", "ListOptions", "", errors)
