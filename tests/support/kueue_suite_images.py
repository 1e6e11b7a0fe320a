"""Images that the suites of Kueue run and that are more than a program of Kubernetes: built from
what is published, as file systems and environments.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

PLUGIN = "sigs.k8s.io/cluster-inventory-api/plugins/secretreader/cmd/plugin"
"""In the version that Kueue itself is built with."""
PLUGIN_IMAGE = "secretreader-plugin:0.0.1"
TOOLS = ("sh", "mkdir", "cp")
RAY_VERSION = "2.55.1"
RAY_IMAGE = f"rayproject/ray:{RAY_VERSION}"


def image_table(suite: str, sources: Path, cache: Path) -> dict[str, Any]:
    """What `fleetqueue serve --images` reads, with the images that this suite runs."""
    if suite == "multikueue/sequential":
        root = _secret_reader(sources, cache / "secretreader-plugin")
        return {"images": [{"match": "secretreader-plugin*", "root": str(root)}]}
    if suite == "multikueue/extended":
        return {"environments": {"ray": _ray(cache / f"ray-{RAY_VERSION}")}}
    return {}


def _ray(directory: Path) -> dict[str, Any]:
    """Ray itself, which is told to send nothing to anybody."""
    if not (directory / "bin" / "ray").exists():
        subprocess.run([sys.executable, "-m", "venv", str(directory)], check=True)
        # Serve reads its configuration by what protobuf 7 no longer has.
        wanted = [f"ray[default,serve]=={RAY_VERSION}", "protobuf<7"]
        subprocess.run([directory / "bin" / "pip", "install", "--quiet", *wanted], check=True)
    return {"venv": str(directory), "env": {"RAY_USAGE_STATS_ENABLED": "0"}}


def _secret_reader(sources: Path, root: Path) -> Path:
    """A shell that can copy, and the plugin that reads credentials of a cluster from a Secret."""
    program = root / "bin" / "secretreader-plugin"
    if program.exists():
        return root
    for name in TOOLS:
        _add_program(name, root)
    alone = {**os.environ, "CGO_ENABLED": "0"}
    subprocess.run(
        ["go", "build", "-mod=mod", "-o", str(program), PLUGIN], check=True, env=alone, cwd=sources
    )
    return root


def _add_program(name: str, root: Path) -> None:
    """With the libraries it needs, at the places where it looks for them."""
    found = shutil.which(name)
    assert found is not None, f"this machine has no {name}"
    told = subprocess.run(["ldd", found], check=True, capture_output=True, text=True).stdout
    _copy(found, root / "bin" / name)
    for library in re.findall(r"(/\S+) \(0x", told):
        _copy(library, root / library.lstrip("/"))


def _copy(source: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
