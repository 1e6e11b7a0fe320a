"""Names of resources such as `cpu` and `nvidia.com/gpu`: what each may be used for."""

from functools import lru_cache

from fleetqueue.api import names, quantity
from fleetqueue.api.quantity import Quantity
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, wrongs

HUGE_PAGES = "hugepages-"
CONTAINER_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})
OBJECT_COUNTS = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
STANDARD = OBJECT_COUNTS | frozenset(
    {
        "cpu",
        "memory",
        "ephemeral-storage",
        "storage",
        "requests.cpu",
        "requests.memory",
        "requests.ephemeral-storage",
        "requests.storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
    }
)


def is_huge_pages(name: str) -> bool:
    return name.startswith(HUGE_PAGES)


def is_native(name: str) -> bool:
    """Kubernetes' own: without a domain, or in the kubernetes.io domain."""
    return "/" not in name or "kubernetes.io/" in name


@lru_cache(1024)
def is_extended(name: str) -> bool:
    if is_native(name) or name.startswith("requests."):
        return False
    return not names.qualified_name(f"requests.{name}")


def is_overcommittable(name: str) -> bool:
    """Whether a limit may exceed the request."""
    return is_native(name) and not is_huge_pages(name)


def is_whole(name: str) -> bool:
    """Counted, so never a fraction."""
    return name in OBJECT_COUNTS or is_extended(name)


def is_pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or is_huge_pages(name)


def is_divisible_by_page(name: str, amount: Quantity) -> bool:
    try:
        page = quantity.parse(name.removeprefix(HUGE_PAGES))
    except quantity.QuantityError:
        return False
    if page.sign() <= 0 or page.milli_value() % 1000:
        return False
    return amount.value() % page.value() == 0


def validate_resource_name(name: str, path: str) -> Errors:
    if errors := wrongs(path, name, names.qualified_name(name)):
        return errors
    is_standard = name in STANDARD or is_huge_pages(name.removeprefix("requests."))
    if "/" not in name and not is_standard:
        why = "must be a standard resource type or fully qualified"
        return [fields.wrong(path, name, why)]
    return []


def validate_container_resource_name(name: str, path: str) -> Errors:
    errors = validate_resource_name(name, path)
    if "/" not in name:
        if name not in CONTAINER_RESOURCES and not is_huge_pages(name):
            errors.append(fields.wrong(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(fields.wrong(path, name, "doesn't follow extended resource name standard"))
    return errors


def validate_pod_resource_name(name: str, path: str) -> Errors:
    if errors := validate_resource_name(name, path):
        return errors
    if not is_pod_level(name):
        return [fields.unsupported(path, name, ("cpu", HUGE_PAGES, "memory"))]
    return []
