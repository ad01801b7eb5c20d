"""Fixtures: what a test asks for by name. The work behind them is in helpers/."""

import contextlib
import itertools
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "helpers"))

import proc  # noqa: E402
from daemon import Line, Log, Server, daemon_environment, kill  # noqa: E402
from listener import Listener  # noqa: E402
from openssh import OpenSSH  # noqa: E402
from sftp_wire import Sftp, SftpChannel, server_program  # noqa: E402
from site_setup import PROJECT, Site, run_or_fail  # noqa: E402
from transfer import Far  # noqa: E402
from wire_session import Client  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "root: needs root (another user's login, /proc of other users)")
    config.addinivalue_line("markers", "sandbox: needs the real sandbox; sanitizer builds and emulated ones have none")
    config.addinivalue_line("markers", "slow: waits for seconds, or repeats what one build shows for all")
    config.addinivalue_line("markers", "thorough: one of several ways to the same; on each change one is enough")
    # Ignored under nohup, and in a background job of sh. What the tests start would inherit that; with a handler, it
    # starts with the default action.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def pytest_addoption(parser):
    parser.addoption("--part", metavar="N/M", help="run every M-th case only, from the N-th on")


def pytest_collection_modifyitems(config, items):
    part = config.getoption("--part")
    if part:
        number, parts = map(int, part.split("/"))
        items[:] = items[number - 1::parts]
    for item in items:
        if item.get_closest_marker("root") and os.getuid() != 0:
            item.add_marker(pytest.mark.skip(reason="needs root"))
        if item.get_closest_marker("sandbox") and os.environ.get("WREN_NO_SANDBOX"):
            item.add_marker(pytest.mark.skip(reason="this build runs without the sandbox"))


def pytest_make_parametrize_id(val):
    """Long or odd values would make unreadable names."""
    if isinstance(val, bytes):
        val = val.decode("latin-1")
    return re.sub(r"[^\w@./=-]+", "_", val)[:40] if isinstance(val, str) else None


def pytest_terminal_summary(terminalreporter):
    """Each case's result, for tests/counts.py."""
    path = os.environ.get("WREN_CASES")
    if not path:
        return
    results = {}
    for result in ("skipped", "passed", "failed", "error"):  # the later one counts
        for report in terminalreporter.stats.get(result, []):
            name = os.path.basename(report.nodeid.partition("::")[0]) + "::" + report.nodeid.partition("::")[2]
            reason = ": " + report.longrepr[2].removeprefix("Skipped: ") if result == "skipped" else ""
            results[name] = "failed" if result == "error" else result + reason
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=0)


@pytest.fixture(scope="session")
def site():
    made = Site()
    yield made
    left = made.daemons_left()
    made.remove()
    assert not left, f"daemons outlived their tests: {left}"


_numbers = itertools.count()

# How shells end differs: bash and ash run a command's last program in their own process, and with it close the terminal.
SHELLS = ["dash", *(pytest.param(name, marks=pytest.mark.slow) for name in ("bash", "busybox"))]
OWN_SHELL = os.path.basename(pwd.getpwuid(os.getuid()).pw_shell)


@pytest.fixture(scope="module", params=SHELLS if os.getuid() == 0 else [OWN_SHELL])
def person(site, request):
    """A user for each shell. An ordinary user has only one."""
    if not site.root:
        return site.user
    program = shutil.which(request.param)
    if program is None:
        pytest.skip(f"{request.param} is missing")
    if request.param == "busybox":
        program = os.path.join(site.bin, "ash")
        if not os.path.lexists(program):
            os.symlink(shutil.which("busybox"), program)
    user = site.add_user(suffix=f"x{next(_numbers)}", shell=program)
    site.authorize(user=user)
    return user


@pytest.fixture(scope="session", autouse=True)
def nothing_left_in_the_tree():
    """A test that writes into its working directory would have its files committed, secret keys among them. Under Meson,
    files of tests run side by side: there tests/run.sh looks once, at the end."""
    if os.environ.get("WREN_CASES"):
        yield
        return
    before = files_of_the_tree()
    yield
    left = files_of_the_tree() - before
    assert not left, f"the tests left files in the source tree: {sorted(left)}"


def files_of_the_tree():
    command = ["sh", os.path.join(PROJECT, "tests", "list_tree.sh")]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())


@pytest.fixture(autouse=True)
def nothing_left(site):
    """Each test ends with no process of the daemon, and without the users that it made. Set up first, so done last: a
    daemon whose session is killed before it has ended by itself fails."""
    users = list(site.users)
    yield
    proc.wait_until(lambda: not site.daemons_left(), 3 * proc.SLOWNESS)
    found = [(pid, proc.command_line(pid)) for pid in site.daemons_left()]
    for pid, _ in found:
        kill(pid)
    site.sweep()
    site.remove_users([name for name in site.users if name not in users])
    assert not found, f"daemons stay after the test: {found}"


@pytest.fixture
def closing():
    """closing(made): the same. Its close(), or what else is named, is called at the test's end, the last one's first."""
    with contextlib.ExitStack() as stack:
        def add(made, close=None):
            stack.callback(close or made.close)
            return made
        yield add


@pytest.fixture
def new_log(site, request, closing):
    """new_log(): a file of its own for what one daemon, or one launcher's daemons, have to say."""
    def make():
        name = re.sub(r"[^\w-]+", "-", request.node.name)[:60]
        log = Log(os.path.join(site.folder("log"), f"{name}-{next(_numbers)}"))
        return closing(log, log.file.close)
    return make


@pytest.fixture
def seed(site):
    """The secret of the host key."""
    with open(os.path.join(site.keydir(site.mode), ".ed25519.sk"), "rb") as file:
        return file.read(32)


@pytest.fixture
def serve(site, new_log, closing):
    """serve(*flags): a tcpserver with the daemon behind it."""
    return lambda *args, **how: closing(Server(site, new_log(), args, **how))


@pytest.fixture
def server(serve):
    return serve()


@pytest.fixture
def ssh(site, server):
    """The stock client, pointed at `server`."""
    return OpenSSH(site, server.port)


@pytest.fixture
def dial(site, new_log, closing):
    """dial(*flags): one daemon on one TCP connection, started by the test itself."""
    return lambda *args, mode=None, **how: closing(Line(site, new_log(), args, mode or site.mode, **how))


@pytest.fixture
def client(site, dial):
    """client(*flags, …): a raw client on a connection of its own; client.line is the daemon's side, `started` says
    how that one is started."""
    def start(*args, user=None, key=None, started=None, **options):
        line = dial(*args, **(started or {}))
        made = Client(line.sock, user or site.user.pw_name, key or site.key, **options)
        made.line = line
        assert line.network
        return made
    return start


@pytest.fixture
def refused():
    """refused(client, codes): the client gets DISCONNECT with one of the codes, and all processes end in time."""
    def check(client, *codes, word=None):
        code = client.expect_end()
        assert code in codes, f"DISCONNECT {code}; the log:\n{client.line.log.text()}"
        end = client.line.assert_over()
        assert word is None or word in end["reason"].lower(), end
        return end
    return check


@pytest.fixture
def sftp_folder(site):
    """A folder of the ordinary user's, where SFTP servers start."""
    path = os.path.join(site.base, f"sftp-{next(_numbers)}")
    os.mkdir(path)
    if site.root:
        os.chown(path, site.user.pw_uid, site.user.pw_gid)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def raw_sftp(sftp_folder, site, new_log, closing):
    """raw_sftp(*flags, …): a raw client of an SFTP server on pipes, started as the ordinary user."""
    def start(*flags, mode="user", launch=(), cwd=sftp_folder, program=None, env=None, **how):
        log = closing(new_log(), lambda: log.assert_healthy())
        command = [*launch, *(program or [server_program(site), "-e"]), *flags]
        made = Sftp(command, stderr=log.file, cwd=cwd, env=daemon_environment(env), **site.become(mode), **how)
        made.log = log
        return closing(made, made.stop)
    return start


@pytest.fixture
def at(sftp_folder):
    """at(name): its path in the folder where the server of raw_sftp starts."""
    return lambda name: os.path.join(sftp_folder, name)


@pytest.fixture
def there(site, closing):
    """A folder on the server for clients that copy files: transfer.Far."""
    return closing(Far(site))


@pytest.fixture
def speaker(client):
    """speaker(*flags, …): SFTP on a connection of its own."""
    return lambda *args, **how: SftpChannel.of(client(*args, **how).login())


@pytest.fixture
def listen(site, new_log, closing):
    """listen(*flags): a wrensshd-listen, with `program` behind it."""
    return lambda *args, **how: closing(Listener(site, new_log(), *args, **how))


@pytest.fixture
def authorize(site):
    """authorize(*lines): other authorized_keys for this test."""
    yield site.authorize
    site.authorize()


@pytest.fixture
def folder(site):
    """A folder for keys, whose mode and owner the checks accept."""
    path = site.folder("own")
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def rekey_daemon(site):
    """A build that starts a key exchange every few packets."""
    if not site.rekey_daemon:
        pytest.skip("there is no build that rekeys early (WRENSSHD_REKEY, or wrensshd-rekey-test beside the daemon)")
    return site.rekey_daemon


@pytest.fixture(scope="session")
def without(site):
    """without(names): what to put before a command so that it lacks these calls."""
    program = os.path.join(site.folder("old"), "old_kernel")
    source = os.path.join(PROJECT, "tests/system/helpers/old_kernel.c")
    run_or_fail(["cc", "-O", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-o", program, source])
    return lambda names: [program, names]


@pytest.fixture
def library(site):
    """library(text): a library to preload, made of this C source."""
    def make(text):
        path = os.path.join(site.folder("preloaded"), "preloaded.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", path, "-"], input=text.encode(), check=True)
        if b"getgrouplist" not in subprocess.run(["nm", "-D", site.daemon], stdout=subprocess.PIPE, check=True).stdout:
            pytest.skip("this program has no name services")
        return path
    return make


@pytest.fixture(params=["root", "user"])
def mode(request, site):
    """Both ways to be started: as root, and as the ordinary user that is served."""
    if request.param not in site.modes:
        pytest.skip("needs root")
    return request.param
