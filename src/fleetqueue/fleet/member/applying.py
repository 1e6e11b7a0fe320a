"""Brings one manifest to its object on the member: finds it, takes it over, compares it, writes it,
and tells what came of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.meta import Key
from fleetqueue.errors import ClusterError
from fleetqueue.fleet.decide.delivery import availability as availabilities
from fleetqueue.fleet.decide.delivery import comparison, forms, job_ends, job_fields, ownership
from fleetqueue.fleet.decide.delivery import outcomes as results
from fleetqueue.fleet.decide.delivery.manifests import Manifest
from fleetqueue.fleet.decide.delivery.outcomes import Outcome
from fleetqueue.fleet.decide.delivery.plans import ApplyPlan
from fleetqueue.fleet.member.member_objects import Changed, MemberObjects, Rejected, WriteFailed
from fleetqueue.kube.errors import Refused
from fleetqueue.kube.remembered import Remembered
from fleetqueue.kube.resources import Object, Resource, uid_of, version_of

Json = dict[str, Any]

REMEMBERED_MAX = 20_000
TRIES_MAX = 3
"""How often a manifest is looked at anew because somebody else wrote in between."""


class NotToldYet(ClusterError):
    """The object is gone, and the watch has not told yet how it was last."""


@dataclass(frozen=True, slots=True)
class Order:
    """What all manifests of a Work have in common."""

    plan: ApplyPlan
    owner: Json
    """The reference to the AppliedWork."""
    is_job_aware: bool
    has_work: Callable[[Json], bool]
    """Whether an owner, which is an AppliedWork, stands for a Work that exists."""
    now: Callable[[], datetime]
    is_new: bool = False
    """Whether the Work has just come: most likely none of its objects is there."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One manifest, the resource that serves its kind, and what its Work says of it."""

    manifest: Manifest
    resource: Resource
    entry: Json | None
    hash: str
    """Of what counts in a comparison, as the object itself tells it."""
    digest: str
    """Of the whole manifest: labels that no comparison counts are written all the same."""

    @property
    def key(self) -> Key:
        return Key(self.manifest.identity.namespace, self.manifest.identity.name)

    @property
    def place(self) -> tuple[Resource, Key]:
        return self.resource, self.key


Stamp = tuple[str, ...]
"""The uid and version of a live object, the digest of a manifest, and how it was meant."""


class Memory:
    """What need not be done again while the object and its manifest are the same."""

    def __init__(self) -> None:
        self.applied: Remembered[Stamp] = Remembered(REMEMBERED_MAX)
        self.equal: Remembered[Stamp] = Remembered(REMEMBERED_MAX)


class Applying:
    """One for each member; all that it keeps can be lost."""

    def __init__(self, objects: MemberObjects) -> None:
        self._objects = objects
        self.memory = Memory()

    async def apply(self, order: Order, subject: Subject) -> Outcome:
        made = await self._unasked(order, subject) if order.is_new else None
        if made is not None:
            return made
        for attempt in range(1, TRIES_MAX + 1):
            try:
                return await self._apply(order, subject)
            except Changed as change:
                if attempt == TRIES_MAX:
                    return self._failed(subject, None, str(change))
        raise AssertionError("the last attempt returns")

    async def _apply(self, order: Order, subject: Subject) -> Outcome:
        try:
            live = await self._objects.find(subject.resource, subject.manifest.identity)
        except Refused as refusal:
            text = "failed to find the corresponding object for the manifest object in the member"
            error = f"{text} cluster: error returned by the API server: {refusal}"
            return Outcome(subject.manifest, results.NOT_FOUND_OUT, error)
        if live is None:
            return await self._absent(order, subject)
        is_owned = ownership.is_owned_by(live, order.owner)
        if not is_owned and order.plan.takes_over:
            taken = await self._take_over(order, subject, live)
            if isinstance(taken, Outcome):
                return taken
            live, is_owned = taken, True
        if order.plan.is_report:
            return await self._reported(order, subject, live)
        if not is_owned:
            return _of(subject, results.NOT_TAKEN_OVER, results.NO_OWNERSHIP, live)
        return await self._present(order, subject, live)

    # An object that is not there

    async def _absent(self, order: Order, subject: Subject) -> Outcome:
        if order.plan.is_report:
            details = (comparison.WHOLE_OBJECT,)
            return Outcome(subject.manifest, results.FOUND_DIFF, diffs=details)
        end = self._end_of_absent(subject) if order.is_job_aware else None
        if end is not None:
            return _ended(subject, end, order.now())
        try:
            live = await self._create(order, subject)
        except WriteFailed as failure:
            return self._failed(subject, None, str(failure))
        return await self._applied(order, subject, live)

    async def _unasked(self, order: Order, subject: Subject) -> Outcome | None:
        """Makes it without looking for it first; None where that does not do, whyever. A job may
        have been there and ended.
        """
        if order.plan.is_report or _is_job(subject):
            return None
        try:
            live = await self._create(order, subject)
        except (WriteFailed, Changed):
            return None
        return await self._applied(order, subject, live)

    async def _create(self, order: Order, subject: Subject) -> Object:
        body = forms.prepared(subject.manifest.raw, order.owner)
        if order.plan.is_client_side:
            body, _ = forms.with_last_applied(body)
        return await self._objects.create(subject.resource, body)

    def _end_of_absent(self, subject: Subject) -> job_ends.End | None:
        """How the job ended that is no longer there; None where it is to be made."""
        identity = subject.manifest.identity
        if not _is_job(subject):
            return None
        known = job_ends.remembered(subject.entry, subject.hash)
        if known is not None:
            return known
        last = self._objects.last_of(subject.resource, subject.key)
        if last is not None:
            is_same = forms.annotation(last, labels.SPEC_HASH) == subject.hash
            return job_ends.end_of(last) if is_same else None
        if self._objects.expects(subject.resource, subject.key):
            raise NotToldYet(f"{identity.kind} {subject.key} is gone")
        if job_ends.was_running(subject.entry, subject.hash):
            return job_ends.End(job_ends.GONE)
        return None

    # An object that is there

    async def _take_over(self, order: Order, subject: Subject, live: Object) -> Outcome | Object:
        """The object as it is then, or why it cannot be taken over."""
        found = ownership.take_over(
            live,
            order.owner,
            order.has_work,
            allows_co_ownership=order.plan.allows_co_ownership,
            shows_values=order.is_job_aware,
        )
        if found.error:
            return _of(subject, results.FAILED_TAKE_OVER, found.error, live)
        if order.plan.takes_over_equal_only:
            try:
                details, is_degraded = await self._compare(order, subject, live)
            except WriteFailed as failure:
                text = f"{ownership.TAKING_OVER}: failed to compare the objects: {failure}"
                return _of(subject, results.FAILED_TAKE_OVER, text, live)
            if details:
                text = ownership.DIFFERS + (results.DEGRADED if is_degraded else "")
                return _of(subject, results.FAILED_TAKE_OVER, text, live, diffs=details)
        try:
            return await self._objects.set_owners(subject.resource, live, [*found.owners])
        except WriteFailed as failure:
            text = f"{ownership.TAKING_OVER}: {failure}"
            return _of(subject, results.FAILED_TAKE_OVER, text, live)

    async def _reported(self, order: Order, subject: Subject, live: Object) -> Outcome:
        try:
            details, is_degraded = await self._compare(order, subject, live)
        except WriteFailed as failure:
            return _of(subject, results.FAILED_REPORT, str(failure), live)
        if not details:
            return _of(subject, results.NO_DIFF, "", live)
        result = results.FOUND_DIFF_DEGRADED if is_degraded else results.FOUND_DIFF
        return _of(subject, result, "", live, diffs=details)

    async def _present(self, order: Order, subject: Subject, live: Object) -> Outcome:
        was_applied = forms.annotation(live, labels.SPEC_HASH) == subject.hash
        if order.plan.spares_drifted and was_applied:
            drifted = await self._drifted(order, subject, live)
            if drifted is not None:
                return drifted
        co_ownership = order.plan.allows_co_ownership
        error = ownership.co_ownership_error(live, allows_co_ownership=co_ownership)
        if error:
            return self._failed(subject, live, f"failed to validate owner references: {error}")
        try:
            written = await self._write(order, subject, live)
        except WriteFailed as failure:
            return self._failed(subject, live, str(failure))
        return await self._applied(order, subject, written)

    async def _drifted(self, order: Order, subject: Subject, live: Object) -> Outcome | None:
        try:
            details, is_degraded = await self._compare(order, subject, live)
        except WriteFailed as failure:
            return _of(subject, results.FAILED_DETECTION, str(failure), live)
        if not details:
            return None
        result = results.FOUND_DRIFTS_DEGRADED if is_degraded else results.FOUND_DRIFTS
        text = results.DRIFTED + (results.DEGRADED if is_degraded else "")
        return _of(subject, result, text, live, drifts=details)

    async def _write(self, order: Order, subject: Subject, live: Object) -> Object:
        plan = order.plan
        if self.memory.applied.get(subject.place) == _stamp_of_apply(live, subject, order):
            return live
        wanted, fits = forms.prepared(subject.manifest.raw, order.owner), False
        if plan.is_client_side:
            wanted, fits = forms.with_last_applied(wanted)
        if order.is_job_aware:
            wanted = job_fields.aligned(wanted, live)
        if fits:
            return await self._objects.merge(
                subject.resource, live, wanted, is_locked=plan.spares_drifted
            )
        return await self._objects.apply(
            subject.resource,
            live,
            wanted,
            forces=plan.forces and not plan.is_client_side,
            is_locked=plan.spares_drifted,
        )

    async def _compare(
        self, order: Order, subject: Subject, live: Object
    ) -> tuple[tuple[Json, ...], bool]:
        """(what differs, whether everything had to be compared because the manifest is invalid)"""
        stamp = (*_stamp(live, subject, order), order.plan.comparison)
        if self.memory.equal.get(subject.place) == stamp:
            return (), False
        manifest = forms.sanitized(subject.manifest.raw)
        if order.is_job_aware:
            manifest = job_fields.aligned(manifest, live)
        is_degraded, wanted = False, manifest
        if not order.plan.compares_all:
            try:
                wanted = await self._objects.tried(subject.resource, manifest)
            except Rejected:
                # Much of a job may not be changed; what differs of it is told all the same.
                is_degraded = not (order.is_job_aware and _is_job(subject))
                wanted = manifest if is_degraded else comparison.overlaid(manifest, live)
        details = tuple(comparison.differences(wanted, live))
        if not details:
            self.memory.equal.put(subject.place, stamp)
        return details, is_degraded

    async def _applied(self, order: Order, subject: Subject, live: Object) -> Outcome:
        self.memory.applied.put(subject.place, _stamp_of_apply(live, subject, order))
        result, error = results.APPLIED, ""
        drifts: tuple[Json, ...] = ()
        if order.plan.compares_all:
            try:
                drifts, _ = await self._compare(order, subject, live)
            except WriteFailed as failure:
                result, error = results.APPLIED_UNCHECKED, str(failure)
        found = availabilities.availability(live, is_job_aware=order.is_job_aware)
        return Outcome(
            subject.manifest,
            result,
            error,
            live,
            drifts=drifts,
            availability=found,
            tombstone=_tombstone(order, subject, live),
        )

    def _failed(self, subject: Subject, live: Object | None, error: str) -> Outcome:
        text = f"failed to apply the manifest: {error}"
        return _of(subject, results.APPLY_FAILED, text, live)


def _of(subject: Subject, result: str, error: str, live: Object | None, **more: Any) -> Outcome:
    return Outcome(subject.manifest, result, error, live, **more)


def _is_job(subject: Subject) -> bool:
    identity = subject.manifest.identity
    return job_ends.is_job(identity.group, identity.kind)


def _stamp(live: Object, subject: Subject, order: Order) -> Stamp:
    mode = "jobs" if order.is_job_aware else "any"
    return uid_of(live), version_of(live), subject.digest, mode


def _stamp_of_apply(live: Object, subject: Subject, order: Order) -> Stamp:
    return (*_stamp(live, subject, order), order.plan.type, order.owner["uid"])


def _tombstone(order: Order, subject: Subject, live: Object) -> Json | None:
    if not order.is_job_aware or not _is_job(subject):
        return None
    end = job_ends.end_of(live)
    if end is not None:
        return job_ends.tombstone(end, subject.hash, order.now())
    if job_ends.lives_on_time(subject.manifest.raw):
        return job_ends.running(subject.hash, order.now())
    return None


def _ended(subject: Subject, end: job_ends.End, now: datetime) -> Outcome:
    known = (subject.entry or {}).get("conditions") or ()
    generations = [int(each.get("observedGeneration") or 0) for each in known]
    return Outcome(
        subject.manifest,
        results.APPLIED,
        availability=availabilities.of_job(end),
        tombstone=job_ends.tombstone(end, subject.hash, now),
        generation=max(generations, default=0),
    )
