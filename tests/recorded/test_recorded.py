"""Every written case against what kube-apiserver answered when it was last asked; needs no Go."""

import pytest

from conformance import recorded
from conformance.cases import Case, load_cases
from conformance.normal import difference
from conformance.play import Player

NEEDS_A_WEBHOOK = "{hook}"
ANSWERS = recorded.load()
CASES = [case for case in load_cases() if NEEDS_A_WEBHOOK not in repr(case)]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_case(case: Case, ours: Player) -> None:
    assert case.name in ANSWERS, "not recorded yet: run scripts/record"
    found = ours.play(case, case.namespace)
    differing = [
        f"{step.method} {step.path}\n{difference(theirs, own)}"
        for step, theirs, own in zip(case.steps, ANSWERS[case.name], found, strict=True)
        if own != theirs
    ]
    if differing:
        pytest.fail("\n\n".join(differing), pytrace=False)


def test_nothing_is_recorded_that_is_no_longer_written() -> None:
    assert set(ANSWERS) <= {case.name for case in load_cases()}
