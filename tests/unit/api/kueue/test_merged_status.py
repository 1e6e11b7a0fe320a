"""What an apply of a Workload's status is as a merge patch."""

from typing import Any

import pytest

from fleetqueue.api.kueue.admission_status import MANAGER
from fleetqueue.api.kueue.merged_status import merge_patch

pytestmark = pytest.mark.rule("FLOW-66")
READY = {"type": "PodsReady", "status": "True"}
RESERVED = {"type": "QuotaReserved", "status": "True"}
FOREIGN = {"type": "Foreign", "status": "True"}


def known(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "w", "resourceVersion": "7"}, "status": status}


def body(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "w", "resourceVersion": "7"}, "status": status}


def test_what_the_manager_of_admission_leaves_out_goes() -> None:
    before = known(clusterName="w1", reclaimablePods=[], conditions=[FOREIGN, RESERVED])
    made = merge_patch(before, body(conditions=[READY]), MANAGER)
    assert made == {
        "metadata": {"resourceVersion": "7"},
        "status": {"clusterName": None, "conditions": [FOREIGN, READY]},
    }


def test_others_only_add_what_they_say() -> None:
    checks = [{"name": "a", "state": "Pending"}, {"name": "b", "state": "Ready"}]
    before = known(clusterName="w1", admissionChecks=checks, conditions=[RESERVED])
    said = {"name": "a", "state": "Retry"}
    made = merge_patch(before, body(admissionChecks=[said]), "somebody")
    assert made["status"] == {"admissionChecks": [said, checks[1]]}


def test_names_of_workers_that_anybody_wrote_go_with_the_rest() -> None:
    before = known(nominatedClusterNames=["w1"])
    made = merge_patch(before, body(clusterName="w1"), MANAGER)
    assert made["status"] == {"clusterName": "w1", "nominatedClusterNames": None}
