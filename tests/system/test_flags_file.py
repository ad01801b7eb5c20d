"""Flags in /etc/default/wrensshd: the units under systemd, and the scripts that read the same line. A mistake there costs
connections, not the port."""

import os
import re
import shutil
import subprocess
import time

import pytest

import readme
from daemon import PATIENCE_SECONDS, run
from guest import Guest
from recipes import PACKAGING, OpenWrt, words_of
from site_setup import run_or_fail
from whole_files import read_text, write

SOCKETS = {"wrensshd.socket": "systemctl stop wrensshd-listen.socket wrensshd-listen.service",
           "wrensshd-listen.socket": "systemctl stop wrensshd.socket"}
PERSON = """mkdir -m 700 .ssh; ssh-keygen -q -t ed25519 -N '' -f .ssh/id_ed25519; cp .ssh/id_ed25519.pub .ssh/authorized_keys
echo StrictHostKeyChecking accept-new >.ssh/config"""


# ---- under systemd --------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def booted(site):
    made = Guest(site)
    try:
        made.types("useradd -m -s /bin/sh ann")
        made.types(PERSON, user="ann")
        yield made
    finally:
        made.close()


@pytest.fixture(params=SOCKETS)
def guest(booted, request):
    """A machine with one of the two sockets, whose unit its attribute `unit` names."""
    booted.unit = request.param
    booted.types(f"rm -rf /etc/default; mkdir /etc/default; {SOCKETS[booted.unit]}; systemctl start {booted.unit}")
    yield booted
    assert booted("systemctl", "is-active", booted.unit).stdout == "active\n"


def put(guest, text):
    """What an administrator does: an edit, and a restart of the resident process if there is one."""
    write(os.path.join(guest.etc, "default/wrensshd"), text)
    guest.types("systemctl try-restart wrensshd-listen.service")


def ssh(guest, command="true", fails=False):
    return guest.types(f"ssh 127.0.0.1 '{command}'", user="ann", fails=fails)


def journal(guest, *words):
    return guest.journal("-b", *words)


def of_guest(test):
    return pytest.mark.root(pytest.mark.sandbox(pytest.mark.slow(test)))


@of_guest
def test_no_flags(guest):
    """Without the file, and with the packaged one, logins work; nothing of this is in the user's environment or logged."""
    assert "WRENSSHD_FLAGS" not in ssh(guest, "env").stdout
    shutil.copy(os.path.join(PACKAGING, "debian/wrensshd.default"), os.path.join(guest.etc, "default/wrensshd"))
    guest.types("systemctl try-restart wrensshd-listen.service")
    assert "WRENSSHD_FLAGS" not in ssh(guest, "env").stdout
    assert "unset environment variable" not in journal(guest)


@of_guest
@pytest.mark.parametrize("line", [
    b"WRENSSHD_FLAGS=\"-M 600 -x 'say=echo  two  blanks' -e 'echo  forced'\"",
    b"WRENSSHD_FLAGS=-M 600 -x \"say=echo  two  blanks\" -e \"echo  forced\"",
    b"# a comment\nfoo bar\n(((\n=\nWRENSSHD_FLAGS=\"-e 'echo  forced'\"\n",
])
def test_flags(guest, line):
    """The next connection has the flags. Quotes inside of the line hold words together; garbage beside it changes nothing."""
    put(guest, line + b"\n")
    assert ssh(guest).stdout == "forced\n"


@of_guest
def test_quoted_blanks(guest):
    """The example of the pages: SFTP that only reads."""
    put(guest, b"WRENSSHD_FLAGS=\"-x 'sftp=internal-sftp -R'\"\n")
    guest.types("printf 'mkdir new\\n' | sftp -b - 127.0.0.1", user="ann", fails=True)
    guest.types("printf 'ls\\n' | sftp -b - 127.0.0.1", user="ann")
    put(guest, b"WRENSSHD_FLAGS=\n")
    guest.types("printf 'mkdir new\\nrmdir new\\n' | sftp -b - 127.0.0.1", user="ann")


@of_guest
@pytest.mark.parametrize("line, words", [
    (b"WRENSSHD_FLAGS=\"-r -z\"", "wrensshd: unknown flag: -z"),
    (b"WRENSSHD_FLAGS=-t soon", "wrensshd: -t takes a whole number from 1 to 8640000: soon"),
    (b"WRENSSHD_FLAGS=-x sftp=internal-sftp word", "wrensshd: more than one key directory given: /etc/wrensshd"),
])
def test_a_wrong_flag(guest, line, words):
    """Each connection is refused, and the log has the flag; thirty in a row do not shut the socket; the next edit counts."""
    put(guest, line + b"\n")
    ssh(guest, fails=True)
    assert words in journal(guest, "-t", "wrensshd").splitlines()
    guest.types("for turn in $(seq 30); do ssh -o ConnectTimeout=10 127.0.0.1 true; done", user="ann", fails=None)
    assert guest("systemctl", "is-active", guest.unit).stdout == "active\n"
    put(guest, b"WRENSSHD_FLAGS=\"-e 'echo  mended'\"\n")
    assert ssh(guest).stdout == "mended\n"


@of_guest
def test_many_restarts(guest):
    """Somebody who tries flags restarts the socket and the service many times within seconds: the port is served."""
    for _ in range(8):
        guest.types(f"systemctl restart {guest.unit}; systemctl try-restart wrensshd-listen.service")
        ssh(guest)


@of_guest
def test_bytes_that_are_no_text(guest):
    """systemd leaves out a line that is not UTF-8, and says so: connections have no flags. So the pages say to look."""
    put(guest, b"WRENSSHD_FLAGS=-e \"echo \xff\"\n")
    assert ssh(guest, "echo open").stdout == "open\n"
    assert "/etc/default/wrensshd:2: invalid UTF-8 value for key WRENSSHD_FLAGS" in journal(guest)


@of_guest
def test_a_folder_in_place_of_the_file(guest):
    """What can't be read at all is as a missing file."""
    guest.types("rm -f /etc/default/wrensshd; mkdir /etc/default/wrensshd; systemctl try-restart wrensshd-listen.service")
    ssh(guest)


@of_guest
def test_start_before_enable(booted):
    """As README says: with a port that is taken the line fails, and leaves the socket disabled. Then it can be done again."""
    booted.types("systemctl stop wrensshd.socket wrensshd-listen.socket wrensshd-listen.service")
    server = "import socket, time; kept = socket.create_server(('', 22)); print(flush=True); time.sleep(60)"
    taken = booted.start("python3", "-c", server, stdout=subprocess.PIPE)
    assert taken.stdout.readline() == b"\n"
    both = "systemctl start wrensshd.socket && systemctl enable wrensshd.socket"
    booted.types(both, fails=True)
    assert booted("systemctl", "is-enabled", "wrensshd.socket").stdout == "disabled\n"
    assert "Address already in use" in journal(booted, "-u", "wrensshd.socket")
    booted("pkill", "-f", "socket.create_server")
    taken.wait()
    booted.types("systemctl reset-failed wrensshd.socket; " + both)
    assert booted("systemctl", "is-enabled", "wrensshd.socket").stdout == "enabled\n"
    booted.types("systemctl disable wrensshd.socket")


@of_guest
def test_the_page(booted):
    """The page's commands: they start the socket; its example of flags is accepted; a wrong flag and setting are named."""
    start, line, check, apply, _ = readme.blocks("packaging/README.md", "### systemd")
    booted.types("systemctl stop wrensshd-listen.socket wrensshd-listen.service; rm -rf /etc/default; mkdir /etc/default")
    booted.types(start)
    put(booted, line.encode())
    assert "ann" in booted.types(check).stdout
    for line in (b"WRENSSHD_FLAGS=\"-r -z\"\n", b"WRENSSHD_FLAGS=-r -z\n"):  # a shell would run -z
        put(booted, line)
        done = booted.types(check, fails=True)
        assert "wrensshd: unknown flag: -z\n" in done.stdout + done.stderr
    put(booted, b"WRENSSHD_FLAGS=\n")
    booted.types("mkdir -p /etc/systemd/system/wrensshd.socket.d\n"
                 "printf '[Socket]\\nListenStream=\\nListenStream=2222x\\n' >/etc/systemd/system/wrensshd.socket.d/override.conf")
    verify, restart = apply.splitlines()
    done = booted.types(verify, fails=None)
    assert "override.conf:3: Failed to parse address value" in done.stdout + done.stderr
    booted.types("sed -i s/2222x/2222/ /etc/systemd/system/wrensshd.socket.d/override.conf; systemctl daemon-reload")
    done = booted.types(verify, fails=None)
    assert "override.conf" not in done.stdout + done.stderr
    booted.types(restart)
    booted.types("ssh -p 2222 127.0.0.1 true", user="ann")
    booted.types("rm -r /etc/systemd/system/wrensshd.socket.d; systemctl daemon-reload; systemctl restart wrensshd.socket")


@of_guest
def test_why_not_in_the_unit(booted):
    """What the pages warn of: a drop-in with ExecStart= alone fails the socket at the next connection; systemd can name it."""
    folder = "/etc/systemd/system/wrensshd@.service.d"
    booted.types(f"systemctl start wrensshd.socket; mkdir -p {folder}\n"
                 f"printf '[Service]\\nExecStart=/usr/local/sbin/wrensshd -r /etc/wrensshd\\n' >{folder}/override.conf\n"
                 "systemctl daemon-reload")
    done = booted.types("systemd-analyze verify wrensshd@1.service", fails=True)
    assert "more than one ExecStart= setting" in done.stdout + done.stderr
    ssh(booted, fails=True)
    assert booted("systemctl", "is-active", "wrensshd.socket").stdout == "failed\n"
    booted.types(f"rm -r {folder}; systemctl daemon-reload; systemctl restart wrensshd.socket")
    ssh(booted)


@of_guest
def test_a_listener_that_fails(booted):
    """While the resident process can't start, its socket stays, and it is tried once a second; then the client is served."""
    folder = "/etc/systemd/system/wrensshd-listen.service.d"
    booted.types(f"systemctl stop wrensshd.socket; mkdir -p {folder}; rm -rf /etc/default\n"
                 f"printf '[Service]\\nExecStart=\\nExecStart=/usr/local/sbin/wrensshd-listen no-port\\n' >{folder}/wrong.conf\n"
                 "systemctl daemon-reload; systemctl start wrensshd-listen.socket")
    client = booted.start("setpriv", "--reuid=ann", "--regid=ann", "--init-groups", "ssh", "127.0.0.1", "id -un",
                          env={"HOME": "/home/ann"}, stdout=subprocess.PIPE)
    time.sleep(6)
    assert booted("systemctl", "is-active", "wrensshd-listen.socket").stdout == "active\n"
    tries = booted.journal("-b", "-t", "wrensshd").count("usage: wrensshd-listen ")
    assert 2 <= tries <= 8
    booted.types(f"rm -r {folder}; systemctl daemon-reload")
    assert client.communicate(timeout=PATIENCE_SECONDS)[0] == b"ann\n"
    booted.types("systemctl stop wrensshd-listen.socket wrensshd-listen.service")


# ---- the units and the scripts --------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["wrensshd@.service.in", "wrensshd-listen.service.in"])
def test_units(name):
    """The file may be missing, and the variable is never unset; the flags stand before the key directory."""
    lines = read_text(f"{PACKAGING}/systemd/{name}").splitlines()
    first = lines.index("Environment=WRENSSHD_FLAGS=")
    assert lines.index("EnvironmentFile=-/etc/default/wrensshd") > first
    assert len([line for line in lines if re.match("ExecStart=.*/wrensshd .*[$]WRENSSHD_FLAGS /etc/wrensshd$", line)]) == 1


def test_the_drop_in_for_cloud_init(tmp_path):
    """The page's command line for images of clouds has the flags of the unit, too, with another key directory."""
    commands = readme.blocks("packaging/COMING-FROM-OPENSSH.md", "## cloud-init")[0].replace("/etc/systemd", f"{tmp_path}/systemd")
    run_or_fail(["sh", "-ec", "systemctl() { :; }; rm() { :; }\n" + commands])
    lines = read_text(tmp_path / "systemd/system/wrensshd@.service.d/cloud.conf").splitlines()
    unit = read_text(PACKAGING + "/systemd/wrensshd@.service.in").replace("@sbindir@", "/usr/local/sbin").splitlines()
    command, = (line for line in unit if line.startswith("ExecStart="))
    assert lines == ["[Service]", "ExecStart=", command.replace("/etc/wrensshd", "/etc/ssh")]


def test_debian_has_the_file():
    """Debian's package has the file, which changes nothing: a comment and an empty value. dpkg keeps an administrator's."""
    lines = read_text(PACKAGING + "/debian/wrensshd.default").splitlines()
    assert lines[0].startswith("# ") and lines[1:] == ["WRENSSHD_FLAGS="]


SHELLS = [["sh"], ["busybox", "sh"], ["bash", "--posix"]]
GOOD = [("", []), ("WRENSSHD_FLAGS=\n", []), ("WRENSSHD_FLAGS='-r -t 9'\n", ["-r", "-t", "9"]),
        ("WRENSSHD_FLAGS=\"-x 'say=echo  two  blanks' -n\"\n", ["-x", "say=echo  two  blanks", "-n"]),
        ("foo bar\n=\nWRENSSHD_FLAGS=-r\nfoo\n", ["-r"]), (None, [])]
BAD = ["(((\nWRENSSHD_FLAGS=-r\n", "WRENSSHD_FLAGS=-r\nif\n", "WRENSSHD_FLAGS='-r\n", "WRENSSHD_FLAGS=\"-e 'echo\"\n"]
SCRIPTS = ["listen/run", "runit/run", "s6/run", "tcpserver/run", "buildroot/S50wrensshd"]
# busybox's shell prefers its own start-stop-daemon to a stub.
PAIRS = [(shell, script) for shell in SHELLS for script in SCRIPTS if (shell[0], script) != ("busybox", "buildroot/S50wrensshd")]


def flags_of(tmp_path, shell, script, settings):
    """The flags with which a script starts wrensshd, and what it says; stubs stand for other programs. If `settings` is
    None, the file is a folder."""
    if not shutil.which(shell[0]):
        pytest.skip(f"no {shell[0]} here")
    default = tmp_path / "default"
    if settings is None:
        default.mkdir()
    else:
        default.write_text(settings)
    text = re.sub(r"(?m)^PATH=.*", f"PATH={tmp_path}:/usr/bin:/bin", read_text(f"{PACKAGING}/{script}"))
    text = text.replace("/usr/sbin/wrensshd-makekey", "wrensshd-makekey").replace("setsid ", "")
    assert "/etc/default/" in text
    write(tmp_path / "script", re.sub(r"/etc/default/(wrensshd|[$]DAEMON)", str(default), text))
    for name in ("wrensshd", "wrensshd-makekey", "wrensshd-printkey", "sleep"):
        write(tmp_path / name, "#!/bin/sh\n", mode=0o755)
    for name in ("wrensshd-listen", "tcpserver", "tcpsvd", "start-stop-daemon"):
        write(tmp_path / name, f'#!/bin/sh\nprintf "\'%s\' " "$@" >{tmp_path}/note\n', mode=0o755)
    done = run([*shell, str(tmp_path / "script"), "start"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert done.returncode == 0, (done.stdout, done.stderr)
    words = words_of(str(tmp_path / "note"))
    assert words[-1] == "/etc/wrensshd"
    words = words[:-1]
    while not words.pop(0).endswith("wrensshd"):
        pass
    return words[1:] if "S50" in script else words, done.stdout + done.stderr  # S50: -l


@pytest.mark.parametrize("shell, script", PAIRS, ids=[f"{shell[0]}-{script}" for shell, script in PAIRS])
@pytest.mark.parametrize("settings, flags", GOOD, ids=range(len(GOOD)))
def test_scripts(tmp_path, shell, script, settings, flags):
    """The same line in the same file counts for the other launchers, whose shell reads it."""
    assert flags_of(tmp_path, shell, script, settings)[0] == flags


@pytest.mark.parametrize("shell, script", PAIRS, ids=[f"{shell[0]}-{script}" for shell, script in PAIRS])
@pytest.mark.parametrize("settings", BAD, ids=range(len(BAD)))
def test_scripts_with_a_mistake(site, tmp_path, shell, script, settings):
    """A file that a shell can't read does not end the script: the port is served, and each connection refused."""
    flags, said = flags_of(tmp_path, shell, script, settings)
    assert flags == ["-x", f"mistake-in-{tmp_path}/default"]
    assert re.search(r"[Ss]yntax error|[Uu]nterminated|unexpected", said), said
    done = run([site.daemon, *flags, "/etc/wrensshd"])
    assert done.returncode == 100
    assert done.stderr.startswith(f"wrensshd: -x takes name=command: mistake-in-{tmp_path}/default\n")


@pytest.mark.parametrize("options, flags", [
    ("", []), ("-r -t 9", ["-r", "-t", "9"]), ('-x "say=echo  two  blanks"', ["-x", "say=echo  two  blanks"]),
    ('-e "echo', ["-x", "mistake-in-/etc/config/wrensshd"]), ("$(", ["-x", "mistake-in-/etc/config/wrensshd"])])
def test_openwrt(tmp_path, options, flags):
    """Quotes in OpenWrt's option hold words together, and a mistake in them does not end the script."""
    words = OpenWrt(tmp_path).start(keys="/k", options=options)
    assert words[words.index("/usr/sbin/wrensshd"):] == ["/usr/sbin/wrensshd", "-l", "-a", "/k", *flags, "/etc/wrensshd"]


@pytest.mark.parametrize("options, flags", [
    ("-l", ["-l"]), ("-l -x 'say=echo two blanks'", ["-l", "-x", "say=echo two blanks"]),
    ("-l -e 'echo", ["-l", "-x", "mistake-in-/etc/conf.d/wrensshd"])])
def test_openrc(tmp_path, options, flags):
    """The same with OpenRC, which evaluates the arguments itself."""
    note = tmp_path / "note"
    done = run(["sh", "-uc", f"""
. {PACKAGING}/alpine/wrensshd.confd
wrensshd_options=$OPTIONS
. {PACKAGING}/alpine/wrensshd.initd
eval "set -- $(echo $command_args)"
printf "'%s' " "$@" >{note}"""], env={"PATH": "/usr/bin:/bin", "OPTIONS": options})
    assert done.returncode == 0, done.stderr
    words = words_of(str(note))
    assert words[words.index("/usr/sbin/wrensshd"):] == ["/usr/sbin/wrensshd", *flags, "/etc/wrensshd"]
