"""`fleetqueue crds`."""

import pytest
from click.testing import CliRunner

from fleetqueue.base import documents
from fleetqueue.cli.commands.crds import crds
from fleetqueue.errors import UsageError


def test_it_prints_the_kinds_of_a_group_as_a_stream() -> None:
    result = CliRunner().invoke(crds, ["--group", "cluster.kubernetes-fleet.io"])
    assert result.exit_code == 0
    found = [document["metadata"]["name"] for document in documents.load_all(result.output)]
    assert found == [
        "internalmemberclusters.cluster.kubernetes-fleet.io",
        "memberclusters.cluster.kubernetes-fleet.io",
    ]
    assert "&id" not in result.output


def test_an_unknown_group_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r'no kind belongs .*"x"; known: .*kueue.x-k8s.io'):
        CliRunner().invoke(crds, ["--group", "x"], catch_exceptions=False)
