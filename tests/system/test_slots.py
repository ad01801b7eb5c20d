"""The table of connections before their login: who is evicted, and files that are no table. All by a server of an
ordinary user, whose table is in XDG_RUNTIME_DIR; test_silent_clients.py has root's."""

import os
import signal
import socket
import stat
import struct
import time

import pytest

from proc import SLOWNESS
from whole_files import read, write
from wire import USERAUTH_FAILURE, USERAUTH_SUCCESS, Closed, Disconnected
from wire_crypto import Ed25519Key

NAME = "wrensshd.slots"
# As src/admission/table.h has it.
HEADER = struct.Struct("=8sIIqQqQ")
PENALTIES, PENALTY_BYTES = 128, 24
SLOTS = 256
SLOT = struct.Struct("=QQqII")
FRONT_BYTES = HEADER.size + PENALTIES * PENALTY_BYTES
LOGINS = 432  # records of connections after their login: a uid plus 1
LIMIT = 8  # the least that a table may have
RESERVE = 2  # of records, with that
STARTED, EXCHANGED = 1, 2


def table(limit=LIMIT, version=2, evicted_ms=0, evicted=0, penalties=b"", slots=b"", logins=b""):
    header = HEADER.pack(b"wrensshd", version, limit, evicted_ms, evicted, 0, 0)
    return ((header + penalties).ljust(FRONT_BYTES, b"\0") + slots.ljust(SLOTS * SLOT.size, b"\0")
            + logins.ljust(4 * LOGINS, b"\0"))


def read_place(data, number):
    return SLOT.unpack_from(data, FRONT_BYTES + number * SLOT.size)


class Folder:
    """XDG_RUNTIME_DIR of a server that runs as the site's user."""

    def __init__(self, site):
        self.site = site
        self.path = site.folder(f"slots-{time.monotonic_ns()}", 0o700, *([site.user] if site.root else []))
        self.file = os.path.join(self.path, NAME)

    def write(self, data, mode=0o600):
        write(self.file, data, mode=mode)
        if self.site.root:
            os.chown(self.file, self.site.user.pw_uid, self.site.user.pw_gid)

    def read(self):
        return read(self.file)

    def phases(self):
        return [read_place(self.read(), number)[3] for number in range(SLOTS)]


@pytest.fixture
def folder(site):
    return Folder(site)


@pytest.fixture
def connect(client, folder):
    """connect(*flags): a client whose server is about to greet it."""
    def start(*args, **how):
        raw = client(*args, started={"mode": "user", "env": {"XDG_RUNTIME_DIR": folder.path}}, **how)
        raw.line.log.wait("connection")
        return raw
    return start


def connection(raw):
    return raw.line.log.wait("connection")[0]


def troubles(raw):
    return [line for line in raw.line.log.events("trouble") if "slots" in line["what"]]


def is_evicted(raw):
    """The server has closed the connection, and says why."""
    with pytest.raises(Closed):
        while True:
            raw.read_bytes(1)
    end = raw.line.assert_over()
    return end["reason"] == "evicted: a new connection needed the slot"


# ---- slots and evictions ----------------------------------------------------------------------------------------


def test_a_new_table(connect, folder):
    """The first connection makes it; only its user may read it; nothing else stays."""
    raw = connect()
    found = os.stat(folder.file)
    assert stat.S_IMODE(found.st_mode) == 0o600 and found.st_size == len(table())
    assert os.listdir(folder.path) == [NAME]
    assert "admission" not in connection(raw) and troubles(raw) == []
    assert HEADER.unpack_from(folder.read())[:2] == (b"wrensshd", 2)


def test_phases(connect, folder, site):
    """A slot says how far its connection has got, until the login gives it up."""
    raw = connect()
    assert [phase for phase in folder.phases() if phase] == [STARTED]
    raw.handshake()
    assert [phase for phase in folder.phases() if phase] == [EXCHANGED]
    raw.start_userauth()
    assert raw.auth_answer(raw.publickey(Ed25519Key()))[0] == USERAUTH_FAILURE
    assert [phase for phase in folder.phases() if phase] == [EXCHANGED]
    assert raw.auth_answer(raw.publickey())[0] == USERAUTH_SUCCESS
    connect()
    assert sorted(phase for phase in folder.phases() if phase) in ([STARTED], [STARTED, EXCHANGED])  # perhaps the same


def test_the_oldest_silent_one_goes(connect, folder):
    """A new connection evicts the oldest of those that have exchanged no keys, and gets in at once."""
    folder.write(table())
    busy = connect()
    busy.handshake()
    silent = [connect() for _ in range(LIMIT - 1)]
    newest = connect()
    assert is_evicted(silent[0])
    assert newest.line.log.wait("eviction")[0]["slots"] == str(LIMIT)
    newest.login()
    busy.login()
    for raw in silent[1:]:
        raw.handshake()


def test_all_have_exchanged_keys(connect, folder):
    """Then the oldest of them goes."""
    folder.write(table())
    old = [connect() for _ in range(LIMIT)]
    for raw in old:
        raw.handshake()
    connect().login()
    assert is_evicted(old[0])


def test_a_login_gives_up_its_place(connect, folder):
    """So any number of sessions leaves room for those that come."""
    folder.write(table())
    sessions = [connect().login() for _ in range(LIMIT + 2)]
    silent = [connect() for _ in range(LIMIT)]
    assert not any(raw.line.log.events("eviction") for raw in silent)
    connect()
    assert is_evicted(silent[0])
    for raw in sessions:
        assert raw.exec("echo here").wait_closed().output == b"here\n"


def test_a_late_request_to_leave(connect):
    """What evicts a connection does nothing to one that has logged in."""
    raw = connect().login()
    os.kill(raw.line.monitor, signal.SIGUSR1)
    assert raw.exec("echo here").wait_closed().output == b"here\n"


def test_the_end_of_evictions(connect, folder):
    """A line tells how many there were, once nobody was evicted for a minute."""
    folder.write(table(evicted=3, evicted_ms=int(time.monotonic() * 1000) - 50000))
    assert connect().line.log.events("eviction") == []
    folder.write(table(evicted=3, evicted_ms=int(time.monotonic() * 1000) - 70000))
    assert connect().line.log.wait("eviction")[0]["evicted"] == "3"
    assert connect().line.log.events("eviction") == []


def test_a_killed_holder(connect, folder):
    """The kernel frees its slot."""
    folder.write(table())
    held = [connect() for _ in range(LIMIT)]
    os.kill(held[3].line.monitor, signal.SIGKILL)
    held[3].line.wait_exit()
    newest = connect()
    assert newest.line.log.events("eviction") == []


def test_a_stopped_holder(connect, folder):
    """It can't leave; the new connection does not wait for it."""
    folder.write(table())
    held = [connect() for _ in range(LIMIT)]
    os.kill(held[0].line.monitor, signal.SIGSTOP)
    connect().login()
    connect().login()
    os.kill(held[0].line.monitor, signal.SIGCONT)
    assert is_evicted(held[0])


def test_a_network_process_that_stays(client):
    """After its client has gone it ends in time, whatever it does: here it is stopped."""
    raw = client().login()
    os.kill(raw.line.network, signal.SIGSTOP)
    raw.sock.close()
    end = raw.line.assert_over(within=15 * SLOWNESS, status=111)
    assert end["reason"] == "network process did not end with its connection"


# ---- after the login --------------------------------------------------------------------------------------------

def refused_line(raw):
    """The client sees why, and so does the log; the login itself was good."""
    raw.start_userauth()
    raw.send(raw.publickey())
    with pytest.raises(Disconnected, match="DISCONNECT 12: b'too many connections of this user, or of all users'"):
        raw.next()
    assert [line["reason"] for line in raw.line.log.wait("login")] == ["too many connections of this user"]
    assert raw.line.log.wait("end")[0]["reason"] == "too many connections of this user, or of all users"


def test_too_many_connections(connect, folder):
    """Above the limit a login is refused, and nobody is ended for it. A connection that is killed counts no more."""
    folder.write(table())
    sessions = [connect("-U", "1").login() for _ in range(1 + RESERVE)]  # the server's user has the reserve
    refused_line(connect("-U", "1"))
    for raw in sessions:
        assert raw.exec("echo here").wait_closed().output == b"here\n"
    os.kill(sessions[0].line.monitor, signal.SIGKILL)
    sessions[0].line.wait_exit()
    connect("-U", "1").login()


def test_no_limit(connect, folder):
    """-U 0 counts nobody."""
    folder.write(table())
    for _ in range(3):
        connect("-U", "0").login()
    assert folder.read()[-4 * LOGINS:] == bytes(4 * LOGINS)


def test_records_of_nobody(connect, folder, site):
    """Records that claim the user has every connection, held by no process."""
    folder.write(table(logins=struct.pack("=I", site.user.pw_uid + 1) * LOGINS))
    connect("-U", "1").login()


@pytest.mark.slow
def test_silence_beside_many(connect, folder):
    """A silent connection is ended early while many are silent, and not while few are. Those that have exchanged keys
    stay."""
    folder.write(table(limit=64))
    busy = connect()
    busy.handshake()
    few = [connect() for _ in range(8)]
    time.sleep(3.5)
    assert not any(raw.line.log.events("end") for raw in few)
    many = [connect() for _ in range(25)]
    for raw in few[:3]:
        assert raw.line.log.wait("end")[0]["reason"] == "client is silent, and so are many others"
    busy.login()
    many[-1].login()


# ---- penalties --------------------------------------------------------------------------------------------------

PENALTY = struct.Struct("=QqQ")
PENALIZED, OTHER = 0x0000FFFFC0000201, 0x0000FFFFC0000202  # as slots.c has 192.0.2.1 and 192.0.2.2


def now_ms():
    return int(time.monotonic() * 1000)


def penalties(folder):
    entries = PENALTY.iter_unpack(folder.read()[HEADER.size:FRONT_BYTES])
    return {network: (until_ms, trusted) for network, until_ms, trusted in entries if until_ms > 0}


@pytest.fixture
def come(dial, folder):
    """come(address): a connection from there, as a launcher tells it who does not hand on the socket."""
    def start(address):
        line = dial(mode="user", pair=socket.socketpair(), env={"XDG_RUNTIME_DIR": folder.path, "TCPREMOTEIP": address})
        line.log.wait("connection" if line.sock.recv(1) else "refused")
        return line
    return start


def leave(line):
    line.sock.close()
    line.wait_exit()


def test_a_penalty(come, folder):
    """An address with a penalty evicts nobody else: where all slots are taken it is refused, another one is not. A connection
    without a login costs a second."""
    folder.write(table(penalties=PENALTY.pack(PENALIZED, now_ms() + 60000, 0)))
    leave(come("192.0.2.1"))  # there is a free slot
    others = [come(f"198.51.{number}.1") for number in range(LIMIT)]
    refused = come("192.0.2.1")
    refused.wait_exit()
    assert [line["reason"] for line in refused.log.events("refused")] == ["penalty"]
    assert refused.proc.returncode == 0 and refused.log.events("end") == []
    leave(come("192.0.2.2"))
    others[0].log.wait("end")
    assert [other for other in others if other.log.events("end")] == others[:1]
    until_ms, trusted = penalties(folder)[OTHER]
    assert until_ms <= now_ms() + 1000 and trusted == 0
    assert PENALIZED in penalties(folder)


def test_a_penalty_behind_one_address(come, folder):
    """Who shares an address with an attacker gets in: the attacker's connections are evicted for it."""
    folder.write(table(penalties=PENALTY.pack(PENALIZED, now_ms() + 60000, 0)))
    attackers = [come("192.0.2.1") for _ in range(LIMIT)]
    leave(come("192.0.2.1"))
    assert attackers[0].log.wait("end")[0]["reason"] == "evicted: a new connection needed the slot"


def test_a_small_penalty(come, folder):
    folder.write(table(penalties=PENALTY.pack(PENALIZED, now_ms() + 29000, 0)))
    leave(come("192.0.2.1"))


def test_this_host_has_no_penalty(come, folder):
    leave(come("127.0.0.1"))
    assert penalties(folder) == {}


def test_a_login_is_trusted(come, client, folder):
    """After a login from an address, those who fail there do not keep its users out."""
    raw = client(started={"mode": "user", "pair": socket.socketpair(),
                          "env": {"XDG_RUNTIME_DIR": folder.path, "TCPREMOTEIP": "192.0.2.1"}})
    raw.login()
    trust = penalties(folder)[PENALIZED]
    assert trust[1] == 1 and trust[0] > now_ms() + 3000000
    folder.write(table(penalties=PENALTY.pack(PENALIZED, now_ms() + 60000, 1)))
    leave(come("192.0.2.1"))
    assert penalties(folder)[PENALIZED][0] <= now_ms() + 60000
    client(started={"mode": "user", "pair": socket.socketpair(),
                    "env": {"XDG_RUNTIME_DIR": folder.path, "TCPREMOTEIP": "192.0.2.1"}}).login()
    assert penalties(folder)[PENALIZED][0] > now_ms() + 3000000  # each login begins the hour anew


# ---- files that are no table ------------------------------------------------------------------------------------

SCRIBBLE = bytes((7 * i * i + 3 * i) % 251 for i in range(len(table())))


@pytest.mark.parametrize("data", [SCRIBBLE, b"", table()[:-1], table() + b"\0", table(version=1), table(version=3), table(limit=0),
                                  table(limit=LIMIT - 1), table(limit=129), table(limit=2**32 - 1)],
                         ids=["damaged", "empty", "short", "long", "older", "newer", "no-limit", "low", "high", "huge"])
def test_a_damaged_table_is_replaced(connect, folder, data):
    """With one line in the log. Whoever has a slot in the old one keeps its connection."""
    folder.write(table())
    before = connect()
    folder.write(data)
    raw = connect()
    assert [line["reason"] for line in troubles(raw)] == ["damaged or of another version; replaced"]
    assert "admission" not in connection(raw)
    raw.login()
    assert troubles(connect()) == []
    before.login()


def not_ours(folder, kind):
    if kind == "link":
        os.symlink("/etc/hostname", folder.file)
    elif kind == "pipe":
        os.mkfifo(folder.file, 0o600)
    elif kind == "folder":
        os.mkdir(folder.file, 0o700)
    else:
        folder.write(table(), {"writable": 0o602, "readable": 0o640}.get(kind, 0o600))
    if kind == "foreign":
        os.chown(folder.file, 1, 1)
        os.chmod(folder.file, 0o666)
    elif folder.site.root and kind != "link":
        os.chown(folder.file, folder.site.user.pw_uid, folder.site.user.pw_gid)


@pytest.mark.parametrize("kind, reason", [
    ("writable", "is open to other users"), ("readable", "is open to other users"), ("pipe", "no regular file"),
    ("link", "Too many levels of symbolic links|Symbolic link loop"), ("folder", "Is a directory"),
    pytest.param("foreign", "has another owner", marks=pytest.mark.root)])
def test_what_is_not_trusted(connect, folder, kind, reason):
    """It stays as it is, and connections are served without a slot."""
    not_ours(folder, kind)
    before = os.lstat(folder.file)
    raw = connect()
    [line] = troubles(raw)
    assert line["path"] == folder.file and line["reason"] in reason.split("|")  # musl has other words
    assert connection(raw)["admission"] == "none"
    raw.login()
    after = os.lstat(folder.file)
    assert (before.st_ino, before.st_mtime, before.st_mode) == (after.st_ino, after.st_mtime, after.st_mode)


def test_no_folder(connect, folder):
    os.rmdir(folder.path)
    raw = connect()
    assert [line["reason"] for line in troubles(raw)] == ["No such file or directory"]
    raw.login()


def test_a_folder_without_write(connect, folder):
    os.chmod(folder.path, 0o500)
    raw = connect()
    assert [line["reason"] for line in troubles(raw)] == ["Permission denied"]
    assert connection(raw)["admission"] == "none"
    raw.login()


def in_run(options, more=""):
    """What to start the daemon by, with a /run of its own."""
    return ["unshare", "-m", "sh", "-c", f'mount -t tmpfs -o {options} none /run && {more} exec "$@"', "sh"]


@pytest.mark.root
@pytest.mark.sandbox
@pytest.mark.parametrize("launch, reason", [
    (in_run("size=4k", "head -c 4096 /dev/zero >/run/full &&"), "No space left on device"),
    (in_run("ro"), "Read-only file system")], ids=["full", "read-only"])
def test_a_run_that_takes_nothing(client, launch, reason):
    raw = client(started={"mode": "root", "launch": launch})
    assert connection(raw)["admission"] == "none"
    assert [line["reason"] for line in troubles(raw)] == [reason]
    raw.login()


def without_run(more=""):
    """What to start the daemon by, in a root directory that is this one but for /run; /var/run is an empty folder, or
    what `more` makes of it."""
    return ["unshare", "-m", "sh", "-c", """
        mount -t tmpfs none /mnt
        for entry in /*; do
            case $entry in
            /mnt | /run | /var) ;;
            *) if [ -L "$entry" ]; then cp -P "$entry" /mnt
               elif [ -d "$entry" ]; then mkdir "/mnt$entry" && mount --rbind "$entry" "/mnt$entry"; fi ;;
            esac
        done
        mkdir /mnt/var /mnt/var/lib && mount --rbind /var/lib /mnt/var/lib
        """ + more + """
        exec /usr/sbin/chroot /mnt "$@" """, "sh"]


@pytest.mark.root
@pytest.mark.sandbox
def test_no_run(client):
    raw = client(started={"mode": "root", "launch": without_run()})
    assert connection(raw)["admission"] == "none"
    assert [(line["path"], line["reason"]) for line in troubles(raw)] == [("/var/run/wrensshd.slots",
                                                                           "No such file or directory")]
    raw.login()


@pytest.mark.root
@pytest.mark.sandbox
def test_the_older_name_of_run(client):
    raw = client(started={"mode": "root", "launch": without_run("mkdir -p /mnt/var/run")})
    assert "admission" not in connection(raw) and troubles(raw) == []
    raw.login()


def test_no_variable(client):
    """Not every launcher of an ordinary user sets it: no line but the field."""
    raw = client(started={"mode": "user", "env": {"XDG_RUNTIME_DIR": ""}})
    assert connection(raw)["admission"] == "none" and troubles(raw) == []


@pytest.mark.parametrize("far", [2**62, 2**63 - 1, -2**63])
def test_another_clock(connect, folder, far):
    """Times of before a restart, far in the future, and impossible ones keep nobody out and evict nobody wrongly."""
    penalties = struct.pack("=QqQ", 0x0000FFFF7F000001, far, 0) * PENALTIES
    slots = SLOT.pack(0x0000FFFF7F000001, 0, far, STARTED, 0) * SLOTS
    folder.write(table(penalties=penalties, slots=slots, evicted_ms=far, evicted=5))
    first = connect()
    assert first.line.log.wait("eviction")[0]["evicted"] == "5"
    others = [connect() for _ in range(LIMIT - 1)]
    newest = connect()
    assert is_evicted(first)
    for raw in (newest, *others):
        raw.login()


def test_slots_of_nobody(connect, folder):
    """A table that claims that all slots are taken, by processes that do not hold them."""
    slots = SLOT.pack(1 << 60, 5, 1, STARTED, os.getpid()) * SLOTS
    folder.write(table(slots=slots))
    for raw in [connect() for _ in range(LIMIT)]:
        assert raw.line.log.events("eviction") == []
        raw.login()
