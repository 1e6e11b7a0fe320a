"""What a submitter runs where there is no Ray: `python -m fleetqueue.runtime.ray_submit COMMAND...`
reads the `ray job submit` in the command it was given and becomes the entry point itself, whose
output and exit code are thus its own.
"""

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_SUBMIT = "ray job submit"
_OPTIONS = re.compile(r'(?:"(?:\\.|[^"\\])*"|[^"])*?(?<=\s)--(?=\s)')
_FOLLOWED = re.compile(r"\s*;\s*fi\s*;\s*ray job logs\b.*\Z", re.DOTALL)
_HEAD_PORT = 6379


@dataclass(frozen=True, slots=True)
class Submission:
    """What is to be run, and how."""

    entrypoint: str
    env: Mapping[str, str] = field(default_factory=dict)
    directory: str = ""


def read_submission(words: Sequence[str]) -> Submission | None:
    """None where nothing is submitted. The words are a script, or the command itself."""
    for word in words:
        if _SUBMIT in word:
            return _read(word.split(_SUBMIT, 1)[1], is_script=True)
    text = shlex.join(words)
    return _read(text.split(_SUBMIT, 1)[1], is_script=False) if _SUBMIT in text else None


def environment(submission: Submission, environ: Mapping[str, str]) -> dict[str, str]:
    """Of the process: that of the container, the address of the head, and the job's own."""
    dashboard = environ.get("RAY_DASHBOARD_ADDRESS", "").removeprefix("http://")
    host = dashboard.partition(":")[0] or "127.0.0.1"
    return {"RAY_ADDRESS": f"{host}:{_HEAD_PORT}", **environ, **submission.env}


def main(arguments: Sequence[str]) -> None:
    submission = read_submission(arguments)
    if submission is None or not submission.entrypoint:
        raise SystemExit("nothing to run: no `ray job submit -- ENTRYPOINT` in the command")
    if submission.directory and os.path.isdir(submission.directory):
        os.chdir(submission.directory)
    env = environment(submission, os.environ)
    sys.stdout.flush()
    os.execve("/bin/sh", ["/bin/sh", "-c", submission.entrypoint], env)


def _read(text: str, *, is_script: bool) -> Submission | None:
    options = _OPTIONS.match(text)
    if options is None:
        return None
    rest = _FOLLOWED.sub("", text[options.end() :]).strip()
    entrypoint = rest.removesuffix(";").strip() if is_script else rest
    runtime = _runtime_env(shlex.split(options.group().removesuffix("--")))
    env = {str(key): str(value) for key, value in (runtime.get("env_vars") or {}).items()}
    return Submission(entrypoint, env, str(runtime.get("working_dir") or ""))


def _runtime_env(options: list[str]) -> Mapping[str, Any]:
    for at, option in enumerate(options):
        name, _, value = option.partition("=")
        if name == "--runtime-env-json":
            told = json.loads(value or "".join(options[at + 1 : at + 2]) or "{}")
            return told if isinstance(told, dict) else {}
    return {}


if __name__ == "__main__":
    main(sys.argv[1:])
