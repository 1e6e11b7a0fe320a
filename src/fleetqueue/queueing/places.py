"""Where the pods of a workload go that has flavors: in time with its quota, in a second pass, or in
place of a node that failed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fleetqueue.queueing import flavor_match
from fleetqueue.queueing.assignment import Assignment, Cause, Chance, Choice, Mode, PodSetResult
from fleetqueue.queueing.state import State
from fleetqueue.queueing.topology.state import Wanted
from fleetqueue.queueing.workload import Placement, PodSetAssignment, Workload


def place(state: State, workload: Workload, assignment: Assignment) -> Assignment:
    """Adds places where quota fits. Where there are none, somebody has to go; where that would not
    help either, the workload does not fit.
    """
    if assignment.mode is Mode.NO_FIT:
        return assignment
    asking = _asking(state, workload, assignment)
    if not asking:
        return assignment
    assignment = assignment.with_results(_checked(state, workload, assignment, asking))
    if assignment.mode is Mode.NO_FIT:
        return assignment
    return _placed(state, assignment, wanted(state, workload, assignment))


def place_later(state: State, workload: Workload, holder: Workload) -> Assignment:
    """The second pass: flavors and counts stay, and only the missing places are looked for.
    `holder` is the workload as it is counted.
    """
    results = [_kept(workload, each) for each in workload.assignments]
    assignment = Assignment(tuple(results), replaced=holder)
    if len(workload.unhealthy_nodes) > 1 and not _stays(state, workload):
        return assignment.with_results(replace(each, has_failed=True) for each in results)
    return _placed(
        state, assignment, _missing(state, workload), may_preempt=not workload.unhealthy_nodes
    )


def wanted(state: State, workload: Workload, assignment: Assignment) -> list[Wanted]:
    """What has to be placed now."""
    if workload.needs_second_pass:
        return _missing(state, workload)
    found = []
    for result in _asking(state, workload, assignment):
        flavor = _flavor(state, assignment, result)
        if flavor and not result.is_delayed and result.count:
            found.append(_wanted(workload, result, flavor, _former(state, assignment, result)))
    return found


def with_places(assignment: Assignment, found: Mapping[str, Placement]) -> Assignment:
    return assignment.with_results(
        replace(each, placement=found[each.name])
        for each in assignment.pod_sets
        if each.name in found
    )


def _placed(
    state: State, assignment: Assignment, asked: Sequence[Wanted], may_preempt: bool = True
) -> Assignment:
    if not asked:
        return assignment
    without = ""
    if assignment.mode is Mode.FIT:
        answer = state.topologies.find(asked)
        if not answer.failed:
            return with_places(assignment, answer.found)
        without = answer.failed
        assignment = _contested(state, assignment, [without], answer.why)
    if not may_preempt:
        return assignment
    answer = state.topologies.find(asked, as_if_empty=True)
    if answer.failed:
        # What is free now was said already, and is what people can see.
        return _hopeless(assignment, answer.failed, "" if without == answer.failed else answer.why)
    return _contested(state, assignment, [each.pod_set.name for each in asked])


def _contested(
    state: State, assignment: Assignment, names: Sequence[str], why: str = ""
) -> Assignment:
    """Somebody has to go from the flavors with places of these sets."""
    changed = []
    for each in assignment.pod_sets:
        if each.name in names:
            choices = {
                resource: _contested_choice(choice, flavor_match.has_topology(state, choice.flavor))
                for resource, choice in each.choices.items()
            }
            changed.append(_with_reason(replace(each, choices=choices), why))
    return assignment.with_results(changed)


def _contested_choice(choice: Choice, has_topology: bool) -> Choice:
    is_free = has_topology and choice.chance is Chance.FIT
    return replace(choice, chance=Chance.PREEMPT) if is_free else choice


def _hopeless(assignment: Assignment, name: str, why: str) -> Assignment:
    failed = next(each for each in assignment.pod_sets if each.name == name)
    told = _with_reason(failed, why)
    return assignment.with_results([replace(told, cause=Cause.PLACES, has_failed=True)])


def _with_reason(result: PodSetResult, why: str) -> PodSetResult:
    return replace(result, reasons=(*result.reasons, why)) if why else result


def _asking(state: State, workload: Workload, assignment: Assignment) -> list[PodSetResult]:
    """The pod sets whose pods are placed."""
    if not state.settings.places_pods:
        return []
    places_all = flavor_match.places_everybody(state, state.queues[workload.cluster_queue])
    return [
        each
        for each in assignment.pod_sets
        if flavor_match.is_explicit(each.pod_set) or (places_all and each.choices)
    ]


def _checked(
    state: State, workload: Workload, assignment: Assignment, asking: Sequence[PodSetResult]
) -> list[PodSetResult]:
    """Each with the one flavor it can be placed in, and told whether that happens later."""
    later = state.delayed_flavors.get(workload.cluster_queue, frozenset())
    checked = []
    for each in asking:
        flavors = _flavors(state, assignment, each)
        if error := _refusal(state, workload, each):
            checked.append(replace(each, error=error, cause=Cause.PLACES))
        elif len(flavors) != 1:
            named = ", ".join(flavors)
            error = f"more than one TAS flavor assigned: {named}" if flavors else NO_FLAVOR
            checked.append(replace(each, error=error, cause=Cause.PLACES))
        elif later is None or flavors[0] in later:
            checked.append(replace(each, is_delayed=True))
        elif not state.topologies.is_known(flavors[0]):
            checked.append(replace(each, error=NOT_KNOWN, cause=Cause.PLACES))
    return checked


def _refusal(state: State, workload: Workload, result: PodSetResult) -> str:
    """Pods of elastic jobs come and go, so none of them can be promised a place near others."""
    asked = result.pod_set.topology
    if not (workload.is_slice and state.settings.places_elastic) or asked is None:
        return ""
    word = "required" if asked.required else "preferred" if asked.preferred else ""
    return f"{word} topology is not supported with {ELASTIC_SLICES}" if word else ""


ELASTIC_SLICES = "ElasticJobsViaWorkloadSlices"
NO_FLAVOR = "no TAS flavor assigned"
NOT_KNOWN = "workload requires Topology, but there is no TAS cache information"


def _flavors(state: State, assignment: Assignment, result: PodSetResult) -> list[str]:
    """A set that asks for nothing is placed where the others of its group are."""
    group = result.pod_set.topology.group if result.pod_set.topology is not None else ""
    choices = [*result.choices.values()]
    if not choices and group:
        choices = [
            choice
            for each in assignment.pod_sets
            if each.pod_set.topology is not None and each.pod_set.topology.group == group
            for choice in each.choices.values()
        ]
    return sorted(
        {each.flavor for each in choices if flavor_match.has_topology(state, each.flavor)}
    )


def _flavor(state: State, assignment: Assignment, result: PodSetResult) -> str:
    return next(iter(_flavors(state, assignment, result)), "")


def _wanted(
    workload: Workload, result: PodSetResult, flavor: str, kept: Placement | None, failed: str = ""
) -> Wanted:
    return Wanted(
        result.pod_set,
        result.count,
        flavor,
        workload.tolerations.get(result.name, ()),
        workload.node_selectors.get(result.name, {}),
        kept,
        failed,
    )


def _former(state: State, assignment: Assignment, result: PodSetResult) -> Placement | None:
    """A slice keeps the pods of the one before it where they are."""
    if assignment.replaced is None or not state.settings.places_elastic:
        return None
    held = (each for each in assignment.replaced.assignments if each.name == result.name)
    return next((each.placement for each in held), None)


# The second pass


def _kept(workload: Workload, held: PodSetAssignment) -> PodSetResult:
    pods = next(each for each in workload.pod_sets if each.name == held.name)
    choices = {name: Choice(flavor, Chance.FIT) for name, flavor in held.flavors.items()}
    return PodSetResult(
        pods,
        held.count,
        {name: held.usage.get(name, 0) for name in held.flavors},
        choices,
        placement=held.placement,
        is_delayed=held.is_delayed,
    )


def _missing(state: State, workload: Workload) -> list[Wanted]:
    """Sets whose places are chosen only now, or those that lost a node."""
    assignment = Assignment(tuple(_kept(workload, each) for each in workload.assignments))
    node = next(iter(workload.unhealthy_nodes), "")
    if node and _stays(state, workload):
        return []
    found = []
    for result in assignment.pod_sets:
        flavor = _flavor(state, assignment, result)
        if not flavor or not result.count:
            continue
        if node:
            if _is_on(result.placement, node):
                found.append(_wanted(workload, result, flavor, result.placement, node))
        elif result.is_delayed and result.placement is None:
            found.append(_wanted(workload, result, flavor, None))
    return found


def _stays(state: State, workload: Workload) -> bool:
    """A single pod cannot move: it keeps what it has."""
    return workload.is_single_pod and state.settings.leaves_single_pods


def _is_on(placement: Placement | None, node: str) -> bool:
    domains = placement.domains if placement is not None else ()
    return any(each.values[-1] == node for each in domains)
