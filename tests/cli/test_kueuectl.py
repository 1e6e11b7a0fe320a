"""Whole runs of kueuectl: what it hands to kubectl, its scripts, and what it loads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fleetqueue import __version__

pytestmark = pytest.mark.rule("kueue 11.4")
MAIN = "from fleetqueue.cli.kueuectl.main import main; main()"
KUBECTL = '#!/bin/sh\nfor each in "$0" "$@"; do printf "%s\\n" "$each"; done\nexit 7\n'
SLOW = ("aiohttp", "cryptography", "yaml", "uvloop", "fleetqueue.kube.client")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """With a kubectl that tells what it is given."""
    (tmp_path / "kubectl").write_text(KUBECTL)
    (tmp_path / "kubectl").chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}:/bin", "HOME": str(tmp_path), "KUBECONFIG": ""}


def run(
    environ: dict[str, str], *arguments: str, program: tuple[str, ...] = ("-c", MAIN)
) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, *program, *arguments], capture_output=True, text=True, timeout=60,
        env=environ,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("verb", "kind"),
    [
        ("get", "kueueworkloads"),
        ("delete", "cq"),
        ("edit", "localqueue"),
        ("describe", "kwl"),
        ("patch", "rf"),
    ],
)
def test_verbs_of_kubectl_are_handed_on_as_they_are(
    environ: dict[str, str], tmp_path: Path, verb: str, kind: str
) -> None:
    given = ("-n", "team", verb, kind, "one", "-o", "wide", "--unheard=of", "--help")
    assert run(environ, *given) == (7, "\n".join([str(tmp_path / "kubectl"), *given, ""]), "")


def test_flags_of_kubectl_may_stand_before_the_kind(environ: dict[str, str]) -> None:
    given = ("get", "-A", "-o", "yaml", "lq")
    assert run(environ, *given)[1].split()[1:] == list(given)
    program = ("-m", "fleetqueue", "kueue")
    assert run(environ, *given, program=program)[1].split()[1:] == list(given)


def test_without_kubectl_that_is_told(environ: dict[str, str]) -> None:
    code, out, err = run({**environ, "PATH": "/nowhere"}, "get", "cq")
    assert (code, out) == (1, "")
    assert err == (
        'Error: pass-through command are not available: exec: "kubectl": executable file not'
        ' found in $PATH, PATH="/nowhere"\n'
    )


def test_unknown_commands_are_named(environ: dict[str, str]) -> None:
    for given, where in ((("sing",), "kueuectl"), (("get", "pods"), "kueuectl get")):
        told = f'Error: unknown command "{given[-1]}" for "{where}"\n'
        assert run(environ, *given) == (1, "", told)
    mounted = run(environ, "sing", program=("-m", "fleetqueue", "kueue"))
    assert mounted == (1, "", 'Error: unknown command "sing" for "fleetqueue kueue"\n')
    assert run(environ, "list", "cq", "--sing") == (1, "", "Error: unknown flag: --sing\n")
    told = "Error: unknown shorthand flag: 'y' in -y\n"
    assert run(environ, "list", "cq", "-y") == (1, "", told)
    told = "Error: flag needs an argument: -l\n"
    assert run(environ, "list", "cq", "-l") == (1, "", told)


def test_version_is_told_without_a_cluster(environ: dict[str, str]) -> None:
    assert run(environ, "version") == (0, f"Client Version: v{__version__}\n", "")


def test_a_server_that_is_not_there_is_told_in_a_line(environ: dict[str, str]) -> None:
    code, out, err = run(environ, "list", "cq", "--server", "http://127.0.0.1:1")
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert "127.0.0.1" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("shell", "text"),
    [
        ("bash", "complete -o nosort -F"),
        ("zsh", "#compdef kueuectl"),
        ("fish", "complete --no-files --command kueuectl"),
        ("powershell", "Register-ArgumentCompleter -Native -CommandName kueuectl"),
    ],
)
def test_scripts_for_shells(environ: dict[str, str], shell: str, text: str) -> None:
    code, out, err = run(environ, "completion", shell)
    assert (code, err) == (0, "")
    assert text in out
    assert out == run(environ, "kueue", "completion", shell, program=("-m", "fleetqueue"))[1]


def test_shells_are_told_what_may_follow(environ: dict[str, str]) -> None:
    bash = {
        "_KUEUECTL_COMPLETE": "bash_complete",
        "COMP_WORDS": "kueuectl list ",
        "COMP_CWORD": "2",
    }
    out = run({**environ, **bash})[1]
    assert "plain,clusterqueue" in out
    assert "plain,workload" in out
    power = {"_KUEUECTL_COMPLETE": "powershell_complete", "COMP_WORDS": "kueuectl st"}
    assert run({**environ, **power, "COMP_WORD": "st"})[1].startswith("stop\t")


@pytest.mark.parametrize("given", [("--help",), ("list", "--help"), ("get", "cq"), ("stop",)])
def test_nothing_slow_is_loaded_before_a_cluster_is_asked(
    environ: dict[str, str], given: tuple[str, ...]
) -> None:
    listing = (
        "import atexit, os, sys\n"
        f"told = lambda: print(*[n for n in {SLOW!r} if n in sys.modules], file=sys.stderr)\n"
        "atexit.register(told)\n"
        "os.execv = lambda *_: sys.exit(0)\n"
    )
    assert run(environ, *given, program=("-c", listing + MAIN))[2].strip() == ""
