"""Silent clients take all slots before the login, and a person still gets in: under each launcher as packaging/ has
it. `sh tests/bench/run.sh --only door` measures how many get in and how fast."""

import subprocess
import sys

import pytest

import bench_suite  # noqa: F401 (finds the package)
from bench import door, siege
from daemon import run
from guest import Guest
from namespace import find
from openssh import OpenSSH
from test_services import PROGRAMS, Service, namespace  # noqa: F401 (a fixture)

# Without an eviction a slot is free again when a silent client's two minutes are over.
LOGIN_SECONDS = 15
LOGINS = 3
# As siege.py takes them. More than any launcher lets in.
ATTACKS = {"ten": {"silent": 200, "sources": 10}, "many": {"silent": 200, "sources": 64},
           "most": {"silent": 250, "sources": 250}}


def thorough(value):
    """For a parameter whose neighbour shows most of it: see conftest.py."""
    return pytest.param(value, marks=pytest.mark.thorough)


class Besieged:
    """Runs siege.py in the network that `inside` enters."""

    def __init__(self, inside, port=22, **how):
        words = [f"--{name}={value}" for name, value in how.items()]
        self.proc = subprocess.Popen(
            [*inside, sys.executable, siege.__file__, "127.0.0.1", str(port), *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        assert self.proc.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_):
        self.proc.communicate()  # its input ends


def route(inside):
    for words in door.NETWORKS:
        done = run([*inside, "ip", *words])
        assert done.returncode == 0, done.stderr


def log_in(ssh, **how):
    """All of them get in, one after the other."""
    for number in range(LOGINS):
        try:
            done = ssh("echo", "in", timeout=LOGIN_SECONDS, **how)
        except subprocess.TimeoutExpired:
            pytest.fail(f"login {number + 1} gets no slot")
        assert done.stdout == "in\n", (number + 1, done.stderr)


@pytest.fixture
def service(request, namespace, closing):  # noqa: F811 (the fixture)
    if not find(PROGRAMS[request.param]):
        pytest.skip(f"{PROGRAMS[request.param]} is not installed")
    route(namespace.inside)
    assert namespace("mount", "-t", "tmpfs", "-o", "mode=755", "none", "/run").returncode == 0
    made = Service(namespace, request.param)
    return closing(made, made.end)


@pytest.mark.root
@pytest.mark.sandbox
@pytest.mark.parametrize("service", ["daemontools", "listen", thorough("runit"), "xinetd", thorough("inetd")], indirect=True)
def test_launchers(service):
    """Ten silent addresses have all slots, and then 64 sources."""
    namespace = service.namespace  # noqa: F811
    ssh = namespace.ssh("10.200.0.1")
    ssh.works()
    for attack in ("ten", "many"):
        with Besieged(namespace.inside, **ATTACKS[attack]):
            log_in(ssh)


def test_ordinary_user(site, serve):
    """An ordinary user's server has its table in XDG_RUNTIME_DIR. All clients come from one source, the loopback; the
    launcher lets in more than the table has slots, and fewer than there are clients."""
    folder = site.folder("runtime", 0o700, site.user) if site.root else site.folder("runtime", 0o700)
    server = serve(mode="user", env={"XDG_RUNTIME_DIR": folder}, most=200)
    server.expected_status.update(range(-64, 256))  # whatever those end with that have to go
    ssh = OpenSSH(site, server.port)
    ssh.works()
    with Besieged([], port=server.port, silent=256, sources=10, prefix="127.7"):
        log_in(ssh, options=["BindAddress=127.8.0.1"])


# ---- systemd ----------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def guest(site):
    made = Guest(site)
    try:
        route(made.inside)
        made.types(f"mkdir -p -m 700 .ssh\necho '{site.identity_line}' >.ssh/authorized_keys")
        made.types("systemctl start wrensshd.socket")
        yield made
    finally:
        made.close()


class FromOutside(OpenSSH):
    """The stock client of this machine in the guest's network."""

    def __init__(self, site, inside):
        super().__init__(site, 22, user="root")
        self.inside = inside

    def command(self, *remote, options=(), flags=()):
        own = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"]
        return [*self.inside, *super().command(*remote, options=[*options, *own], flags=["-b", "10.200.0.1", *flags])]


@pytest.mark.root
@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("attack", [thorough("ten"), thorough("many"), "most"])
def test_systemd(site, guest, attack):
    """The shipped socket with the template, under a real systemd."""
    network = [*guest.inside[:3], "--net"]
    ssh = FromOutside(site, network)
    ssh.works()
    with Besieged(network, **ATTACKS[attack]):
        log_in(ssh)
    assert guest("systemctl", "is-active", "wrensshd.socket").stdout == "active\n"
