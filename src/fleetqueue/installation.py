"""What a foreign cluster needs before our controllers can run on it: CRDs, a namespace, webhooks,
roles for people.
"""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from fleetqueue.api.crd import declared_crds
from fleetqueue.api.kueue import explanation, roles, visibility
from fleetqueue.api.kueue.group import GROUP
from fleetqueue.api.kueue.roles import JobKind
from fleetqueue.kube.resources import Resource
from fleetqueue.kube.webhook_rules import Webhook
from fleetqueue.kube.webhook_serving import Reach, registrations

Object = dict[str, Any]
NAME = "kueue"
SERVICE = "kueue-webhook-service"
VISIBILITY = "kueue-visibility-server"
METRICS = "kueue-controller-manager-metrics-service"
ANSWERED = (
    (visibility.GROUP, "v1beta2"),
    (visibility.GROUP, "v1beta1"),
    (explanation.GROUP, explanation.VERSION),
)
"""What is answered beside the API server: groups and versions, the preferred ones first."""
PODS = {"control-plane": "controller-manager"}
"""The labels of the pods in which our controllers run, where they run in pods."""
CONVERTED = ("workloads", "clusterqueues", "localqueues", "cohorts", "multikueueclusters")


def objects(
    namespace: str,
    declared: Sequence[Webhook],
    reach: Reach,
    jobs: Sequence[Resource],
    visibility_port: int = 8082,
) -> Iterator[Object]:
    """All of it, in the order in which it has to be made."""
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    yield from crds(reach)
    yield from roles.roles(JobKind(each.group, each.plural, each.kind) for each in jobs)
    key = {"key": "kubernetes.io/metadata.name", "operator": "NotIn"}
    selector = {"matchExpressions": [{**key, "values": ["kube-system", namespace]}]}
    yield from registrations(NAME, declared, reach, selector)
    yield from visibility_services(namespace, reach, visibility_port)


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
    if outside is None:
        yield _service(namespace, METRICS, 8443, 8443, None)
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
