"""The quota of a manager's queue as the sum of what its workers have."""

from typing import Any

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.api.quantity import Quantity
from fleetqueue.kube.resources import key_of
from fleetqueue.multikueue import quota
from fleetqueue.multikueue.quota import Automation, Find, Sums, automate, skew_of, sums_of
from support.offered import cluster_queue, local_queue, pairs

Json = dict[str, Any]
AUTOMATED: Json = {"spec": {"clusters": ["w1", "w2"], "quotaManagement": "Automated"}}
BY_FLAVOR: Json = {
    **AUTOMATED,
    "metadata": {"annotations": {"fleetqueue.dev/quota-by-flavor": "true"}},
}
KEYS = {Key("team", "user-queue")}


def has(**flavors: str) -> Sums:
    """What a worker has: `has(default="cpu=10")`."""
    return {
        (flavor, name): Quantity.of(amount)
        for flavor, text in flavors.items()
        for name, amount in pairs(text).items()
    }


def finding(*objects: Json) -> Find:
    return {key_of(each): each for each in objects}.get


def quotas(found: Automation) -> dict[str, dict[str, str]]:
    assert found.groups is not None
    return {
        flavor["name"]: {each["name"]: each["nominalQuota"] for each in flavor["resources"]}
        for group in found.groups
        for flavor in group["flavors"]
    }


@pytest.mark.rule("QA-2")
@pytest.mark.parametrize(
    ("queue", "config", "told"),
    [
        (
            cluster_queue(default="cpu=1"),
            None,
            (
                False,
                "UnsupportedConfiguration",
                "The referenced MultiKueueConfig was not found.",
            ),
        ),
        (
            cluster_queue(default="cpu=1"),
            {"spec": {}},
            (
                False,
                "NotRequested",
                "MultiKueue manager quota automation has not been requested.",
            ),
        ),
        (
            cluster_queue(default="cpu=1"),
            {"spec": {"quotaManagement": "Manual"}},
            (
                False,
                "NotRequested",
                "MultiKueue manager quota automation has not been requested.",
            ),
        ),
        (
            cluster_queue(a="cpu=1", b="cpu=1"),
            AUTOMATED,
            (
                False,
                "UnsupportedConfiguration",
                "Quota automation requires that the manager-side ClusterQueue has exactly one"
                " ResourceFlavor",
            ),
        ),
        (
            cluster_queue(),
            AUTOMATED,
            (
                False,
                "UnsupportedConfiguration",
                "Quota automation requires that the manager-side ClusterQueue has exactly one"
                " ResourceFlavor",
            ),
        ),
        (
            cluster_queue(default="memory=1Gi"),
            AUTOMATED,
            (
                False,
                "UnsupportedConfiguration",
                "manager-side coveredResources is missing resources configured on workers:"
                " [cpu nvidia.com/gpu]",
            ),
        ),
        (
            cluster_queue(default="cpu=20 nvidia.com/gpu=2"),
            AUTOMATED,
            (
                True,
                "QuotaAutomated",
                "ClusterQueue quota is automatically managed based on MultiKueue workers.",
            ),
        ),
    ],
    ids=["config missing", "unset", "manual", "two flavors", "none", "missing", "applied"],
)
def test_what_is_said_of_automation(queue: Json, config: Json | None, told: quota.Told) -> None:
    workers = [has(one="cpu=10"), {**has(two="cpu=10"), **has(gpus="nvidia.com/gpu=2")}]

    assert automate(queue, config, workers) == Automation(told)


@pytest.mark.rule("QA-3")
@pytest.mark.rule("QA-7")
@pytest.mark.rule("S003-9")
@pytest.mark.parametrize(
    ("workers", "cpu"),
    [
        ([has(default="cpu=10"), has(default="cpu=10")], "20"),
        ([has(default="cpu=10"), has(other="cpu=5")], "15"),
        ([has(default="cpu=10"), {}], "10"),
        ([has(default="cpu=1500m"), has(default="cpu=500m")], "2"),
        ([has(a="cpu=1", b="cpu=2", c="cpu=4")], "7"),
        ([], "0"),
    ],
)
def test_one_flavor_gets_the_sum_over_all_flavors_of_all_workers(
    workers: list[Sums], cpu: str
) -> None:
    found = automate(cluster_queue(default="cpu=1"), AUTOMATED, workers)

    assert quotas(found) == {"default": {"cpu": cpu}}
    assert found.told[1] == "QuotaAutomated"


@pytest.mark.rule("QA-3")
def test_every_covered_resource_gets_its_sum_in_their_order_and_loses_its_limits() -> None:
    queue = cluster_queue(default="cpu=1 memory=1Gi pods=3", cohort="all", borrow="1", lend="2")
    queue["spec"]["resourceGroups"][0]["coveredResources"] = ["memory", "pods", "cpu"]

    found = automate(queue, AUTOMATED, [has(x="cpu=4"), has(x="memory=2Gi")])

    assert found.groups is not None
    assert found.groups[0]["flavors"][0]["resources"] == [
        {"name": "memory", "nominalQuota": "2Gi"},
        {"name": "pods", "nominalQuota": "0"},
        {"name": "cpu", "nominalQuota": "4"},
    ]


@pytest.mark.rule("IMP-22")
def test_limits_that_go_are_named() -> None:
    queue = cluster_queue(default="cpu=10", cohort="all", borrow="1", lend="2")

    found = automate(queue, AUTOMATED, [has(x="cpu=10")])

    assert found.dropped == [
        "borrowingLimit of cpu in flavor default",
        "lendingLimit of cpu in flavor default",
    ]
    assert quotas(found) == {"default": {"cpu": "10"}}


@pytest.mark.rule("QA-4")
@pytest.mark.parametrize("written", ["2", "2000m", "2.0"])
def test_a_queue_that_has_the_sum_is_left_as_it_is_written(written: str) -> None:
    found = automate(cluster_queue(default=f"cpu={written}"), AUTOMATED, [has(x="cpu=2")])

    assert found.groups is None


@pytest.mark.rule("LIM-6")
@pytest.mark.parametrize("config", [None, {"spec": {}}, {"spec": {"quotaManagement": "Manual"}}])
def test_nothing_is_written_unless_that_is_asked_for(config: Json | None) -> None:
    queue = cluster_queue(default="cpu=10", cohort="all", borrow="1")

    assert automate(queue, config, [has(default="cpu=99")]).groups is None


class TestSeveralFlavors:
    """They are matched by name, where that is asked for."""

    @pytest.mark.rule("QA-2")
    @pytest.mark.rule("LIM-6")
    def test_without_being_asked_for_nothing_but_one_flavor_is_kept(self) -> None:
        queue = cluster_queue(spot="cpu=1", reserved="cpu=1")

        found = automate(queue, AUTOMATED, [has(spot="cpu=10", reserved="cpu=4")])

        assert found == Automation(quota.SEVERAL_FLAVORS)

    def test_each_gets_the_sum_of_its_like(self) -> None:
        queue = cluster_queue(spot="cpu=1", reserved="cpu=1", unused="cpu=1")
        workers = [has(spot="cpu=10", reserved="cpu=4"), has(spot="cpu=20")]

        assert quotas(automate(queue, BY_FLAVOR, workers)) == {
            "spot": {"cpu": "30"},
            "reserved": {"cpu": "4"},
            "unused": {"cpu": "0"},
        }

    def test_groups_of_resources_are_filled_each(self) -> None:
        queue = cluster_queue(a="cpu=1", b="cpu=1")
        gpus = cluster_queue(gpus="gpu=1")["spec"]["resourceGroups"]
        queue["spec"]["resourceGroups"] += gpus

        found = automate(queue, BY_FLAVOR, [has(a="cpu=2", gpus="gpu=8"), has(b="cpu=3")])

        assert quotas(found) == {"a": {"cpu": "2"}, "b": {"cpu": "3"}, "gpus": {"gpu": "8"}}

    @pytest.mark.rule("QA-2")
    @pytest.mark.parametrize(
        "workers", [[], [{}], [has(default="cpu=10")], [has(a="cpu=1"), has(other="cpu=1")]]
    )
    def test_without_names_to_match_the_queue_is_refused_as_ever(self, workers: list[Sums]) -> None:
        found = automate(cluster_queue(a="cpu=1", b="cpu=1"), BY_FLAVOR, workers)

        assert found == Automation(quota.SEVERAL_FLAVORS)

    @pytest.mark.rule("QA-2")
    def test_a_resource_that_a_flavor_does_not_cover_here_is_missing(self) -> None:
        workers = [has(a="cpu=1 gpu=1", b="cpu=1")]

        found = automate(cluster_queue(a="cpu=1", b="cpu=1"), BY_FLAVOR, workers)

        assert found.told[2].endswith("missing resources configured on workers: [gpu]")


@pytest.mark.rule("QA-3")
def test_a_worker_counts_the_queues_that_our_local_queues_lead_to_there() -> None:
    local = [
        local_queue("one"),
        local_queue("two", name="not-ours"),
        local_queue("three", namespace="other"),
        local_queue("gone", name="lost"),
    ]
    queues = [
        cluster_queue("one", a="cpu=1", b="cpu=2"),
        cluster_queue("two", a="cpu=10"),
        cluster_queue("three", a="cpu=100"),
    ]
    there = finding(*local), finding(*queues)
    keys = KEYS | {Key("team", "lost")}
    assert sums_of(keys, *there) == has(a="cpu=1", b="cpu=2")
    more = keys | {Key("team", "not-ours")}
    assert sums_of(more, *there) == has(a="cpu=11", b="cpu=2")


@pytest.mark.rule("QA-3")
def test_a_queue_that_two_local_queues_lead_to_is_counted_once() -> None:
    local = [local_queue("one"), local_queue("one", name="second")]
    keys = KEYS | {Key("team", "second")}

    there = finding(*local), finding(cluster_queue("one", a="cpu=5"))
    assert sums_of(keys, *there) == has(a="cpu=5")


@pytest.mark.rule("QA-3")
def test_of_a_worker_with_many_queues_only_those_that_count_are_looked_at() -> None:
    looked_at: list[Key] = []

    def noting(*objects: Json) -> Find:
        def find(key: Key) -> Json | None:
            looked_at.append(key)
            return finding(*objects)(key)

        return find

    local = noting(local_queue("one"), local_queue("two", name="other"))
    queue = noting(cluster_queue("one", a="cpu=1"), cluster_queue("two", a="cpu=1"))

    assert sums_of(KEYS, local, queue) == has(a="cpu=1")
    assert looked_at == [*KEYS, Key("", "one")]


# fmt: off
SKEWS = {  #                          here         there                    reason
    "the same":                      ("cpu=8",     ["cpu=4", "cpu=4"],      None),
    "twice as much":                 ("cpu=16",    ["cpu=4", "cpu=4"],      None),
    "half as much":                  ("cpu=4",     ["cpu=4", "cpu=4"],      None),
    "more than twice as much":       ("cpu=17",    ["cpu=4", "cpu=4"],      "FarAboveWorkers"),
    "less than half as much":        ("cpu=3",     ["cpu=4", "cpu=4"],      "FarBelowWorkers"),
    "nothing there":                 ("cpu=3",     [],                      "FarAboveWorkers"),
    "nothing here":                  ("cpu=0",     ["cpu=4"],               "FarBelowWorkers"),
    "nothing anywhere":              ("cpu=0",     [],                      None),
    "both ways":                     ("cpu=9 gpu=1", ["cpu=4 gpu=8"],       "FarApart"),
}
# fmt: on


@pytest.mark.rule("LIM-5")
@pytest.mark.rule("S003-9")
@pytest.mark.rule("S003-10")
@pytest.mark.rule("S003-11")
@pytest.mark.parametrize(("here", "there", "reason"), SKEWS.values(), ids=SKEWS.keys())
def test_quotas_that_are_far_apart(here: str, there: list[str], reason: str | None) -> None:
    found = skew_of(cluster_queue(default=here), "config", [has(x=each) for each in there])

    assert (found[0] if found else None) == reason


@pytest.mark.rule("LIM-5")
def test_the_advice_says_what_is_wrong_and_what_to_do() -> None:
    found = skew_of(cluster_queue(default="cpu=9 gpu=1"), "config", [has(x="cpu=4 gpu=8")])

    assert found == (
        "FarApart",
        "The quota here and what the workers have together are far apart. More is sent to workers"
        " than they can take in (cpu: 9 here, 4 there). Workers stay idle while workloads wait here"
        " (gpu: 1 here, 8 there). Set the nominal quota to the sum of the workers', or let it be"
        ' kept so by quotaManagement "Automated" in MultiKueueConfig "config".',
    )
