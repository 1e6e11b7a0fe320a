"""Asks for capacity for workloads that hold quota, and tells their checks what came of it."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.jobs.infos import PodSetInfo
from fleetqueue.jobs.starting import flavors_info
from fleetqueue.kube.errors import AlreadyExists, KubeError
from fleetqueue.kube.frame import Follow, Operator, nobody
from fleetqueue.kube.plan import (
    NOTHING,
    Apply,
    Create,
    Delete,
    Look,
    Note,
    Patch,
    Plan,
    Status,
    Step,
    owner_reference,
)
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.kube.sources import Source
from fleetqueue.provisioning import checks, kinds, requests
from fleetqueue.provisioning.requests import Needed
from fleetqueue.provisioning.settings import ProvisioningSettings

Json = dict[str, Any]
DEFAULTS = ProvisioningSettings()


def operators(settings: ProvisioningSettings = DEFAULTS) -> Iterable[Operator]:
    yield Operator(
        kinds.NAME,
        kinds.WORKLOAD,
        partial(decide, settings=settings),
        owns=(kinds.REQUEST, kinds.POD_TEMPLATE),
        reads=(nobody(kinds.RESOURCE_FLAVOR),),
        follows=(
            Follow(kinds.CONFIG, _all_waiting),
            Follow(kinds.ADMISSION_CHECK, _all_waiting, when=_is_used_otherwise),
        ),
        manager="kueue",
        refused=_refused,
        tells_action=True,
    )
    yield Operator(
        "kueue-provisioning-check-controller",
        kinds.ADMISSION_CHECK,
        decide_activity,
        follows=(Follow(kinds.CONFIG, _checks_of),),
        manager="kueue",
        workers=1,
    )


def decide(look: Look, settings: ProvisioningSettings = DEFAULTS) -> Plan:
    """One look at a workload."""
    workload = look.parent
    existing = look.owned(kinds.REQUEST)
    if status.is_finished(workload):
        return Plan([Delete(each) for each in existing])
    if status.is_evicted(workload):
        return Plan([Delete(each) for each in existing if settings.cleans_up])
    if not status.has_quota(workload):
        return NOTHING
    ours = {check["name"]: check for check in status.checks_of(workload) if _is_ours(look, check)}
    if not ours:
        return Plan([Delete(each) for each in existing])
    turn = _Turn(look, existing, settings)
    made = [turn.follow(check) if check["name"] in ours else check
            for check in status.checks_of(workload)]  # fmt: skip
    turn.drop_others()
    return turn.plan(made)


def decide_activity(look: Look) -> Plan:
    check = look.parent
    if (check.get("spec") or {}).get("controllerName") != kinds.CONTROLLER:
        return NOTHING
    is_active, reason, message = checks.activity(check, _named_config(look, check))
    before = check.get("status") or {}
    known = status.find_condition(check, "Active")
    if known is not None and (known["status"] == "True") == is_active:
        return NOTHING
    generation = int(check["metadata"].get("generation") or 0)
    made = status.set_condition(before, "Active", is_active, reason, message, generation, look.now)
    return Plan([Status(made)])


class _Turn:
    """What is to be done for all checks of one workload."""

    def __init__(self, look: Look, existing: list[Object], settings: ProvisioningSettings) -> None:
        self.look = look
        self.workload = look.parent
        self.existing = {str(each["metadata"]["name"]): each for each in existing}
        self.steps: list[Step] = []
        self.used: set[str] = set()
        self.names_queues = settings.names_queues

    def follow(self, check: Json) -> Json:
        config = _config(self.look, check["name"])
        if config is None:
            return checks.with_state(check, "Pending", "the check is not active", self.look.now)
        sets = requests.needed(self.workload, config)
        if not sets:
            text = "the provisioning request is not needed"
            return checks.with_state(check, "Ready", text, self.look.now)
        attempt = requests.attempt_of(check)
        name = requests.request_name(self.look.name, check["name"], attempt)
        self.used.add(name)
        request = self.existing.get(name)
        is_ready = check["state"] == "Ready"
        may_change = request is not None and not is_ready
        if request and may_change and requests.is_stale(request, config, self.workload):
            self.steps.append(Delete(request))
            request = None
        if request is None:
            if not is_ready:
                self._ask(name, config, sets)
            return check
        self._hand_over(request, sets)
        return checks.judge(check, self.workload, config, request, attempt, sets, self.look.now)

    def _ask(self, name: str, config: Json, sets: list[Needed]) -> None:
        """First for the templates; once they are there, which wakes us, for the request."""
        known = {str(each["metadata"]["name"]) for each in self.look.owned(kinds.POD_TEMPLATE)}
        templates = requests.templates_for(self.workload, name, sets, self._infos())
        missing = [each for each in templates if each["metadata"]["name"] not in known]
        if missing:
            self.steps += [Create(each) for each in missing]
            return
        self.steps.append(Create(requests.request_for(self.workload, name, config, sets)))
        self.steps.append(
            Note("ProvisioningRequestCreated", f'Created ProvisioningRequest: "{name}"')
        )

    def _infos(self) -> dict[str, PodSetInfo]:
        """What the flavors that a pod set got put into its template."""
        made = (
            flavors_info(self.workload, each, self.look.source, names_queues=self.names_queues)
            for each in status.assignments_of(self.workload)
        )
        return {each.name: each for each in made}

    def _hand_over(self, request: Json, sets: list[Needed]) -> None:
        """Templates belong to the request once it exists."""
        names = {
            requests.template_name(str(request["metadata"]["name"]), each.name) for each in sets
        }
        for template in self.look.owned(kinds.POD_TEMPLATE):
            if template["metadata"]["name"] in names:
                owners = {"ownerReferences": [owner_reference(request)]}
                self.steps.append(Patch(template, {"metadata": owners}))

    def drop_others(self) -> None:
        """Requests of older attempts, and of checks that are gone."""
        self.steps += [
            Delete(request) for name, request in self.existing.items() if name not in self.used
        ]

    def plan(self, made: list[Json]) -> Plan:
        before = {check["name"]: check for check in status.checks_of(self.workload)}
        if made != status.checks_of(self.workload):
            body = status.admission_patch(self.workload, admissionChecks=made)
            self.steps.append(Apply(body, status.MANAGER, "status"))
        for check in made:
            old = before[check["name"]]["state"]
            if check["state"] != old:
                text = (
                    f"Admission check {check['name']} updated state from {old} to {check['state']}"
                )
                if check["message"]:
                    text += f" with message: {check['message']}"
                self.steps.append(Note("AdmissionCheckUpdated", status.event_message(text)))
        return Plan(self.steps)


def _refused(look: Look, step: Step, error: KubeError) -> Plan:
    if not isinstance(step, Create) or isinstance(error, AlreadyExists):
        return NOTHING
    kind, name = step.obj["kind"], step.obj["metadata"]["name"]
    text = status.event_message(f'Error creating {kind} "{name}": {error}')
    plan = Plan([Note("FailedCreate", text, "Warning")])
    before = status.checks_of(look.parent)

    def is_meant(check: Json) -> bool:
        return _is_ours(look, check) and name in requests.names_for(look.parent, check)

    made = [{**check, "message": text} if is_meant(check) else check for check in before]
    if made != before:
        body = status.admission_patch(look.parent, admissionChecks=made)
        plan.add(Apply(body, status.MANAGER, "status"))
    return plan


def _is_ours(look: Look, check: Json) -> bool:
    found = look.find(kinds.ADMISSION_CHECK, check["name"])
    spec = {} if found is None else found.get("spec") or {}
    return bool(spec.get("controllerName") == kinds.CONTROLLER)


def _config(look: Look, check: str) -> Json | None:
    """None where the check is not active."""
    found = look.find(kinds.ADMISSION_CHECK, check)
    config = None if found is None else _named_config(look, found)
    return config if found is not None and checks.activity(found, config)[0] else None


def _named_config(look: Look, check: Json) -> Json | None:
    name = ((check.get("spec") or {}).get("parameters") or {}).get("name") or ""
    return look.find(kinds.CONFIG, name) if name else None


def _all_waiting(source: Source, obj: Object) -> Iterable[Key]:
    """A check or its configuration changed: the workloads that have it look again."""
    return [
        key_of(workload)
        for workload in source.all(kinds.WORKLOAD, "")
        if status.has_quota(workload) and status.checks_of(workload)
    ]


def _is_used_otherwise(old: Object | None, new: Object | None) -> bool:
    """Whether a check says anything else of what is asked for, or whether it may be used."""
    return old is None or new is None or _use_of(old) != _use_of(new)


def _use_of(check: Object) -> tuple[Any, Any]:
    active = status.find_condition(check, "Active") or {}
    return check["metadata"].get("generation"), active.get("status")


def _checks_of(source: Source, config: Object) -> Iterable[Key]:
    return [key_of(check) for check in source.all(kinds.ADMISSION_CHECK, "")]
