"""Takes members into the fleet and lets them go: makes for each MemberCluster what its agent works
through on the hub, repeats what the agent reports, and clears all of it away when it leaves.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from fleetqueue.api.fleet import labels, naming
from fleetqueue.api.fleet.cluster import ClusterState
from fleetqueue.api.times import parse_time
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import membership
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kube import finalizers
from fleetqueue.kube.frame import Operator, controller_of, nobody
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.plan import (
    NOTHING,
    Create,
    Delete,
    Look,
    Note,
    Patch,
    Plan,
    Status,
    child,
    owner_reference,
)
from fleetqueue.kube.resources import NAMESPACES, Object, Resource
from fleetqueue.kube.writes import holds
from fleetqueue.metrics.registry import Metrics

NAME = "mcv1beta1"
"""Who its events say that they come from."""
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
TERMINATING_SECONDS = 1.0
"""How soon a namespace that is going away is looked at again."""
ALERT_AFTER = timedelta(minutes=15)
log = logging.getLogger(__name__)


def install(manager: Manager, settings: HubSettings, metrics: Metrics) -> None:
    keeper = Keeper(settings, metrics)
    manager.add(controller_of(keeper.operator())(manager.cluster))


class Keeper:
    """The decision about one MemberCluster."""

    def __init__(self, settings: HubSettings, metrics: Metrics) -> None:
        self._force_delete_after = timedelta(seconds=settings.force_delete_seconds)
        agents = settings.networking_agents_enabled
        self._expected = membership.ALL_AGENTS if agents else membership.MEMBER_AGENTS
        self._metrics = metrics

    def operator(self) -> Operator:
        return Operator(
            NAME,
            kinds.MEMBER_CLUSTER,
            self.decide,
            owns=(NAMESPACES, ROLES, ROLE_BINDINGS, kinds.INTERNAL_MEMBER_CLUSTER),
            reads=(nobody(kinds.WORK),),
            manager=labels.MEMBER_CLUSTER_MANAGER,
            decides_deletion=True,
        )

    def decide(self, look: Look) -> Plan:
        if look.parent["metadata"].get("deletionTimestamp"):
            return self._leave(look)
        marked = _marked(look.parent)
        return Plan([Patch(look.parent, marked)]) if marked else self._join(look)

    def _join(self, look: Look) -> Plan:
        plan = Plan()
        namespace = look.find(NAMESPACES, naming.member_namespace(look.name))
        if namespace is not None and finalizers.is_deleting(namespace):
            # Of a namesake that left just now.
            plan.look_again(TERMINATING_SECONDS)
            return plan
        _ensure_namespace(plan, look, namespace)
        _ensure_role(plan, look)
        _ensure_role_binding(plan, look)
        internal = _ensure_internal(plan, look)
        self._report(plan, look, internal)
        return plan

    def _report(self, plan: Plan, look: Look, internal: Object | None) -> Object:
        status, news = membership.status(look.parent, internal, self._expected, look.now)
        plan.add(Status(status))
        for told in news:
            plan.add(Note(told.reason, told.message, "Warning" if told.is_warning else "Normal"))
            if counter := _COUNTERS.get(told.message):
                self._metrics.count(counter, "success")
        return status

    def _leave(self, look: Look) -> Plan:
        member = look.parent
        if labels.MEMBER_CLUSTER_FINALIZER not in finalizers.finalizers_of(member):
            return NOTHING
        plan = Plan()
        namespace = look.find(NAMESPACES, naming.member_namespace(look.name))
        if namespace is None:
            patch = finalizers.removed(member, labels.MEMBER_CLUSTER_FINALIZER)
            return Plan([Patch(member, patch)])
        if finalizers.is_deleting(namespace):
            _alert(look, namespace)
            _release_works(plan, look)
            plan.look_again(TERMINATING_SECONDS)
            return plan
        internal = _internal_of(look)
        if internal is None or self._is_to_go(plan, look, internal):
            _release_works(plan, look)
            plan.add(Delete(namespace))
            plan.look_again(TERMINATING_SECONDS)
        return plan

    def _is_to_go(self, plan: Plan, look: Look, internal: Object) -> bool:
        """Whether its agents are gone, or have had their time to say so."""
        is_told = internal["spec"].get("state") == ClusterState.LEAVE
        if not is_told:
            _ensure_internal(plan, look)
        status = self._report(plan, look, internal)
        if membership.has_left(look.parent, status):
            return True
        waits = self._force_delete_after - (look.now - _deleted_at(look.parent))
        if is_told and waits <= timedelta():
            log.warning("a member is let go unheard: name=%s", look.name)
            return True
        plan.look_again(max(waits.total_seconds(), TERMINATING_SECONDS))
        return False


_COUNTERS = {
    "member cluster joined": "join_result_counter",
    "member cluster left": "leave_result_counter",
}


def _marked(member: Object) -> Object | None:
    """The patch that gives it its finalizer and its label; None where it has them."""
    patch = finalizers.added(member, labels.MEMBER_CLUSTER_FINALIZER)
    metadata = member["metadata"]
    if (metadata.get("labels") or {}).get(labels.MEMBER_NAME) != metadata["name"]:
        patch = patch or {"metadata": {}}
        patch["metadata"]["labels"] = {labels.MEMBER_NAME: metadata["name"]}
    return patch


def _ensure_namespace(plan: Plan, look: Look, found: Object | None) -> None:
    wanted = membership.namespace_labels()
    name = naming.member_namespace(look.name)
    if found is None:
        made = child(NAMESPACES, look.parent, {"name": name, "labels": wanted})
        plan.add(Create(made), Note("NamespaceCreated", "Namespace was created"))
        return
    patch: Object = {}
    if not holds(found["metadata"].get("labels") or {}, wanted):
        patch["labels"] = wanted
    if not _is_owned(found, look.parent):
        others = found["metadata"].get("ownerReferences") or []
        patch["ownerReferences"] = [*others, owner_reference(look.parent)]
    if patch:
        plan.add(Patch(found, {"metadata": patch}))
        plan.add(Note("NamespacePatched", "Namespace was patched"))


def _ensure_role(plan: Plan, look: Look) -> None:
    name, wanted = naming.member_role(look.name), membership.rules()
    found = look.find(ROLES, name, naming.member_namespace(look.name))
    if found is None:
        plan.add(Create(_owned(ROLES, look, name, rules=wanted)))
        plan.add(Note("RoleCreated", "role was created"))
    elif found.get("rules") != wanted:
        plan.add(Patch(found, {"rules": wanted}), Note("RoleUpdated", "role was updated"))


def _ensure_role_binding(plan: Plan, look: Look) -> None:
    name, subjects = naming.member_role_binding(look.name), membership.subjects(look.parent)
    found = look.find(ROLE_BINDINGS, name, naming.member_namespace(look.name))
    if found is None:
        role = membership.role_reference(look.name)
        made = _owned(ROLE_BINDINGS, look, name, roleRef=role, subjects=subjects)
        plan.add(Create(made), Note("RoleBindingCreated", "role binding was created"))
    elif found.get("subjects") != subjects:
        plan.add(Patch(found, {"subjects": subjects}))
        plan.add(Note("RoleBindingUpdated", "role binding was updated"))


def _ensure_internal(plan: Plan, look: Look) -> Object | None:
    """What the agent reads and writes; returned as it was found."""
    wanted = membership.internal_spec(look.parent, membership.wanted_state(look.parent))
    found = _internal_of(look)
    if found is None:
        plan.add(Create(_owned(kinds.INTERNAL_MEMBER_CLUSTER, look, look.name, spec=wanted)))
        plan.add(Note("InternalMemberClusterCreated", "Internal member cluster was created"))
    elif not holds(found["spec"], wanted):
        plan.add(Patch(found, {"spec": wanted}))
        text = "internal member cluster spec updated"
        plan.add(Note("InternalMemberClusterSpecUpdated", text))
    return found


def _internal_of(look: Look) -> Object | None:
    where = naming.member_namespace(look.name)
    return look.find(kinds.INTERNAL_MEMBER_CLUSTER, look.name, where)


def _owned(kind: Resource, look: Look, name: str, **rest: object) -> Object:
    metadata = {"name": name, "namespace": naming.member_namespace(look.name)}
    return child(kind, look.parent, metadata, **rest)


def _is_owned(obj: Object, owner: Object) -> bool:
    references: Sequence[Object] = obj["metadata"].get("ownerReferences") or ()
    return any(each.get("uid") == owner["metadata"]["uid"] for each in references)


def _release_works(plan: Plan, look: Look) -> None:
    """Nobody is there to finish them; what they placed stays on the member."""
    for work in look.source.all(kinds.WORK, naming.member_namespace(look.name)):
        if finalizers.finalizers_of(work):
            plan.add(Patch(work, {"metadata": {"finalizers": None}}))


def _deleted_at(obj: Object) -> datetime:
    return parse_time(obj["metadata"]["deletionTimestamp"])


def _alert(look: Look, namespace: Object) -> None:
    age = look.now - _deleted_at(namespace)
    if age > ALERT_AFTER:
        log.error("the namespace of a member does not go: name=%s age=%s", look.name, age)
