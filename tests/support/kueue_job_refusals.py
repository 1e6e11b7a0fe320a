"""Requests of jobs in queues that are refused."""

from typing import Any

from support.kueue_refusals import (
    FORBIDDEN,
    GATES,
    GATES_PATH,
    NAME,
    Change,
    Object,
    Refusal,
    denied,
    named,
)


def job(
    name: str = NAME, labels: Object | None = None, annotations: Object | None = None,
    kind: str = "Job", **spec: Any,
) -> Object:  # fmt: skip
    pod = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    made = named(kind, {"template": pod, **spec}, name)
    made["metadata"] |= {"labels": {QUEUE: "q", **(labels or {})}, "annotations": annotations or {}}
    return made


def jax_job(**annotations: str) -> Object:
    container = {"name": "jax", "image": "i"}
    worker = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    made = job(annotations=annotations, kind="JAXJob")
    return {**made, "spec": {"jaxReplicaSpecs": {"Worker": worker}}}


def job_denied(title: str, obj: Object, text: str, rule: str = "jobs A.7") -> Refusal:
    return Refusal(title, rule, obj, FORBIDDEN, denied(obj["kind"], text))


def job_change(title: str, obj: Object, patch: Object, text: str) -> Refusal:
    """Of a Job that runs."""
    obj["metadata"]["name"] = title.replace(" ", "-")
    runs = Change({"spec": {"suspend": False}})
    return Refusal(
        title, "kueue 9.6", obj, FORBIDDEN, denied("Job", text), patch, before=(runs,)
    )  # fmt: skip


QUEUE = "kueue.x-k8s.io/queue-name"
CLASS = "kueue.x-k8s.io/priority-class"
SECONDS = "kueue.x-k8s.io/max-exec-time-seconds"
PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"
ELASTIC = "kueue.x-k8s.io/elastic-job"
LEAST = "kueue.x-k8s.io/job-min-parallelism"
EQUAL = "kueue.x-k8s.io/job-completions-equal-parallelism"
SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
SYNTAX = 'strconv.Atoi: parsing "x": invalid syntax'


def labelled(key: str, value: Any) -> Object:
    return {"metadata": {"labels": {key: value}}}


def annotated(key: str, value: Any) -> Object:
    return {"metadata": {"annotations": {key: value}}}


JOBS = [
    job_denied("a bad name of a queue", job(labels={QUEUE: "A_b"}),
               f'metadata.labels[{QUEUE}]: Invalid value: "A_b": {SUBDOMAIN_TEXT}'),
    job_denied("a bad name of a workload", job(annotations={PREBUILT: "A_b"}),
               f'metadata.annotations[{PREBUILT}]: Invalid value: "A_b": {SUBDOMAIN_TEXT}'),
    job_denied("a kind that is not elastic", jax_job(**{ELASTIC: "true"}),
               f"metadata.annotations[{ELASTIC}]: Forbidden: elastic job is not supported for "
               '"kubeflow.org/v1, Kind=JAXJob"'),
    job_denied("a time that is no number", job(labels={SECONDS: "x"}),
               f'metadata.labels[{SECONDS}]: Invalid value: "x": {SYNTAX}'),
    job_denied("no time", job(labels={SECONDS: "0"}),
               f"metadata.labels[{SECONDS}]: Invalid value: 0: should be greater than 0"),
    job_denied("empty gates of a job", job(annotations={GATES: "a.io/b,"}),
               f'{GATES_PATH}: Invalid value: "a.io/b,": cannot contain empty gate names'),
    job_denied("a gate of a job twice", job(annotations={GATES: "a.io/b,a.io/b"}),
               f'{GATES_PATH}: Invalid value: "a.io/b,a.io/b": duplicate gate name: a.io/b'),
    job_denied("a gate of a job without domain", job(annotations={GATES: "b"}),
               f'{GATES_PATH}: Invalid value: "b": must be a domain-prefixed path (such as '
               '"acme.io/foo")'),
    job_denied("too few at least", job(annotations={LEAST: "0"}, parallelism=3),
               f"metadata.annotations[{LEAST}]: Invalid value: 0: should be between 0 and 2",
               "kueue 9.6"),
    job_denied("too many at least", job(annotations={LEAST: "3"}, parallelism=3),
               f"metadata.annotations[{LEAST}]: Invalid value: 3: should be between 0 and 2",
               "kueue 9.6"),
    job_denied("at least no number", job(annotations={LEAST: "x"}, parallelism=3),
               f'metadata.annotations[{LEAST}]: Invalid value: "x": {SYNTAX}', "kueue 9.6"),
    job_denied("fewer pods of an elastic job",
               job(annotations={LEAST: "1", ELASTIC: "true"}, parallelism=3),
               f"metadata.annotations[{LEAST}]: Invalid value: 1: partial admission and elastic "
               "job cannot be used together", "kueue 9.6"),
    job_denied("equal, and not indexed",
               job(annotations={EQUAL: "true"}, parallelism=2, completions=2),
               f'metadata.annotations[{EQUAL}]: Invalid value: "true": should not be enabled '
               "for NonIndexed jobs", "kueue 9.6"),
    job_denied("equal, and different",
               job(annotations={EQUAL: "true"}, parallelism=2, completions=3,
                   completionMode="Indexed"),
               "spec.completions: Invalid value: 3: should be equal to parallelism when "
               f"{EQUAL} annotation is true", "kueue 9.6"),
    job_change("another queue", job(), labelled(QUEUE, "other"),
               f'metadata.labels[{QUEUE}]: Invalid value: "other": field is immutable'),
    job_change("another workload", job(annotations={PREBUILT: "w"}), annotated(PREBUILT, "v"),
               f'metadata.annotations[{PREBUILT}]: Invalid value: "v": field is immutable'),
    job_change("another time", job(labels={SECONDS: "9"}), labelled(SECONDS, "8"),
               f'metadata.labels[{SECONDS}]: Invalid value: "8": field is immutable'),
    job_change("a class for what runs", job(), labelled(CLASS, "high"),
               f'metadata.labels[{CLASS}]: Invalid value: "high": WorkloadPriorityClass cannot be '
               "added to a non-suspended workload"),
    job_change("no class any more", job(labels={CLASS: "high"}), labelled(CLASS, None),
               f'metadata.labels[{CLASS}]: Invalid value: "": WorkloadPriorityClass cannot be '
               "removed from a workload"),
    job_change("elastic from now on", job(), annotated(ELASTIC, "true"),
               f"metadata.annotations[{ELASTIC}]: Invalid value: true: field is immutable"),
    job_change("a gate from now on", job(), annotated(GATES, "a.io/b"),
               f"{GATES_PATH}: Forbidden: cannot add admission gate after creation"),
    job_change("one more gate", job(annotations={GATES: "a.io/b"}),
               annotated(GATES, "a.io/b,a.io/c"),
               f"{GATES_PATH}: Forbidden: can only remove gates, not add new ones"),
    job_change("more pods than were admitted", job(annotations={LEAST: "1"}, parallelism=3),
               {"spec": {"parallelism": 2}},
               "spec.parallelism: Forbidden: cannot change when partial admission is enabled and "
               "the job is not suspended"),
]  # fmt: skip
