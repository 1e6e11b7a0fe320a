"""Every written case, on kube-apiserver and on ours: the normalised answers are equal."""

import pytest

from conformance.cases import Case, load_cases
from conformance.normal import difference
from conformance.play import Player
from conformance.recorded import Answers

CASES = load_cases()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_case(case: Case, reference: Player, ours: Player, answers: dict[str, Answers]) -> None:
    expected = answers[case.name] = reference.play(case, case.namespace)
    found = ours.play(case, case.namespace)
    differing = [
        f"{step.method} {step.path}\n{difference(theirs, own)}"
        for step, theirs, own in zip(case.steps, expected, found, strict=True)
        if own != theirs
    ]
    if differing:
        pytest.fail("\n\n".join(differing), pytrace=False)
