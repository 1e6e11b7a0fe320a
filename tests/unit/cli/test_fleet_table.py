"""How a fleet is shown."""

from fleetqueue.cli import fleet_table

REASON = " ".join(["the worker does not answer"] * 7)


def test_a_long_reason_does_not_widen_the_table_and_is_told_whole_below_it() -> None:
    header, first, second, below = fleet_table.lines(
        [
            ["NAME", "CONNECTED", "WORKLOADS"],
            ["worker-1", f"no: {REASON}", ""],
            ["worker-2", "yes", "none"],
        ]
    )

    assert len(first) < 60
    assert first.endswith("…")
    assert header.index("WORKLOADS") == second.index("none") < 60
    assert below == f"worker-1: {REASON}"


def test_a_worker_whose_process_is_gone_is_not_said_to_be_connected() -> None:
    reached = fleet_table.reached

    assert reached("running", "yes") == "yes"
    assert reached("ended", "yes") == "no"
    assert reached("ended", "no: it does not answer") == "no: it does not answer"
