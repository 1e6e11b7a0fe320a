"""One look at a workload that is sent to workers: every step, with what comes before it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels
from fleetqueue.api.times import format_time
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.multikueue.components import Component
from fleetqueue.multikueue.dispatcher import Nomination
from fleetqueue.multikueue.flow import deciding
from fleetqueue.multikueue.flow import steps as flow
from fleetqueue.multikueue.flow.situation import Site, Situation
from fleetqueue.multikueue.settings import DispatchGates, DispatchSettings

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SETTINGS = DispatchSettings(JobSettings())
SPEC = {"queueName": "user-queue", "podSets": [{"name": "main", "count": 1, "template": {}}]}
Json = dict[str, Any]


def workload(*conditions: Json, check: str = "Pending", **fields: Any) -> Json:
    """A local one that holds quota, unless conditions say otherwise."""
    given = {each["type"] for each in conditions}
    all_of_them = [*conditions]
    if "QuotaReserved" not in given:
        all_of_them.append(true("QuotaReserved"))
    checks = [{"name": "mk", "state": check, "message": "", "lastTransitionTime": at(0)}]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "job-a", "namespace": "ns", "uid": "u", "generation": 1},
        "spec": SPEC,
        "status": {"conditions": all_of_them, "admissionChecks": checks, **fields},
    }


def copy(*conditions: Json, spec: Json = SPEC, **fields: Any) -> Json:
    metadata = {
        "name": "job-a",
        "namespace": "ns",
        "uid": "r",
        "labels": {labels.MULTIKUEUE_ORIGIN: "multikueue"},
    }
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": metadata,
        "spec": spec,
        "status": {"conditions": list(conditions), **fields},
    }


def true(type: str, reason: str = "Because", message: str = "so", since: int = 0) -> Json:
    return {
        "type": type,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": at(since),
    }


def at(seconds: int) -> str:
    return format_time(NOW + timedelta(seconds=seconds))


def situation(local: Json, *sites: Site, **options: Any) -> Situation:
    [check] = [each for each in status.checks_of(local) if each["name"] == "mk"]
    settings = options.pop("settings", SETTINGS)
    nominate = options.pop("nominate", lambda: Nomination(["w1", "w2"]))
    return Situation(
        local, check, list(sites), NOW, settings=settings, nominate=nominate, **options
    )


def steps(seen: Situation, *kinds: type) -> list[Any]:
    found = deciding.decide(seen).steps
    return [each for each in found if not kinds or isinstance(each, kinds)]


def removed(seen: Situation) -> list[str]:
    return [each.site for each in steps(seen, flow.Remove)]


def written(seen: Situation) -> Json:
    [write] = steps(seen, flow.Write)
    made: Json = write.made["status"]
    return made


def check_of(made: Json) -> Json:
    [check] = [each for each in made["admissionChecks"] if each["name"] == "mk"]
    found: Json = check
    return found


ADMITTED = copy(true("QuotaReserved"), true("Admitted"))


class TestLeaving:
    """What is about to be removed, or of one that had the name before, says nothing."""

    @pytest.mark.rule("FLOW-20", "FLOW-30")
    def test_a_copy_that_is_about_to_go_is_not_claimed(self) -> None:
        local = workload(nominatedClusterNames=["w1", "w2"])
        leaving = Site("w1", copy=ADMITTED, is_leaving=True)
        assert steps(situation(local, leaving, Site("w2", copy=copy())), flow.Write) == []
        [write] = steps(situation(local, replace(leaving, is_leaving=False)), flow.Write)
        assert write.made["status"]["clusterName"] == "w1"

    @pytest.mark.rule("FLOW-50")
    def test_nor_does_it_finish_anything(self) -> None:
        over = copy(true("QuotaReserved"), true("Finished", "Succeeded"))
        local = workload(nominatedClusterNames=["w1", "w2"])
        seen = situation(local, Site("w1", copy=over, is_leaving=True))
        assert steps(seen, flow.Write, flow.Sync) == []

    @pytest.mark.rule("LOST-4")
    def test_nobody_else_gets_it_while_a_worker_that_was_configured_runs_it(self) -> None:
        former = [Site("w0", copy=ADMITTED, has_mirror=True)]
        local = workload(nominatedClusterNames=["w1"])
        seen = situation(local, Site("w1", copy=ADMITTED), former=former)
        assert [type(each) for each in steps(seen)] == [flow.Remove]


class TestOver:
    @pytest.mark.rule("FLOW-54")
    def test_a_finished_workload_leaves_nothing_on_connected_workers(self) -> None:
        local = workload(true("Finished"))
        seen = situation(
            local, Site("w1", copy=ADMITTED), Site("w2", is_connected=False), Site("w3")
        )

        assert steps(seen) == [flow.Remove("w1")]

    def test_without_quota_mirror_and_copies_go_even_where_only_the_mirror_is_left(self) -> None:
        local = workload({**true("QuotaReserved"), "status": "False"})
        seen = situation(local, Site("w1", has_mirror=True), Site("w2", copy=copy()))

        assert removed(seen) == ["w1", "w2"]

    @pytest.mark.rule("IMP-2")
    def test_what_a_worker_has_that_is_not_configured_any_more_goes_at_once(self) -> None:
        seen = situation(
            workload(), Site("w1", copy=copy()), former=[Site("old", copy=ADMITTED)],
            nominate=lambda: Nomination(["w1"]),
        )  # fmt: skip

        assert removed(seen) == ["old"]


ELASTIC = {labels.ELASTIC_JOB: "true"}


class TestSlices:
    def test_a_slice_that_was_replaced_leaves_the_job_to_its_successor(self) -> None:
        local = workload(true("Finished", "WorkloadSliceReplaced"), clusterName="w1")
        local["metadata"]["annotations"] = ELASTIC
        seen = situation(local, Site("w1", copy=ADMITTED, has_mirror=True), holder="w1")

        assert steps(seen) == []

    @pytest.mark.rule("EL-9", "FLOW-54")
    def test_what_else_there_is_of_it_goes(self) -> None:
        local = workload(true("Finished", "WorkloadSliceReplaced"), clusterName="w1")
        local["metadata"]["annotations"] = ELASTIC
        sites = [Site("w1", copy=ADMITTED), Site("w2", copy=ADMITTED, has_mirror=True)]

        assert removed(situation(local, *sites, holder="w1")) == ["w2"]
        assert removed(situation(local, *sites)) == ["w1", "w2"]

    @pytest.mark.rule("LOST-1", "LOST-2")
    def test_one_that_waits_is_bound_to_a_worker_until_that_is_given_up(self) -> None:
        local = workload(clusterName="w1")
        replaces = {labels.WORKLOAD_SLICE_REPLACEMENT_FOR: "ns/old"}
        local["metadata"]["annotations"] = {**ELASTIC, **replaces}
        lost = Site("w1", is_connected=False, lost_since=NOW - timedelta(seconds=890))
        seen = situation(local, lost, Site("w2"))

        assert steps(seen) == []
        assert deciding.decide(seen).after == 10.0
        [given_up] = steps(replace(seen, now=NOW + timedelta(seconds=10)))
        assert given_up == flow.SetCheck("Retry", 'Admitting remote lost, Previously: "Pending"')
        back = replace(seen, sites=[Site("w1"), Site("w2")])
        assert [each.site for each in steps(back, flow.MakeCopy)] == ["w1"]

    def test_a_slice_that_waits_for_quota_leaves_all_to_the_one_it_replaces(self) -> None:
        local = workload({**true("QuotaReserved"), "status": "False"})
        replaces = {labels.WORKLOAD_SLICE_REPLACEMENT_FOR: "ns/old"}
        local["metadata"]["annotations"] = {**ELASTIC, **replaces}

        assert steps(situation(local, Site("w1", copy=copy()))) == []

    @pytest.mark.rule("EL-8")
    def test_an_elastic_workload_that_replaces_nobody_is_like_any_other(self) -> None:
        local = workload({**true("QuotaReserved"), "status": "False"})
        local["metadata"]["annotations"] = ELASTIC

        assert removed(situation(local, Site("w1", copy=copy()))) == ["w1"]

    @pytest.mark.rule("EL-2")
    def test_a_slice_goes_to_the_worker_that_its_job_is_on(self) -> None:
        local = workload(clusterName="w2")
        local["metadata"]["annotations"] = ELASTIC

        found = steps(situation(local, Site("w1"), Site("w2")))

        assert [(type(each), each.site) for each in found] == [(flow.MakeCopy, "w2")]


class TestFinish:
    @pytest.mark.rule("FLOW-52")
    def test_the_last_status_is_copied_before_the_workload_is_finished(self) -> None:
        there = copy(true("Admitted"), true("Finished", "Succeeded", "Job finished"))
        seen = situation(workload(check="Ready", clusterName="w1"), Site("w1", copy=there))

        test, sync, write = steps(seen)

        assert test == flow.Test("w1", there)
        assert sync == flow.Sync("w1", there, makes=False, is_final=True)
        finished = status.find_condition(write.made, "Finished")
        assert finished is not None
        assert (finished["reason"], finished["message"]) == ("Succeeded", "Job finished")

    @pytest.mark.rule("FLOW-49")
    def test_a_copy_out_of_sync_is_sent_again_and_finishes_nothing(self) -> None:
        there = copy(true("Admitted"), true("Finished", "OutOfSync"))
        seen = situation(workload(check="Ready", clusterName="w1"), Site("w1", copy=there))
        text = (
            'Remote workload on worker cluster "w1" is out of sync with its user job,'
            ' resetting for re-dispatch, Previously: "Ready"'
        )

        assert steps(seen) == [flow.SetCheck("Retry", text), flow.Tell(text, "Warning")]

    @pytest.mark.rule("FLOW-49")
    def test_a_copy_out_of_sync_changes_nothing_while_the_check_is_not_ready(self) -> None:
        there = copy(true("Finished", "OutOfSync"))

        assert steps(situation(workload(), Site("w1", copy=there))) == []

    @pytest.mark.rule("IMP-15")
    def test_a_mirror_that_somebody_deleted_is_sent_again_and_finishes_nothing(self) -> None:
        there = copy(true("Admitted"), true("Finished", "OwnerNotFound"))
        seen = situation(workload(check="Ready", clusterName="w1"), Site("w1", copy=there))

        [check] = steps(seen, flow.SetCheck)

        assert check.state == "Retry"
        assert check.message == (
            'The job on worker cluster "w1" is gone, resetting for re-dispatch, Previously: "Ready"'
        )

    @pytest.mark.rule("IMP-12")
    def test_only_the_worker_that_has_it_can_finish_it(self) -> None:
        late = copy(true("Admitted"), true("Finished", "Succeeded"))
        seen = situation(
            workload(check="Ready", clusterName="w2"),
            Site("w1", copy=late),
            Site("w2", copy=ADMITTED),
        )

        assert removed(seen) == ["w1"]
        assert steps(seen, flow.Sync) == [flow.Sync("w2", ADMITTED)]


class TestEviction:
    there = copy(true("Evicted", "Preempted"))

    @pytest.mark.rule("FLOW-56")
    def test_an_eviction_on_the_worker_makes_the_manager_try_again(self) -> None:
        seen = situation(workload(check="Ready", clusterName="w1"), Site("w1", copy=self.there))
        text = (
            'Workload evicted on worker cluster: "w1", resetting for re-admission.'
            ' Previously: "Ready"'
        )

        made = written(seen)

        assert (check_of(made)["state"], check_of(made)["message"]) == ("Retry", text)
        assert made["clusterName"] == "w1"
        assert steps(seen, flow.Tell) == [flow.Tell(text)]

    @pytest.mark.rule("IMP-17")
    def test_one_that_is_on_its_way_out_here_is_followed_and_never_made(self) -> None:
        seen = situation(workload(true("Evicted")), Site("w1", copy=self.there))

        assert steps(seen) == [flow.Sync("w1", self.there, makes=False, is_stopped=True)]

    @pytest.mark.parametrize("owners", [[], [{"kind": "Pod", "name": "p", "uid": "1"}]])
    def test_a_copy_that_no_job_took_up_is_as_good_as_stopped(self, owners: list[Any]) -> None:
        """It keeps its quota for ever: nobody there gives it back."""
        there = status.evict(ADMITTED, "Deactivated", "why", NOW)
        there = {**there, "metadata": {**there["metadata"], "ownerReferences": owners}}
        [sync] = steps(situation(workload(true("Evicted")), Site("w1", copy=there)), flow.Sync)
        assert sync.is_stopped is not bool(owners)

    @pytest.mark.rule("FLOW-31")
    def test_an_eviction_here_is_told_to_the_worker_once(self) -> None:
        local = workload(true("Evicted", "Preempted", "made room"))

        [told] = steps(situation(local, Site("w1", copy=ADMITTED)))

        target = status.find_condition(told.made, "DeactivationTarget")
        assert target is not None
        assert (target["reason"], target["message"]) == (
            "EvictedOnManagerCluster",
            "Evicted on manager: made room",
        )
        assert steps(situation(local, Site("w1", copy=told.made))) == []

    def test_one_that_is_deactivated_stops_there_as_any_other_does(self) -> None:
        local = workload(true("Evicted", "Deactivated", "off"))
        local["spec"] = {**SPEC, "active": False}

        assert isinstance(steps(situation(local, Site("w1", copy=ADMITTED)))[0], flow.WriteCopy)

    @pytest.mark.rule("IMP-14")
    def test_nobody_is_nominated_for_one_on_its_way_out(self) -> None:
        assert steps(situation(workload(true("Evicted")), Site("w1"), Site("w2"))) == []

    @pytest.mark.rule("IMP-13")
    def test_what_ran_on_a_lost_worker_does_not_keep_the_quota(self) -> None:
        local = workload(true("Evicted", "AdmissionCheck"))
        lost = Site("w1", is_connected=False, lost_since=NOW)
        seen = situation(local, lost, Site("w2"), is_activity_mirrored=True)

        assert steps(seen) == [flow.Reset()]
        assert steps(replace(seen, is_activity_mirrored=False)) == []

    def test_a_check_that_is_not_ready_lets_the_other_copies_be(self) -> None:
        local = workload(nominatedClusterNames=["w1", "w2"])
        seen = situation(local, Site("w1", copy=self.there), Site("w2", copy=copy()))

        assert steps(seen) == []


class TestAlignment:
    def test_a_copy_of_something_else_is_removed_and_not_made_in_the_same_look(self) -> None:
        other = copy(spec={**SPEC, "queueName": "other"})
        local = workload(nominatedClusterNames=["w1", "w2"])
        seen = situation(local, Site("w1", copy=other), Site("w2", copy=copy()))

        assert steps(seen) == [flow.Remove("w1")]

    @pytest.mark.rule("FLOW-48")
    def test_where_that_was_the_worker_that_has_it_it_is_lost(self) -> None:
        other = copy(true("Admitted"), spec={**SPEC, "queueName": "other"})
        seen = situation(workload(check="Ready", clusterName="w1"), Site("w1", copy=other))

        assert removed(seen) == ["w1"]
        [check] = steps(seen, flow.SetCheck)
        assert check.message == 'Admitting remote no longer exists, Previously: "Ready"'

    @pytest.mark.rule("PR-1")
    def test_a_new_priority_is_brought_to_every_copy(self) -> None:
        reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
        local = workload(check="Ready", clusterName="w1")
        local["spec"] = {**SPEC, "priorityClassRef": reference, "priority": 9}

        [update] = steps(situation(local, Site("w1", copy=ADMITTED)), flow.UpdateCopy)

        assert (update.site, update.spec["priority"]) == ("w1", 9)


class TestLoss:
    def lost(self, seconds: int) -> Site:
        return Site("w1", is_connected=False, lost_since=NOW - timedelta(seconds=seconds))

    @pytest.mark.rule("LOST-1")
    def test_a_worker_that_is_lost_keeps_the_workload_for_a_while(self) -> None:
        seen = situation(workload(check="Ready", clusterName="w1"), self.lost(600), Site("w2"))

        decision = deciding.decide(seen)

        assert (decision.steps, decision.after) == ([], 300.0)

    @pytest.mark.rule("LOST-2")
    def test_then_it_is_tried_elsewhere(self) -> None:
        seen = situation(workload(check="Ready", clusterName="w1"), self.lost(900), Site("w2"))

        text = 'Admitting remote lost, Previously: "Ready"'
        assert steps(seen) == [flow.SetCheck("Retry", text)]

    @pytest.mark.rule("LOST-4")
    @pytest.mark.parametrize(
        "sites",
        [[Site("w1")], [Site("w1", copy=copy())], [Site("w2", copy=ADMITTED)]],
        ids=["the copy is gone", "it is not admitted", "it is not configured any more"],
    )
    def test_a_worker_that_has_it_no_more_has_lost_it_at_once(self, sites: list[Site]) -> None:
        seen = situation(workload(check="Ready", clusterName="w1"), *sites)

        [check] = steps(seen, flow.SetCheck)

        assert check.message == 'Admitting remote no longer exists, Previously: "Ready"'

    @pytest.mark.rule("LOST-5")
    def test_ready_without_a_worker_is_told_as_unexpected(self) -> None:
        [check] = steps(situation(workload(check="Ready"), Site("w1")))

        assert check.message == (
            "Admission check is Ready but no admitting cluster is recorded; this is unexpected,"
            ' please report it, Previously: "Ready"'
        )

    @pytest.mark.rule("LOST-4", "FLOW-49", "FLOW-56")
    def test_a_check_that_took_the_place_of_another_is_as_good_as_ready(self) -> None:
        for there in (
            None,
            copy(),
            copy(true("Finished", "OutOfSync")),
            copy(true("Finished", "OwnerNotFound")),
        ):
            seen = situation(workload(clusterName="w1"), Site("w1", copy=there))
            [check] = steps(seen, flow.SetCheck)
            assert check.state == "Retry"
            assert check.message.endswith(', Previously: "Pending"')
        evicted = copy(true("Admitted"), true("Evicted"))
        made = written(situation(workload(clusterName="w1"), Site("w1", copy=evicted)))
        assert check_of(made)["state"] == "Retry"

    @pytest.mark.rule("LOST-1", "LOST-2")
    def test_it_waits_for_a_worker_that_is_lost(self) -> None:
        local = workload(clusterName="w1")
        lost = Site("w1", is_connected=False, lost_since=NOW - timedelta(seconds=60))
        found = deciding.decide(situation(local, lost))
        assert found.steps == []
        assert found.after
        gone = replace(lost, lost_since=NOW - timedelta(days=1))
        [check] = steps(situation(local, gone))
        assert check.message == 'Admitting remote lost, Previously: "Pending"'


class TestRunsHere:
    @pytest.mark.rule("ROLE-1")
    def test_what_runs_here_is_offered_to_nobody_and_claimed_by_none(self) -> None:
        local = workload(true("Admitted"), nominatedClusterNames=["w1"])
        seen = situation(local, Site("w1", copy=ADMITTED), Site("w2"), runs_here=True)

        assert steps(seen) == [flow.Remove("w1")]
        assert deciding.decide(seen).note

    @pytest.mark.rule("LOST-5")
    def test_a_check_that_is_ready_without_a_worker_stays_unexpected(self) -> None:
        local = workload(true("Admitted"), check="Ready")
        [check] = steps(situation(local, Site("w1"), runs_here=True))

        assert check.state == "Retry"


class TestConvergence:
    @pytest.mark.rule("FLOW-34")
    def test_the_worker_is_written_down_before_the_job_is_made_there(self) -> None:
        local = workload(nominatedClusterNames=["w1", "w2"])
        seen = situation(local, Site("w1", copy=ADMITTED), Site("w2", copy=copy()))

        found = steps(seen)

        assert [type(each) for each in found] == [
            flow.Remove, flow.Test, flow.Write, flow.Tell, flow.Count, flow.Sync,
        ]  # fmt: skip
        made = written(seen)
        text = 'The workload was admitted on "w1"'
        assert (check_of(made)["state"], check_of(made)["message"]) == ("Ready", text)
        assert made["clusterName"] == "w1"
        assert "nominatedClusterNames" not in made
        assert removed(seen) == ["w2"]

    @pytest.mark.rule("FLOW-11")
    def test_a_worker_that_only_reserved_quota_decides_nothing(self) -> None:
        local = workload(nominatedClusterNames=["w1", "w2"])
        reserved = copy(true("QuotaReserved"))

        assert steps(situation(local, Site("w1", copy=reserved), Site("w2", copy=copy()))) == []

    @pytest.mark.rule("FLOW-10", "IMP-20")
    @pytest.mark.parametrize(("first", "second", "winner"), [(5, 3, "w2"), (3, 3, "w1")])
    def test_the_first_to_admit_has_it_and_the_first_configured_where_that_is_not_known(
        self, first: int, second: int, winner: str
    ) -> None:
        seen = situation(
            workload(nominatedClusterNames=["w1", "w2"]),
            Site("w1", copy=copy(true("Admitted", since=first))),
            Site("w2", copy=copy(true("Admitted", since=second))),
        )

        assert written(seen)["clusterName"] == winner

    @pytest.mark.rule("WLF-3", "IMP-13")
    def test_one_that_returns_with_it_is_asked_before_it_is_written_down(self) -> None:
        seen = situation(
            workload(), Site("w1", copy=ADMITTED), Site("w2"),
            nominate=lambda: Nomination(["w1"]),
        )  # fmt: skip

        assert written(seen)["nominatedClusterNames"] == ["w1"]
        assert "clusterName" not in written(seen)
        assert len(steps(seen)) == 1

    @pytest.mark.rule("WLF-1", "WLF-3")
    @pytest.mark.parametrize("names", [[], ["w2"]])
    def test_where_somebody_took_the_name_away_the_job_is_still_followed(
        self, names: list[str]
    ) -> None:
        local = workload(check="Ready", nominatedClusterNames=names)

        found = steps(situation(local, Site("w1", copy=ADMITTED), Site("w2")))

        assert found == [flow.Test("w1", ADMITTED), flow.Sync("w1", ADMITTED)]

    @pytest.mark.rule("DISP-3")
    def test_one_that_is_not_asked_does_not_get_it_by_admitting_it(self) -> None:
        local = workload(nominatedClusterNames=["w2"])
        seen = situation(
            local, Site("w1", copy=ADMITTED), Site("w2", copy=copy()),
            nominate=lambda: Nomination(["w2"]),
        )  # fmt: skip

        assert steps(seen) == [flow.Remove("w1")]

    @pytest.mark.rule("IMP-10", "EVT-1")
    def test_once_it_is_claimed_only_the_job_is_followed(self) -> None:
        local = workload(check="Ready", clusterName="w1")
        local["status"]["admissionChecks"][0]["message"] = 'The workload was admitted on "w1"'

        found = steps(situation(local, Site("w1", copy=ADMITTED)))

        assert found == [flow.Sync("w1", ADMITTED)]

    @pytest.mark.rule("FLOW-59")
    @pytest.mark.parametrize("state", ["Retry", "Rejected"])
    def test_a_check_that_says_no_is_not_overruled(self, state: str) -> None:
        seen = situation(workload(check=state), Site("w1", copy=ADMITTED))

        assert steps(seen, flow.Write) == []

    @pytest.mark.rule("TAS-3")
    def test_places_on_the_worker_end_the_wait_for_places_here(self) -> None:
        admission = {
            "clusterQueue": "q",
            "podSetAssignments": [{"name": "main", "delayedTopologyRequest": "Pending"}],
        }
        placed = {"podSetAssignments": [{"name": "main", "topologyAssignment": {"levels": []}}]}
        there = copy(true("Admitted"), admission=placed)

        local = workload(admission=admission, nominatedClusterNames=["w1"])
        made = written(situation(local, Site("w1", copy=there)))

        [assignment] = made["admission"]["podSetAssignments"]
        assert assignment == {"name": "main", "delayedTopologyRequest": "Ready"}


class TestNomination:
    @pytest.mark.rule("FLOW-20")
    def test_nobody_is_asked_before_all_other_checks_are_ready(self) -> None:
        local = workload()
        local["status"]["admissionChecks"].append({"name": "other", "state": "Pending"})

        assert steps(situation(local, Site("w1"))) == []

    @pytest.mark.rule("FLOW-21", "DISP-3")
    def test_who_is_nominated_gets_a_copy_and_who_is_not_any_more_loses_it(self) -> None:
        local = workload(nominatedClusterNames=["w1"])
        seen = situation(
            local, Site("w1", copy=copy()), Site("w2"), nominate=lambda: Nomination(["w2"])
        )

        write, remove, make = steps(seen)

        assert write.made["status"]["nominatedClusterNames"] == ["w2"]
        assert remove == flow.Remove("w1")
        assert make.site == "w2"
        assert make.obj["metadata"]["labels"][labels.MULTIKUEUE_ORIGIN] == "multikueue"

    @pytest.mark.rule("DISP-30")
    def test_where_nobody_nominates_nothing_is_made(self) -> None:
        seen = situation(workload(), Site("w1"), nominate=lambda: Nomination(None))

        assert steps(seen) == []

    @pytest.mark.rule("FLOW-23", "DISP-34")
    def test_a_name_that_is_no_connected_worker_keeps_nobody_else_waiting(self) -> None:
        local = workload(nominatedClusterNames=["lost", "nobody", "w1"])
        seen = situation(
            local, Site("lost", is_connected=False), Site("w1"), nominate=lambda: Nomination(None)
        )

        decision = deciding.decide(seen)

        assert [each.site for each in decision.steps if isinstance(each, flow.MakeCopy)] == ["w1"]
        why = "no remote client for nominated cluster"
        assert decision.note == f"cluster lost: {why}, cluster nobody: {why}"

    def test_what_the_dispatcher_says_of_later_is_kept(self) -> None:
        seen = situation(workload(), Site("w1"), nominate=lambda: Nomination(["w1"], after=300.0))

        assert deciding.decide(seen).after == 300.0

    @pytest.mark.rule("DISP-2")
    @pytest.mark.parametrize("state", ["Retry", "Rejected"])
    def test_only_a_pending_check_lets_anybody_be_nominated(self, state: str) -> None:
        assert steps(situation(workload(check=state), Site("w1"))) == []


class TestComponents:
    def component(self, index: int, cluster: str = "") -> Component:
        return Component(f"job-{'abc'[index]}", index, cluster)

    @pytest.mark.rule("LWS-2")
    def test_all_wait_until_every_one_of_them_exists(self) -> None:
        seen = situation(
            workload(), Site("w1"), components=[self.component(0)], components_wanted=2
        )

        assert steps(seen) == []
        # Nobody wakes it when they come.
        assert deciding.decide(seen).after == 1.0

    @pytest.mark.rule("LWS-2")
    def test_only_the_first_is_offered(self) -> None:
        both = [self.component(0), self.component(1)]
        first = situation(workload(), Site("w1"), components=both, components_wanted=2)
        second = workload()
        second["metadata"]["name"] = "job-b"

        assert steps(first, flow.MakeCopy)
        other = situation(second, Site("w1"), components=both, components_wanted=2)
        assert steps(other) == []

    @pytest.mark.rule("LWS-2", "LWS-4")
    def test_the_others_go_where_the_first_went_without_a_gate(self) -> None:
        both = [self.component(0, "w2"), self.component(1)]
        second = workload()
        second["metadata"]["name"] = "job-b"
        gates = DispatchGates(orchestrated_preemption=True)
        seen = situation(
            second,
            Site("w1", copy=copy()),
            Site("w2"),
            components=both,
            components_wanted=2,
            settings=replace(SETTINGS, gates=gates),
        )

        write, remove, make = steps(seen)

        assert write.made["status"]["nominatedClusterNames"] == ["w2"]
        assert remove == flow.Remove("w1")
        assert (make.site, make.obj["spec"].get("preemptionGates")) == ("w2", None)

    @pytest.mark.rule("LWS-2")
    @pytest.mark.parametrize(
        ("clusters", "problem"),
        [
            (["w1", "w2"], 'component workloads assigned to different clusters: "w1" and "w2"'),
            (["w9", ""], 'assigned worker cluster "w9" is not available'),
        ],
    )
    def test_what_cannot_be_is_an_error(self, clusters: list[str], problem: str) -> None:
        both = [self.component(index, name) for index, name in enumerate(clusters)]
        seen = situation(workload(), Site("w1"), components=both, components_wanted=2)

        assert deciding.decide(seen).problem == problem


PUT_OUT = {**true("Evicted"), "status": "False"}
"""It was, and holds quota again."""


class TestWhatMayStillRun:
    @pytest.mark.parametrize(
        ("had", "evicted", "waits"),
        [
            pytest.param("w1", [PUT_OUT], True, id="the one that had it is out of reach"),
            pytest.param(None, [PUT_OUT], True, id="any of them may have had it"),
            pytest.param("w2", [PUT_OUT], False, id="another had it"),
            pytest.param("", [], False, id="nobody ever had it"),
        ],
    )
    def test_nobody_else_gets_it_while_its_last_worker_may_come_back(
        self, had: str | None, evicted: list[Json], waits: bool
    ) -> None:
        since = NOW - timedelta(seconds=300)
        lost = Site("w1", is_connected=False, lost_since=since)
        decision = deciding.decide(situation(workload(*evicted), lost, Site("w2"), had=had))
        assert (decision.steps == []) is waits
        if waits:
            assert decision.after == 600

    def test_nor_one_that_has_admitted_an_older_copy(self) -> None:
        lost = Site("w1", is_connected=False, lost_since=NOW)
        local = workload(PUT_OUT, nominatedClusterNames=["w2"])
        assert steps(situation(local, lost, Site("w2", copy=ADMITTED), had="w1")) == []

    def test_one_that_is_lost_for_too_long_is_not_waited_for(self) -> None:
        lost = Site("w1", is_connected=False, lost_since=NOW - timedelta(seconds=900))
        made = steps(situation(workload(PUT_OUT), lost, Site("w2"), had="w1"), flow.MakeCopy)
        assert [each.site for each in made] == ["w2"]

    def test_a_mirror_goes_before_somebody_else_gets_a_copy(self) -> None:
        left = Site("w3", copy=copy(), has_mirror=True)
        seen = situation(workload(nominatedClusterNames=["w1", "w2"]), Site("w1"), Site("w2"), left)
        assert steps(seen) == [flow.Remove("w3")]

    def test_a_mirror_goes_before_somebody_else_has_it(self) -> None:
        local = workload(nominatedClusterNames=["w1", "w2"])
        left = Site("w2", copy=copy(), has_mirror=True)
        assert steps(situation(local, Site("w1", copy=ADMITTED), left)) == [flow.Remove("w2")]

    def test_and_before_it_runs_where_it_was_written_down_meanwhile(self) -> None:
        local = workload(clusterName="w1", check="Ready")
        left = Site("w2", copy=ADMITTED, has_mirror=True)
        assert steps(situation(local, Site("w1", copy=ADMITTED), left)) == [flow.Remove("w2")]
        runs = Site("w1", copy=ADMITTED, has_mirror=True)
        assert flow.Sync("w1", ADMITTED) in steps(situation(local, runs, left))


class TestStopped:
    def test_what_a_worker_has_stopped_does_not_run_here(self) -> None:
        released = copy({**true("QuotaReserved"), "status": "False"}, true("Evicted"))
        local = workload(true("Evicted"))
        [sync] = steps(situation(local, Site("w1", copy=released, has_mirror=True)))
        assert (sync.makes, sync.is_stopped) == (False, True)

    def test_nor_what_has_lost_its_mirror_on_the_way_out(self) -> None:
        gone = copy(true("Finished", "OwnerNotFound"))
        seen = situation(workload(true("Evicted")), Site("w1", copy=gone))
        assert steps(seen) == []
        assert steps(replace(seen, is_activity_mirrored=True)) == [flow.Reset()]


class TestWhileMuchHappens:
    """Fewer states are shown."""

    @staticmethod
    def reserved() -> Json:
        return workload(admission={"clusterQueue": "cq"}, nominatedClusterNames=["w1", "w2"])

    @staticmethod
    def made(seen: Situation) -> Json:
        [write] = steps(seen, flow.Write)
        return dict(write.made)

    @pytest.mark.rule("FLOW-34", "FLOW-38")
    def test_a_workload_is_admitted_with_its_worker(self) -> None:
        site = Site("w1", copy=copy(true("Admitted")))
        seen = situation(self.reserved(), site, has_leisure=lambda: False)

        made = self.made(seen)
        assert made["status"]["clusterName"] == "w1"
        assert check_of(made["status"])["state"] == "Ready"
        assert status.is_admitted(made)
        text = "Admitted by ClusterQueue cq, wait time since reservation was 0s"
        assert steps(seen, flow.Tell) == [
            flow.Tell('The workload was admitted on "w1"'),
            flow.Tell(text, reason="Admitted"),
        ]
        names = [type(each).__name__ for each in steps(seen, flow.Write, flow.Sync)]
        assert names == ["Write", "Sync"]

    @pytest.mark.rule("JOB-3")
    def test_the_mirror_of_a_job_that_is_let_go_now_is_made_after_that(self) -> None:
        site = Site("w1", copy=copy(true("Admitted")))
        seen = situation(self.reserved(), site, has_leisure=lambda: False, is_held=True)

        assert status.is_admitted(self.made(seen))
        assert steps(seen, flow.Test) == [flow.Test("w1", site.copy)]
        assert steps(seen, flow.Sync) == []
        assert deciding.decide(seen).after == 2.0

    @pytest.mark.rule("JOB-3")
    def test_the_mirror_of_an_admitted_job_waits_two_seconds_for_it_at_most(self) -> None:
        local = workload(true("Admitted", since=-1), check="Ready", clusterName="w1")
        local["status"]["admissionChecks"][0]["message"] = 'The workload was admitted on "w1"'
        seen = situation(local, Site("w1", copy=ADMITTED), is_held=True)

        assert steps(seen) == []
        assert deciding.decide(seen).after == 1.0
        later = replace(seen, now=NOW + timedelta(seconds=1))
        assert steps(later) == [flow.Sync("w1", ADMITTED)]
        assert steps(replace(seen, is_held=False)) == [flow.Sync("w1", ADMITTED)]
        known = Site("w1", copy=ADMITTED, has_mirror=True)
        assert steps(replace(seen, sites=[known])) == [flow.Sync("w1", ADMITTED)]

    def test_not_where_another_check_is_missing(self) -> None:
        site = Site("w1", copy=copy(true("Admitted")))
        local = self.reserved()
        local["status"]["admissionChecks"].append({"name": "other", "state": "Pending"})
        seen = situation(local, site, has_leisure=lambda: False)

        assert not status.is_admitted(self.made(seen))
        assert [each.reason for each in steps(seen, flow.Tell)] == ["MultiKueue"]

    def test_with_leisure_that_is_a_write_of_its_own(self) -> None:
        site = Site("w1", copy=copy(true("Admitted")))
        seen = situation(self.reserved(), site)

        assert not status.is_admitted(self.made(seen))

    @pytest.mark.rule("DISP-2")
    def test_who_is_asked_can_be_known_before_that_is_done(self) -> None:
        nominated = deciding.nominated_by(
            deciding.decide(situation(workload(), Site("w1"), Site("w2")))
        )
        assert nominated is not None
        assert nominated["status"]["nominatedClusterNames"] == ["w1", "w2"]

    @pytest.mark.parametrize(
        "seen",
        [
            pytest.param(situation(workload(check="Ready")), id="it has a worker"),
            pytest.param(situation(workload(), Site("w3", copy=copy())), id="others have copies"),
            pytest.param(
                situation(workload(nominatedClusterNames=["w1", "w2"]), Site("w1")),
                id="it is written already",
            ),
            pytest.param(
                situation(workload(), nominate=lambda: Nomination(None)), id="somebody else asks"
            ),
        ],
    )
    def test_but_not_where_anything_else_is_done(self, seen: Situation) -> None:
        assert deciding.nominated_by(deciding.decide(seen)) is None
