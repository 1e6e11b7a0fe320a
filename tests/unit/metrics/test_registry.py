"""Series come with what is counted, go with what they were about, and are written as text."""

import pytest

from fleetqueue.metrics.registry import FOLLOWER, LEADER, Metrics, Reading

pytestmark = pytest.mark.rule("kueue 11.2")


def lines(metrics: Metrics, name: str) -> list[str]:
    return [each for each in metrics.text().decode().splitlines() if each.startswith(name)]


def test_counters_and_histograms_carry_their_labels_and_the_role() -> None:
    metrics = Metrics()
    metrics.count("admitted_workloads_total", "queue", "high")
    metrics.count("admitted_workloads_total", "queue", "high", by=2)
    metrics.observe("quota_reserved_wait_time_seconds", 3.0, "queue", "")

    assert lines(metrics, "kueue_admitted") == [
        'kueue_admitted_workloads_total{cluster_queue="queue",priority_class="high",'
        'replica_role="standalone"} 3.0'
    ]
    told = lines(metrics, "kueue_quota_reserved_wait")
    labels = 'cluster_queue="queue",{}priority_class="",replica_role="standalone"'
    name = "kueue_quota_reserved_wait_time_seconds"
    bucket = labels.format('le="{}",')
    assert f"{name}_bucket{{{bucket.format('2.5')}}} 0.0" in told
    assert f"{name}_bucket{{{bucket.format('5.0')}}} 1.0" in told
    assert f"{name}_sum{{{labels.format('')}}} 3.0" in told
    assert len(told) == 14 + 1 + 2


def test_counters_whose_names_end_otherwise_are_counted_too() -> None:
    metrics = Metrics()
    metrics.count("join_result_counter", "success")
    metrics.count("join_result_counter", "success")

    assert lines(metrics, "join_result") == ['join_result_counter{result="success"} 2.0']


def test_a_span_is_never_negative() -> None:
    metrics = Metrics()
    metrics.observe("admission_attempt_duration_seconds", -1.0, "success")

    assert lines(metrics, "kueue_admission_attempt_duration_seconds_sum")[0].endswith(" 0.0")


def test_series_are_removed_by_some_of_their_labels() -> None:
    metrics = Metrics()
    metrics.count("admitted_workloads_total", "gone", "")
    metrics.count("admitted_workloads_total", "stays", "")
    metrics.count("admission_attempts_total", "success")
    metrics.count("local_queue_admitted_workloads_total", "main", "one", "")
    metrics.count("local_queue_admitted_workloads_total", "main", "two", "")

    metrics.remove(cluster_queue="gone")
    metrics.remove(name="main", namespace="one")

    text = metrics.text().decode()
    assert 'cluster_queue="gone"' not in text
    assert 'cluster_queue="stays"' in text
    assert "kueue_admission_attempts_total" in text
    assert 'namespace="one"' not in text
    assert 'namespace="two"' in text
    # It may come back, from the beginning.
    metrics.count("admitted_workloads_total", "gone", "")
    [line] = [each for each in lines(metrics, "kueue_admitted") if '"gone"' in each]
    assert line.endswith(" 1.0")


def test_series_can_be_removed_of_some_metrics_alone() -> None:
    metrics = Metrics()
    run = "fleet_workload_update_run_stage_cluster_updating_duration_seconds"
    metrics.observe(run, 1.0, "default", "main")
    metrics.count("local_queue_admitted_workloads_total", "main", "default", "")

    metrics.remove("local_queue_", name="main", namespace="default")

    assert len(lines(metrics, f"{run}_count")) == 1
    assert not lines(metrics, "kueue_local_queue_admitted_workloads_total")


def test_series_of_one_metric_can_be_removed_alone() -> None:
    metrics = Metrics()
    metrics.observe("work_apply_time_seconds", 1.0, "one")
    metrics.observe("work_apply_time_seconds", 1.0, "two")
    metrics.count("local_queue_admitted_workloads_total", "one", "default", "")

    metrics.remove("work_apply_time_seconds", name="one")
    metrics.remove("fleet_workload_reconcile_time_seconds", controller="one")

    assert lines(metrics, "work_apply_time_seconds_count") == [
        'work_apply_time_seconds_count{name="two"} 1.0'
    ]
    assert len(lines(metrics, "kueue_local_queue_admitted_workloads_total")) == 1


def test_gauges_are_asked_for_when_somebody_looks() -> None:
    metrics, value = Metrics(), 1

    def source() -> list[Reading]:
        return [("reserving_active_workloads", ("queue",), value)]

    metrics.sources.append(source)
    assert lines(metrics, "kueue_reserving")[0].endswith(" 1.0")
    value = 2
    assert lines(metrics, "kueue_reserving")[0].endswith(" 2.0")


def test_gauges_have_the_role_of_now_alone() -> None:
    role = FOLLOWER
    metrics = Metrics(lambda: role)
    metrics.sources.append(lambda: [("reserving_active_workloads", ("queue",), 1)])
    metrics.count("admission_attempts_total", "success")
    role = LEADER
    metrics.count("admission_attempts_total", "success")

    assert [each for each in lines(metrics, "kueue_reserving") if FOLLOWER in each] == []
    assert len(lines(metrics, "kueue_admission_attempts_total")) == 2


def test_what_has_no_series_is_not_told_and_nor_is_when_it_began() -> None:
    metrics = Metrics()
    metrics.count("admitted_workloads_total", "queue", "")
    metrics.remove(cluster_queue="queue")
    metrics.count("admission_attempts_total", "success")

    text = metrics.text().decode()
    assert "admitted_workloads" not in text
    assert "_created" not in text


def test_two_registries_know_nothing_of_each_other() -> None:
    one, other = Metrics(), Metrics()
    one.count("admission_attempts_total", "success")

    assert lines(other, "kueue_admission_attempts_total") == []


def test_what_runs_and_its_process_are_told() -> None:
    metrics = Metrics()

    [line] = lines(metrics, "kueue_build_info")
    assert "replica_role" not in line
    assert line.endswith(" 1.0")
    assert lines(metrics, "process_cpu_seconds_total")


async def test_the_text_is_the_same_when_a_thread_writes_it() -> None:
    metrics = Metrics()
    metrics.count("admission_attempts_total", "success")

    told = (await metrics.exposed()).decode()

    assert 'kueue_admission_attempts_total{replica_role="standalone",result="success"} 1.0' in told


@pytest.mark.rule("kubefleet 10.1")
def test_a_counter_may_have_another_end_of_its_name() -> None:
    metrics = Metrics()
    metrics.sources.append(lambda: [("join_result_counter", ("success",), 2.0)])

    told = [each for each in metrics.text().decode().splitlines() if "join_result" in each]
    assert told == [
        "# HELP join_result_counter How often a member joined.",
        "# TYPE join_result_counter counter",
        'join_result_counter{result="success"} 2.0',
    ]
