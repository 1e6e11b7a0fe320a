"""Who may touch what belongs to the fleet itself, and how the others are told that they may not."""

from collections.abc import Sequence

from fleetqueue.api.fleet import text
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kube.reviews import Review

ADMINS = frozenset({"system:masters", "kubeadm:cluster-admins"})
PRIVILEGED = ADMINS | {"system:serviceaccounts", "system:nodes"}
SYSTEM_USERS = frozenset({"system:kube-scheduler", "system:kube-controller-manager", "aks-support"})


def name_of(review: Review) -> str:
    return str(review.user.get("username") or "")


def groups_of(review: Review) -> Sequence[str]:
    return list(review.user.get("groups") or ())


def is_admin(review: Review, settings: HubSettings) -> bool:
    is_known = name_of(review) in settings.whitelisted_users
    return is_known or not ADMINS.isdisjoint(groups_of(review))


def is_privileged(review: Review, settings: HubSettings) -> bool:
    is_known = name_of(review) in SYSTEM_USERS or name_of(review) in settings.whitelisted_users
    return is_known or not PRIVILEGED.isdisjoint(groups_of(review))


def not_allowed(review: Review, version: str = "") -> str:
    kind = text.kind(review.group, version or review.version, review.kind)
    about = text.object_name(review.namespace if review.kind != "Namespace" else "", review.name)
    return (
        f"user: '{name_of(review)}' in '{text.groups(groups_of(review))}' is not allowed to"
        f" {review.operation} resource {kind}/{review.subresource}: {about}"
    )
