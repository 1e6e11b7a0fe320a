"""The cells of built-in kinds; columns that depend on nothing but a path are not repeated here."""

from pathlib import Path
from typing import Any

import pytest

from fleetqueue.api import kubernetes
from fleetqueue.apiserver.printing import tables
from fleetqueue.base import documents
from support.rows import NOW, cells

ROWS = documents.load((Path(__file__).parent / "cells.yaml").read_text())
DEFAULT = {"LimitRange", "Role", "ClusterRole", "CSIStorageCapacity", "CustomResourceDefinition"}


@pytest.mark.parametrize("row", ROWS, ids=[row["kind"] for row in ROWS])
def test_a_row_shows(row: dict[str, Any]) -> None:
    shown = cells(row["group"], row["kind"], row["object"])
    assert {name: shown[name] for name in row["shows"]} == row["shows"]


def test_every_kind_that_can_be_listed_has_its_table() -> None:
    without = {
        resource.kind
        for group in kubernetes.resources()
        for version in group.versions
        for resource in version.resources
        if "list" in resource.verbs and (group.name, resource.kind) not in tables.layouts()
    }
    assert without == DEFAULT


def test_an_empty_object_can_be_printed() -> None:
    for group, kind in tables.layouts():
        assert cells(group, kind, {})


def test_an_address_has_a_cell_that_no_column_announces() -> None:
    layout = tables.layouts()["networking.k8s.io", "IPAddress"]
    assert len(layout.cells({"metadata": {"name": "10.0.0.1"}}, NOW)) == len(layout.columns) + 1
