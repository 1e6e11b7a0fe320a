"""The birth of one process: everything that happens between fork and exec, and what went wrong."""

import contextlib
import errno
import fcntl
import os
import resource
import signal
import stat
import termios

from fleetqueue.runtime.shepherd import cgroups, kernel, view
from fleetqueue.runtime.shepherd.fields import Fields, made

MARKER = "FLEETQUEUE_CONTAINER_ID"
"""The variable by which a process is known to belong to a container, whoever its parent is."""
_CANNOT_START = 128
_FIRST_TO_END = 500
_CANNOT_EXECUTE = 255


class Birth(Fields):
    """What the new process has to do to itself."""

    argv: list[str]
    env: dict[str, str]
    cwd: str
    standard: tuple[int, int, int]
    """Its standard input, output and error output."""
    stage: str = ""
    """The empty directory where its view is built; "" when it keeps the host's."""
    binds: list[view.Bind] = made(default_factory=list)
    hostname: str = ""
    joins: int | None = None
    """The process whose view it shares."""
    cgroup: str = ""
    open_files: int | None = None
    processors: tuple[int, ...] = ()
    """Those it may run on; () for all."""
    user: int | None = None
    group: int | None = None
    tty: bool = False


class CannotBeBorn(Exception):
    """Why a process could not be started, in runc's words."""


def spawn(birth: Birth) -> tuple[int, int]:
    """The pid, and a pipe that says what went wrong; it is empty at its end when nothing did."""
    parent = os.getpid()
    reads, writes = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writes)
        os.set_blocking(reads, False)
        return pid, reads
    try:
        _become(birth, parent)
    except BaseException as problem:
        os.write(writes, _words(problem).encode("utf-8", "surrogateescape")[:4000])
    finally:
        os._exit(_CANNOT_START)


def _become(birth: Birth, parent: int) -> None:
    os.setsid()
    if birth.cgroup:
        cgroups.enter(birth.cgroup)
    if birth.joins is not None:
        view.join(birth.joins)
    elif birth.stage:
        view.enter(birth.binds, birth.hostname, birth.stage)
    _take_streams(birth)
    _reset(birth)
    _limit(birth)
    _enter_directory(birth.cwd)
    _change_user(birth)
    # After the change of user, which would undo it.
    kernel.die_with_parent(signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(_CANNOT_START)
    program = find_program(birth.argv[0], birth.env.get("PATH", ""))
    try:
        os.execve(program, birth.argv, birth.env)
    except OSError as problem:
        # By now a container counts as started: its log says why it ended.
        os.write(2, f"exec {program}: {os.strerror(problem.errno or 0).lower()}\n".encode())
        os._exit(_CANNOT_EXECUTE)


def find_program(name: str, path: str) -> str:
    """Where a program lies; raises CannotBeBorn with the words of Go's LookPath."""
    if "/" in name:
        _check_program(name, name)
        return name
    for directory in path.split(":"):
        there = os.path.join(directory or ".", name)
        with contextlib.suppress(CannotBeBorn):
            _check_program(name, there)
            return there
    raise CannotBeBorn(f'exec: "{name}": executable file not found in $PATH')


def _check_program(name: str, path: str) -> None:
    try:
        mode = os.stat(path).st_mode
    except OSError as problem:
        text = os.strerror(problem.errno or 0).lower()
        raise CannotBeBorn(f'exec: "{name}": stat {path}: {text}') from None
    if stat.S_ISDIR(mode):
        raise CannotBeBorn(f'exec: "{name}": is a directory')
    if not os.access(path, os.X_OK) or not mode & 0o111:
        raise CannotBeBorn(f'exec: "{name}": permission denied')


def _take_streams(birth: Birth) -> None:
    for number, descriptor in enumerate(birth.standard):
        os.dup2(descriptor, number)
    if birth.tty:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _reset(birth: Birth) -> None:
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.umask(0o022)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = hard if birth.open_files is None else birth.open_files
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


def _limit(birth: Birth) -> None:
    if birth.processors:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, birth.processors)
    # Where the machine itself runs out of memory, this ends before anything else of the user's.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(str(_FIRST_TO_END))


def _enter_directory(path: str) -> None:
    try:
        os.makedirs(path, exist_ok=True)
        os.chdir(path)
    except OSError as problem:
        text = os.strerror(problem.errno or 0).lower()
        raise CannotBeBorn(f'chdir to cwd ("{path}") set in config.json failed: {text}') from None


def _change_user(birth: Birth) -> None:
    if os.geteuid() != 0 or (birth.user is None and birth.group is None):
        return
    if birth.group is not None:
        os.setgroups([birth.group])
        os.setgid(birth.group)
    if birth.user is not None:
        os.setuid(birth.user)


def _words(problem: BaseException) -> str:
    if isinstance(problem, OSError):
        text = os.strerror(problem.errno or errno.EIO).lower()
        return f"{problem.filename or 'start'}: {text}"
    return str(problem) or type(problem).__name__
