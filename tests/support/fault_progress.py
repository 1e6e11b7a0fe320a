"""Tells of a long run while it goes on: of a seed that fails at once, with its story, and from time
to time how many have passed. A plugin of pytest, in place of its own reports.
"""

import os
import re
import time

import pytest

EVERY = int(os.environ.get("FLEETQUEUE_TELL_EVERY", "50"))
_SEED = re.compile(r"\[(\d+)\]")
_counts = {"passed": 0, "failed": 0}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    found = _SEED.search(report.nodeid)
    if found is None or (report.when != "call" and not report.failed):
        return
    _counts["failed" if report.failed else "passed"] += 1
    if report.failed:
        print(f"seed {found.group(1)} FAILED\n{report.longreprtext}", flush=True)
    if sum(_counts.values()) % EVERY == 0:
        _tell(f"seed {found.group(1)}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    _tell("done")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        print(report.longreprtext, flush=True)


def _tell(at: str) -> None:
    cpu = time.process_time() / (sum(_counts.values()) or 1)
    print(
        f"{at}: {_counts['passed']} passed, {_counts['failed']} failed,"
        f" {cpu:.1f} s of CPU for each",
        flush=True,
    )
