"""Where pip installs for a container."""

from pathlib import Path

import pytest

from fleetqueue.runtime.packages import package_variables

pytestmark = [pytest.mark.rule("jobs C.8"), pytest.mark.rule("jobs E.3")]


def make_environment(directory: Path, name: str = "python3", *, is_virtual: bool) -> str:
    programs = directory / "bin"
    programs.mkdir(parents=True)
    (programs / name).touch(0o755)
    if is_virtual:
        (directory / "pyvenv.cfg").touch()
    return str(programs)


@pytest.mark.parametrize("name", ["python3", "python"])
def test_a_virtual_environment_stays_as_it_is(tmp_path: Path, name: str) -> None:
    path = make_environment(tmp_path / "a", name, is_virtual=True)
    assert package_variables(path, "/home/me") == {
        "PIP_TARGET": "/home/me/.packages",
        "PYTHONPATH": "/home/me/.packages",
    }


def test_the_first_python_decides(tmp_path: Path) -> None:
    plain = make_environment(tmp_path / "plain", is_virtual=False)
    virtual = make_environment(tmp_path / "virtual", is_virtual=True)
    assert package_variables(f"{plain}:{virtual}", "/home/me") == {}
    assert package_variables(f"{virtual}:{plain}", "/home/me") != {}


def test_without_python_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert package_variables(str(tmp_path), "/home/me") == {}
