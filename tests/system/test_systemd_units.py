"""The systemd units as they are shipped: systemd's own checks, and the settings that matter. tests/vm boots them."""

import os
import re
import shutil
import subprocess

import pytest

import readme
from site_setup import PROJECT
from whole_files import read_text

UNITS = os.path.join(PROJECT, "packaging/systemd")
INITRD = os.path.join(PROJECT, "packaging/initramfs/systemd")
# All settings that the template may have for a connection: others would reach the users' shells.
ALLOWED = {"Environment", "EnvironmentFile", "ExecStart", "LoadCredential", "StandardInput", "StandardOutput", "StandardError",
           "SyslogFacility", "KillMode", "OOMPolicy"}
# Out of 10, by systemd 252: lower is safer. For the template it says 9 and more, as for each login server.
OTHER_SOCKETS = ["wrensshd-vsock", "wrensshd-unix-local", "wrensshd-unix-export"]
KEYGEN_EXPOSURE = 10  # in tenths


def analyze(*arguments, folder):
    program = shutil.which("systemd-analyze")
    if not program:
        pytest.skip("systemd-analyze is not installed")
    return subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          cwd=folder, env={"PATH": "/usr/sbin:/usr/bin", "SYSTEMD_UNIT_PATH": folder + ":"})


@pytest.fixture
def units(site, tmp_path):
    """The units in a folder, as meson makes them."""
    for name in OTHER_SOCKETS:
        os.symlink("wrensshd@.service", tmp_path / f"{name}@.service")
    for name in os.listdir(UNITS):
        if name != "meson.build":
            text = read_text(os.path.join(UNITS, name))
            (tmp_path / name.removesuffix(".in")).write_text(text.replace("@sbindir@", site.bin))
    return str(tmp_path)


@pytest.fixture
def initrd_units(tmp_path):
    """The units of an initramfs, with the parts that only the image has: a setting, and stubs for their scripts."""
    for name in filter(lambda name: name.startswith("wrensshd-initrd"), os.listdir(INITRD)):
        with open(os.path.join(INITRD, name), encoding="ascii") as file:
            (tmp_path / name).write_text(re.sub(r"/usr/(lib/wrensshd/\w+|sbin/wrensshd)", "/bin/true", file.read()))
    drop_in = tmp_path / "wrensshd-initrd.socket.d"
    drop_in.mkdir()
    (drop_in / "settings.conf").write_text("[Socket]\nListenStream=22\n")
    return str(tmp_path)


def lines_of(folder, name, section):
    part = re.search(rf"^\[{section}\]\n(.*?)(?=^\[|\Z)", read_text(os.path.join(folder, name)), re.M | re.S)
    return [line for line in part[1].splitlines() if line and line[0] != "#"]


def settings(folder, name, section):
    return dict(line.split("=", 1) for line in lines_of(folder, name, section))


def verify(folder, name):
    if "@" in name:
        os.symlink(name.replace("@1", "@"), os.path.join(folder, name))
    if int(re.match(r"systemd (\d+)", analyze("--version", folder=folder).stdout)[1]) < 255:
        # It says that it ignores this setting, as it does at each start.
        with open(os.path.join(folder, name), "r+", encoding="ascii") as file:
            text = file.read().replace("PollLimitIntervalSec=0\n", "")
            file.seek(0)
            file.truncate()
            file.write(text)
    done = analyze("verify", "--man=no", "--recursive-errors=no", os.path.join(folder, name), folder=folder)
    ours = [line for line in done.stdout.splitlines() if "wrensshd" in line]
    assert done.returncode == 0 and not ours, done.stdout


@pytest.mark.parametrize("name", ["wrensshd.socket", "wrensshd@1.service", "wrensshd-keygen.service",
                                  "wrensshd-sessions.service", "wrensshd-listen.socket", "wrensshd-listen.service",
                                  *(name + ".socket" for name in OTHER_SOCKETS), "wrensshd-vsock@1.service"])
def test_verify(units, name):
    """systemd accepts each line of the units."""
    verify(units, name)


def test_rescue_units(units):
    """What the page has for rescue mode makes units that systemd accepts, and connections there wait for nothing. The socket
    has the limits of the usual one, so that a stranger can't use up all connections."""
    commands = readme.blocks("packaging/README.md", "### Rescue and emergency mode")[0]
    stub = f'systemctl() {{ [ "$1" != show ] || echo "{units}/wrensshd@.service"; }}\n'
    done = subprocess.run(["sh", "-euc", stub + commands.replace("/etc/systemd/system", units)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0 and not done.stdout, done.stdout
    assert lines_of(units, "wrensshd-rescue.socket", "Socket") == lines_of(units, "wrensshd.socket", "Socket")
    for name in ("rescue-ssh.target", "wrensshd-rescue.socket"):
        verify(units, name)
    assert settings(units, "wrensshd-rescue.socket", "Unit")["DefaultDependencies"] == "no"
    assert settings(units, "wrensshd-rescue@.service.d/rescue.conf", "Unit")["DefaultDependencies"] == "no"
    wanted = settings(units, "emergency.target.d/ssh.conf", "Unit")["Wants"].split()
    # systemd-networkd waits for udev.
    assert {"wrensshd-rescue.socket", "systemd-udevd.service", "systemd-udev-trigger.service"} <= set(wanted)


@pytest.mark.parametrize("name", ["wrensshd-initrd.socket", "wrensshd-initrd@1.service",
                                  "wrensshd-initrd-network.service", "wrensshd-initrd-hostkey.service"])
def test_verify_initrd(initrd_units, name):
    """systemd accepts each line of the units of an initramfs."""
    verify(initrd_units, name)


def test_opened_host_key_stays(initrd_units):
    """The service that opens the sealed host key has a process: without one systemd 257 removes the key."""
    found = settings(initrd_units, "wrensshd-initrd-hostkey.service", "Service")
    assert (found["Type"], found["ExecStart"]) == ("exec", "sleep infinity") and "RemainAfterExit" not in found


def test_what_makes_the_key_has_few_rights(units):
    """The unit that makes the key runs with few rights."""
    done = analyze("security", "--offline=yes", f"--threshold={KEYGEN_EXPOSURE}",
                   os.path.join(units, "wrensshd-keygen.service"), folder=units)
    if "unrecognized option" in done.stdout:
        pytest.skip("systemd-analyze has no --offline")
    assert done.returncode == 0, done.stdout


def test_a_connection_is_not_restricted(units):
    """The units that connections run in have no restrictions: users' programs would have them, too."""
    assert set(settings(units, "wrensshd@.service", "Service")) <= ALLOWED
    assert set(settings(units, "wrensshd-listen.service", "Service")) <= ALLOWED | {
        "Restart", "RestartSec", "SyslogIdentifier", "LogRateLimitIntervalSec", "Slice", "TasksMax"}
    assert settings(units, "wrensshd-listen.service", "Service")["TasksMax"] == "infinity"


def test_what_a_connection_leaves(units):
    """Background programs survive the connection, and refused connections leave no failed units."""
    for name in ("wrensshd@.service", "wrensshd-listen.service"):
        found = settings(units, name, "Service")
        assert (found["KillMode"], found["OOMPolicy"]) == ("process", "continue")
    assert settings(units, "wrensshd@.service", "Unit")["CollectMode"] == "inactive-or-failed"


def test_shutdown(units):
    """Sessions end at shutdown before the network does, and nothing else ends them all: test_listen_systemd.py does it."""
    for socket, service in (("wrensshd.socket", "wrensshd@.service"), ("wrensshd-listen.socket", "wrensshd-listen.service")):
        assert "wrensshd-sessions.service" in settings(units, socket, "Unit")["Wants"].split()
        assert "network.target" in settings(units, service, "Unit")["After"].split()
    found = settings(units, "wrensshd-sessions.service", "Unit")
    assert {"network.target", "remote-fs.target"} <= set(found["After"].split())
    assert found["RefuseManualStop"] == found["IgnoreOnIsolate"] == "yes"
    # systemd puts instances of the template there by itself.
    assert settings(units, "wrensshd-listen.service", "Service")["Slice"] == "system-wrensshd.slice"


def test_the_log_goes_to_the_journal(units):
    """Standard error goes to the journal and not to the client."""
    assert settings(units, "wrensshd@.service", "Service")["StandardError"] == "journal"
    found = settings(units, "wrensshd-listen.service", "Service")
    assert (found["StandardError"], found["SyslogIdentifier"]) == ("journal", "wrensshd")


def test_the_key_is_made_and_repaired(units):
    """The key is made before the first connection, and repaired after a power cut. wrensshd-makekey alone knows when."""
    for socket, service in (("wrensshd.socket", "wrensshd@.service"), ("wrensshd-listen.socket", "wrensshd-listen.service")):
        assert "wrensshd-keygen.service" in settings(units, socket, "Unit")["Wants"].split()
        assert "wrensshd-keygen.service" in settings(units, service, "Unit")["After"].split()
    assert not [line for line in lines_of(units, "wrensshd-keygen.service", "Unit") if line.startswith("Condition")]


def test_both_families(units):
    """The sockets serve IPv4 and IPv6 whatever net.ipv6.bindv6only says."""
    for name in ("wrensshd.socket", "wrensshd-listen.socket"):
        assert settings(units, name, "Socket")["BindIPv6Only"] == "both"


def test_one_of_two_sockets(units, site):
    """Of the two sockets for one port one is active: starting one stops the other first. The listener takes what it gets."""
    found = settings(units, "wrensshd-listen.socket", "Unit")
    assert found["Conflicts"] == found["After"] == "wrensshd.socket"
    assert settings(units, "wrensshd-listen.socket", "Socket")["Accept"] == "no"
    assert settings(units, "wrensshd-listen.socket", "Socket")["ListenStream"] == \
        settings(units, "wrensshd.socket", "Socket")["ListenStream"]
    found = settings(units, "wrensshd-listen.service", "Service")
    assert found["ExecStart"].startswith(f"{site.bin}/wrensshd-listen systemd {site.bin}/wrensshd -a ")
    assert found["ExecStart"].endswith(" $WRENSSHD_FLAGS /etc/wrensshd")
    assert settings(units, "wrensshd-listen.service", "Unit")["Requires"] == "wrensshd-listen.socket"


@pytest.mark.parametrize("name", ["wrensshd@.service", "wrensshd-listen.service"])
def test_keys_of_the_host(units, name):
    """The credentials that systemd.system-credentials(7) names for SSH are handed on, and read before users' own files."""
    assert {line for line in lines_of(units, name, "Service") if line.startswith("LoadCredential=")} == {
        "LoadCredential=ssh.authorized_keys.root", "LoadCredential=ssh.ephemeral-authorized_keys-all"}
    command = settings(units, name, "Service")["ExecStart"].split()
    assert command[-1] == "/etc/wrensshd"
    assert [command[at + 1] for at, word in enumerate(command) if word == "-a"] == [
        "credential:ssh.authorized_keys.%%u", "credential:ssh.ephemeral-authorized_keys-all"]


def test_the_end_of_an_initramfs(initrd_units):
    """No session and no address survives the initramfs, and a flood leaves a way in."""
    for name in os.listdir(initrd_units):
        if name.endswith((".service", ".socket")):
            found = settings(initrd_units, name, "Unit")
            assert "initrd-switch-root.target" in found["Conflicts"], name
            assert "initrd-switch-root.target" in found["Before"], name
    found = settings(initrd_units, "wrensshd-initrd.socket", "Socket")
    assert int(found["MaxConnectionsPerSource"]) < int(found["MaxConnections"])
    found = settings(initrd_units, "wrensshd-initrd@.service", "Service")
    assert "KillMode" not in found, "not all processes of a session would be killed"


def test_the_socket_withstands_floods(units):
    """A scan does not shut the socket, one address can't take all connections, and newcomers wait in the kernel."""
    found = settings(units, "wrensshd.socket", "Socket")
    assert 1 < int(found["MaxConnectionsPerSource"]) < int(found["MaxConnections"])
    for name in ("wrensshd.socket", "wrensshd-listen.socket"):
        assert settings(units, name, "Socket")["Backlog"] == "1024"


def test_no_socket_is_throttled():
    """All socket units, and those that pages show, have both: the one that shuts a socket, and the one that slows it down."""
    pages = [os.path.join(folder, name) for top in ("packaging", "man", "tests/vm")
             for folder, _, names in os.walk(os.path.join(PROJECT, top)) for name in names] + [PROJECT + "/README.md"]
    found = 0
    for path in pages:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        sockets = len(re.findall(r"(?m)^ *Accept=\w+$|\bAccept = \w+;", text))
        for setting in ("TriggerLimitIntervalSec", "PollLimitIntervalSec"):
            assert len(re.findall(rf"(?m)^ *{setting}=0$|\b{setting} = 0;", text)) == sockets, f"{setting} in {path}"
        found += sockets
    assert found >= 5
