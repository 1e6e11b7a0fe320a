"""What a foreign cluster needs before it is a hub or a member: CRDs, a namespace, an account with a
role, and for a hub the registrations of its webhooks.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from fleetqueue.api.fleet.naming import SYSTEM_NAMESPACE
from fleetqueue.fleet import access
from fleetqueue.fleet.crds import hub_crds, member_crds
from fleetqueue.fleet.decide.membership import EVENT_VERBS, GROUPS, RBAC
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.fleet.webhooks import registry
from fleetqueue.kube.webhook_certificates import Registration
from fleetqueue.kube.webhook_serving import Reach

Object = dict[str, Any]
HUB_AGENT, MEMBER_AGENT = "fleet-hub-agent", "fleet-member-agent"
WEBHOOK_SECRET = "fleet-webhook-server-cert"
PODS = {"app.kubernetes.io/name": "hub-agent"}
"""The labels of the pods in which a hub's controllers run, where they run in pods."""
EVERYTHING = ("*",)
READ = ("get", "list", "watch")
WRITE = ("create", "delete", "patch", "update")


def hub_objects(
    settings: HubSettings, reach: Reach, port: int = 9443, home: Object | None = None
) -> Iterator[Object]:
    """All of it, in the order in which it has to be made; `home`: the namespace of the hub's agent
    as it is there, once it is.
    """
    yield access.namespace()
    yield from hub_crds()
    yield from _account(HUB_AGENT, hub_rules())
    yield from _local_role(HUB_AGENT, hub_local_rules())
    if settings.enable_webhook and not reach.url:
        yield _service(reach.service, port)
    yield from registry.configurations(settings, reach, home)
    for policy in settings.policies:
        yield from policy.documents()


def member_objects() -> Iterator[Object]:
    yield access.namespace()
    yield from member_crds()
    yield from _account(MEMBER_AGENT, member_rules())


def hub_rules() -> list[Object]:
    """A hub reads whatever may be selected, and writes what belongs to it. What it grants to its
    members it must have itself.
    """
    return [
        _rule("*", EVERYTHING, READ),
        *(_rule(group, EVERYTHING, EVERYTHING) for group in GROUPS),
        _rule("multicluster.x-k8s.io", ("clusterprofiles", "clusterprofiles/status"), WRITE),
        _rule("", ("namespaces",), WRITE),
        _rule("", ("events",), EVENT_VERBS),
        _rule(RBAC, ("roles", "rolebindings"), WRITE),
        # Where a placement asks for it, the status of what it placed is told on the hub.
        _rule("*", ("*/status",), ("get", "patch", "update")),
        _rule(
            "admissionregistration.k8s.io",
            ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
            ("patch", "update"),
        ),
        _rule(
            "admissionregistration.k8s.io",
            ("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
            WRITE,
        ),
        _rule("authentication.k8s.io", ("tokenreviews",), ("create",)),
        _rule("authorization.k8s.io", ("subjectaccessreviews",), ("create",)),
    ]


def hub_local_rules() -> list[Object]:
    """In its own namespace: the lease, and the certificate of its webhooks."""
    return [
        _rule("coordination.k8s.io", ("leases",), (*READ, *WRITE)),
        _rule("", ("secrets",), ("create", "get", "patch", "update")),
    ]


def member_rules() -> list[Object]:
    """A member's agent applies whatever the hub places."""
    return [
        _rule("*", EVERYTHING, EVERYTHING),
        {"nonResourceURLs": ["/readyz", "/version"], "verbs": ["get"]},
    ]


def registration(settings: HubSettings) -> Registration:
    """What must name the certificate authority of the hub's webhooks."""
    guards = [registry.GUARD_RAIL] if settings.enable_guard_rail else []
    return Registration(mutating=[registry.MUTATING], validating=[registry.VALIDATING, *guards])


def _account(name: str, rules: Sequence[Object]) -> Iterator[Object]:
    yield _named("v1", "ServiceAccount", name, SYSTEM_NAMESPACE)
    yield {**_named(f"{RBAC}/v1", "ClusterRole", name), "rules": list(rules)}
    yield {
        **_named(f"{RBAC}/v1", "ClusterRoleBinding", name),
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
        "subjects": [_subject(name)],
    }


def _local_role(name: str, rules: Sequence[Object]) -> Iterator[Object]:
    yield {**_named(f"{RBAC}/v1", "Role", name, SYSTEM_NAMESPACE), "rules": list(rules)}
    yield {
        **_named(f"{RBAC}/v1", "RoleBinding", name, SYSTEM_NAMESPACE),
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": [_subject(name)],
    }


def _subject(name: str) -> Object:
    return {"kind": "ServiceAccount", "name": name, "namespace": SYSTEM_NAMESPACE}


def _service(name: str, port: int) -> Object:
    spec = {"selector": PODS, "ports": [{"port": 443, "targetPort": port}]}
    return {**_named("v1", "Service", name, SYSTEM_NAMESPACE), "spec": spec}


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> Object:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def _named(version: str, kind: str, name: str, namespace: str = "") -> Object:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata}
