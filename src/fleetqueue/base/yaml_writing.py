"""Writes YAML as kubectl prints it.

Apart from `documents.py`, because a server that is asked for JSON alone never loads the YAML
library.
"""

from typing import Any

import yaml

from fleetqueue.base import codec, scalars

_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_STYLE: dict[str, Any] = {"default_flow_style": False, "allow_unicode": True, "sort_keys": True}
_TAG = "tag:yaml.org,2002:"


def dump(value: Any) -> str:
    return str(yaml.dump(value, Dumper=_Writer, **_STYLE))


class _Writer(_Dumper):  # type: ignore[misc]  # the C dumper is chosen at run time
    """Quotes what kubectl quotes, and never writes aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def resolve(self, kind: Any, value: str, implicit: tuple[bool, bool]) -> str:
        """What readers will take the text for; the emitter quotes or tags all else."""
        if kind is not yaml.ScalarNode or implicit[1] or scalars.reads_as_text(value):
            return str(super().resolve(kind, None, (False, True)))
        return f"{_TAG}{scalars.kind(scalars.resolve(value))}"


def _represent_text(dumper: Any, text: str) -> Any:
    style = None
    if "\n" in text:
        style = "|"
    elif not scalars.reads_as_text(text):
        style = '"'
    return dumper.represent_scalar(f"{_TAG}str", text, style=style)


def _represent_float(dumper: Any, value: float) -> Any:
    return dumper.represent_scalar(f"{_TAG}float", codec.encode(value).decode())


_Writer.add_representer(str, _represent_text)
_Writer.add_representer(float, _represent_float)
