"""What looks at a write between its decoding and its storing: the server's own hooks, then
webhooks.

In-process hooks are plain functions, so a write that no webhook concerns never yields between
reading the latest state and proposing the next.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from fleetqueue.apiserver.call import Call

Object = dict[str, Any]


@dataclass(slots=True)
class Operation:
    """One write as hooks see it. `obj` may be changed or replaced by a mutating hook."""

    verb: str
    """CREATE, UPDATE, DELETE or CONNECT."""
    call: Call
    name: str
    obj: Object | None
    old: Object | None
    options: Object = field(default_factory=dict)
    subresource: str = ""
    kind: tuple[str, str, str] | None = None
    """Group, version and kind of what is seen, where it is not an object of the resource."""

    @property
    def namespace(self) -> str:
        return self.call.route.namespace

    @property
    def group(self) -> str:
        return self.call.resource.group

    @property
    def resource(self) -> str:
        return self.call.resource.plural

    @property
    def is_dry_run(self) -> bool:
        return bool(self.options.get("dryRun"))

    def concerns(self, group: str, resource: str, verbs: str, subresource: str = "") -> bool:
        return (
            self.resource == resource
            and self.group == group
            and self.subresource == subresource
            and self.verb in verbs
        )


Step = Callable[[Operation], None]


class Hook:
    """An in-process hook. Refusals are ApiErrors."""

    resources: Collection[tuple[str, str]] | None = None
    """Group and resource of what it looks at; None: everything."""

    def mutate(self, operation: Operation) -> None:
        pass

    def validate(self, operation: Operation) -> None:
        pass


class AsyncHook(Protocol):
    """A hook that asks somebody else; `concerns` says whether it must be asked at all."""

    def concerns(self, operation: Operation, phase: str) -> bool: ...

    async def mutate(self, operation: Operation) -> bool:
        """Whether the object was changed, and so needs defaulting again."""

    async def validate(self, operation: Operation) -> None: ...


class Hooks:
    """All hooks of a server, in their order."""

    def __init__(
        self,
        own: Sequence[Hook] = (),
        remote: AsyncHook | None = None,
        last: Sequence[Hook] = (),
    ) -> None:
        self._own = list(own)
        self.remote = remote
        self._last = list(last)
        """They validate after the webhooks, so that nobody waits between them and the store."""
        self._chosen: dict[tuple[str, str], _Chosen] = {}

    def add(self, hook: Hook) -> None:
        self._own.append(hook)
        self._chosen.clear()

    async def mutate(self, operation: Operation) -> bool:
        for mutate in self._choose(operation).mutate:
            mutate(operation)
        if self.remote is not None and self.remote.concerns(operation, "mutate"):
            return await self.remote.mutate(operation)
        return False

    async def validate(self, operation: Operation) -> None:
        chosen = self._choose(operation)
        for validate in chosen.validate:
            validate(operation)
        if self.remote is not None and self.remote.concerns(operation, "validate"):
            await self.remote.validate(operation)
        for validate in chosen.validate_last:
            validate(operation)

    def _choose(self, operation: Operation) -> "_Chosen":
        resource = operation.call.resource
        where = (resource.group, resource.plural)
        found = self._chosen.get(where)
        if found is None:
            own = [hook for hook in self._own if hook.resources is None or where in hook.resources]
            found = self._chosen[where] = _Chosen(
                [hook.mutate for hook in own if _has(hook, "mutate")],
                [hook.validate for hook in own if _has(hook, "validate")],
                [hook.validate for hook in self._last],
            )
        return found


class _Chosen(NamedTuple):
    """The steps that concern one resource."""

    mutate: list[Step]
    validate: list[Step]
    validate_last: list[Step]


def _has(hook: Hook, step: str) -> bool:
    """Whether it says anything of its own in this step."""
    return getattr(type(hook), step) is not getattr(Hook, step)
