"""Whole runs of the command: exit code, standard output, standard error."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fleetqueue import __version__
from fleetqueue.cli.main import COMMANDS


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
    assert names == list(COMMANDS)
    assert {"controller", "crds", "install", "kueue", "serve", "version"} <= set(names)


@pytest.mark.parametrize("command", ["crds", "serve", "version"])
def test_every_command_explains_itself(command: str) -> None:
    code, out, err = run(command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: fleetqueue {command} [OPTIONS]")


def test_version() -> None:
    told = f"fleetqueue {__version__}\nKubernetes API v1.34.4\nKueue v0.20.0\n"
    assert run("version") == (0, told, "")


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


@pytest.mark.rule("kueue 10.4")
def test_what_would_be_installed_can_be_printed() -> None:
    code, out, err = run("install", "--print")
    assert (code, err) == (0, "")
    made = list(yaml.load_all(out, yaml.CSafeLoader))
    names = {(each["kind"], each["metadata"]["name"]) for each in made}
    assert ("Service", "kueue-webhook-service") in names
    assert ("CustomResourceDefinition", "workloads.kueue.x-k8s.io") in names
    assert ("ClusterRole", "kueue-manager-role") in names
