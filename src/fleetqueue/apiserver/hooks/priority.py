"""Gives pods the priority of their class, and keeps the default class the only one."""

from typing import Any

from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks import Hook, Operation
from fleetqueue.apiserver.hooks.refusals import refuse

Object = dict[str, Any]

GROUP = "scheduling.k8s.io"
TABLE = "priorityclasses.scheduling.k8s.io"
PREEMPTS = "PreemptLowerPriority"


class Priority(Hook):
    """Looks at pods, and at priority classes that want to be the default."""

    resources = (("", "pods"), (GROUP, "priorityclasses"))

    def __init__(self, core: Core) -> None:
        self._core = core

    def mutate(self, operation: Operation) -> None:
        if operation.resource != "pods" or operation.group or operation.subresource:
            return
        if operation.verb == "CREATE":
            self._assign(operation)
        elif operation.verb == "UPDATE":
            assert operation.obj is not None
            assert operation.old is not None
            for name in ("priority", "preemptionPolicy"):
                if operation.obj["spec"].get(name) is None and name in operation.old["spec"]:
                    operation.obj["spec"][name] = operation.old["spec"][name]

    def validate(self, operation: Operation) -> None:
        if operation.resource != "priorityclasses" or operation.group != GROUP:
            return
        if operation.obj is None or not operation.obj.get("globalDefault"):
            return
        default = self._default()
        if default is None:
            return
        name = default["metadata"]["name"]
        if operation.verb == "CREATE" or name != operation.name:
            why = f"PriorityClass {name} is already marked as default. Only one default can exist"
            raise refuse(operation, why)

    def _assign(self, operation: Operation) -> None:
        assert operation.obj is not None
        spec = operation.obj["spec"]
        value, policy = self._wanted(operation, spec)
        given = spec.get("priority")
        if given is not None and given != value:
            why = (
                f"the integer value of priority ({given}) must not be provided in pod spec; "
                f"priority admission controller computed {value} from the given PriorityClass name"
            )
            raise refuse(operation, why)
        spec["priority"] = value
        given = spec.get("preemptionPolicy")
        if given is not None and given != policy:
            why = (
                f"the string value of PreemptionPolicy ({given}) must not be provided in pod spec; "
                f"priority admission controller computed {policy} from the given PriorityClass name"
            )
            raise refuse(operation, why)
        spec["preemptionPolicy"] = policy

    def _wanted(self, operation: Operation, spec: Object) -> tuple[int, str]:
        name = spec.get("priorityClassName")
        if name:
            latest = self._core.store.latest(TABLE, name)
            if latest is None:
                raise refuse(operation, f"no PriorityClass with name {name} was found")
            found: Object | None = self._core.store.decoded(latest)
        else:
            found = self._default()
            if found is not None:
                spec["priorityClassName"] = found["metadata"]["name"]
        if found is None:
            return 0, PREEMPTS
        return found.get("value", 0), found.get("preemptionPolicy") or PREEMPTS

    def _default(self) -> Object | None:
        """The global default; the lowest, should there be several."""
        table = self._core.store.table(TABLE)
        # There are few classes, and the word is looked for before anything is decoded.
        marked = [s for s in table.live.values() if b'"globalDefault":true' in s.data]
        classes = [self._core.store.decoded(stored) for stored in marked]
        return min(classes, key=lambda found: found.get("value", 0), default=None)
