"""A seed is one story, in every process: nothing hangs on how Python orders a set of names."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def told(kind: str, seed: int, hashes: int) -> str:
    found = subprocess.run(
        [sys.executable, "-m", "tests.support.told_story", kind, str(seed)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(hashes), "PYTHONPATH": f"{ROOT}:{ROOT}/tests"},
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout


@pytest.mark.parametrize(("kind", "seed"), [("dispatch", 3), ("placement", 0)])
def test_a_seed_is_the_same_story_whatever_the_hashes(kind: str, seed: int) -> None:
    assert told(kind, seed, 1) == told(kind, seed, 2)
