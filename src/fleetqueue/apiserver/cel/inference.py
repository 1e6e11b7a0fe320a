"""Which type fits where: assignability with type parameters, as CEL's checker sees it."""

from collections.abc import Sequence

from fleetqueue.apiserver.cel.types import DYN, Type

_NULLABLE = frozenset(
    (
        "object",
        "timestamp",
        "duration",
        "optional_type",
        "kubernetes.Quantity",
        "kubernetes.URL",
        "kubernetes.Semver",
        "kubernetes.NamedFormat",
        "net.IP",
        "net.CIDR",
    )
)


class Bindings:
    """What the type parameters of an expression have turned out to be."""

    def __init__(self) -> None:
        self._known: dict[str, Type] = {}
        self._count = 0

    def fresh(self) -> Type:
        """A parameter that nothing is known about yet."""
        self._count += 1
        return Type(f"_var{self._count}")

    def renamed(self, kinds: Sequence[Type]) -> list[Type]:
        """A signature with parameters of its own."""
        names: dict[str, Type] = {}

        def rename(kind: Type) -> Type:
            if kind.is_parameter:
                if kind.name not in names:
                    names[kind.name] = self.fresh()
                return names[kind.name]
            return _with(kind, [rename(inner) for inner in kind.parameters])

        return [rename(kind) for kind in kinds]

    def resolve(self, kind: Type) -> Type:
        """With everything filled in that is known by now."""
        while _is_open(kind) and kind.name in self._known:
            kind = self._known[kind.name]
        return _with(kind, [self.resolve(inner) for inner in kind.parameters])

    def final(self, kind: Type) -> Type:
        """As `resolve`; what is still open may be anything."""
        kind = self.resolve(kind)
        if _is_open(kind):
            return DYN
        return _with(kind, [self.final(inner) for inner in kind.parameters])

    def assign_all(self, targets: Sequence[Type], sources: Sequence[Type]) -> bool:
        """All or nothing: on failure no binding is left behind."""
        saved = dict(self._known)
        if len(targets) == len(sources) and all(map(self.assign, targets, sources)):
            return True
        self._known = saved
        return False

    def assign(self, target: Type, source: Type) -> bool:
        target, source = self.resolve(target), self.resolve(source)
        if _is_open(target):
            return self._bind(target, source)
        if _is_open(source):
            return self._bind(source, target)
        if target.is_dynamic or source.is_dynamic:
            return True
        if "null_type" in (target.name, source.name) and target.name != source.name:
            return (source.name if target.name == "null_type" else target.name) in _NULLABLE
        if target.name != source.name or target.identity != source.identity:
            return False
        return all(map(self.assign, target.parameters, source.parameters))

    def _bind(self, parameter: Type, kind: Type) -> bool:
        if kind.name == parameter.name:
            return True
        if self._mentions(kind, parameter.name):
            return False
        self._known[parameter.name] = kind
        return True

    def _mentions(self, kind: Type, name: str) -> bool:
        kind = self.resolve(kind)
        return kind.name == name or any(self._mentions(i, name) for i in kind.parameters)


def more_general(first: Type, second: Type) -> Type:
    """Of two types that fit each other, the one that takes more values."""
    if second.is_dynamic or (first.name == "null_type" and second.name != "null_type"):
        return second
    return first


def _is_open(kind: Type) -> bool:
    return kind.name.startswith("_var")


def _with(kind: Type, parameters: list[Type]) -> Type:
    if not parameters or tuple(parameters) == kind.parameters:
        return kind
    return Type(kind.name, tuple(parameters), kind.shape, kind.list_keys, kind.identity)
