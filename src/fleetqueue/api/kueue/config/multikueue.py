"""Checks the part of the configuration about other clusters."""

from collections.abc import Iterator, Sequence

from fleetqueue.api import names
from fleetqueue.api.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    required,
    unsupported,
    wrong,
)
from fleetqueue.api.kueue.config.checks import check_span, is_kind_version_group
from fleetqueue.api.kueue.config.types import (
    INCREMENTAL,
    AccessProvider,
    ClusterProfile,
    ExecConfig,
    MultiKueue,
)

PATH = "multiKueue"
MODES = ("Never", "IfAvailable", "Always")


def check_multi_kueue(config: MultiKueue) -> Iterator[FieldError]:
    yield from check_span(config.gc_interval, f"{PATH}.gcInterval")
    yield from check_span(config.worker_lost_timeout, f"{PATH}.workerLostTimeout")
    for message in names.label_value(config.origin):
        yield wrong(f"{PATH}.origin", config.origin, message)
    yield from _check_frameworks([each.name for each in config.external_frameworks])
    if config.cluster_profile:
        yield from _check_profiles(config.cluster_profile)
    yield from _check_steps(config)


def _check_frameworks(frameworks: Sequence[str]) -> Iterator[FieldError]:
    for index, name in enumerate(frameworks):
        path = f"{PATH}.externalFrameworks[{index}].name"
        if not is_kind_version_group(name):
            yield wrong(path, name, "must be in 'kind.version.group' format")
        elif name in frameworks[:index]:
            yield duplicate(path, name)


def _check_steps(config: MultiKueue) -> Iterator[FieldError]:
    path, steps = f"{PATH}.incrementalDispatcherConfig", config.incremental_dispatcher_config
    if steps is None:
        return
    if config.dispatcher_name != INCREMENTAL:
        message = (
            "incrementalDispatcherConfig is only valid when dispatcherName is set"
            " to the incremental dispatcher"
        )
        yield forbidden(path, message)
    if steps.step_size < 1:
        yield wrong(f"{path}.stepSize", steps.step_size, "must be greater than or equal to 1")


def _check_profiles(profiles: ClusterProfile) -> Iterator[FieldError]:
    path = f"{PATH}.clusterProfile"
    if profiles.access_providers and profiles.credentials_providers:
        message = "must not be specified when accessProviders is specified"
        yield forbidden(f"{path}.credentialsProviders", message)
    yield from _check_providers(profiles.access_providers, f"{path}.accessProviders")
    yield from _check_providers(profiles.credentials_providers, f"{path}.credentialsProviders")


def _check_providers(providers: Sequence[AccessProvider], path: str) -> Iterator[FieldError]:
    for index, provider in enumerate(providers):
        if not provider.name:
            yield required(f"{path}[{index}].name", "must be specified")
        yield from _check_exec(provider.exec_config, f"{path}[{index}].execConfig")


def _check_exec(config: ExecConfig, path: str) -> Iterator[FieldError]:
    needed = {
        "command": config.command,
        "apiVersion": config.api_version,
        "interactiveMode": config.interactive_mode,
    }
    for name, value in needed.items():
        if not value:
            yield required(f"{path}.{name}", "must be specified")
    for index, variable in enumerate(config.env):
        if not variable.name:
            yield required(f"{path}.env[{index}].name", "must be specified")
    if config.interactive_mode and config.interactive_mode not in MODES:
        yield unsupported(f"{path}.interactiveMode", config.interactive_mode, MODES)
