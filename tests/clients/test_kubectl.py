"""The same command lines of kubectl on kube-apiserver and on ours: it prints the same."""

import difflib
import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest

from clients.kubectl_runner import Kubectl, Result
from clients.kubectl_scenarios import Scenario, load_scenarios
from support.reference import binaries
from support.server import Server

SCENARIOS = load_scenarios()
SHOWN_LINES_MAX = 60
_numbers = itertools.count(1)
Pair = tuple[Kubectl, Kubectl]


@pytest.fixture(scope="module")
def both(reference: Server, ours: Server, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    binary = binaries() / "kubectl"
    home = tmp_path_factory.mktemp("kubectl")
    return Kubectl(binary, reference, home / "reference"), Kubectl(binary, ours, home / "ours")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario.name for scenario in SCENARIOS])
def test_kubectl_prints_the_same(scenario: Scenario, both: Pair) -> None:
    namespace = f"kubectl-{next(_numbers):03}"
    with ThreadPoolExecutor(2) as pool:
        expected, found = pool.map(lambda one: one.play(scenario, namespace), both)
    for step, theirs in zip(scenario.steps, expected, strict=True):
        assert theirs.code == step.code, f"kubectl {step.run}\n{theirs.text()}"
    differing = [
        f"kubectl {step.run}\n{_difference(theirs, own)}"
        for step, theirs, own in zip(scenario.steps, expected, found, strict=True)
        if own != theirs
    ]
    if differing:
        pytest.fail("\n\n".join(differing), pytrace=False)


def _difference(theirs: Result, own: Result) -> str:
    before, after = (result.text().splitlines() for result in (theirs, own))
    lines = difflib.unified_diff(before, after, "kube-apiserver", "fleetqueue", lineterm="", n=2)
    return "\n".join(itertools.islice(lines, SHOWN_LINES_MAX))
