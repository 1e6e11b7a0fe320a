"""What a new fleet finds in place."""

from pathlib import Path

import pytest

from fleetqueue.local_fleet.furnishing import external_kinds

CONFIG = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
multiKueue:
  externalFrameworks:
  - name: Foo.v1.example.com
"""


@pytest.mark.rule("RBAC-1")
def test_workers_are_to_take_the_kinds_of_the_managers_configuration(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)

    [found] = external_kinds(file)

    assert (found.group, found.plural, found.kind) == ("example.com", "foos", "Foo")
