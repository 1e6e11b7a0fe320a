"""What a fleet is asked to be is looked at before anything starts."""

from pathlib import Path

import pytest

from fleetqueue.errors import UserError
from fleetqueue.local_fleet.directory import Directory, Member, Record
from fleetqueue.local_fleet.starting import capacity_of, check, options_of

CONFIG = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
multiKueue: {workerLostTimeout: 3s}
integrations: {frameworks: [batch/job]}
"""


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        (Record(cpu="lots"), '"lots" is no amount for --cpu: write one such as 8 or 500m'),
        (Record(cpu="-2"), '"-2" is no amount for --cpu'),
        (Record(memory="0"), '"0" is no amount for --memory: write one such as 16Gi'),
        (Record(config="/no/such"), r"/no/such cannot be read .*name another with --config"),
        (Record(images="/no/such"), r"/no/such cannot be read .*name another with --images"),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(record: Record, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        check(record)


@pytest.mark.parametrize(
    ("field", "text"), [("config", "kind: ["), ("config", "kind: Pod"), ("images", "images: 3")]
)
def test_a_file_that_is_wrong_is_told_with_its_place(tmp_path: Path, field: str, text: str) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(text)
    with pytest.raises(UserError, match=f"--{field} {file}: "):
        check(Record(**{field: str(file)}))


def test_the_configuration_is_the_managers_and_the_amounts_are_the_workers(tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(CONFIG)
    record = Record([Member("manager", 1), Member("worker-1", 2)], gpus=2, config=str(file))
    check(record)
    manager, worker = (options_of(Directory(tmp_path), record, each) for each in record.members)
    assert manager.live is not None
    assert worker.live is not None
    assert manager.live.kueue is not None
    assert worker.live.kueue is not None
    assert manager.live.kueue.config.integrations.frameworks == ["batch/job"]
    assert len(worker.live.kueue.config.integrations.frameworks) > 10
    amounts = {"cpu": "9", "memory": "36Gi", "nvidia.com/gpu": "2"}
    assert worker.live.nodes[0].capacity == capacity_of(record) == amounts
    assert manager.live.nodes[0].capacity == {}


@pytest.mark.rule("kueue 11.5")
def test_a_dashboard_is_the_managers(tmp_path: Path) -> None:
    record = Record([Member("manager", 1), Member("worker-1", 2)], dashboard_port=8090)
    ports = [
        options_of(Directory(tmp_path), record, each).dashboard_port for each in record.members
    ]
    assert ports == [8090, 0]
