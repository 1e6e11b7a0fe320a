"""One request on its way through the server: who asks, for what, with which options."""

from dataclasses import dataclass, field
from typing import Any

from fleetqueue.api import field_errors as fields
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.awaited import Conversions
from fleetqueue.apiserver.builtin.objectmeta import validate_field_manager
from fleetqueue.apiserver.registry import Resource, Version
from fleetqueue.apiserver.request import Request
from fleetqueue.apiserver.routes import Route

Object = dict[str, Any]

MANAGER_LENGTH_MAX = 128
_VALIDATIONS = ("", "Ignore", "Warn", "Strict")


@dataclass(slots=True)
class Call:
    """A request for a known resource by a known user."""

    request: Request
    route: Route
    user: User
    resource: Resource
    version: Version
    warnings: list[str] = field(default_factory=list)
    conversions: Conversions | None = None
    """Of objects that a webhook converts, for what the managers of fields need to know."""

    @property
    def key(self) -> str:
        return self.resource.key(self.route.namespace, self.route.name)

    @property
    def api_version(self) -> str:
        return self.resource.api_version(self.version.name)

    @property
    def is_dry_run(self) -> bool:
        return bool(self.request.query.get("dryRun"))

    @property
    def field_validation(self) -> str:
        return self.request.first("fieldValidation") or "Warn"

    @property
    def manager(self) -> str:
        """Who the written fields belong to: the field manager named, or the program that asks."""
        named = self.request.first("fieldManager")
        if named:
            return named
        agent = self.request.headers.get("user-agent", "").split("/")[0]
        if not agent.isprintable():
            agent = "".join(letter for letter in agent if letter.isprintable())
        return agent[:MANAGER_LENGTH_MAX] or "unknown"

    def not_found(self) -> problems.ApiError:
        return problems.not_found(self.resource.group, self.resource.plural, self.route.name)

    def wrong_verb(self) -> problems.ApiError:
        """Custom resources are routed by hand upstream, and refuse in words of their own."""
        if self.resource.is_custom:
            return problems.method_not_allowed(
                self.route.verb, self.resource.group, self.resource.plural
            )
        return problems.wrong_method()

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)


def check_options(call: Call, kind: str) -> None:
    """Refuse write options that kube-apiserver refuses; `kind` is CreateOptions, UpdateOptions,
    PatchOptions.
    """
    if not call.request.query:
        return
    errors = []
    dry_run = call.request.query.get("dryRun") or []
    if any(value != "All" for value in dry_run):
        errors.append(fields.unsupported("dryRun", dry_run, ["All"]))
    validation = call.request.first("fieldValidation")
    if validation not in _VALIDATIONS:
        errors.append(fields.unsupported("fieldValidation", validation, sorted(_VALIDATIONS)))
    errors += validate_field_manager(call.request.first("fieldManager"), "fieldManager")
    if errors:
        raise problems.invalid("meta.k8s.io", kind, "", errors)
