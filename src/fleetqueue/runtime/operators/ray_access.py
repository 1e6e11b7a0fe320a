"""What a RayCluster needs besides pods and Services: the rights of its autoscaler, the token of its
dashboard, an Ingress.
"""

import base64
import secrets

from fleetqueue.kube.plan import Create, Look, Note, Plan, child
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime.kinds import SECRET, SERVICE_ACCOUNT
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.operators import ray_services as services
from fleetqueue.runtime.operators.strangers import STRANGER_SECONDS, complain, is_stranger

ROLE = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDING = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
INGRESS = Resource("networking.k8s.io", "v1", "ingresses", "Ingress")
KINDS = (SERVICE_ACCOUNT, ROLE, ROLE_BINDING, INGRESS, SECRET)

_BOUND = (ROLE.kind, SERVICE_ACCOUNT.kind)
_TRUSTED = (*_BOUND, SECRET.kind)
_INGRESS_CLASS_KEY = "kubernetes.io/ingress.class"
_TOKEN_BYTES = 32
_RULES = (
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": [""], "resources": ["pods/resize"], "verbs": ["patch"]},
    {"apiGroups": ["ray.io"], "resources": ["rayclusters"], "verbs": ["get", "patch"]},
)


def missing(look: Look) -> Plan:
    """Creations of what the cluster needs and does not have. A Role or account of somebody else is
    not bound to the other; both are told, as is a Secret, and looked at again.
    """
    wanted = [(obj, look.find(kind, obj["metadata"]["name"])) for kind, obj in _wanted(look)]
    strangers = [
        found
        for obj, found in wanted
        if obj["kind"] in _TRUSTED and found is not None and is_stranger(look, found)
    ]
    may_bind = not any(found["kind"] in _BOUND for found in strangers)
    plan = Plan([complain(look, found) for found in strangers])
    plan.add(
        *(
            Create(obj)
            for obj, found in wanted
            if found is None and (may_bind or obj["kind"] != ROLE_BINDING.kind)
        )
    )
    if strangers:
        plan.look_again(STRANGER_SECONDS)
    return plan


def absent_account(look: Look) -> Note | None:
    """A ServiceAccount that the user names must be there already."""
    name = _account(look.parent)
    named = _template_account(look.parent)
    is_absent = name == named and look.find(SERVICE_ACCOUNT, name) is None
    if not names.is_autoscaled(look.parent["spec"]) or not is_absent:
        return None
    text = (
        f"Failed to reconcile RayCluster {names.full_name(look.parent)}. If users specify"
        " ServiceAccountName for the head Pod, they need to create a ServiceAccount themselves."
        f" However, ServiceAccount {name} is not found. Please create one."
    )
    return Note("AutoscalerServiceAccountNotFound", text, "Warning")


def complete(obj: Object) -> Object:
    """Draws the token of a Secret that is about to be created."""
    if obj["kind"] != "Secret":
        return obj
    token = base64.b64encode(secrets.token_bytes(_TOKEN_BYTES)).decode()
    return {**obj, "stringData": {"auth_token": token}}


def _wanted(look: Look) -> list[tuple[Resource, Object]]:
    cluster = look.parent
    wanted: list[tuple[Resource, Object]] = []
    if names.is_autoscaled(cluster["spec"]):
        wanted += _autoscaler_rights(look)
    if names.head_group(cluster).get("enableIngress"):
        wanted.append((INGRESS, _ingress(cluster)))
    if _makes_token(cluster["spec"]):
        wanted.append((SECRET, _token(cluster)))
    return wanted


def _autoscaler_rights(look: Look) -> list[tuple[Resource, Object]]:
    cluster = look.parent
    name = names.short(cluster["metadata"]["name"])
    account = names.short(_account(cluster))
    subject = {"kind": "ServiceAccount", "name": account, "namespace": look.namespace}
    role = {"apiGroup": ROLE.group, "kind": "Role", "name": name}
    binding = child(
        ROLE_BINDING, cluster, _metadata(cluster, name), subjects=[subject], roleRef=role
    )
    rights = [
        (ROLE, child(ROLE, cluster, _metadata(cluster, name), rules=list(_RULES))),
        (ROLE_BINDING, binding),
    ]
    if account == _template_account(cluster):
        return rights
    made = child(SERVICE_ACCOUNT, cluster, _metadata(cluster, account))
    return [(SERVICE_ACCOUNT, made), *rights]


def _account(cluster: Object) -> str:
    return _template_account(cluster) or str(cluster["metadata"]["name"])


def _template_account(cluster: Object) -> str:
    template = names.head_group(cluster).get("template") or {}
    return str((template.get("spec") or {}).get("serviceAccountName") or "")


def _metadata(cluster: Object, name: str) -> Object:
    labels = {
        names.CLUSTER_KEY: cluster["metadata"]["name"],
        names.APPLICATION_KEY: names.APPLICATION,
        names.CREATED_BY_KEY: names.COMPONENT,
    }
    return {"name": name, "labels": labels}


def _makes_token(spec: Object) -> bool:
    options = spec.get("authOptions") or {}
    is_given = options.get("enableK8sTokenAuth") or options.get("secretName")
    return names.needs_token(spec) and not is_given


def _token(cluster: Object) -> Object:
    name = cluster["metadata"]["name"]
    metadata = {"name": names.short(name), "labels": {names.CLUSTER_KEY: name}}
    return child(SECRET, cluster, metadata)


def _ingress(cluster: Object) -> Object:
    name, annotations = cluster["metadata"]["name"], names.annotations_of(cluster)
    class_name = annotations.pop(_INGRESS_CLASS_KEY, None)
    options = names.head_group(cluster).get("ingressOptions") or {}
    port = services.head_ports(cluster).get("dashboard", names.DASHBOARD_PORT)
    backend = {"service": {"name": names.head_service(cluster), "port": {"number": port}}}
    path = {
        "path": options.get("path") or f"/{name}/(.*)",
        "pathType": options.get("pathType") or "Exact",
        "backend": backend,
    }
    rule: Object = {"http": {"paths": [path]}}
    if options.get("host"):
        rule["host"] = options["host"]
    spec: Object = {"rules": [rule]}
    if class_name:
        spec["ingressClassName"] = class_name
    if options.get("tls"):
        spec["tls"] = options["tls"]
    metadata = _metadata(cluster, names.short(f"{name}-head-ingress"))
    return child(INGRESS, cluster, {**metadata, "annotations": annotations}, spec=spec)
