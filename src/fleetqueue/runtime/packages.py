"""Where pip puts what a container installs: into its own home, whatever Python it has."""

import shutil
from pathlib import Path


def package_variables(path: str, home: str) -> dict[str, str]:
    """For the programs on a PATH. Packages of a user are in the home anyway; but a virtual
    environment has none, and what were installed there would be there for everybody.
    """
    python = shutil.which("python3", path=path) or shutil.which("python", path=path)
    if python is None or not (Path(python).parent.parent / "pyvenv.cfg").is_file():
        return {}
    packages = f"{home}/.packages"
    return {"PIP_TARGET": packages, "PYTHONPATH": packages}
