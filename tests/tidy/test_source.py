"""The source itself: what every module must have, and what none may do."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "fleetqueue"
MODULES = sorted(SOURCE.rglob("*.py"))
WORLD = {
    "datetime.now": "the Clock seam",
    "datetime.utcnow": "the Clock seam",
    "time.time": "the Clock seam",
    "time.sleep": "asyncio.sleep",
    "random.random": "the Random seam",
    "random.choice": "the Random seam",
    "random.randint": "the Random seam",
    "random.shuffle": "the Random seam",
    "uuid.uuid4": "the Random seam",
    "os.urandom": "the Random seam",
}
CLOCK = SOURCE / "base" / "clock.py"
BANNED_WORDS = re.compile(r"\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b")


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    document = ast.get_docstring(ast.parse(path.read_text()))
    assert document, "a module opens with what it decides or does"


@pytest.mark.parametrize("path", [p for p in MODULES if p != CLOCK], ids=name_of)
def test_nobody_reaches_the_world_past_its_seam(path: Path) -> None:
    tree = ast.parse(path.read_text())
    handed_in = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            called = ast.unparse(node.func)
            if called.split(".")[0] not in handed_in:
                assert called not in WORLD, f"line {node.lineno}: use {WORLD.get(called)}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_is_left_unfinished(path: Path) -> None:
    for number, line in enumerate(path.read_text().splitlines(), 1):
        assert not BANNED_WORDS.search(line), f"line {number}: {line.strip()}"


def test_every_package_has_an_opening() -> None:
    folders = {path.parent for path in MODULES}
    assert all((folder / "__init__.py").exists() for folder in folders)


def test_every_decision_has_a_number_of_its_own() -> None:
    numbers = [p.name[:4] for p in (ROOT / "docs" / "decisions").glob("[0-9]*.md")]
    assert len(numbers) == len(set(numbers))


def test_links_between_documents_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
