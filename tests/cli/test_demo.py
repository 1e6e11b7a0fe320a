"""What the demo says of itself."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_demo_ends_without_a_way_back_to_what_it_removes(tmp_path: Path) -> None:
    program = f"from examples import demo; demo.end({str(tmp_path)!r})"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[1:] == [
        f"$ fleetqueue down --dir {tmp_path}",
        f"stopped; {tmp_path} is removed",
    ]
