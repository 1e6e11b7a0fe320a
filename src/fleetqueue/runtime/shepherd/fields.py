"""Classes that are little more than their fields, for a program that has to start quickly and stay
small: `dataclasses` would be a third of what the shepherd loads.
"""

from collections.abc import Callable
from typing import Any, dataclass_transform


class _Made:
    def __init__(self, default_factory: Callable[[], Any]) -> None:
        self.make = default_factory


def made(*, default_factory: Callable[[], Any]) -> Any:
    """A default that each object has for itself."""
    return _Made(default_factory)


@dataclass_transform(field_specifiers=(made,))
class Fields:
    """The annotated names of a class below this one are its fields, with their defaults."""

    def __init__(self, *values: Any, **named: Any) -> None:
        names = tuple(type(self).__annotations__)
        given = dict(zip(names, values, strict=False)) | named
        if len(values) > len(names) or not given.keys() <= set(names):
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(names)}")
        for name in names:
            value = given[name] if name in given else self._default(name)
            setattr(self, name, value)

    def _default(self, name: str) -> Any:
        try:
            found = vars(type(self))[name]
        except KeyError:
            raise TypeError(f"{type(self).__name__} needs {name}") from None
        return found.make() if isinstance(found, _Made) else found

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]
