"""What is kept of processes on disk, and what the shepherd may use."""

import ast
import os
import sys
from pathlib import Path

import pytest

from fleetqueue.runtime import agnhost, preload, shepherd
from fleetqueue.runtime.shepherd import records
from fleetqueue.runtime.shepherd.records import Record

ALONE = [
    *sorted(Path(shepherd.__file__).parent.glob("*.py")),
    Path(agnhost.__file__),
    Path(preload.__file__),
]


@pytest.mark.rule("jobs C.13")
def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = Record(7, "/log", 99, 1.5, 137, 9, True, 2.5)
    records.write(str(tmp_path / "r"), record)
    assert records.read(str(tmp_path / "r")) == record
    assert os.listdir(tmp_path) == ["r"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"unknown": 1}'])
def test_a_broken_record_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "r").write_text(text)
    assert records.read(str(tmp_path / "r")) is None
    assert records.read(str(tmp_path / "missing")) is None


def test_records_go_with_their_logs(tmp_path: Path) -> None:
    kept, gone = tmp_path / "run" / "kept", tmp_path / "run" / "gone"
    (tmp_path / "run").mkdir()
    (tmp_path / "log").write_text("")
    records.write(str(kept), Record(log=str(tmp_path / "log")))
    records.write(str(gone), Record(log=str(tmp_path / "other")))
    records.prune(str(tmp_path / "run"))
    assert os.listdir(tmp_path / "run") == ["kept"]


def test_a_process_is_known_by_its_start() -> None:
    own = records.start_ticks(os.getpid())
    assert own > 0
    assert records.start_ticks(os.getppid()) <= own
    assert records.start_ticks(2**22 + 1) == 0


@pytest.mark.parametrize("path", ALONE, ids=lambda path: path.name)
def test_what_runs_alone_uses_the_standard_library(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module] if isinstance(node, ast.ImportFrom) else []
        names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            is_own = str(name).startswith("fleetqueue.runtime.shepherd")
            assert is_own or str(name).split(".")[0] in sys.stdlib_module_names, name
