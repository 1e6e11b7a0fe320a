"""What a foreign cluster needs before our controllers can run on it: CRDs, a namespace, webhooks,
Services, roles for people and for the controllers themselves.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from fleetqueue.api.crd import declared_crds
from fleetqueue.api.kueue import explanation, manager_roles, policies, roles, visibility
from fleetqueue.api.kueue.group import GROUP
from fleetqueue.api.kueue.roles import JobKind
from fleetqueue.kube.health_server import ALIVE, READY
from fleetqueue.kube.resources import (
    API_SERVICES,
    CRDS,
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
    Resource,
)
from fleetqueue.kube.webhook_certificates import Registration
from fleetqueue.kube.webhook_rules import Webhook
from fleetqueue.kube.webhook_serving import Reach, registrations
from fleetqueue.manager_deployment import Mounted, deployment

Object = dict[str, Any]
NAME = "kueue"
VISIBILITY = "kueue-visibility-server"
METRICS = "kueue-controller-manager-metrics-service"
CONFIG_MAP, CONFIG_KEY = "kueue-manager-config", "controller_manager_config.yaml"
ANSWERED = (
    (visibility.GROUP, "v1beta2"),
    (visibility.GROUP, "v1beta1"),
    (explanation.GROUP, explanation.VERSION),
)
"""What is answered beside the API server: groups and versions, the preferred ones first."""
PODS = {"control-plane": "controller-manager"}
"""The labels of the pods in which our controllers run, where they run in pods."""
CONVERTED = ("workloads", "clusterqueues", "localqueues", "cohorts", "multikueueclusters")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is going to run, and where it is found."""

    namespace: str
    webhooks: Sequence[Webhook]
    reach: Reach
    jobs: Sequence[Resource]
    """The kinds of jobs that are queued."""
    reads: Sequence[Resource] = ()
    """Other kinds that their controllers look at."""
    config: str = ""
    """The configuration file."""
    webhook_port: int = 9443
    visibility_port: int = 8082
    has_policy: bool = False
    """Whether the API server itself clears names of workers."""
    policy_version: str = policies.VERSIONS[0]
    """Of the API in which that is said."""
    image: str = ""
    """In which the controllers run as a Deployment; "": they run elsewhere."""
    replicas: int = 1
    probes_port: int | None = None
    people: Sequence[Resource] = ()
    """The kinds of jobs that people are given rights to, queued or not."""
    lease_namespace: str = ""
    """Where the leader is elected; "": in `namespace`."""
    metrics_port: int | None = 8443
    """None: there are none."""
    alive_path: str = ALIVE[0]
    ready_path: str = READY
    certificates: Mounted | None = None
    """Whose they are if somebody else makes them; None: we do."""


def objects(wanted: Wanted) -> Iterator[Object]:
    """All of it, in the order in which it has to be made."""
    namespace, reach = wanted.namespace, wanted.reach
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    yield from crds(reach)
    jobs, reads = _named(wanted.jobs), _named(wanted.reads)
    yield from roles.roles(_named(wanted.people))
    yield from manager_roles.manager_roles(
        namespace, jobs, reads, registered(), wanted.lease_namespace
    )
    if wanted.config:
        yield _config_map(namespace, wanted.config)
    key = {"key": "kubernetes.io/metadata.name", "operator": "NotIn"}
    selector = {"matchExpressions": [{**key, "values": ["kube-system", namespace]}]}
    if not reach.url:
        yield _service(namespace, reach.service, 443, wanted.webhook_port, None)
    yield from registrations(NAME, wanted.webhooks, reach, selector)
    yield from visibility_services(namespace, reach, wanted.visibility_port)
    if not reach.url and wanted.metrics_port is not None:
        yield _service(namespace, METRICS, 8443, wanted.metrics_port, None)
    if wanted.has_policy:
        yield from policies.objects(wanted.policy_version)
    if wanted.image:
        yield _deployment(wanted)


def registration() -> Registration:
    """What must name our certificate authority."""
    return Registration(
        mutating=[f"{NAME}-mutating-webhook-configuration"],
        validating=[f"{NAME}-validating-webhook-configuration"],
        crds=[f"{plural}.{GROUP}" for plural in CONVERTED],
        api_services=[f"{version}.{group}" for group, version in ANSWERED],
    )


def registered() -> Iterator[tuple[str, str, Sequence[str]]]:
    """The same as groups, resources and names."""
    found = registration()
    for kind, names in (
        (MUTATING_WEBHOOKS, found.mutating),
        (VALIDATING_WEBHOOKS, found.validating),
        (CRDS, found.crds),
        (API_SERVICES, found.api_services),
    ):
        yield kind.group, kind.plural, names


def crds(reach: Reach) -> Iterator[Object]:
    """Those of Kueue; conversion between their versions is asked of us."""
    for crd in declared_crds(GROUP):
        conversion = crd["spec"].get("conversion")
        if conversion is not None and conversion.get("strategy") == "Webhook":
            webhook = {**conversion["webhook"], "clientConfig": reach.at("/convert")}
            spec = {**crd["spec"], "conversion": {**conversion, "webhook": webhook}}
            yield {**crd, "spec": spec}
        else:
            yield crd


def visibility_services(namespace: str, reach: Reach, port: int) -> Iterator[Object]:
    """Has the API server pass on what is asked about queues."""
    outside = urlsplit(reach.url).hostname if reach.url else None
    yield _service(namespace, VISIBILITY, 443, port, outside)
    for rank, (group, version) in enumerate(ANSWERED):
        yield {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{version}.{group}"},
            "spec": {
                "group": group,
                "version": version,
                "groupPriorityMinimum": 100,
                "versionPriority": 100 - rank,
                "service": {
                    "name": VISIBILITY,
                    "namespace": namespace,
                    "port": 443 if outside is None else port,
                },
            },
        }


def _named(kinds: Sequence[Resource]) -> list[JobKind]:
    return [JobKind(each.group, each.plural, each.kind) for each in kinds]


def _config_map(namespace: str, config: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIG_MAP, "namespace": namespace},
        "data": {CONFIG_KEY: config},
    }


def _deployment(wanted: Wanted) -> Object:
    ports = {"webhooks": wanted.webhook_port, "visibility": wanted.visibility_port}
    if wanted.probes_port is not None:
        ports["probes"] = wanted.probes_port
    return deployment(
        wanted.namespace,
        wanted.image,
        replicas=wanted.replicas,
        labels=PODS,
        config_map=CONFIG_MAP,
        config_key=CONFIG_KEY,
        ports=ports,
        alive=wanted.alive_path,
        ready=wanted.ready_path,
        certificates=wanted.certificates,
    )


def _service(namespace: str, name: str, port: int, target: int, outside: str | None) -> Object:
    spec: Object = {
        "selector": PODS,
        "ports": [{"name": "https", "port": port, "targetPort": target}],
    }
    if outside is not None:
        spec = {
            "type": "ExternalName",
            "externalName": outside,
            "ports": [{"name": "https", "port": target}],
        }
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }
