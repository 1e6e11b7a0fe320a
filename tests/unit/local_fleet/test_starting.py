"""What a fleet is asked to be is looked at before anything starts."""

import socket
from pathlib import Path

import pytest

from fleetqueue.errors import UserError
from fleetqueue.local_fleet.directory import Directory, Member, Record
from fleetqueue.local_fleet.starting import capacity_of, check, options_of

HEADER = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
CONFIG = f"""{HEADER}
multiKueue: {{workerLostTimeout: 3s}}
integrations: {{frameworks: [batch/job]}}
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


def configured(tmp_path: Path, dispatcher: str) -> Record:
    file = tmp_path / "file.yaml"
    file.write_text(f"{HEADER}multiKueue: {{dispatcherName: {dispatcher}}}\n")
    return Record(config=str(file))


def test_a_dispatcher_that_nobody_has_is_refused(tmp_path: Path) -> None:
    sentence = 'file.yaml: multiKueue.dispatcherName is "nope".* no dispatcher has that name'
    with pytest.raises(UserError, match=sentence):
        check(configured(tmp_path, "nope"))


@pytest.mark.parametrize(
    "name", ["kueue.x-k8s.io/multikueue-dispatcher-incremental", "example.com/of-somebody"]
)
def test_a_dispatcher_of_ours_or_of_somebody_else_is_not(tmp_path: Path, name: str) -> None:
    check(configured(tmp_path, name))


def test_a_port_that_is_taken_is_told_with_its_option() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        sentence = f"cannot listen on port {port} .* choose another with --dashboard-port"
        with pytest.raises(UserError, match=sentence):
            check(Record(dashboard_port=port))
    check(Record(dashboard_port=port))


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


@pytest.mark.parametrize("option", ["config", "images"])
def test_a_file_that_is_no_text_is_told_as_such(tmp_path: Path, option: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"\xff\x00")
    with pytest.raises(UserError, match=f"--{option} {file}: this is not a text file"):
        check(Record(config=str(file)) if option == "config" else Record(images=str(file)))
