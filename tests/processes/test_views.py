"""What a container sees of the machine: its volumes, its host name and its peers."""

import os
import socket
from pathlib import Path

import pytest

from fleetqueue.runtime.processes import CannotStart, Limits, Mount
from processes.conftest import Open, Shell, exists


@pytest.fixture
async def isolated(shell: Shell) -> Shell:
    """Where a machine has no namespaces it must say why, and only that is shown."""
    assert shell.processes.has_namespaces or shell.processes.isolation.why_not
    return shell


def volume(shell: Shell, name: str, **files: str) -> Path:
    path = shell.directory / "volumes" / name
    path.mkdir(parents=True)
    for file, text in files.items():
        (path / file).write_text(text)
    return path


@pytest.mark.rule("jobs C.4")
@pytest.mark.parametrize(
    "target",
    [
        "/data",
        "/data/deep/down",
        "/etc/mpi",
        "/mnt",
        "/var/run/secrets/kubernetes.io/serviceaccount",
        "/root/.ssh",
        "/dev/shm",
    ],
)
async def test_a_volume_is_where_it_was_asked_for(isolated: Shell, target: str) -> None:
    if not isolated.processes.has_namespaces:
        return
    there = exists(target)
    source = volume(isolated, "v", file="text\n")
    await isolated.run(
        f"cat {target}/file; echo new > {target}/made; cat /etc/passwd > /dev/null && echo host",
        mounts=(Mount(source, target),),
    )
    assert isolated.text() == ["text", "host"]
    assert (source / "made").read_text() == "new\n"
    assert exists(target) == there, "the host is as it was"


@pytest.mark.rule("jobs C.4")
async def test_read_only_mounts_cannot_be_written(isolated: Shell) -> None:
    if not isolated.processes.has_namespaces:
        return
    mounts = (Mount(volume(isolated, "v", file="text\n"), "/data", True),)
    end = await isolated.run(
        "cat /data/file; echo x > /data/file; echo y > /data/new", mounts=mounts
    )
    assert end.code != 0
    assert isolated.text()[0] == "text"
    assert sum("Read-only file system" in line for line in isolated.text()) == 2


async def test_mounts_may_lie_in_each_other(isolated: Shell) -> None:
    if not isolated.processes.has_namespaces:
        return
    outer = volume(isolated, "outer", file="outer\n")
    inner, single = volume(isolated, "inner", file="inner\n"), isolated.directory / "single"
    single.write_text("single\n")
    mounts = (
        Mount(single, "/data/in/one"),
        Mount(inner, "/data/in"),
        Mount(outer, "/data"),
    )
    await isolated.run("cat /data/file /data/in/file /data/in/one", mounts=mounts)
    assert isolated.text() == ["outer", "inner", "single"]


async def test_tmp_can_be_a_containers_own(isolated: Shell) -> None:
    if not isolated.processes.has_namespaces:
        return
    await isolated.run(
        "echo mine > /tmp/file-of-mine; ls /tmp",
        cwd=Path("/work-of-mine"),
        mounts=(Mount(volume(isolated, "tmp"), "/tmp"),),
    )
    assert isolated.text() == ["file-of-mine"]
    assert not exists("/tmp/file-of-mine")
    assert not exists("/work-of-mine")


async def test_a_mount_without_a_source_is_refused(isolated: Shell) -> None:
    if not isolated.processes.has_namespaces:
        return
    with pytest.raises(CannotStart, match="no such file or directory"):
        await isolated.run("true", mounts=(Mount(isolated.directory / "nope", "/data"),))


@pytest.mark.rule("jobs C.6")
async def test_peers_are_found_by_name(isolated: Shell) -> None:
    if not isolated.processes.has_namespaces:
        return
    hosts = isolated.directory / "hosts"
    hosts.write_text("127.0.0.1 localhost\n127.3.0.7 job-0.job job-0.job.ns.svc.cluster.local\n")
    again = isolated.pipe("again")
    process = await isolated.start(
        f"hostname; getent hosts job-0.job; read x < {again}; getent hosts job-1.job",
        hostname="job-1",
        mounts=(Mount(hosts, "/etc/hosts"),),
    )
    with hosts.open("a") as file:
        file.write("127.3.0.8 job-1.job\n")
    again.write_text("on\n")
    assert (await process.wait()).code == 0
    assert isolated.text()[0] == "job-1"
    assert [line.split()[0] for line in isolated.text()[1:]] == ["127.3.0.7", "127.3.0.8"]
    assert socket.gethostname() != "job-1"


async def test_a_root_of_its_own_replaces_the_hosts(isolated: Shell) -> None:
    if not isolated.processes.has_namespaces:
        return
    root = isolated.directory / "rootfs"
    for name in ("bin", "lib", "lib64", "usr"):
        place = Path("/") / name
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if place.is_symlink():
            (root / name).symlink_to(os.readlink(place))
        elif place.is_dir():
            (root / name).mkdir()
    mounts = (Mount(root, "/"), Mount(Path("/usr"), "/usr"), Mount(volume(isolated, "v"), "/data"))
    await isolated.run("ls /; test -e /dev/null && echo device", cwd=Path("/"), mounts=mounts)
    seen = isolated.text()
    assert "data" in seen
    assert "etc" not in seen
    assert seen[-1] == "device"


async def test_without_namespaces_the_view_is_the_hosts(opened: Open) -> None:
    shell = await opened(namespaces=False)
    assert not shell.processes.has_namespaces
    assert shell.processes.isolation.why_not == "turned off"
    mounts = (Mount(shell.directory, "/data-nowhere"),)
    await shell.run("hostname; ls -d /data-nowhere", hostname="pod", mounts=mounts)
    assert shell.text()[0] == socket.gethostname()


@pytest.mark.rule("jobs C.3")
async def test_limits_are_kept_where_groups_can_keep_them(shell: Shell) -> None:
    limits = Limits(memory_bytes=64 * 1024 * 1024, cpu_millis=500)
    process = await shell.start("sleep 1000", limits=limits)
    isolation = shell.processes.isolation
    group = Path(isolation.cgroup) / "c"
    if isolation.cgroup:
        assert str(process.pid) in (group / "cgroup.procs").read_text().split()
    if "memory" in isolation.controllers:
        assert (group / "memory.max").read_text().strip() == str(64 * 1024 * 1024)
    if "cpu" in isolation.controllers:
        assert (group / "cpu.max").read_text().strip() == "50000 100000"


async def test_another_user_is_taken_where_the_server_may(shell: Shell) -> None:
    await shell.run("id -u; id -g", user=65534, group=65533, cwd=Path("/"))
    is_root = os.geteuid() == 0
    assert shell.text() == (["65534", "65533"] if is_root else [str(os.getuid()), str(os.getgid())])
