"""The names of Workloads."""

import pytest

from fleetqueue.jobs.names import workload_name

pytestmark = [
    pytest.mark.rule("jobs A.1"),
    pytest.mark.rule("kueue 3.12"),
    pytest.mark.rule("NAME-1"),
    pytest.mark.rule("NAME-2"),
]


def test_the_names_that_upstream_computes() -> None:
    assert workload_name("Job", "batch", "name", "uid") == "job-name-ef3a1"
    assert workload_name("Job", "batch", "name", "uid", extra="1") == "job-name-2514c"


@pytest.mark.parametrize("length_max", [253, 63])
def test_long_names_are_cut_before_the_hash(length_max: int) -> None:
    name = workload_name("RayCluster", "ray.io", "x" * 300, "uid", length_max=length_max)
    assert len(name) == length_max
    assert name.startswith("raycluster-xxx")
    assert name[-6] == "-"
