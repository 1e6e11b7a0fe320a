"""Tells of each MultiKueue AdmissionCheck whether workloads can be sent anywhere by it."""

from collections.abc import Iterable, Sequence

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.kube.frame import Follow, Operator
from fleetqueue.kube.plan import NOTHING, Look, Plan, Status
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.kube.sources import Index, Source
from fleetqueue.multikueue import checks, kinds

NAME = "multikueue-admissioncheck-controller"
GROUP = "kueue.x-k8s.io"
CONFIG_KIND = "MultiKueueConfig"
UNLOADED = "Cannot load the AdmissionChecks parameters: "
CHECKS_OF_CONFIG = Index(
    kinds.ADMISSION_CHECK, "multikueue config", lambda check: _config_names(check)
)
CONFIGS_OF_CLUSTER = Index(kinds.CONFIG, "multikueue clusters", lambda config: clusters_of(config))
Told = tuple[bool, str, str]


def operators() -> Iterable[Operator]:
    yield Operator(
        NAME,
        kinds.ADMISSION_CHECK,
        decide,
        follows=(
            Follow(kinds.CONFIG, _checks_of_config, when=_lists_others),
            Follow(kinds.CLUSTER, _checks_of_cluster, when=_is_otherwise),
        ),
        indexes=(CHECKS_OF_CONFIG, CONFIGS_OF_CLUSTER),
        manager="kueue",
        workers=1,
    )


def decide(look: Look) -> Plan:
    check = look.parent
    if not checks.is_ours(check):
        return NOTHING
    told = activity(check, look)
    before = check.get("status") or {}
    if _says(before, told):
        return NOTHING
    generation = int(check["metadata"].get("generation") or 0)
    return Plan([Status(status.set_condition(before, "Active", *told, generation, look.now))])


def activity(check: Object, look: Look) -> Told:
    parameters = (check.get("spec") or {}).get("parameters")
    if problem := problem_of(parameters):
        return False, "BadConfig", f"{UNLOADED}{problem}"
    name = checks.config_of(check)
    config = look.find(kinds.CONFIG, name)
    if config is None:
        text = f'{CONFIG_KIND}.{GROUP} "{name}" not found'
        return False, "BadConfig", f"{UNLOADED}{text}"
    names = clusters_of(config)
    found = {each: look.find(kinds.CLUSTER, each) for each in names}
    missing = [each for each in names if found[each] is None]
    inactive = [
        each
        for each in names
        if (cluster := found[each]) is not None and not status.is_true(cluster, "Active")
    ]
    return _judged(names, missing, inactive)


def problem_of(parameters: Object | None) -> str:
    """What is wrong with the reference to a configuration; "" where it is well."""
    if parameters is None:
        return "missing parameters reference"
    if not parameters.get("name"):
        return "empty name: bad parameters reference"
    group, kind = parameters.get("apiGroup") or "", parameters.get("kind") or ""
    if group != GROUP:
        return f'wrong group "{group}", expecting "{GROUP}": bad parameters reference'
    if kind != CONFIG_KIND:
        return f'wrong kind "{kind}", expecting "{CONFIG_KIND}": bad parameters reference'
    return ""


def clusters_of(config: Object) -> list[str]:
    return list((config.get("spec") or {}).get("clusters") or ())


def _judged(names: Sequence[str], missing: Sequence[str], inactive: Sequence[str]) -> Told:
    if not missing and not inactive:
        return True, "Active", "The admission check is active"
    parts = []
    if missing:
        parts.append(f"Missing clusters: [{' '.join(missing)}]")
    if inactive:
        parts.append(f"Inactive clusters: [{' '.join(inactive)}]")
    is_usable = len(missing) + len(inactive) < len(names)
    reason = "SomeActiveClusters" if is_usable else "NoUsableClusters"
    return is_usable, reason, ", ".join(parts)


def _says(before: Object, told: Told) -> bool:
    return _active({"status": before}) == ("True" if told[0] else "False", *told[1:])


def _active(obj: Object | None) -> tuple[str, str, str] | None:
    found = None if obj is None else status.find_condition(obj, "Active")
    if found is None:
        return None
    return found["status"], found.get("reason") or "", found.get("message") or ""


def _config_names(check: Object) -> Iterable[str]:
    name = checks.config_of(check)
    return [name] if name else []


def _lists_others(old: Object | None, new: Object | None) -> bool:
    return old is None or new is None or clusters_of(old) != clusters_of(new)


def _is_otherwise(old: Object | None, new: Object | None) -> bool:
    return old is None or new is None or _active(old) != _active(new)


def _checks_of_config(source: Source, config: Object) -> Iterable[Key]:
    name = key_of(config).name
    return [key_of(check) for check in source.found(CHECKS_OF_CONFIG, name)]


def _checks_of_cluster(source: Source, cluster: Object) -> Iterable[Key]:
    found = source.found(CONFIGS_OF_CLUSTER, key_of(cluster).name)
    return [key for config in found for key in _checks_of_config(source, config)]
