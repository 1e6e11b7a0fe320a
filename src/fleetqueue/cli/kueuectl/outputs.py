"""The flag `-o`: an object or a list as JSON, YAML, names, or what a JSONPath template picks."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click

from fleetqueue.base import documents
from fleetqueue.cli.kueuectl.failures import Failure

Object = dict[str, Any]
FORMATS = ("json", "jsonpath", "jsonpath-as-json", "jsonpath-file", "name", "yaml")
WIDE = "wide"


@dataclass(frozen=True, slots=True)
class Output:
    """How results are printed; an empty format is the command's own way."""

    format: str = ""
    template: str = ""
    shows_managed_fields: bool = False

    @property
    def is_own(self) -> bool:
        return self.format in ("", WIDE)

    def text(self, obj: Object) -> str:
        """An object, or a list of some, in the format that was asked for."""
        shown = obj if self.shows_managed_fields else without_managed_fields(obj)
        match self.format:
            case "json":
                return json.dumps(shown, indent=4, ensure_ascii=False, sort_keys=True)
            case "yaml":
                return documents.dump(shown).rstrip("\n")
            case "name":
                return "\n".join(title(each) for each in shown.get("items", [shown]))
        return _by_path(self, shown)


def output_options(
    *, allows_wide: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a command `output: Output`."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_output(*, output: str, show_managed_fields: bool, **others: Any) -> Any:
            read = read_output(output, allows_wide=allows_wide)
            chosen = replace(read, shows_managed_fields=show_managed_fields)
            return command(output=chosen, **others)

        formats = "|".join((*FORMATS, WIDE) if allows_wide else FORMATS)
        kept = click.option(
            "--show-managed-fields", is_flag=True, help="Keep metadata.managedFields."
        )(with_output)
        return click.option("-o", "--output", default="", help=f"Output format: {formats}.")(kept)

    return decorate


def read_output(text: str, *, allows_wide: bool = False) -> Output:
    name, equals, template = text.partition("=")
    if not text or (text == WIDE and allows_wide):
        return Output(text)
    if name not in FORMATS or (equals and not name.startswith("jsonpath")):
        raise Failure(
            f'unable to match a printer suitable for the output format "{text}",'
            f" allowed formats are: {','.join(FORMATS)}"
        )
    if name.startswith("jsonpath") and not template:
        raise Failure("template format specified but no template given")
    if name == "jsonpath-file":
        return Output("jsonpath", _file(template))
    return Output(name, template)


def title(obj: Object, verb: str = "") -> str:
    """`clusterqueue.kueue.x-k8s.io/name`, and what was done to it."""
    group, slash, _ = obj["apiVersion"].rpartition("/")
    kind = f"{obj['kind'].lower()}.{group}" if slash else obj["kind"].lower()
    return f"{kind}/{obj['metadata']['name']} {verb}".rstrip()


def list_of(kind: str, api_version: str, items: list[Object]) -> Object:
    return {"apiVersion": api_version, "kind": f"{kind}List", "metadata": {}, "items": items}


def without_managed_fields(obj: Object) -> Object:
    made = dict(obj)
    if "managedFields" in (obj.get("metadata") or {}):
        kept = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
        made["metadata"] = kept
    if isinstance(obj.get("items"), list):
        made["items"] = [without_managed_fields(each) for each in obj["items"]]
    return made


def _by_path(output: Output, obj: Object) -> str:
    from fleetqueue.base.jsonpath import JsonPathError
    from fleetqueue.cli.kueuectl.path_templates import picked, render

    try:
        if output.format == "jsonpath-as-json":
            found = picked(output.template, obj)
            return json.dumps(found, indent=4, ensure_ascii=False, sort_keys=True)
        return render(output.template, obj)
    except JsonPathError as error:
        raise Failure(f'error executing jsonpath "{output.template}": {error}') from error


def _file(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError as error:
        raise Failure(f"error reading --template {path}, {error.strerror}") from error
