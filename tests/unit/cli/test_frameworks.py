"""Which kinds of jobs `join --framework` means."""

import pytest

from fleetqueue.cli.frameworks import kinds_of
from fleetqueue.errors import UserError
from fleetqueue.jobs import registry

pytestmark = pytest.mark.rule("RBAC-1")
EVERY = {kind.resource.kind for kind in registry.all_kinds()}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], EVERY),
        (["batch/job"], {"Job"}),
        (["batch/job", "kubeflow.org/mpijob"], {"Job", "MPIJob"}),
        (["deployment"], {"Deployment", "Pod"}),
        (["Foo.v1.example.com"], {*EVERY, "Foo"}),
        (["batch/job", "Foo.v1.example.com"], {"Job", "Foo"}),
        (["PyTorchJob.v1.kubeflow.org"], {"PyTorchJob"}),
    ],
)
def test_names_limit_the_kinds_and_foreign_ones_are_added(
    names: list[str], expected: set[str]
) -> None:
    assert {each.kind for each in kinds_of(names)} == expected


@pytest.mark.parametrize("name", ["job", "batch/jobs", "example.com/foo"])
def test_what_is_no_framework_is_told_with_those_that_are(name: str) -> None:
    with pytest.raises(UserError, match=f'"{name}" is no framework: .*batch/job.*Kind.version'):
        kinds_of([name])
