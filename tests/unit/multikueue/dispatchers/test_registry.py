"""Dispatchers by name: ours, installed ones, and what a typing error leads to."""

import sys
import tomllib
from pathlib import Path

import pytest

from fleetqueue.api.kueue.labels import CLUSTER_SELECTOR
from fleetqueue.errors import InvalidInput
from fleetqueue.multikueue.dispatcher import Nomination
from fleetqueue.multikueue.dispatchers.registry import (
    ENTRY_POINTS,
    dispatcher_of,
    names_installed,
    warnings_of,
)
from support.offered import NOW, offer, worker, workload

ALL_AT_ONCE = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
BEST_FIT = "fleetqueue.dev/dispatcher-best-fit"
EXTERNAL = "example.com/dispatcher"
EXAMPLE = Path(__file__).parents[4] / "examples" / "dispatcher"


@pytest.mark.rule("DISP-1")
@pytest.mark.rule("S003-25")
@pytest.mark.parametrize(
    ("configured", "found"),
    [
        ("", ALL_AT_ONCE),
        (ALL_AT_ONCE, ALL_AT_ONCE),
        (INCREMENTAL, INCREMENTAL),
        (BEST_FIT, BEST_FIT),
        (EXTERNAL, ""),
        ("incremental", ""),
    ],
)
def test_a_dispatcher_is_found_by_its_name_and_every_other_name_is_external(
    configured: str, found: str
) -> None:
    assert dispatcher_of(configured).name == found


@pytest.mark.rule("LIM-19")
@pytest.mark.parametrize(
    ("configured", "odd", "meant"),
    [
        ("incremental", "no domain", INCREMENTAL),
        ("dispatcher-best-fit", "no domain", BEST_FIT),
        (f"{INCREMENTAL}s", "close to", INCREMENTAL),
        ("kueue.x-k8s.io/multikueue-dispatcher-all-atonce", "close to", ALL_AT_ONCE),
        ("mine", "no domain", ""),
        (f"example.com/{'x' * 60}", "longer than 63", ""),
    ],
)
def test_a_name_that_looks_like_a_mistake_is_told_of(configured: str, odd: str, meant: str) -> None:
    [text] = warnings_of(configured)

    assert f'multiKueue.dispatcherName is "{configured}"' in text
    assert odd in text
    assert text.endswith(f'Did you mean "{meant}"?' if meant else "status.nominatedClusterNames.")


@pytest.mark.rule("LIM-19")
@pytest.mark.parametrize("configured", ["", ALL_AT_ONCE, INCREMENTAL, BEST_FIT, EXTERNAL])
def test_names_as_they_should_be_are_not_told_of(configured: str) -> None:
    assert warnings_of(configured) == []


EU = {"region": "eu", "tier": "spot"}
US = {"region": "us"}


def chosen(selector: str, dispatcher: str = ALL_AT_ONCE, **rest: object) -> Nomination:
    about = {"workload": workload(annotations={CLUSTER_SELECTOR: selector}), **rest}
    workers = [worker("eu", labels=EU), worker("us", labels=US), worker("plain")]
    return dispatcher_of(dispatcher).nominate(offer(*workers, **about))


@pytest.mark.parametrize("dispatcher", [ALL_AT_ONCE, INCREMENTAL])
@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("region=eu", ["eu"]),
        ("region in (eu, us)", ["eu", "us"]),
        ("!region", ["plain"]),
        ("tier!=spot,region", ["us"]),
        ("", ["eu", "plain", "us"]),
        ("region=mars", []),
    ],
)
def test_a_job_narrows_its_workers_whatever_the_dispatcher(
    selector: str, names: list[str], dispatcher: str
) -> None:
    assert sorted(chosen(selector, dispatcher).names or []) == names


def test_best_fit_is_narrowed_too() -> None:
    assert chosen("region=us", BEST_FIT).names == ["us"]


@pytest.mark.parametrize("dispatcher", [ALL_AT_ONCE, INCREMENTAL, BEST_FIT])
def test_a_bad_selector_nominates_nobody_and_says_what_to_write(dispatcher: str) -> None:
    made = chosen("region in eu", dispatcher, nominated=["eu"], round_started=NOW)

    assert made.names == []
    assert "region in eu" in made.note
    assert "kubectl get -l" in made.note
    assert chosen("region in eu", dispatcher).names is None


@pytest.mark.parametrize("dispatcher", [ALL_AT_ONCE, INCREMENTAL, BEST_FIT])
def test_a_selector_that_changes_takes_a_nomination_back(dispatcher: str) -> None:
    made = chosen("region=eu", dispatcher, nominated=["us", "eu"], round_started=NOW)

    assert made.names == ["eu"]


@pytest.mark.rule("DISP-30")
@pytest.mark.parametrize("selector", ["region=eu", "region in eu"])
def test_names_of_another_controller_are_never_written(selector: str) -> None:
    assert chosen(selector, EXTERNAL, nominated=["us"]).names is None


@pytest.mark.rule("IMP-6")
@pytest.mark.parametrize("dispatcher", [ALL_AT_ONCE, INCREMENTAL, BEST_FIT])
def test_a_worker_without_the_kind_of_job_is_not_nominated(dispatcher: str) -> None:
    workers = [worker("without", takes_kind=False), worker("with")]

    made = dispatcher_of(dispatcher).nominate(offer(*workers))
    assert made.names == ["with"]
    # Nobody tells when the other gets it.
    assert made.after is not None
    assert made.after <= 30.0


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The example as an installer would leave it: the module, and what its project declares."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    points = project["entry-points"][ENTRY_POINTS]
    about = tmp_path / "example-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1\n")
    lines = [f"{name} = {where}" for name, where in points.items()]
    (about / "entry_points.txt").write_text("\n".join([f"[{ENTRY_POINTS}]", *lines]))
    for module in EXAMPLE.glob("*.py"):
        (tmp_path / module.name).write_text(module.read_text())
    monkeypatch.syspath_prepend(tmp_path)
    [name] = points
    return str(name)


@pytest.mark.rule("S003-20")
def test_an_installed_dispatcher_is_found_by_its_name(example: str) -> None:
    cheap = worker("cheap", labels={"price": "1"})
    dear = worker("dear", labels={"price": "20"})
    lost = worker("lost", labels={"price": "0"}, is_connected=False)

    dispatcher = dispatcher_of(example)

    assert dispatcher.nominate(offer(dear, lost, cheap)).names == ["cheap"]
    assert dispatcher.nominate(offer(dear, cheap, nominated=["cheap"])).names is None
    assert example in names_installed()
    assert warnings_of(example) == []


def test_the_example_is_short() -> None:
    [module] = EXAMPLE.glob("*.py")

    assert len([line for line in module.read_text().splitlines() if line.strip()]) <= 15


def test_something_installed_that_is_no_dispatcher_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / "broken-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\nexample.com/broken = sys:path\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert str(tmp_path) in sys.path

    with pytest.raises(InvalidInput, match=r'installed as the dispatcher "example\.com/broken"'):
        dispatcher_of("example.com/broken")
