"""Which workers a job may go to at all: those whose MultiKueueCluster has the labels that it asks
for in an annotation.
"""

from collections.abc import Mapping

from fleetqueue.api.kueue.labels import CLUSTER_SELECTOR
from fleetqueue.api.selectors import EVERYTHING, LabelSelector, SelectorError, parse_labels
from fleetqueue.jobs.identity import annotations_of
from fleetqueue.kube.resources import Object


def selector_of(workload: Object) -> LabelSelector:
    """What the annotation says, as kubectl would take it; one that cannot be read is an error."""
    text = annotations_of(workload).get(CLUSTER_SELECTOR)
    return EVERYTHING if text is None else parse_labels(text)


def may_go_to(workload: Object, labels: Mapping[str, str]) -> bool:
    """Whether a worker with these labels is one of them; none is where the selector is bad."""
    try:
        return selector_of(workload).matches(labels)
    except SelectorError:
        return False


def problem_of(workload: Object) -> str:
    """What is wrong with the selector, as a sentence; "" where nothing is."""
    try:
        selector_of(workload)
    except SelectorError as error:
        text = annotations_of(workload)[CLUSTER_SELECTOR]
        return (
            f'The annotation {CLUSTER_SELECTOR} is no label selector: "{text}" ({error}).'
            ' Write one as for "kubectl get -l", such as "region=eu,tier!=spot"; until then the'
            " workload is offered to no worker."
        )
    return ""
