"""Kueue on one cluster: admission and jobs, put together from one configuration."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from fleetqueue.admission import parts as admission
from fleetqueue.admission import settings as admission_settings
from fleetqueue.admission import visibility
from fleetqueue.admission import webhooks as admission_webhooks
from fleetqueue.admission.observing import observe_pods
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
from fleetqueue.jobs.loosening import loosened
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
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.multikueue.workers import Farewell, nothing_to_keep
from fleetqueue.provisioning import controller as provisioning
from fleetqueue.provisioning import kinds as provisioning_kinds
from fleetqueue.provisioning import settings as provisioning_settings

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
    tolerates_missing_kinds: bool = False
    """Whether a worker that lacks a kind of job is used for the others."""
    batch_seconds: float = dispatch_settings.BATCH_SECONDS
    """How long changes on workers are gathered."""
    round_seconds: float = dispatch_settings.ROUND_SECONDS
    """How long the Incremental dispatcher waits before it nominates more workers."""
    preemption_seconds: float = dispatch_settings.PREEMPTION_SECONDS
    """How long a worker that may preempt has, before another may."""

    @property
    def jobs(self) -> JobSettings:
        found = job_settings.read_settings(self.config, self.gates, self.blueprints)
        return replace(found, is_placed=self.is_placed)

    @property
    def dispatching(self) -> DispatchSettings:
        found = dispatch_settings.read_settings(self.config, self.gates, self.jobs)
        return replace(
            found,
            tolerates_missing_kinds=self.tolerates_missing_kinds,
            batch_seconds=self.batch_seconds,
            round_seconds=self.round_seconds,
            preemption_seconds=self.preemption_seconds,
        )


def everything(namespace: str = DEFAULT_NAMESPACE) -> Configuration:
    """What a cluster runs where nothing else is asked for: every kind of job."""
    document = {"apiVersion": API_VERSION, "kind": KIND}
    return _with_every_kind(read_configuration(document, namespace))


def _with_every_kind(config: Configuration) -> Configuration:
    frameworks = sorted(kind.framework for kind in registry.all_kinds())
    integrations = msgspec.structs.replace(config.integrations, frameworks=frameworks)
    return msgspec.structs.replace(config, integrations=integrations)


def read_options(
    text: str | None = None,
    wanted: Mapping[str, bool] | None = None,
    blueprints: Blueprints | None = None,
    namespace: str = DEFAULT_NAMESPACE,
    *,
    is_embedded: bool = False,
) -> KueueOptions:
    """`text` is a configuration file, `wanted` the gates of the command line; not both may set
    gates. `namespace`: where we are, if the file does not say it. A file that lists no frameworks
    means Jobs alone, as Kueue has it; in an embedded cluster, which runs them all, every kind.
    """
    if text is None:
        config = everything(namespace)
    else:
        document = documents.load(text)
        config = read_configuration(document, namespace)
        if is_embedded and not (document.get("integrations") or {}).get("frameworks"):
            config = _with_every_kind(config)
    if wanted and config.feature_gates:
        raise InvalidInput(gates.BOTH_GIVEN)
    if errors := [*validate_configuration(config), *_second_adapters(config)]:
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
        if not options.gates["RemoveFinalizersWithStrictPatch"]:
            operator = loosened(operator)
        manager.add(controller_of(operator)(manager.cluster))
    for kind in extra.followed(served):
        manager.cluster.informer(kind)
    observe_pods(manager.cluster, made.observer)
    if is_served(provisioning_kinds.REQUEST):
        _add_provisioning(manager, options)
    if options.gates["WorkloadRequestUseMergePatch"]:
        manager.cluster.merged[WORKLOAD] = merge_patch
    manager.set_workers(options.config.controller.group_kind_concurrency)
    return made


def install_late_provisioning(manager: Manager, options: KueueOptions) -> None:
    """The check of the autoscaler, which works as soon as its kind is served; after `install`.
    Whoever calls this has to hold that kind until then.
    """
    requests = manager.cluster.informer(provisioning_kinds.REQUEST)

    async def run() -> None:
        while not requests.has_synced:
            await requests.wait_synced()
        _add_provisioning(manager, options)
        manager.set_workers(options.config.controller.group_kind_concurrency)
        await manager.start_added()
        # The end of a task is the end of its manager.
        await asyncio.Event().wait()

    manager.add_task("provisioning", run, needs_leader=True)


def _add_provisioning(manager: Manager, options: KueueOptions) -> None:
    for operator in provisioning.operators(provisioning_settings.read_settings(options.gates)):
        manager.add(controller_of(operator)(manager.cluster))


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
    made = dispatching.install(
        manager,
        options.dispatching,
        connect,
        admission.metrics,
        is_served,
        farewell,
        admission.writer,
    )
    manager.set_workers(options.config.controller.group_kind_concurrency)
    return made


def dispatched(cluster: Cluster, options: KueueOptions, workers: Connections) -> Dispatched:
    """Where the pods are of jobs that were sent to workers."""
    settings = options.dispatching
    return Dispatched(Caches(cluster), workers, adapters(settings), settings)


def webhooks(options: KueueOptions) -> Iterator[Webhook]:
    yield from admission_webhooks.webhooks(options.gates)
    settings = options.jobs
    yield from job_webhooks.webhooks(registry.enabled_kinds(settings), settings)


def job_webhooks_of_all_kinds(options: KueueOptions) -> Iterator[Webhook]:
    """Queued or not: each may have been registered when the configuration was another."""
    yield from job_webhooks.webhooks(registry.all_kinds(), options.jobs)


def served_groups(options: KueueOptions, made: Admission) -> list[ServedGroup]:
    """What people may ask: who waits, and why."""
    found = [visibility.explanations(made.ledger, made.scheduler)]
    if options.gates["VisibilityOnDemand"]:
        found.append(visibility.pending_workloads(made.ledger))
    return found


def home(options: KueueOptions) -> dict[str, Any]:
    """The namespace where Kueue runs: kubeconfigs of workers are kept there, for one."""
    metadata = {"name": options.config.namespace}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def cluster_roles() -> Iterator[dict[str, Any]]:
    """For people: to see and use queues and jobs, of kinds that are queued and of others."""
    kinds = [kind.resource for kind in registry.all_kinds()]
    return roles.roles(JobKind(each.group, each.plural, each.kind) for each in kinds)
