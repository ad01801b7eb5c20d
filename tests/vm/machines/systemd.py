"""systemd as PID 1: the socket, vsock, a Unix socket, the first key, 20 logins at once, a stop, a user's own systemd,
limits, silent addresses, a flood, a power cut, a reboot, a key from the firmware."""

import base64
import contextlib
import os
import re
import shlex
import shutil
import subprocess
import time

import readme
from namespace import find
from vm import board, debian
from vm.client import Person
from vm.machine import Machine

PROGRAMS = ("qemu-system-x86_64", "mke2fs", *board.PROGRAMS)
ARCHITECTURES = ("x86_64",)
LONG = False
SECONDS = 100

PACKAGES = ["systemd-sysv", "systemd", "iproute2", "netbase", "procps", "tinysshd", "libpam-systemd",
            "dbus-user-session", "systemd-container", "socat"]
FLOOD, EMULATED_FLOOD = 500, 150  # without KVM systemd starts one or two units a second
CREDENTIAL = "io.systemd.credential.binary:ssh.authorized_keys.root="
LOGINS = 20  # beside each of the crowds
CROWDS = (1, 10), (1, 1), (64, 1), (250, 1)  # silent addresses, connections of each
OPENSSH = "packaging/COMING-FROM-OPENSSH.md"
INIT = board.BEGIN + """mkdir /root
mount -t ext4 /dev/vda /root
for name in dev proc sys; do mount --move /$name /root/$name; done
exec switch_root /root /sbin/init
"""


def make_image(place, person, suite="bookworm"):
    """A disk with Debian's systemd, set up as the documents say."""
    root = debian.unpack(place, debian.tarball(place, f"systemd-{suite}", PACKAGES, suite), "root")
    shutil.copytree(place.release("x86_64"), os.path.join(root, "usr/local"), symlinks=True, dirs_exist_ok=True)
    debian.chroot(place, root, "useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent",
                  "--shell", "/usr/sbin/nologin", "wrensshd")
    debian.chroot(place, root, "systemctl", "disable", "tinysshd.socket")
    debian.chroot(place, root, "systemctl", "enable", "wrensshd.socket")
    debian.chroot(place, root, "systemctl", "set-default", "multi-user.target")
    debian.chroot(place, root, "systemd-machine-id-setup")
    # systemd would shut the socket at so many connections in its two seconds, did the unit not say otherwise. Its
    # own 200 might not be reached here.
    debian.write(root, "etc/systemd/system/wrensshd.socket.d/test.conf", "[Socket]\nTriggerLimitBurst=20\n")
    os.makedirs(os.path.join(root, "root/.ssh"), 0o700, exist_ok=True)
    debian.write(root, "root/.ssh/authorized_keys", person.public, 0o600)
    image = place.path("disk")
    place.run(["mke2fs", "-q", "-F", "-t", "ext4", "-O", "^metadata_csum_seed,^orphan_file", "-d", root, image, "768M"])
    shutil.rmtree(root)
    return image


def make_initrd(place, system):
    archive, order = board.begin(system)
    archive.text("init", INIT.format(modules=order), 0o755)
    return archive.write(place.path("initrd"))


def boot(place, name, system, image, firmware=()):
    machine = Machine(place, name, kernel=os.path.join(system, "kernel"), initrd=place.path("initrd"), disks=[image],
                      keep_writes=True, firmware=firmware)
    machine.wait_for_ssh(60)
    return machine


def check_first_key(place, ssh):
    done = ssh("systemctl is-active wrensshd-keygen.service; stat -c '%a %U' /etc/wrensshd/.ed25519.sk")
    place.check(done.stdout == "active\n600 root\n", f"the key was not made: {done.stdout}{done.stderr}")


def check_key_of_firmware(place, stranger, machine):
    """A key that the machine's firmware hands in as systemd's credential lets root in."""
    done = stranger.ssh(machine)("echo handed")
    place.check(done.stdout == "handed\n", f"no login with the firmware's key: {done.stderr}")


def check_session_is_free(place, ssh):
    """No restriction of the unit reaches a user's shell: it has the rights of PID 1."""
    script = "for who in 1 self; do grep -E '^(NoNewPrivs|Seccomp|CapBnd):' /proc/$who/status; " \
             "readlink /proc/$who/ns/mnt /proc/$who/ns/net; done"
    lines = ssh(script).stdout.splitlines()
    place.check(len(lines) == 10 and lines[:5] == lines[5:], f"a session is restricted: {lines}")
    status = board.network_process(ssh)
    place.check(status.get("Seccomp") == "2", f"the network process has no seccomp filter: {status}")


def check_parallel_logins(place, ssh):
    clients = [ssh.start(f"echo {number}; exit {number}") for number in range(20)]
    for number, client in enumerate(clients):
        out, err = client.communicate(timeout=300)
        place.check(out == b"%d\n" % number and client.returncode == number, f"login {number} of 20: {out} {err}")


def check_restart(place, ssh):
    """Sessions and their background programs survive a restart of the socket and the end of the connection."""
    kept = ssh.start("setsid sleep 4321 </dev/null >/dev/null 2>&1 & echo started; cat")
    place.check(kept.stdout.readline() == b"started\n", "no session to keep")
    done = ssh("systemctl restart wrensshd.socket && systemctl is-active wrensshd.socket")
    place.check(done.stdout == "active\n", f"the socket does not restart: {done.stdout}{done.stderr}")
    out, _ = kept.communicate(b"still here\n", timeout=60)
    place.check(out == b"still here\n" and kept.returncode == 0, f"the restart ended a session: {out}")
    done = ssh("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    place.check("sleep 4321" in done.stdout, "a background program ended with its connection")


def open_session(place, ssh):
    """
    A client, and the number of its network process. The session has left a program in the background, which holds
    none of the connection's descriptors.
    """
    client = ssh.start("setsid sleep 9876 </dev/null >/dev/null 2>&1 & "
                       f"pgrep -P {board.MONITOR} | grep -vx $PPID; cat", options=["LogLevel=INFO"])
    number = client.stdout.readline().decode().strip()
    place.check(number.isdigit(), f"no session to end: {number}")
    return client, number


def check_end(place, client, what, words=b"Received disconnect from"):
    """systemd has a copy of the connection, so the client ends only because wrensshd shuts it down."""
    try:
        client.wait(60)  # with its input open
    except subprocess.TimeoutExpired:
        client.kill()
        place.check(False, f"{what}: the client hangs")
    err = client.communicate()[1]
    place.check(client.returncode == 255 and words in err,
                f"{what}: the client ends with status {client.returncode}: {err.decode()}")


def check_stop(place, ssh):
    """Stopping the template ends each connection, also the one that asks for it, and no background program."""
    client, _ = open_session(place, ssh)
    # A network process that hangs says no goodbye: the monitor kills it, and shuts the connection down.
    hanging, number = open_session(place, ssh)
    ssh(f"kill -STOP {number}")
    asker = ssh.start("systemctl stop 'wrensshd@*'", options=["LogLevel=INFO"])
    check_end(place, client, "systemctl stop")
    check_end(place, asker, "systemctl stop, by its own connection")
    check_end(place, hanging, "systemctl stop, with a network process that hangs", b"closed by remote host")
    place.check("sleep 9876" in ssh("cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout, "a stop ends background programs")
    # systemd counts a connection, which has ended, while a process of its unit lives.
    ssh("pkill sleep")
    wait_for(place, "the places of stopped connections", lambda: socket_counts(ssh)["NConnections"] == "1")
    lines = ssh("journalctl -t wrensshd --no-pager").stdout
    ends = re.findall(r"event=end from=10\.0\.2\.2 .* reason=\"ended by signal 15\"", lines)
    place.check(len(ends) == 3, f"{len(ends)} end lines of 3 stopped connections:\n{lines[-2000:]}")


def check_records(place, ssh):
    """The journal and the list of units say who is on now, and who was."""
    commands = readme.blocks(OPENSSH, "## What surprises on systemd")[0]
    lines = ssh(commands).stdout
    for pattern in (r"wrensshd@\S+\.service +loaded +active +running", r"event=login .* user=root .* verdict=accepted"):
        place.check(re.search(pattern, lines), f"no line like {pattern}:\n{lines[-2000:]}")
    records = ssh("cat /run/utmp /var/log/wtmp 2>/dev/null | grep -c pts/").stdout
    place.check(records == "0\n", f"records in utmp or wtmp: {records}")


def check_user_session(place, person, machine):
    """The documented commands give a user a systemd and a D-Bus; a job in a scope leaves the connection's unit."""
    ssh, alice = person.ssh(machine), person.ssh(machine, user="alice")
    ssh("useradd -m -s /bin/sh alice && cp -r /root/.ssh /home/alice && chown -R alice: /home/alice")
    state = "sh -lc 'echo $XDG_RUNTIME_DIR; systemctl --user is-active basic.target'"
    place.check("active" not in alice(state).stdout.split(), "alice has a systemd before anything was done")
    start, job = readme.blocks(OPENSSH, "## A user's own systemd")
    done = ssh(start)
    place.check(done.returncode == 0, f"lingering: {done.stderr}")
    number = ssh("id -u alice").stdout.strip()
    wait_for(place, "alice's systemd", lambda: alice(state).stdout == f"/run/user/{number}\nactive\n")
    done = alice("sh -lc 'busctl --user status >/dev/null && cat /proc/self/cgroup'")
    place.check("/wrensshd@" in done.stdout, f"no D-Bus, or not the connection's unit: {done.stdout}{done.stderr}")
    kept = alice.start(f"exec sh -lc '{job.strip()}'")
    groups = "cat /proc/$(pgrep -xf '/usr/bin/sleep 100000')/cgroup"
    wait_for(place, "alice's job", lambda: f"/user@{number}.service/" in ssh(groups).stdout)
    ssh("systemctl stop 'wrensshd@*'")
    check_end(place, kept, "systemctl stop, with a job in a scope", b"")
    place.check(f"/user@{number}.service/" in ssh(groups).stdout, "the job ended with its connection")
    done = ssh("machinectl -q shell alice@ /bin/sh -c 'id -un; echo $XDG_RUNTIME_DIR' </dev/null", flags=["-tt"])
    words = done.stdout.split()[:2]  # Debian 13's resets the terminal after them
    place.check(words == ["alice", f"/run/user/{number}"], f"machinectl: {done.stdout}{done.stderr}")


def check_other_sockets(place, ssh):
    """The units beside TCP's serve vsock, here the machine's own, and the Unix socket of this machine."""
    done = ssh("systemctl start wrensshd-vsock.socket wrensshd-unix-local.socket && "
               "systemctl is-active wrensshd-vsock.socket wrensshd-unix-local.socket")
    place.check(done.stdout == "active\nactive\n", f"the sockets do not start: {done.stdout}{done.stderr}")
    for address, seen in (("UNIX-CONNECT:/run/ssh-unix-local/socket", "unix:0"), ("VSOCK-CONNECT:1:22", "vsock:1")):
        proxy = shlex.join(ssh.command(f"socat - {address}")).replace("%", "%%")
        done = ssh('echo "there <$SSH_CONNECTION>"', options=[f"ProxyCommand={proxy}"])
        place.check(done.stdout == "there <UNKNOWN 65535 UNKNOWN 65535>\n",
                    f"no login through {address}: {done.stdout}{done.stderr}")
        lines = ssh("journalctl -t wrensshd --no-pager").stdout
        place.check(f"event=login from={seen} " in lines, f"no login from {seen} in the journal:\n{lines[-2000:]}")
    ssh("systemctl stop wrensshd-vsock.socket wrensshd-unix-local.socket")


def check_limits(place, ssh):
    """A drop-in file limits each connection; open ones, and the socket, stay as they are."""
    kept = ssh.start("cat")
    folder = "/etc/systemd/system/wrensshd@.service.d"
    limits = readme.blocks(OPENSSH, "## Limits")[0]
    ssh(f"mkdir {folder}; cat >{folder}/limits.conf; systemctl daemon-reload", input=limits)
    unit = "$(sed -n 's|.*/wrensshd@|wrensshd@|p' /proc/self/cgroup | tail -n 1)"
    script = f'ulimit -n; systemctl show -P TasksMax "{unit}"'
    wanted = [value for _, value in re.findall(r"(LimitNOFILE|TasksMax)=(\d+)", limits)]
    done = ssh(script)
    place.check(done.stdout.split() == wanted[::-1], f"other limits than the file's: {done.stdout}{done.stderr}")
    out, _ = kept.communicate(b"still here\n", timeout=60)
    place.check(out == b"still here\n", "an open connection ended with daemon-reload")
    ssh(f"rm -r {folder}; systemctl daemon-reload")


def check_reboot(place, machine, ssh):
    client, _ = open_session(place, ssh)
    ssh("systemctl --no-block reboot")
    check_end(place, client, "reboot")
    machine.wait_for_end(120)


# Connections that say nothing, as many as there may be, from another address than the person's.
FLOOD_SCRIPT = "for _ in {{1..{size}}}; do exec {{one}}<>/dev/tcp/127.0.0.1/22; done; echo flooded; read"
GREETING_SCRIPT = "exec 3<>/dev/tcp/127.0.0.1/22; head -c 8 <&3"


def socket_counts(ssh):
    text = ssh("systemctl show -p ActiveState,NAccepted,NConnections,NRefused wrensshd.socket").stdout
    return dict(line.split("=", 1) for line in text.splitlines())


def wait_for(place, what, condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        place.check(time.monotonic() < end, f"awaited {what}")
        time.sleep(0.5)


def check_flood(place, ssh, size):
    """The login has its turn after the flood's connections, which systemd starts in their order."""
    place.step(f"a flood of {size} connections")
    before = socket_counts(ssh)
    flood = ssh.start(f"bash -c '{FLOOD_SCRIPT.format(size=size)}'")
    place.check(flood.stdout.readline() == b"flooded\n", "no flood")
    done = ssh("echo through", timeout=300)
    place.check(done.stdout == "through\n", f"no login during the flood: {done.stderr}")
    counts = {}

    def answered():
        """While systemd starts hundreds of units on an emulated processor, it keeps systemctl, or the login before it,
        waiting until that gives up. That says nothing about the socket."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            counts.update(socket_counts(ssh))
        return counts
    wait_for(place, "systemd's answer after the flood", answered, 600)
    place.check(counts["ActiveState"] == "active", f"the flood has shut the socket: {counts}")
    arrived = sum(int(counts[name]) - int(before[name]) for name in ("NAccepted", "NRefused"))
    place.check(arrived > size, f"{arrived} connections at the socket")
    flood.communicate(b"\n", timeout=60)
    wait_for(place, "a greeting for the flood's address", lambda: ssh(f"bash -c '{GREETING_SCRIPT}'").stdout == "SSH-2.0-")
    counts.clear()
    wait_for(place, "systemd's last answer", answered, 600)
    place.check(counts["ActiveState"] == "active", f"the socket is shut after the flood: {counts}")


# Each address is also the source of what is sent to it. The greeting stays unread, which shows that there was one.
SILENT_SCRIPT = """for i in {{1..{addresses}}}; do echo addr replace 10.9.$i.1/32 dev lo; done | ip -batch -
for i in {{1..{addresses}}}; do for _ in {{1..{each}}}; do exec {{one}}<>/dev/tcp/10.9.$i.1/22; done; done
until [ $(ss -Htn state established dport = :22 | grep -c "^[1-9][0-9]* *0 *10[.]9[.]") -ge {least} ]; do sleep 1; done
echo silent; read"""


def check_silent(place, ssh):
    """Logins at the first try beside silent connections of the shipped socket. Returns the slowest of them."""
    slowest = 0
    for addresses, each in CROWDS:
        place.step(f"{LOGINS} logins beside {addresses} silent addresses with {each} connections each")
        script = SILENT_SCRIPT.format(addresses=addresses, each=each, least=min(addresses * each, 10))
        crowd = ssh.start(f"timeout 900 bash -c '{script}'")
        place.check(crowd.stdout.readline() == b"silent\n", f"no {addresses} silent addresses")
        for _ in range(LOGINS):
            start = time.monotonic()
            place.check(ssh("echo in").stdout == "in\n", f"no login beside {addresses} silent addresses")
            slowest = max(slowest, time.monotonic() - start)
        crowd.communicate(b"\n", timeout=60)
    return slowest


def check_tinyssh(place, person, machine):
    """Changes from TinySSH by the documented commands, typed in TinySSH's own sessions; clients see one host key."""
    ssh = person.ssh(machine)
    ssh("systemctl stop wrensshd.socket wrensshd-keygen.service; rm -r /etc/wrensshd; systemctl start tinysshd.socket")
    person.knows(board.host_key(place, machine.port))
    drop_in, change_over = readme.blocks("packaging/README.md", "## Replacing TinySSH")
    folder = "/etc/systemd/system/tinysshd@.service.d"

    def served_by(ssh):
        return ssh("ps -o comm= -p $PPID").stdout.strip()
    place.check(served_by(ssh) == "tinysshd", "TinySSH does not serve")
    ssh(f"mkdir {folder}; cat >{folder}/wrensshd.conf; systemctl daemon-reload", input=drop_in)
    place.check(served_by(ssh) == "wrensshd", "the drop-in file does not make wrensshd serve")
    ssh(f"rm {folder}/wrensshd.conf; systemctl daemon-reload")
    place.check(served_by(ssh) == "tinysshd", "there is no way back to TinySSH")
    done = ssh(change_over)
    place.check(done.returncode == 0 and served_by(ssh) == "wrensshd", f"no change for good: {done.stderr}")
    units = ssh("systemctl is-enabled tinysshd.socket wrensshd.socket").stdout.split()
    place.check(units == ["disabled", "enabled"], f"after the next boot it is another server: {units}")


def check_journal(place, ssh):
    lines = ssh("journalctl -t wrensshd --no-pager").stdout
    for pattern in (r"^\w+ +\d+ [\d:]+ \S+ wrensshd\[\d+\]: event=connection from=10\.0\.2\.2 port=\d+ layers=\S+seccomp",
                    r"wrensshd\[\d+\]: event=login from=10\.0\.2\.2 port=\d+ user=root key=SHA256:\S+ type=ssh-ed25519 "
                    r"verdict=accepted", r"event=end from=10\.0\.2\.2 .* reason="):
        place.check(re.search(pattern, lines, re.M), f"no line like {pattern} in the journal:\n{lines[-2000:]}")
    failed = ssh("systemctl list-units --failed --no-legend 'wrensshd*'").stdout
    place.check(failed == "", f"units are left behind: {failed}")


def check_repair(place, person, machine):
    """A power cut while a key is made leaves an empty file and a temporary one, which the next start repairs."""
    ssh = person.ssh(machine)
    done = ssh("cd /etc/wrensshd && : >.ed25519.sk && : >ed25519.pk && systemctl restart wrensshd-keygen.service && "
               "stat -c '%a %s' .ed25519.sk")
    place.check(done.stdout == "600 64\n", f"the key was not repaired: {done.stdout}{done.stderr}")
    person.knows(board.host_key(place, machine.port))
    place.check(ssh("echo in").stdout == "in\n", "no login with the repaired key")


def check_fail2ban(place, ssh):
    """The filter counts the flood's connections, and of the person's only those without a login."""
    filters = os.path.join(place.release("x86_64"), "share/wrensshd/fail2ban/filter.d/wrensshd.conf")
    log = place.path("journal")
    with open(log, "w", encoding="utf-8") as file:
        file.write(ssh("journalctl SYSLOG_IDENTIFIER=wrensshd _UID=0 --no-pager").stdout)
    found = find("fail2ban-regex")
    if found:
        done = subprocess.run(["/usr/bin/python3", found, "--out", "ip", log, filters], stdout=subprocess.PIPE,
                              check=False, text=True)
        counts = [done.stdout.split().count(address) for address in ("127.0.0.1", "10.0.2.2")]
        place.check(counts[0] >= 24 and counts[1] < 10, f"the filter finds {counts}")


def run(place):
    person = Person(place)
    place.step("makes a disk")
    system = board.system(place, "x86_64")
    image = make_image(place, person)
    make_initrd(place, system)
    place.step("boots for the first time")
    machine = boot(place, "first", system, image)
    person.knows(board.host_key(place, machine.port))
    place.check(person.ssh(machine)("echo in").stdout == "in\n", "no login after the first boot")
    machine.stop()  # as if the power was cut
    place.step("boots again")
    stranger = Person(place, "stranger")
    machine = boot(place, "second", system, image, [CREDENTIAL + base64.b64encode(stranger.public.encode()).decode()])
    stranger.known_hosts = person.known_hosts
    check_key_of_firmware(place, stranger, machine)
    ssh = person.ssh(machine)
    done = ssh("echo again")
    place.check(done.stdout == "again\n", f"the key did not outlive a power cut: {done.stderr}")
    check_first_key(place, ssh)
    check_session_is_free(place, ssh)
    place.step("20 logins at once")
    check_parallel_logins(place, ssh)
    check_restart(place, ssh)
    place.step("stops all connections")
    check_stop(place, ssh)
    place.step("a user's own systemd, and limits")
    check_records(place, ssh)
    check_user_session(place, person, machine)
    check_limits(place, ssh)
    place.step("vsock and a Unix socket")
    check_other_sockets(place, ssh)
    check_flood(place, ssh, EMULATED_FLOOD if place.accelerator.startswith("emulated") else FLOOD)
    slowest = check_silent(place, ssh)
    check_journal(place, ssh)
    check_fail2ban(place, ssh)
    check_repair(place, person, machine)
    place.step("changes over from TinySSH")
    check_tinyssh(place, person, machine)
    place.step("reboots")
    check_reboot(place, machine, ssh)
    return f"the slowest of {LOGINS * len(CROWDS)} logins beside silent connections took {slowest:.2f} s"
