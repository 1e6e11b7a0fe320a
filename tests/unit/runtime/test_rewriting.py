"""What stands in for namespaces: paths and names replaced where they are told."""

import socket
from pathlib import Path
from typing import Any

import pytest

from fleetqueue.runtime import preload, rewriting
from fleetqueue.runtime.processes import Mount

PLACES = {"/data": "/host/v1", "/data/in": "/host/v2", "/etc/mpi": "/host/v3"}
# fmt: off
PATHS = {
    "the path itself":            ("/data",              "/host/v1"),
    "a file below":               ("/data/x.txt",        "/host/v1/x.txt"),
    "the longest wins":           ("/data/in/x",         "/host/v2/x"),
    "a longer name":              ("/database",          "/database"),
    "in the middle of a path":    ("/my/data",           "/my/data"),
    "in a flag":                  ("--file=/etc/mpi/h",  "--file=/host/v3/h"),
    "in a list":                  ("/data:/data/in:/x",  "/host/v1:/host/v2:/x"),
    "in a command":               ("cat '/data/a' /data", "cat '/host/v1/a' /host/v1"),
    "after a bracket":            ("(/data)",            "(/data)"),
    "in a script":                ("cd /data\n/data/x >/data", "cd /host/v1\n/host/v1/x >/host/v1"),
    "in a shell's brackets":      ("$(cat /data/x) (cd /data)", "$(cat /host/v1/x) (cd /host/v1)"),
    "a file that is sent":        ("curl -d @/data/x",   "curl -d @/host/v1/x"),
}
NAMES = {
    "j-0.j": ["127.1.0.1"],
    "j-0.j.ns.svc": ["127.1.0.1"],
    "web": ["127.1.255.1"],
    "m-0": ["127.1.0.2"],
}
TEXTS = {
    "a dotted name":              ("--addr j-0.j",        "--addr 127.1.0.1"),
    "the longest wins":           ("j-0.j.ns.svc:29500",  "127.1.0.1:29500"),
    "a name that goes on":        ("j-0.j.other",         "j-0.j.other"),
    "at the end of a sentence":   ("to j-0.j.",           "to 127.1.0.1."),
    "a bare word":                ("web",                 "web"),
    "a bare word with a port":    ("web:80",              "127.1.255.1:80"),
    "in a URL":                   ("http://web/x",        "http://127.1.255.1/x"),
    "part of another name":       ("my-web:80",           "my-web:80"),
    "a list":                     ("j-0.j:1,web:2",       "127.1.0.1:1,127.1.255.1:2"),
}
VARIABLES = {
    "an address may be bare":     ("MASTER_ADDR",  "m-0",           "127.1.0.2"),
    "so may a list of them":      ("WORKER_ADDRS", "m-0,m-9",       "127.1.0.2,m-9"),
    "others may not":             ("MODE",         "web",           "web"),
    "JSON":                       ("TF_CONFIG",    '{"a":["j-0.j:1"]}', '{"a":["127.1.0.1:1"]}'),
    "the host name stays":        ("HOSTNAME",     "m-0",           "m-0"),
}
# fmt: on


@pytest.mark.rule("jobs C.4")
@pytest.mark.parametrize(("text", "expected"), PATHS.values(), ids=PATHS.keys())
def test_paths(text: str, expected: str) -> None:
    assert rewriting.rewrite_path(text, PLACES) == expected


@pytest.mark.rule("jobs C.6")
@pytest.mark.parametrize(("text", "expected"), TEXTS.values(), ids=TEXTS.keys())
def test_names_in_texts(text: str, expected: str) -> None:
    assert rewriting.substitute_names(text, NAMES) == expected
    assert rewriting.substitute_names(text, {}) == text


@pytest.mark.rule("jobs C.6")
@pytest.mark.parametrize(("name", "value", "expected"), VARIABLES.values(), ids=VARIABLES.keys())
def test_names_in_variables(name: str, value: str, expected: str) -> None:
    assert rewriting.substitute_variables({name: value}, NAMES) == {name: expected}


def test_rewriting_can_be_turned_off() -> None:
    assert rewriting.rewrites_paths({"metadata": {}})
    off = {"metadata": {"annotations": {"fleetqueue.io/rewrite-paths": "false"}}}
    assert not rewriting.rewrites_paths(off)


# fmt: off
ARCHIVES = {
    "packing":         (("tar", "cf", "-", "/data/x"),
                        ("tar", "--transform=flags=rSH;s,^host/v1,data,",
                         "-cf", "-", "/host/v1/x")),
    "with a dash":     (("/bin/tar", "-cf", "-", "/etc/mpi"),
                        ("/bin/tar", "--transform=flags=rSH;s,^host/v3,etc/mpi,",
                         "-cf", "-", "/host/v3")),
    "of other places": (("tar", "cf", "-", "/tmp/x"), ("tar", "-cf", "-", "/tmp/x")),
    "unpacking":       (("tar", "-xmf", "-", "-C", "/data"),
                        ("tar", "-xmf", "-", "-C", "/host/v1")),
    "another program": (("cat", "/data/x"), ("cat", "/host/v1/x")),
}
# fmt: on


@pytest.mark.rule("jobs C.9")
@pytest.mark.parametrize(("argv", "expected"), ARCHIVES.values(), ids=ARCHIVES.keys())
def test_an_archive_keeps_the_names_it_was_asked_for(
    argv: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert rewriting.rewrite_archive(argv, PLACES) == expected


def test_volumes_are_told_in_variables() -> None:
    container = {"volumeMounts": [{"name": "my-data", "mountPath": "/data"}]}
    mounts = (Mount(Path("/host/v1"), "/data/"),)
    found = rewriting.mount_variables(container, mounts)
    assert found == {"FLEETQUEUE_MOUNT_MY_DATA": "/host/v1"}
    assert rewriting.mount_places(mounts) == {"/data": "/host/v1"}


@pytest.mark.rule("jobs C.6")
def test_what_a_process_is_told_besides(tmp_path: Path) -> None:
    given = {"PYTHONPATH": "/mine", "NCCL_SOCKET_IFNAME": "eth0"}
    places = {"/data": "/v1"}
    names = tmp_path / "names"
    told = rewriting.helping_variables(given, tmp_path, names, places)
    assert told.pop("FLEETQUEUE_PLACES") == '{"/data": "/v1"}'
    assert told == {
        "GLOO_SOCKET_IFNAME": "lo",
        "TP_SOCKET_IFNAME": "lo",
        "PYTHONPATH": f"{tmp_path}:/mine",
        "FLEETQUEUE_NAMES": f"{tmp_path}/names",
    }


@pytest.mark.rule("jobs C.6")
def test_python_programs_read_names_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("# made\n127.9.0.1\tj-0.j j-0.j.ns.svc # first\n::1 six\n")
    monkeypatch.setattr(preload, "_NAMES_FILE", str(hosts))
    monkeypatch.setattr(preload, "_HOSTNAME", "j-0.j")
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"):
        monkeypatch.setattr(socket, name, getattr(socket, name))
    for name in ("getfqdn", "gethostname"):
        monkeypatch.setattr(socket, name, getattr(socket, name))
    preload.install()
    module: Any = socket
    assert module.gethostbyname("J-0.J") == "127.9.0.1"
    assert module.gethostbyname_ex("j-0.j")[2] == ["127.9.0.1"]
    assert {each[4] for each in module.getaddrinfo("j-0.j", 80)} == {("127.9.0.1", 80)}
    assert module.gethostbyaddr("127.9.0.1")[0] == "j-0.j"
    assert module.gethostname() == "j-0.j"
    assert module.getfqdn() == "j-0.j"
    assert module.gethostbyname("127.0.0.1") == "127.0.0.1"
