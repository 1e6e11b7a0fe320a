"""One pass over a Work: prepares it, removes what is left over, and applies its manifests wave by
wave.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import envelopes, snapshots
from fleetqueue.fleet.decide.delivery import (
    expectations,
    forms,
    manifests,
    ownership,
    plans,
    work_status,
)
from fleetqueue.fleet.decide.delivery.manifests import Identity, Manifest, Place
from fleetqueue.fleet.decide.delivery.outcomes import Outcome
from fleetqueue.fleet.decide.delivery.plans import ApplyPlan
from fleetqueue.fleet.member.applying import Applying, Order, Subject
from fleetqueue.fleet.member.clearing import Clearing
from fleetqueue.fleet.member.following import Following
from fleetqueue.fleet.member.member_objects import MemberObjects
from fleetqueue.fleet.settings import MemberSettings
from fleetqueue.kube import finalizers
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import AlreadyExists, UnknownKind
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of

Json = dict[str, Any]
Resources = Mapping[tuple[str, str], Resource]
"""By apiVersion and kind; those that the member does not serve are not there."""

AT_ONCE = 4
"""Manifests of one wave that are worked on at the same time."""


@dataclass(frozen=True, slots=True)
class Passed:
    """A Work and its AppliedWork as they are after a pass, and what came of the manifests."""

    work: Object
    applied_work: Object
    plan: ApplyPlan
    outcomes: list[Outcome]


class Passes:
    """One for each member."""

    def __init__(
        self,
        hub: Cluster,
        member: Cluster,
        objects: MemberObjects,
        clearing: Clearing,
        following: Following,
        settings: MemberSettings,
        namespace: str,
    ) -> None:
        self._hub, self._member, self._settings = hub, member, settings
        self._objects, self._clearing, self._following = objects, clearing, following
        self._applying = Applying(objects)
        self._steps = settings.steps(member.clock)
        self._namespace = namespace

    async def make(self, work: Object) -> Passed | None:
        """None where the AppliedWork is on its way out, and the objects with it: only the next one
        can own them.
        """
        work = await self._with_finalizer(work)
        applied_work, is_new = await self._applied_work(work)
        if finalizers.is_deleting(applied_work):
            return None
        order = self._order(work, ownership.reference(applied_work), is_new=is_new)
        expected = expectations.noted(applied_work)
        listed = work_status.listed(applied_work)
        work, outcomes = await self._go(work, order, expected, listed)
        if _brings_its_kinds(outcomes):
            work, outcomes = await self._go(work, order, expected, listed)
        return Passed(work, applied_work, order.plan, outcomes)

    async def write_status(self, work: Object, status: Json) -> Object:
        """Nothing where it says that already."""
        present = {"manifestConditions": [], **(work.get("status") or {})}
        if present == status:
            return work
        key = key_of(work)
        listed = status["manifestConditions"] or None
        patch = {"status": {"conditions": status["conditions"], "manifestConditions": listed}}
        done: Object = await self._hub.patch(
            kinds.WORK, key.name, patch, key.namespace, subresource="status"
        )
        return done

    async def list_applied(self, passed: Passed) -> None:
        """While differences are only reported, what was applied before stays listed: it may have to
        be taken away one day.
        """
        status = passed.applied_work.get("status") or {}
        listed = work_status.applied_resources(passed.outcomes)
        if passed.plan.is_report or (status.get("appliedResources") or []) == listed:
            return
        await self._member.patch(
            kinds.APPLIED_WORK,
            key_of(passed.applied_work).name,
            {"status": {"appliedResources": listed or None}},
            subresource="status",
            field_manager=labels.WORK_APPLIER_MANAGER,
        )

    # Before anything is applied

    async def _with_finalizer(self, work: Object) -> Object:
        patch = finalizers.added(work, labels.WORK_FINALIZER)
        if patch is None:
            return work
        key = key_of(work)
        done: Object = await self._hub.patch(kinds.WORK, key.name, patch, key.namespace)
        return done

    async def _applied_work(self, work: Object) -> tuple[Object, bool]:
        """And whether it was made just now, with a note of what follows."""
        name = key_of(work).name
        known = self._member.cached(kinds.APPLIED_WORK, name)
        if known is not None:
            return known, False
        metadata: Json = {"name": name}
        if not self._steps.take():
            metadata["annotations"] = await self._note(work)
        body = {
            "apiVersion": kinds.APPLIED_WORK.api_version,
            "kind": kinds.APPLIED_WORK.kind,
            "metadata": metadata,
            "spec": {"workName": name, "workNamespace": self._namespace},
        }
        try:
            made: Object = await self._member.create(
                body, field_manager=labels.WORK_APPLIER_MANAGER
            )
        except AlreadyExists:
            made = await self._member.client.get(kinds.APPLIED_WORK, name)
            self._member.accept(made, kinds.APPLIED_WORK)
            return made, False
        return made, True

    async def _note(self, work: Object) -> Json:
        read = manifests.read(plans.manifests_of(work))
        found = _resolved(work, read, await self._resources(read))
        return expectations.note(each for each in found if not each.problem)

    def _order(self, work: Object, owner: Json, *, is_new: bool) -> Order:
        return Order(
            plan=plans.plan_of(work),
            owner=owner,
            is_job_aware=plans.is_job_aware(work, self._settings.is_job_aware),
            has_work=self._has_work,
            now=self._member.clock.now,
            is_new=is_new,
        )

    def _has_work(self, owner: Json) -> bool:
        name = str(owner.get("name") or "")
        applied_work = self._member.cached(kinds.APPLIED_WORK, name)
        if applied_work is None or uid_of(applied_work) != owner.get("uid"):
            return False
        return self._hub.cached(kinds.WORK, name, self._namespace) is not None

    # Applying

    async def _go(
        self,
        work: Object,
        order: Order,
        expected: Sequence[Identity] | None,
        listed: Sequence[Identity],
    ) -> tuple[Object, list[Outcome]]:
        read = manifests.read(plans.manifests_of(work))
        resources = await self._resources(read)
        found = _resolved(work, read, resources)
        usable = [each for each in found if not each.problem]
        if not order.plan.is_report:
            left = work_status.left_over(work, usable, expected, listed)
            await self._clearing.remove(left, order.owner)
            ahead = work_status.ahead(work, usable, self._hub.clock.now(), expected)
            work = work if ahead is None else await self.write_status(work, ahead)
        entries = work_status.entries_by_place(work)
        subjects = {each.ordinal: _subject(each, resources, entries) for each in usable}
        followed = [each.place for each in subjects.values()] if order.is_job_aware else []
        self._following.follow(key_of(work), followed)
        outcomes = {each.ordinal: Outcome(each, each.problem, each.error) for each in found}
        for wave in manifests.in_waves(usable, at_once=order.plan.is_report):
            for done in await self._in_wave(order, [subjects[each.ordinal] for each in wave]):
                outcomes[done.manifest.ordinal] = done
        return work, [outcomes[each.ordinal] for each in found]

    async def _resources(self, found: Sequence[Manifest]) -> Resources:
        resources: dict[tuple[str, str], Resource] = {}
        for kind in dict.fromkeys(_kind_of(each) for each in found if not each.problem):
            try:
                resources[kind] = await self._objects.resource(*kind)
            except UnknownKind:
                continue
        return resources

    async def _in_wave(self, order: Order, subjects: Sequence[Subject]) -> list[Outcome]:
        """Where the member does not answer, the pass ends with that once all are done."""
        limit = asyncio.Semaphore(AT_ONCE)

        async def one(subject: Subject) -> Outcome:
            async with limit:
                return await self._applying.apply(order, subject)

        done = await asyncio.gather(*map(one, subjects), return_exceptions=True)
        for each in done:
            if isinstance(each, BaseException):
                raise each
        return [each for each in done if isinstance(each, Outcome)]


def _resolved(work: Object, found: Sequence[Manifest], resources: Resources) -> list[Manifest]:
    return manifests.checked(
        each if each.problem else _found(each, resources.get(_kind_of(each)), work)
        for each in found
    )


def _found(manifest: Manifest, resource: Resource | None, work: Object) -> Manifest:
    if resource is None:
        return manifests.unknown_kind(manifest)
    is_namespaced = resource.namespaced
    envelope = envelopes.envelope_of_work(work)
    judged = manifests.unwrapped(manifest, envelope, is_namespaced=is_namespaced)
    if not judged.problem:
        home = snapshots.label(work, labels.PARENT_PLACEMENT_NAMESPACE)
        judged = manifests.confined(judged, home, is_namespaced=is_namespaced)
    return (
        judged if judged.problem else judged.found_as(resource.plural, is_namespaced=is_namespaced)
    )


def _subject(manifest: Manifest, resources: Resources, known: Mapping[Place, Json]) -> Subject:
    return Subject(
        manifest,
        resources[_kind_of(manifest)],
        known.get(manifest.identity.place),
        forms.spec_hash(manifest.raw),
        forms.digest(manifest.raw),
    )


def _kind_of(manifest: Manifest) -> tuple[str, str]:
    return str(manifest.raw.get("apiVersion") or ""), manifest.identity.kind


def _brings_its_kinds(outcomes: Sequence[Outcome]) -> bool:
    """Whether kinds that were not known yet have come with the Work itself."""
    made = set()
    for each in outcomes:
        if each.is_applied and each.manifest.identity.kind == "CustomResourceDefinition":
            spec = each.manifest.raw.get("spec") or {}
            made.add((spec.get("group"), (spec.get("names") or {}).get("kind")))
    missing = (each.manifest for each in outcomes if each.result == manifests.DECODING_ERRED)
    return any((each.identity.group, each.identity.kind) in made for each in missing)
