"""Kueue on one cluster: admission and jobs, put together from one configuration."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fleetqueue.admission import parts as admission
from fleetqueue.admission import settings as admission_settings
from fleetqueue.admission import visibility
from fleetqueue.admission import webhooks as admission_webhooks
from fleetqueue.admission.parts import Admission
from fleetqueue.api.field_errors import FieldError, aggregate, wrong
from fleetqueue.api.kueue import gates, roles
from fleetqueue.api.kueue.config import (
    Configuration,
    read_configuration,
    validate_configuration,
)
from fleetqueue.api.kueue.config.reading import DEFAULT_NAMESPACE
from fleetqueue.api.kueue.config.types import API_VERSION, KIND
from fleetqueue.api.kueue.merged_status import merge_patch
from fleetqueue.api.kueue.roles import JobKind
from fleetqueue.api.served_groups import ServedGroup
from fleetqueue.base import documents
from fleetqueue.errors import InvalidInput
from fleetqueue.jobs import controller, extra, registry
from fleetqueue.jobs import settings as job_settings
from fleetqueue.jobs import webhook as job_webhooks
from fleetqueue.jobs.resources import WORKLOAD
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.frame import Caches, controller_of
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.webhook_rules import Webhook
from fleetqueue.metrics.registry import Metrics
from fleetqueue.multikueue import parts as dispatching
from fleetqueue.multikueue import settings as dispatch_settings
from fleetqueue.multikueue.adapters.registry import adapters, has_adapter
from fleetqueue.multikueue.connections import Connections
from fleetqueue.multikueue.kinds import CLUSTER_PROFILE
from fleetqueue.multikueue.reach.dispatched import Dispatched
from fleetqueue.multikueue.session import Connect
from fleetqueue.multikueue.workers import Farewell, nothing_to_keep
from fleetqueue.provisioning import controller as provisioning
from fleetqueue.provisioning import kinds as provisioning_kinds

Blueprints = Mapping[str, Callable[..., Any]]
"""By framework: what an operator would make of a job, where no path in the job says that."""


@dataclass(frozen=True, slots=True)
class KueueOptions:
    """The configuration, every gate with its value, and what only the cluster can know."""

    config: Configuration
    gates: Mapping[str, bool]
    blueprints: Blueprints = field(default_factory=dict)
    is_placed: Callable[[Resource, Object], bool] = lambda kind, obj: False
    """Whether something brings an object of this cluster to others."""

    @property
    def jobs(self) -> JobSettings:
        found = job_settings.read_settings(self.config, self.gates, self.blueprints)
        return replace(found, is_placed=self.is_placed)


def everything(namespace: str = DEFAULT_NAMESPACE) -> Configuration:
    """What an embedded cluster runs where nothing else is asked for: every kind of job."""
    frameworks = sorted(kind.framework for kind in registry.all_kinds())
    document = {"apiVersion": API_VERSION, "kind": KIND, "integrations": {"frameworks": frameworks}}
    return read_configuration(document, namespace)


def read_options(
    text: str | None = None,
    wanted: Mapping[str, bool] | None = None,
    blueprints: Blueprints | None = None,
    namespace: str = DEFAULT_NAMESPACE,
) -> KueueOptions:
    """`text` is a configuration file, `wanted` the gates of the command line; not both may set
    gates. `namespace`: where we are, if the file does not say it.
    """
    if text is None:
        config = everything(namespace)
    else:
        config = read_configuration(documents.load(text), namespace)
    if wanted and config.feature_gates:
        raise InvalidInput(gates.BOTH_GIVEN)
    if errors := validate_configuration(config) or list(_second_adapters(config)):
        raise InvalidInput(f"the configuration is wrong: {aggregate(errors)}")
    return KueueOptions(config, gates.resolve(wanted or config.feature_gates), blueprints or {})


def _second_adapters(config: Configuration) -> Iterator[FieldError]:
    """A kind that is enabled and can be sent away has an adapter already."""
    enabled = [kind for kind in registry.all_kinds()
               if kind.framework in config.integrations.frameworks]  # fmt: skip
    sent = [kind.resource for kind in enabled if has_adapter(kind)]
    taken = {f"{each.kind}.{each.version}.{each.group}" for each in sent}
    for index, each in enumerate(config.multi_kueue.external_frameworks):
        if each.name in taken:
            path = f"multiKueue.externalFrameworks[{index}].name"
            yield wrong(path, each.name, "conflicts with a built-in MultiKueue adapter")


def install(
    manager: Manager,
    options: KueueOptions,
    is_served: Callable[[Resource], bool] = lambda kind: kind != provisioning_kinds.REQUEST,
    metrics: Metrics | None = None,
) -> Admission:
    """Adds all of it to a manager, before it runs; kinds that are not served are left out;
    without anybody to ask, that is the autoscaler's alone.
    """
    settings = options.jobs
    made = admission.install(
        manager, admission_settings.read_settings(options.config, options.gates), metrics
    )
    served = [kind for kind in registry.enabled_kinds(settings) if is_served(kind.resource)]
    for operator in (
        *controller.operators(served, settings),
        *extra.operators(served, settings),
    ):
        manager.add(controller_of(operator)(manager.cluster))
    for kind in extra.followed(served):
        manager.cluster.informer(kind)
    if is_served(provisioning_kinds.REQUEST):
        for operator in provisioning.operators():
            manager.add(controller_of(operator)(manager.cluster))
    if options.gates["WorkloadRequestUseMergePatch"]:
        manager.cluster.merged[WORKLOAD] = merge_patch
    manager.set_workers(options.config.controller.group_kind_concurrency)
    return made


def install_dispatching(
    manager: Manager,
    options: KueueOptions,
    admission: Admission,
    connect: Connect,
    is_served: Callable[[Resource], bool] = lambda kind: kind != CLUSTER_PROFILE,
    farewell: Farewell = nothing_to_keep,
) -> Connections | None:
    """Adds what sends workloads to other clusters, after `install`; None where the gate is off."""
    if not options.gates["MultiKueue"]:
        return None
    settings = dispatch_settings.read_settings(options.config, options.gates, options.jobs)
    made = dispatching.install(
        manager, settings, connect, admission.metrics, is_served, farewell, admission.writer
    )
    manager.set_workers(options.config.controller.group_kind_concurrency)
    return made


def dispatched(cluster: Cluster, options: KueueOptions, workers: Connections) -> Dispatched:
    """Where the pods are of jobs that were sent to workers."""
    settings = dispatch_settings.read_settings(options.config, options.gates, options.jobs)
    return Dispatched(Caches(cluster), workers, adapters(settings), settings)


def webhooks(options: KueueOptions) -> Iterator[Webhook]:
    yield from admission_webhooks.webhooks(options.gates)
    settings = options.jobs
    yield from job_webhooks.webhooks(registry.enabled_kinds(settings), settings)


def served_groups(options: KueueOptions, made: Admission) -> list[ServedGroup]:
    """What people may ask: who waits, and why."""
    found = [visibility.explanations(made.ledger, made.scheduler)]
    if options.gates["VisibilityOnDemand"]:
        found.append(visibility.pending_workloads(made.ledger))
    return found


def cluster_roles(options: KueueOptions) -> Iterator[dict[str, Any]]:
    """For people: to see and use queues and jobs."""
    kinds = [kind.resource for kind in registry.enabled_kinds(options.jobs)]
    return roles.roles(JobKind(each.group, each.plural, each.kind) for each in kinds)
