"""What a JobSet makes: Jobs that carry their place in it, the Service of their names, claims."""

import hashlib
from collections.abc import Iterator

from fleetqueue.kube.plan import child
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import CLAIM, JOB, SERVICE
from fleetqueue.runtime.operators.job_set_templates import PodTemplate

PREFIX = "jobset.sigs.k8s.io/"
NAME_KEY = f"{PREFIX}jobset-name"
REPLICATED_JOB_KEY = f"{PREFIX}replicatedjob-name"
ATTEMPT_KEY = f"{PREFIX}restart-attempt"

EXCLUSIVE_KEY = "alpha.jobset.sigs.k8s.io/exclusive-topology"
NODE_SELECTOR_KEY = "alpha.jobset.sigs.k8s.io/node-selector"


def replicated_jobs(job_set: Object) -> list[Object]:
    return list(job_set["spec"].get("replicatedJobs") or ())


def replicas_of(replicated: Object) -> int:
    count = replicated.get("replicas")
    return 1 if count is None else int(count)


def group_of(replicated: Object) -> str:
    return str(replicated.get("groupName") or "default")


def replicated_job_of(job: Object) -> str:
    """The name of the replicated job that a Job came from."""
    return str((job["metadata"].get("labels") or {}).get(REPLICATED_JOB_KEY) or "")


def job_name(job_set: Object, replicated: Object, index: int) -> str:
    return f"{job_set['metadata']['name']}-{replicated['name']}-{index}"


def subdomain(job_set: Object) -> str:
    network = job_set["spec"].get("network") or {}
    return str(network.get("subdomain") or job_set["metadata"]["name"])


def coordinator(job_set: Object) -> str:
    """The address of the pod that all others are told; "" where nobody coordinates."""
    chosen = job_set["spec"].get("coordinator")
    if not chosen:
        return ""
    place = f"{chosen.get('jobIndex') or 0}-{chosen.get('podIndex') or 0}"
    host = f"{job_set['metadata']['name']}-{chosen['replicatedJob']}-{place}"
    return f"{host}.{subdomain(job_set)}"


def make_job(job_set: Object, replicated: Object, index: int) -> Object:
    name = job_name(job_set, replicated, index)
    marks = place_of(job_set, replicated, index)
    exclusive = _exclusive_placement(job_set, replicated)
    metadata = _marked(replicated["template"].get("metadata") or {}, marks, exclusive)
    spec = replicated["template"].get("spec") or {}
    pod = PodTemplate(spec.get("template") or {})
    pod.metadata = _marked(pod.metadata, marks, exclusive)
    if has_host_names(job_set):
        pod.spec["subdomain"] = subdomain(job_set)
    if EXCLUSIVE_KEY in metadata["annotations"] and NODE_SELECTOR_KEY in metadata["annotations"]:
        pod.keep_to_nodes_of(f"{job_set['metadata'].get('namespace') or ''}_{name}")
    for claim in _claim_templates(job_set):
        pod.add_claim(claim["metadata"]["name"], claim_name(job_set, claim))
    whole = {**spec, "suspend": bool(job_set["spec"].get("suspend")), "template": pod.whole}
    return child(JOB, job_set, {"name": name, **metadata}, spec=whole)


def place_of(job_set: Object, replicated: Object, index: int) -> dict[str, str]:
    """The labels, which are annotations too, that say where in the JobSet a Job stands."""
    metadata, everyone = job_set["metadata"], replicated_jobs(job_set)
    group = [each for each in everyone if group_of(each) == group_of(replicated)]
    key = f"{metadata.get('namespace') or ''}/{job_name(job_set, replicated, index)}"
    marks = {
        "jobset-name": metadata["name"],
        "jobset-uid": metadata["uid"],
        "replicatedjob-name": replicated["name"],
        "restart-attempt": str((job_set.get("status") or {}).get("restarts") or 0),
        "replicatedjob-replicas": str(replicas_of(replicated)),
        "global-replicas": str(sum(map(replicas_of, everyone))),
        "job-index": str(index),
        "job-key": hashlib.sha1(key.encode(), usedforsecurity=False).hexdigest(),
        "job-global-index": str(_replicas_before(everyone, replicated) + index),
        "group-name": group_of(replicated),
        "group-replicas": str(sum(map(replicas_of, group))),
        "job-group-index": str(_replicas_before(group, replicated) + index),
    }
    if coordinator(job_set):
        marks["coordinator"] = coordinator(job_set)
    return {f"{PREFIX}{name}": value for name, value in marks.items()}


def has_host_names(job_set: Object) -> bool:
    network = job_set["spec"].get("network") or {}
    return network.get("enableDNSHostnames") is not False


def make_service(job_set: Object) -> Object | None:
    """The headless Service that gives the pods their names; None where they want none."""
    if not has_host_names(job_set):
        return None
    network = job_set["spec"].get("network") or {}
    spec = {
        "clusterIP": "None",
        "selector": {NAME_KEY: job_set["metadata"]["name"]},
        "publishNotReadyAddresses": network.get("publishNotReadyAddresses") is not False,
    }
    return child(SERVICE, job_set, {"name": subdomain(job_set)}, spec=spec)


def make_claims(job_set: Object) -> Iterator[Object]:
    """The claims that the Jobs share; those to be retained are nobody's."""
    for policy in job_set["spec"].get("volumeClaimPolicies") or ():
        retention = policy.get("retentionPolicy") or {}
        for template in policy.get("templates") or ():
            given = template["metadata"]
            labels = {**(given.get("labels") or {}), NAME_KEY: job_set["metadata"]["name"]}
            metadata: Object = {"name": claim_name(job_set, template), "labels": labels}
            if given.get("annotations"):
                metadata["annotations"] = given["annotations"]
            claim = child(CLAIM, job_set, metadata, spec=template.get("spec") or {})
            if retention.get("whenDeleted") == "Retain":
                del claim["metadata"]["ownerReferences"]
            yield claim


def claim_name(job_set: Object, template: Object) -> str:
    return f"{template_name(template)}-{job_set['metadata']['name']}"


def template_name(template: Object) -> str:
    """Of a claim; "" where it has none, which is refused."""
    return str((template.get("metadata") or {}).get("name") or "")


def _claim_templates(job_set: Object) -> Iterator[Object]:
    for policy in job_set["spec"].get("volumeClaimPolicies") or ():
        yield from policy.get("templates") or ()


def _replicas_before(listed: list[Object], replicated: Object) -> int:
    names = [each["name"] for each in listed]
    return sum(map(replicas_of, listed[: names.index(replicated["name"])]))


def _exclusive_placement(job_set: Object, replicated: Object) -> dict[str, str]:
    """The placement annotations of the JobSet, or those that its replicated job has instead."""
    found: dict[str, str] = {}
    for metadata in (job_set["metadata"], replicated["template"].get("metadata") or {}):
        annotations = metadata.get("annotations") or {}
        if EXCLUSIVE_KEY in annotations:
            wanted = (EXCLUSIVE_KEY, NODE_SELECTOR_KEY)
            found |= {key: annotations[key] for key in wanted if key in annotations}
    return found


def _marked(metadata: Object, marks: dict[str, str], annotations: dict[str, str]) -> Object:
    return {
        "labels": {**(metadata.get("labels") or {}), **marks},
        "annotations": {**(metadata.get("annotations") or {}), **marks, **annotations},
    }
