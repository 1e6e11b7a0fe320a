"""Reads a configuration document strictly, and fills in what its fields leave open."""

from types import NoneType
from typing import Any, TypeVar

import msgspec

from fleetqueue.api.kueue.config import types, v1beta1
from fleetqueue.api.kueue.config.manager import LeaderElection
from fleetqueue.api.kueue.config.types import Configuration, MultiKueue, WaitForPodsReady
from fleetqueue.api.meta import LabelSelector, LabelSelectorRequirement
from fleetqueue.api.model import read
from fleetqueue.api.strict import unknown_fields
from fleetqueue.api.times import TimeError, parse_duration
from fleetqueue.base import paths
from fleetqueue.errors import InvalidInput

Json = dict[str, Any]

Section = TypeVar("Section", bound=msgspec.Struct)

DEFAULT_NAMESPACE = "kueue-system"
NAMESPACE_LABEL = "kubernetes.io/metadata.name"


class ConfigurationError(InvalidInput):
    """The document is no configuration that can be understood."""


def read_configuration(raw: Any, namespace: str = DEFAULT_NAMESPACE) -> Configuration:
    """A configuration in either version; `namespace` is where the manager itself runs."""
    if not isinstance(raw, dict):
        found = "the document is empty" if raw is None else "the document has no fields"
        raise ConfigurationError(f"{found}: a {types.KIND} of {types.API_VERSION} was expected")
    match raw.get("apiVersion"), raw.get("kind"):
        case types.API_VERSION, types.KIND:
            _check_fields(types.Configuration, raw)
            document = _without_nulls(raw)
        case v1beta1.API_VERSION, types.KIND:
            _check_fields(v1beta1.Configuration, raw, v1beta1.ABSENT)
            document = v1beta1.as_v1beta2(_without_nulls(raw))
        case api_version, kind:
            raise ConfigurationError(
                f'no kind "{kind}" is registered for version "{api_version}";'
                f" expected {types.KIND} of {types.API_VERSION} or {v1beta1.API_VERSION}"
            )
    return _completed(_typed(document), namespace)


def _check_fields(cls: type[msgspec.Struct], raw: Json, absent: tuple[str, ...] = ()) -> None:
    named = [name for name in absent if name in raw] + unknown_fields(cls, raw)
    if unknown := [path for path in named if not _is_empty_section(_at(raw, path))]:
        listed = ", ".join(f'unknown field "{path}"' for path in unknown)
        raise ConfigurationError(f"strict decoding error: {listed}")


def _at(raw: Json, path: str) -> Any:
    """What stands there; the path itself where its names are too odd to be read."""
    try:
        return paths.get(raw, path)
    except paths.PathError:
        return path


def _is_empty_section(value: Any) -> bool:
    """What a program writes for a section that it knows, nobody set, and we do not have."""
    return isinstance(value, dict | list | NoneType) and _says_nothing(value)


def _says_nothing(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_says_nothing, value.values()))
    return not value or value == "0s"


def _typed(document: Json) -> Configuration:
    try:
        return read(Configuration, document)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"the configuration cannot be read: {error}") from error


def _without_nulls(value: Any) -> Any:
    """A null says nothing: the field is as good as missing."""
    if isinstance(value, dict):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def _completed(config: Configuration, namespace: str) -> Configuration:
    namespace = config.namespace or namespace
    waiting, sharing = config.wait_for_pods_ready, config.admission_fair_sharing
    selector = config.managed_jobs_namespace_selector
    return msgspec.structs.replace(
        config,
        namespace=namespace,
        webhook=_filled(config.webhook, "port"),
        leader_election=_completed_election(config.leader_election),
        metrics=_filled(config.metrics, "bind_address"),
        health=_filled(config.health, *config.health.__struct_fields__),
        visibility_server=_filled(config.visibility_server, "bind_address", "bind_port"),
        internal_cert_management=_filled(
            config.internal_cert_management, "webhook_service_name", "webhook_secret_name"
        ),
        managed_jobs_namespace_selector=_outside(namespace) if selector is None else selector,
        wait_for_pods_ready=waiting and _completed_waiting(waiting),
        integrations=_filled(config.integrations, "frameworks"),
        admission_fair_sharing=sharing and _filled_spans(sharing, "usage_sampling_interval"),
        multi_kueue=_completed_multi_kueue(config.multi_kueue),
    )


def _filled(section: Section, *names: str) -> Section:
    """What a program wrote back has zeros where nothing was said."""
    defaults = type(section)()
    empty = {name: getattr(defaults, name) for name in names if not getattr(section, name)}
    return msgspec.structs.replace(section, **empty)


def _filled_spans(section: Section, *names: str) -> Section:
    """The same for spans, where a program writes `0s`."""
    empty = {name: "" for name in names if _is_zero(getattr(section, name))}
    return _filled(msgspec.structs.replace(section, **empty), *names)


def _is_zero(span: str) -> bool:
    """What is no span at all is told by the validation."""
    try:
        return not parse_duration(span)
    except TimeError:
        return False


def _completed_waiting(waiting: WaitForPodsReady) -> WaitForPodsReady:
    """To recover may take no time at all, and then nobody looks; to get ready may not."""
    waiting = _filled_spans(waiting, "timeout")
    if waiting.recovery_timeout is None:
        waiting = msgspec.structs.replace(waiting, recovery_timeout=waiting.timeout)
    return waiting


def _completed_election(election: LeaderElection) -> LeaderElection:
    election = _filled_spans(election, "lease_duration", "renew_deadline", "retry_period")
    return _filled(election, "resource_lock", "resource_name")


def _outside(namespace: str) -> LabelSelector:
    """Jobs of the system and of the manager itself are left alone."""
    excluded = ["kube-system", namespace]
    requirement = LabelSelectorRequirement(key=NAMESPACE_LABEL, operator="NotIn", values=excluded)
    return LabelSelector(match_expressions=[requirement])


def _completed_multi_kueue(config: MultiKueue) -> MultiKueue:
    steps = config.incremental_dispatcher_config
    if steps is None and config.dispatcher_name == types.INCREMENTAL:
        steps = types.IncrementalDispatcherConfig()
    return msgspec.structs.replace(
        config,
        origin=config.origin or MultiKueue().origin,
        incremental_dispatcher_config=steps,
    )
