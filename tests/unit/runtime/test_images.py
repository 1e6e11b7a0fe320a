"""Which environment stands for an image, and what is said where none does."""

from pathlib import Path

import pytest

from fleetqueue.errors import InvalidInput
from fleetqueue.runtime.image_rules import Rule, forms
from fleetqueue.runtime.images import ImageTable
from fleetqueue.runtime.preparation import NotReady

DIGEST = "sha256:" + "a" * 64

# fmt: off
MATCHES = {
    "a glob": ("train-*",           "train-v1:2",                  True),
    "with or without the tag": ("team/app",          "team/app:1.2",                True),
    "with or without the digest": ("team/app:1",        f"team/app:1@{DIGEST}",        True),
    "the tag counts where it is given": ("team/app:1",        "team/app:2",                  False),
    "exact": ("exact:team/app",    "team/app2",                   False),
    "prefix": ("prefix:team/",      "team/any/thing:3",            True),
    "a regular expression": (r"regex:team/[a-c]+","team/abc:1",                  True),
    "a regular expression, whole": (r"regex:team/[a-c]+","team/abcd",                   False),
    "the usual registry may be written": ("busybox*",          "docker.io/library/busybox:1", True),
    "a port is no tag": ("host:5000/app",     "host:5000/app:1",             True),
}
BUILT_IN = {  #                                        entrypoint       cmd
    "busybox:1.36":                                   ((),             ("sh",)),
    "alpine":                                         ((),             ("/bin/sh",)),
    "ubuntu:24.04":                                   ((),             ("/bin/bash",)),
    "registry.k8s.io/pause:3.10":                     (("/pause",),    ()),
    "registry.k8s.io/e2e-test-images/agnhost:2.47":   (("/agnhost",),  ("pause",)),
    "python:3.12-slim":                               ((),             ("python3",)),
}
# fmt: on


@pytest.mark.rule("jobs C.8")
@pytest.mark.parametrize(("match", "reference", "fits"), MATCHES.values(), ids=MATCHES.keys())
def test_patterns(match: str, reference: str, fits: bool) -> None:
    assert Rule(match).fits(reference) == fits


@pytest.mark.rule("jobs C.8")
@pytest.mark.parametrize(("reference", "runs"), BUILT_IN.items(), ids=BUILT_IN.keys())
def test_common_images_have_an_environment(
    reference: str, runs: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    found = ImageTable(default="reject").find(reference)
    assert (found.entrypoint, found.cmd) == runs
    assert found.env["PATH"]
    assert found.env["PYTHONUNBUFFERED"] == "1"


def test_forms_of_a_reference() -> None:
    assert set(forms("docker.io/library/busybox:1")) >= {
        "docker.io/library/busybox:1",
        "docker.io/library/busybox",
        "busybox:1",
        "busybox",
    }


@pytest.mark.rule("jobs C.8")
@pytest.mark.parametrize(
    ("policy", "reason", "message"),
    [
        ("Always", "ErrImagePull", 'no local environment is mapped to image "team/app:1"'),
        (
            "Never",
            "ErrImageNeverPull",
            'Container image "team/app:1" is not present with pull policy of Never',
        ),
    ],
)
def test_an_image_nobody_maps_is_refused(policy: str, reason: str, message: str) -> None:
    with pytest.raises(NotReady) as refusal:
        ImageTable(default="reject").find("team/app:1", policy)
    assert (refusal.value.reason, refusal.value.message) == (reason, message)


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("", "invalid reference format"),
        ("a b", "invalid reference format"),
        ("App", "repository name (library/App) must be lowercase"),
    ],
)
def test_a_text_that_names_no_image_is_refused(reference: str, words: str) -> None:
    with pytest.raises(NotReady) as refusal:
        ImageTable().find(reference)
    assert refusal.value.reason == "InvalidImageName"
    start = f'Failed to apply default image tag "{reference}": couldn\'t parse image name'
    assert refusal.value.message.startswith(start)
    assert refusal.value.message.endswith(words)


@pytest.mark.rule("jobs C.8")
def test_rules_are_read_in_order_and_before_the_built_in_ones(tmp_path: Path) -> None:
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    table = ImageTable.load(
        {
            "default": "reject",
            "environments": {"training": {"venv": str(tmp_path / "venv"), "env": {"A": "1"}}},
            "images": [
                {"match": "busybox:bad", "reject": True},
                {
                    "match": "team/*",
                    "path": [str(tmp_path)],
                    "entrypoint": ["run"],
                    "cmd": ["it"],
                    "workdir": "/work",
                    "env": {"N": 1},
                    "user": 7,
                },
                {"match": "team/app", "host": True},
            ],
        },
        host_path="/host",
    )
    team = table.find("team/app:1")
    assert (team.entrypoint, team.cmd, team.workdir, team.user) == (("run",), ("it",), "/work", 7)
    assert (team.env["PATH"], team.env["N"]) == (f"{tmp_path}:/host", "1")
    torch = table.find("pytorch/pytorch:2")
    assert torch.env["PATH"] == f"{tmp_path}/venv/bin:/host"
    assert (torch.env["VIRTUAL_ENV"], torch.env["A"]) == (f"{tmp_path}/venv", "1")
    assert table.find("busybox").env["PATH"] == "/host"
    with pytest.raises(NotReady):
        table.find("busybox:bad")
    with pytest.raises(NotReady):
        table.find("rayproject/ray:2")


def test_an_environment_that_is_gone_is_said_to_be(tmp_path: Path) -> None:
    table = ImageTable([Rule("a", "venv", (str(tmp_path / "no"),))])
    with pytest.raises(NotReady, match=r"does not exist: .*/no") as refusal:
        table.find("a")
    assert refusal.value.reason == "ErrImagePull"


def test_an_image_has_the_same_id_every_time() -> None:
    table = ImageTable()
    first, again, other = (table.find(each).id for each in ("alpine:1", "alpine:1", "ubuntu"))
    assert first == again != other
    assert first.startswith("sha256:")
    assert len(first) == 71


def test_ray_without_ray_is_marked() -> None:
    assert ImageTable().find("rayproject/ray:2.9").lacks_ray
    assert not ImageTable(environments={"ray": Rule("*")}).find("rayproject/ray:2.9").lacks_ray
    assert not ImageTable().find("alpine").lacks_ray


def test_programs_of_an_image_are_replaced_by_ours() -> None:
    image = ImageTable().find("registry.k8s.io/e2e-test-images/agnhost:2.47")
    replaced = image.replace_program(("/agnhost", "netexec"))
    assert replaced[-2].endswith("agnhost.py")
    assert replaced[-1] == "netexec"
    assert image.replace_program(("sh", "-c", "x")) == ("sh", "-c", "x")
    pause = ImageTable().find("registry.k8s.io/pause:3.9")
    assert pause.replace_program(pause.entrypoint)[-1] == "pause"


BAD_RULES = {
    "no match": ({"images": [{"host": True}]}, 'images[0] needs a "match"'),
    "two kinds": (
        {"images": [{"match": "a", "venv": "x", "root": "y"}]},
        "images[0] names both venv and root",
    ),
    "a wrong field": (
        {"images": [{"match": "a", "vnev": "x"}]},
        'images[0] has the unknown field "vnev"',
    ),
    "a wrong pattern": ({"images": [{"match": "regex:("}]}, "is no regular expression"),
    "a wrong default": ({"default": "pull"}, 'must be "host" or "reject", not "pull"'),
}


@pytest.mark.parametrize(("settings", "words"), BAD_RULES.values(), ids=BAD_RULES.keys())
def test_a_table_with_mistakes_is_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        ImageTable.load(settings)
    assert words in str(refusal.value)
