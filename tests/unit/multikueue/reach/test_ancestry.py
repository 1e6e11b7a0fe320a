"""A pod belongs to a mirror when its owners, one after the other, lead there."""

from typing import Any

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.kube.errors import Forbidden, NotFound
from fleetqueue.kube.resources import Resource
from fleetqueue.multikueue.reach.ancestry import Ancestry, Mirror
from fleetqueue.multikueue.reach.pods_of import Reference

Object = dict[str, Any]
TRAIN_JOBS = Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob")


def obj(kind: str, name: str, owner: "Object | None" = None, **metadata: Any) -> Object:
    """Its uid is its name, where nothing else is said; controlled by the owner."""
    made: Object = {"kind": kind, "metadata": {"name": name, "namespace": "ns", "uid": name}}
    made["metadata"] |= metadata
    if owner is not None:
        reference = {"apiVersion": API[owner["kind"]], "kind": owner["kind"], "controller": True}
        named = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        made["metadata"]["ownerReferences"] = [{**reference, **named}]
    return made


API = {
    "Job": "batch/v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "TrainJob": "trainer.kubeflow.org/v1alpha1",
    "Pod": "v1",
    "StatefulSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "AppWrapper": "workload.codeflare.dev/v1beta2",
}


class Site:
    """A worker with some objects, one of them the mirror."""

    def __init__(self, mirror: Object, *others: Object) -> None:
        self.mirror = mirror
        self.reads: list[str] = []
        self.refuses = False
        self._objects = {(each["kind"], each["metadata"]["name"]): each for each in others}
        self.ancestry = Ancestry(self._read, self._is_mirror)

    async def _read(self, kind: Resource, key: Key) -> Object:
        self.reads.append(f"{kind.kind} {key.name}")
        if self.refuses:
            raise Forbidden({"code": 403})
        found = self._objects.get((kind.kind, key.name))
        if found is None:
            raise NotFound({"code": 404})
        return found

    def _is_mirror(self, owner: Reference, namespace: str) -> Mirror | None:
        metadata = self.mirror["metadata"]
        same = (owner.kind, owner.name) == (self.mirror["kind"], metadata["name"])
        is_it = same and namespace == "ns" and owner.uid in ("", metadata["uid"])
        return (TRAIN_JOBS, self.mirror) if is_it else None

    async def leads(self, pod: Object) -> bool:
        return await self.ancestry.mirror_of(pod) is not None


async def test_owners_lead_through_several_kinds_to_the_mirror() -> None:
    train = obj("TrainJob", "t")
    job_set = obj("JobSet", "s", train)
    job = obj("Job", "j", job_set)
    site = Site(train, job_set, job)
    assert await site.leads(obj("Pod", "p1", job))
    assert site.reads == ["Job j", "JobSet s"]
    assert await site.leads(obj("Pod", "p2", job))
    assert len(site.reads) == 2, "what was asked once is known"


async def test_an_owner_of_the_same_name_with_another_uid_is_another() -> None:
    train = obj("TrainJob", "t")
    job = obj("Job", "j", train)
    impostor = obj("Job", "j", train, uid="k")
    assert not await Site(train, impostor).leads(obj("Pod", "p", job))


async def test_a_namesake_of_the_mirror_is_not_the_mirror() -> None:
    older = obj("TrainJob", "t", uid="before")
    assert not await Site(obj("TrainJob", "t")).leads(obj("Pod", "p", older))


@pytest.mark.parametrize("kind", ["ReplicaSet", "Job"])
async def test_what_cannot_be_read_proves_nothing(kind: str) -> None:
    train = obj("TrainJob", "t")
    owner = obj(kind, "o", train)
    site = Site(train, owner)
    site.refuses = True
    assert not await site.leads(obj("Pod", "p", owner))


async def test_owners_in_a_ring_end() -> None:
    one, two = obj("Job", "1"), obj("Job", "2")
    ring = [obj("Job", "1", two), obj("Job", "2", one)]
    assert not await Site(obj("TrainJob", "t"), *ring).leads(obj("Pod", "p", one))


async def test_a_pod_without_owner_is_a_mirror_itself_or_nobodys() -> None:
    pod = obj("Pod", "p")
    assert await Site(pod).leads(pod)
    assert not await Site(obj("TrainJob", "t")).leads(pod)


async def test_a_pod_of_a_set_of_pods_leads_over_its_leader() -> None:
    """As those of a LeaderWorkerSet do: set, leader, set."""
    mirror = obj("StatefulSet", "top")
    leader = obj("Pod", "leader", mirror)
    below = obj("StatefulSet", "below", leader)
    assert await Site(mirror, leader, below).leads(obj("Pod", "p", below))


async def test_a_wrapper_counts_by_its_label_whatever_lies_between() -> None:
    wrapper, between = obj("AppWrapper", "w"), obj("ReplicaSet", "r")
    labels = {"workload.codeflare.dev/appwrapper": "w"}
    site = Site(wrapper)
    assert await site.leads(obj("Pod", "p", between, labels=labels))
    assert site.reads == []
    assert not await Site(obj("AppWrapper", "v")).leads(obj("Pod", "p", between, labels=labels))


async def test_a_wrappers_label_hides_no_owner() -> None:
    train = obj("TrainJob", "t")
    labels = {"workload.codeflare.dev/appwrapper": "w"}
    assert await Site(train).leads(obj("Pod", "p", train, labels=labels))
