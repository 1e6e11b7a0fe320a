"""Whether an applied configuration fits its shape; complaints are in kube-apiserver's words."""

from typing import Any

from fleetqueue.apiserver.merge import field_sets, go_text
from fleetqueue.apiserver.merge.shapes import Shape


def complaints(value: Any, shape: Shape, *, allows_duplicates: bool = False) -> str:
    """All that is wrong, as one text; empty where nothing is."""
    check = _Check(allows_duplicates)
    check.value(value, shape, "")
    if len(check.found) < 2:
        return "".join(check.found)
    return "\n".join(["errors:", *(f"  {text}" for text in check.found)])


class _Check:
    """One walk over a value, and what it found."""

    def __init__(self, allows_duplicates: bool) -> None:
        self.found: list[str] = []
        self._allows_duplicates = allows_duplicates
        self._around: list[tuple[str, Shape]] = []

    def value(self, value: Any, shape: Shape, path: str) -> None:
        if isinstance(value, dict) and shape.is_map:
            self._around.append((path, shape))
            self._map(value, shape, path)
            self._around.pop()
        elif isinstance(value, list) and shape.is_list:
            self._list(value, shape, path)
        elif value is not None:
            wrong = _mismatch(value, shape)
            if wrong:
                self._note(path, wrong)

    def _map(self, value: dict[str, Any], shape: Shape, path: str) -> None:
        declared, takes_any = shape.declared, shape.fields.takes_any
        shapes = shape.fields
        for name, child in value.items():
            known = shapes.get(name)
            if known is not None and type(child) in known.scalar_types:
                continue
            if name not in declared and not takes_any:
                self._note(f"{path}.{name}", f"field not declared in schema{self._hint(name)}")
                return
            self.value(child, shapes[name], f"{path}.{name}")

    def _hint(self, name: str) -> str:
        """Where a field of that name belongs, if an object around the wrong place has one. All have
        the fields at the top, which are not meant.
        """
        around = [path for path, shape in self._around[1:-1] if name in shape.declared]
        return f" (it belongs at {around[-1]}.{name})" if around else ""

    def _list(self, value: list[Any], shape: Shape, path: str) -> None:
        assert shape.item is not None
        seen: set[str] = set()
        for position, item in enumerate(value):
            place = f"[{position}]"
            if not shape.is_atomic_list:
                try:
                    element = shape.element(item)
                except ValueError as error:
                    self._note(path, f"element {position}: {error}")
                    return
                place = field_sets.element_text(element)
                if element in seen and not self._allows_duplicates:
                    self._note(path, f"duplicate entries for key {place}")
                seen.add(element)
            self.value(item, shape.item, f"{path}{place}")

    def _note(self, path: str, text: str) -> None:
        self.found.append(f"{path}: {text}" if path else text)


def _mismatch(value: Any, shape: Shape) -> str:
    """A value of the wrong type is judged by the first type that its place allows."""
    is_scalar = not isinstance(value, dict | list)
    if shape.is_map and not (is_scalar and shape.scalar):
        return f"expected map, got {_shown(value)}"
    if not shape.scalar:
        return f"expected list, got {_shown(value)}"
    if shape.scalar == "string" and not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{go_text.syntax(value)}}}"
    if shape.scalar == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got {_shown(value)}"
    if shape.scalar == "numeric" and (isinstance(value, bool | str) or not is_scalar):
        return f"expected numeric (int or float), got {go_text.type_name(value)}"
    return "" if is_scalar else f"expected any scalar, got {_shown(value)}"


def _shown(value: Any) -> str:
    return f"&{{{go_text.plain(value)}}}"
