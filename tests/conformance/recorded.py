"""What kube-apiserver answered, kept so that the cases can be played without it.

One file for each file of cases, one line for each case; `scripts/record` writes them.
"""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "recorded"
Answers = list[dict[str, Any]]


def save(answers: dict[str, Answers], written: set[str]) -> None:
    """Keep these answers, by case name (`file: case`); what is no longer `written` goes."""
    FOLDER.mkdir(exist_ok=True)
    kept = {name: found for name, found in (load() | answers).items() if name in written}
    files: dict[str, dict[str, Answers]] = {}
    for name, found in kept.items():
        files.setdefault(name.split(": ", 1)[0], {})[name] = found
    for old in FOLDER.glob("*.json"):
        if old.stem not in files:
            old.unlink()
    for stem, cases in files.items():
        lines = [
            f"{json.dumps(name)}: {json.dumps(found, sort_keys=True, ensure_ascii=False)}"
            for name, found in sorted(cases.items())
        ]
        (FOLDER / f"{stem}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def load() -> dict[str, Answers]:
    found: dict[str, Answers] = {}
    for path in sorted(FOLDER.glob("*.json")):
        found |= json.loads(path.read_text())
    return found
