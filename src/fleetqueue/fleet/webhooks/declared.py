"""A webhook of a hub as data: what it is asked about, and the function that answers. A server in
the same process calls it straight; a foreign one asks for it by its configuration.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kube.resources import Object
from fleetqueue.kube.reviews import Review
from fleetqueue.kube.sources import Source

FAIL_SECONDS = 5
GUARD_SECONDS = 1


@dataclass(frozen=True, slots=True)
class Around:
    """What a decision finds around a write."""

    source: Source
    settings: HubSettings
    is_cluster_scoped: Callable[[str, str, str], bool]
    """Whether group, version and kind name a cluster-scoped kind; LookupError: cannot be said."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Writes that a webhook is asked about; resources as `pods`, `pods/status`, `*`."""

    group: str
    resources: tuple[str, ...]
    operations: tuple[str, ...]
    version: str = "*"
    scope: str = "*"

    def matches(self, review: Review) -> bool:
        if review.operation not in self.operations or self.group not in ("*", review.group):
            return False
        named = f"{review.plural}/{review.subresource}" if review.subresource else review.plural
        # A Namespace is asked about with its own name as the namespace.
        is_inside = bool(review.namespace) and review.kind != "Namespace"
        if self.scope != "*" and (self.scope == "Namespaced") != is_inside:
            return False
        if "*/*" in self.resources:
            return True
        return named in self.resources or ("*" in self.resources and not review.subresource)

    def document(self) -> Object:
        return {
            "apiGroups": [self.group],
            "apiVersions": [self.version],
            "operations": list(self.operations),
            "resources": list(self.resources),
            "scope": self.scope,
        }


Refuse = Callable[[Review, Around], str]
"""Why a write is refused, "" where it is not."""
Default = Callable[[Object], Object]


@dataclass(frozen=True, slots=True)
class Declared:
    """One webhook; it has either a default or a refusal."""

    name: str
    path: str
    rules: tuple[Rule, ...]
    refuse: Refuse | None = None
    default: Default | None = None
    policy: Literal["Fail", "Ignore"] = "Fail"
    seconds: int = FAIL_SECONDS
    namespaces: Mapping[str, Any] = field(default_factory=dict)
    """A selector of namespaces by their labels; {}: all."""
    in_namespace: Callable[[str, Source], bool] | None = None
    """The same as a function, for a server in the same process."""

    def concerns(self, review: Review, source: Source) -> bool:
        if not any(rule.matches(review) for rule in self.rules):
            return False
        return self.in_namespace is None or self.in_namespace(review.namespace, source)
