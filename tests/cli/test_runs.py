"""Whole runs of the command: exit code, standard output, standard error."""

import subprocess
import sys
from pathlib import Path

import pytest

from fleetqueue import __version__


def run(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "fleetqueue", *arguments], capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


def test_help_lists_the_commands() -> None:
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    listed = out.split("Commands:")[1].splitlines()
    names = [line.split()[0] for line in listed if line.startswith("  ") and line[2:3].strip()]
    assert names == ["controller", "crds", "install", "serve", "version"]


@pytest.mark.parametrize("command", ["crds", "serve", "version"])
def test_every_command_explains_itself(command: str) -> None:
    code, out, err = run(command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: fleetqueue {command} [OPTIONS]")


def test_version() -> None:
    assert run("version") == (0, f"fleetqueue {__version__}\nKubernetes API v1.34.4\n", "")


def test_an_unknown_command_is_a_usage_error() -> None:
    code, out, err = run("severe")
    assert (code, out) == (2, "")
    assert "No such command" in err
    assert "severe" in err


def test_crds_of_an_unknown_group_names_the_known_ones() -> None:
    code, out, err = run("crds", "--group", "kueue.io")
    assert (code, out) == (2, "")
    assert 'no kind belongs to the API group "kueue.io"' in err
    assert "kueue.x-k8s.io" in err
    assert "Traceback" not in err


def test_crds_of_a_group_are_a_yaml_stream() -> None:
    code, out, err = run("crds", "--group", "cluster.kubernetes-fleet.io")
    assert (code, err) == (0, "")
    assert out.count("kind: CustomResourceDefinition") == 2


def test_serve_on_a_file_that_is_no_database_says_so(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"somebody's file " * 500)
    code, out, err = run("serve", "--data", str(tmp_path), "--port", "0")
    assert (code, out) == (1, "")
    assert "cannot be read as a fleetqueue database" in err
    assert "Traceback" not in err


@pytest.mark.rule("kueue 10.2", "kueue 10.3")
def test_a_gate_that_nobody_knows_is_named(tmp_path: Path) -> None:
    code, out, err = run("serve", "--data", str(tmp_path), "--feature-gates", "Nope=true")
    assert (code, out) == (1, "")
    assert "unrecognized feature gate: Nope" in err


@pytest.mark.rule("kueue 10.1", "kueue 10.2")
def test_a_configuration_that_is_wrong_is_told_before_anything_starts(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nnonsense: 1\n"
    )
    code, out, err = run("serve", "--data", str(tmp_path), "--config", str(config))
    assert (code, out) == (1, "")
    assert 'unknown field "nonsense"' in err
