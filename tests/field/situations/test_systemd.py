"""systemd: situations of systemd.csv that no test of tests/system plays, in a machine that systemd has booted."""

import pytest

import proc
from daemon import PATIENCE_SECONDS
from guest import Guest

pytestmark = [pytest.mark.root, pytest.mark.sandbox]

DROP_IN = "/etc/systemd/system/wrensshd@.service.d/own.conf"
SSH = "ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o LogLevel=ERROR -o KexAlgorithms=curve25519-sha256 ann@127.0.0.1 "


@pytest.fixture(name="guest")
def booted(site):
    made = Guest(site)
    try:
        made.types(f"""useradd -m -s /bin/sh ann; useradd -r -s /usr/sbin/nologin wrensshd; ip link set lo up
            mkdir -p /home/ann/.ssh /root/.ssh {DROP_IN.rpartition('/')[0]}; ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519
            mkfifo -m 666 /run/hold
            cp /root/.ssh/id_ed25519.pub /home/ann/.ssh/authorized_keys; chown -R ann: /home/ann
            systemctl start wrensshd.socket""")
        yield made
    finally:
        made.close()


def ssh(guest, command, fails=False):
    """Its output; of a command that fails the error."""
    done = guest.types(SSH + f"'{command}' </dev/null", fails=fails)
    return done.stderr if fails else done.stdout


def with_settings(guest, text):
    guest.types(f"printf '[Service]\\n{text}\\n' >{DROP_IN}; systemctl daemon-reload")


# What administrators add to the service of a connection, a command, and what it prints.
SETTINGS = {
    "RestrictAddressFamilies=AF_INET AF_INET6": ("echo in", "in\n"),
    "MemoryDenyWriteExecute=yes": ("echo in", "in\n"),
    "ProtectProc=invisible\\nProcSubset=pid": ("echo in", "in\n"),
    "NoNewPrivileges=yes": ("grep -o NoNewPrivs.*1 /proc/self/status", "NoNewPrivs:\t1\n"),
    "ProtectSystem=strict": ("touch /tmp/x 2>/dev/null || echo read-only", "read-only\n"),
    "PrivateDevices=yes": ("test -c /dev/tty && echo in", "in\n"),
    "CapabilityBoundingSet=CAP_SETUID CAP_SETGID CAP_SYS_CHROOT CAP_KILL": ("id -un", "ann\n"),
    "Nice=10\\nUMask=0077\\nCPUSchedulingPolicy=idle": ("nice; umask", "10\n0077\n"),
    "StandardError=socket": ("echo in", "in\n"), "StandardError=inherit": ("echo in", "in\n"), "StandardError=null": ("echo in", "in\n"),
    "Type=notify": ("echo in", "in\n"), "Type=forking": ("echo in", "in\n"), "RemainAfterExit=yes": ("echo in", "in\n"),
    "Environment=PATH=/nowhere TZ=:/etc/passwd LD_BIND_NOW=1 MALLOC_PERTURB_=5": ("env | grep -c -e LD_ -e TZ= -e nowhere || true", "0\n"),
    "ExecStartPre=/bin/cat /proc/uptime": ("echo in", "in\n"),
}
# Settings with which nobody can be served, and the reason in the journal.
REFUSED = {
    "CapabilityBoundingSet=CAP_SETUID CAP_SETGID CAP_KILL": "sandbox layers missing: root",
    "PrivateUsers=yes": "sandbox layers missing: uid,groups",
    "User=ann": 'path=/etc/wrensshd/.ed25519.sk reason="Permission denied"',
    "SystemCallFilter=@system-service": "killed by signal 31",
    "ProtectHome=yes": "",
    "ExecStartPre=/bin/false": "",
    "WorkingDirectory=/nonexistent": "",
}


def test_settings(guest):
    """A restriction holds for sessions, too, and hinders nobody more than it says. What makes a login impossible is named,
    and the socket serves the next connection without it."""
    for text, (command, output) in SETTINGS.items():
        with_settings(guest, text)
        assert ssh(guest, command) == output, text
    for text, reason in REFUSED.items():
        with_settings(guest, text)
        ssh(guest, "true", fails=True)
        assert reason in guest.journal("-t", "wrensshd", "-n", "3"), (text, guest.journal("-t", "wrensshd", "-n", "3"))
    with_settings(guest, "")
    assert ssh(guest, "echo in") == "in\n"


def test_restart_of_a_connection(guest):
    """Restart= in the service of a connection gives its successor the listening socket. The port stays open."""
    with_settings(guest, "Restart=always")
    for _ in range(3):
        assert ssh(guest, "echo in") == "in\n"
    assert proc.wait_until(lambda: "descriptor 0 is a listening socket" in guest.journal("-t", "wrensshd"), PATIENCE_SECONDS)
    assert guest("systemctl", "is-active", "wrensshd.socket").stdout == "active\n"


def test_accept_no(guest):
    """Accept=no with a service that takes one connection: the log says what is wrong, before systemd gives up."""
    guest.types("""systemctl stop wrensshd.socket; mkdir -p /etc/systemd/system/wrensshd.socket.d
        printf '[Socket]\\nAccept=no\\n' >/etc/systemd/system/wrensshd.socket.d/own.conf
        grep -v CollectMode /usr/local/lib/systemd/system/wrensshd@.service >/etc/systemd/system/wrensshd.service
        systemctl daemon-reload; systemctl start wrensshd.socket""")
    ssh(guest, "true", fails=True)
    assert "Accept=yes" in guest.journal("-t", "wrensshd")


def test_what_happens_meanwhile(guest):
    """A session goes on while the journal or systemd itself is started anew, and its end is logged."""
    running = guest.start("sh", "-c", SSH + "'cat /run/hold; echo out' >/root/out")
    assert proc.wait_until(lambda: guest.journal("-t", "wrensshd", "-g", "event=session"), PATIENCE_SECONDS)
    guest.types("""systemctl restart systemd-journald; systemctl daemon-reexec; systemctl daemon-reload
        systemctl restart wrensshd.socket""")
    assert ssh(guest, "echo new") == "new\n"
    guest.types("echo >/run/hold")
    assert running.wait(PATIENCE_SECONDS) == 0 and guest.read("/root/out") == "\nout\n"
    assert proc.wait_until(lambda: guest.journal("-t", "wrensshd").count("event=end") == 2, PATIENCE_SECONDS)


def test_logins_without_a_journal(guest):
    """Logins work while the journal is stopped."""
    guest.types("""systemctl stop systemd-journald.socket systemd-journald-dev-log.socket systemd-journald-audit.socket \\
        systemd-journald 2>/dev/null || true""")
    assert ssh(guest, "echo in") == "in\n"


def test_end_of_one_connection(guest):
    """Stopping the unit of one connection tells its client why, and spares what the user left in the background."""
    running = guest.start("sh", "-c", SSH + "'sleep 4321 >/dev/null 2>&1 & cat /run/hold' >/root/out 2>&1")
    assert proc.wait_until(lambda: guest("pgrep", "-x", "sleep").stdout, PATIENCE_SECONDS)
    guest.types("systemctl stop 'wrensshd@*.service'")
    assert running.wait(PATIENCE_SECONDS) == 255 and "server is shutting down" in guest.read("/root/out")
    assert guest("pgrep", "-x", "sleep").stdout and ssh(guest, "echo in") == "in\n"
