"""packaging/ as a whole: numbers and commands in several places agree, all files are installed, and shellcheck finds
nothing."""

import os
import re
import shutil
import stat
import subprocess
import sys
from xml.etree import ElementTree

import pytest

import readme
from daemon import free_port, run
from recipes import PACKAGING, Place, version
from site_setup import PROJECT
from whole_files import read, read_text, write

PAGE = "packaging/README.md"
# They do not depend on how the daemon was built.
pytestmark = pytest.mark.slow


# ---- limits -------------------------------------------------------------------------------------

def numbers(name, *patterns):
    """The number that each pattern finds in a file; it must be the same at each place."""
    found = []
    for pattern in patterns:
        values = set(re.findall(pattern, read_text(os.path.join(PROJECT, name)), re.M))
        assert len(values) == 1, (name, pattern, values)
        found.append(int(values.pop()))
    return tuple(found)


# Rows of the table in packaging/README.md, and the files that have the same numbers.
TCPSVD = (r"tcpsvd .*-c (\d+)", r"tcpsvd .*-C (\d+)")
WORDS = (r"^# At most (\d+) connections", r"at most (\d+) from one address")
LIMITS = [
    ("systemd", "packaging/systemd/wrensshd.socket", [r"^MaxConnections=(\d+)$", r"^MaxConnectionsPerSource=(\d+)$"]),
    ("systemd", "man/wrensshd.8", [r"^MaxConnections=(\d+)$", r"^MaxConnectionsPerSource=(\d+)$"]),
    ("runit, with ipsvd", "packaging/runit/run", WORDS),
    ("daemontools, s6: tcpserver", "packaging/tcpserver/run", [r'tcpserver .*-c "\$\{most:-(\d+)\}"']),
    ("daemontools, s6: tcpserver", "packaging/tcpserver/run", WORDS[:1]),
    ("daemontools, s6: tcpserver", "packaging/s6/run", [r'tcpserver .*-c "\$\{most:-(\d+)\}"']),
    ("daemontools, s6: tcpserver", "packaging/s6/run", WORDS[:1]),
    ("daemontools, s6: tcpserver", "packaging/README.md", [r"tcpserver .*-c (\d+)"]),
    ("daemontools, s6: tcpserver", "README.md", [r"tcpserver .*-c (\d+)"]),
    ("daemontools, s6: tcpserver", "man/wrensshd.8", [r"tcpserver .*-c (\d+)"]),
    ("a board's init: `wrensshd-listen`", "packaging/listen/run", WORDS),
    ("a board's init: `wrensshd-listen`", "packaging/alpine/wrensshd.confd",
     [r'^wrensshd_connections="(\d+)"$', r'^wrensshd_connections_from_one="(\d+)"$']),
    ("a board's init: `wrensshd-listen`", "packaging/openwrt/files/wrensshd.config",
     [r"option connections '(\d+)'", r"option connections_from_one '(\d+)'"]),
    ("xinetd", "packaging/inetd/wrensshd.xinetd", [r"instances +=\s(\d+)$", r"per_source +=\s(\d+)$"]),
    ("busybox tcpsvd", "packaging/README.md", TCPSVD),
]


@pytest.mark.parametrize("row, name, patterns", LIMITS)
def test_limits(row, name, patterns):
    """The limits in the table are those of the launchers' files."""
    cells = re.search(rf"^\| {re.escape(row)} \| (.*) \|$", readme.read(PAGE), re.M)[1].split("|")
    told = tuple(int(cell) for cell in cells[:2] if cell.strip())
    assert numbers(name, *patterns) == told


def test_limits_of_rules():
    """The comment in the kernel's rules has their number."""
    burst, told = numbers("packaging/nftables/wrensshd.nft", r"burst (\d+) packets", r"may open (\d+) connections")
    assert burst == told


def test_limits_leave_room():
    """No shipped launcher can be filled: the daemon has twice LIMIT_SLOTS before their login, and LIMIT_LOGINS after it."""
    before, = numbers("src/base/limit_slots.h", r"^#define LIMIT_SLOTS +(\d+)$")
    most, one = numbers("packaging/systemd/wrensshd.socket", r"^MaxConnections=(\d+)$", r"^MaxConnectionsPerSource=(\d+)$")
    after, = numbers("src/base/limit_slots.h", r"^#define LIMIT_LOGINS +(\d+)$")
    assert most == 2 * before + after and one > 2 * before
    for name in ("packaging/README.md", "packaging/inetd/inetd.conf", "packaging/tcpserver/run"):
        assert str(2 * before) in read_text(os.path.join(PROJECT, name)), name


@pytest.mark.parametrize("name", ["tcpserver", "s6", "runit"])
@pytest.mark.parametrize("memory, most", [("MemTotal: 35840 kB", 29), ("MemTotal: 99328 kB", 117), ("MemTotal: 8000000 kB", 688),
                                          ("", 688)], ids=["64 MiB", "128 MiB", "much", "unknown"])
def test_limits_by_memory(tmp_path, name, memory, most):
    """The run scripts compute what wrensshd-listen does."""
    script = read_text(f"{PACKAGING}/{name}/run")
    slot, least, slots, after, without = numbers("src/base/limit_slots.h", *(
        rf"^#define LIMIT_{limit} +(\d+)$" for limit in ("SLOT_MEMORY_BYTES", "SLOTS_LEAST", "SLOTS", "LOGINS", "LOGINS_WITHOUT")))
    assert f"n = int($2 / {slot // 1024}); n = n < {least} ? {least} : n > {slots} ? {slots} : n\n" in script
    assert f"print 2 * n + int((n - {without}) * {after} / {slots - without}) }}'" in script
    (tmp_path / "meminfo").write_text(memory + "\n")
    command = script[script.index("most="):].replace("/proc/meminfo", str(tmp_path / "meminfo")).replace("exec ", "echo ")
    words = subprocess.run(["sh", "-c", command], capture_output=True, text=True).stdout.split()
    assert words[words.index("-c") + 1] == str(most)
    assert name != "runit" or words[words.index("-C") + 1] == str(most * 3 // 4)


def test_limits_in_an_initramfs():
    """All initramfs tools have the limits of a running system."""
    limits = (r"^MaxConnections=(\d+)$", r"^MaxConnectionsPerSource=(\d+)$")
    assert numbers("packaging/initramfs/systemd/wrensshd-initrd.socket", *limits) == numbers(
        "packaging/systemd/wrensshd.socket", *limits)
    assert re.search(r"/wrensshd-listen -k 3 \$", read_text(PACKAGING + "/initramfs/server.sh"))


def test_fail2ban_numbers():
    """The numbers in the text are those of the jail."""
    found = dict(re.findall(r"^(\w+) += (.*)$", read_text(PACKAGING + "/fail2ban/jail.d/wrensshd.conf"), re.M))
    assert (found["maxretry"], found["findtime"], found["bantime"]) == ("10", "10m", "1h")
    assert "bans for an hour any address that connects ten times within ten minutes" in readme.read(PAGE)


# ---- versions and paths -------------------------------------------------------------------------

def test_versions():
    """The names of files in the documents and the packages have the current version."""
    for page in readme.PAGES:
        told = re.findall(r"wrensshd[-_](\d+\.\d+\.\d+)[-_]", readme.read(page))
        assert told and set(told) == {version()}, page
    assert read_text(PACKAGING + "/debian/changelog").startswith(f"wrenssh ({version()}) ")


def test_sftp_server():
    """No file starts or wants another SFTP server: scp and sftp work with ours, and an initramfs has none. switch.sh reads the
    settings of other servers."""
    named = []
    for folder, _, names in os.walk(PACKAGING):
        for path in (os.path.join(folder, name) for name in names if not name.endswith((".md", ".pyc", "switch.sh"))):
            text = read(path)
            if b"sftp-server" in text or re.search(rb"-x *sftp=[^ ]", text):
                named.append(path)
    assert not named
    for name in ("server.sh", "systemd/connection"):
        assert " $WREN_OPTIONS -x sftp= " in read_text(f"{PACKAGING}/initramfs/{name}"), name


# ---- logs ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("folder", ["runit", "s6", "tcpserver"])
def test_log_sizes(folder):
    """Logs rotate, so that a scan does not fill the disk."""
    text = read_text(f"{PACKAGING}/{folder}/log/run")
    assert "# Ten files of at most 1 MB" in text
    assert re.findall(r"\bs(\d+)(?: |\\n)n(\d+)\b", text) == [("1000000", "10")]


# ---- what is installed --------------------------------------------------------------------------

def shared_files():
    """The files of packaging/ that launchers and administrators use from /usr/local/share/wrensshd."""
    return {os.path.relpath(os.path.join(folder, name), PACKAGING)
            for top in ("container", "fail2ban", "fleet", "inetd", "listen", "nftables", "profile.d", "runit", "s6", "tcpserver")
            for folder, _, names in os.walk(os.path.join(PACKAGING, top)) for name in names if not name.endswith(".md")}


@pytest.fixture
def place(site, closing):
    if not shutil.which("meson"):
        pytest.skip("no meson here")
    made = Place(site, os.path.join(site.base, "packaging"))
    return closing(made, lambda: shutil.rmtree(made.path))


@pytest.mark.parametrize("given", [[], ["-Dsystemd=false", "-Dinitramfs=false"]])
def test_install(place, given):
    """All files that the documents name are installed, with their modes."""
    place.meson("--prefix", "/usr/local", *given)
    files, shared = place.files(), "/usr/local/share/wrensshd/"
    assert {name.removeprefix(shared) for name in files
            if name.startswith(shared) and not name.startswith(shared + "packaging/")} == shared_files()
    for name in shared_files():
        mode = os.stat(place.root + shared + name).st_mode
        assert bool(mode & stat.S_IXOTH) == (os.path.basename(name) in ("prepare.sh", "renew", "run")), name
    units = {os.path.basename(name) for name in files if name.startswith("/usr/local/lib/systemd/system/")}
    initramfs = [name for name in files if name.startswith(shared + "packaging/")]
    if given:
        assert not units and not initramfs
    else:
        templates = {f"wrensshd-{name}@.service" for name in ("vsock", "unix-local", "unix-export")}
        assert units == {name.removesuffix(".in") for name in os.listdir(PACKAGING + "/systemd")} - {"meson.build"} | templates
        for name in templates:
            assert os.readlink(f"{place.root}/usr/local/lib/systemd/system/{name}") == "wrensshd@.service"
        installer = f"{place.root}{shared}packaging/initramfs/install.sh"
        for tool in ("initramfs-tools", "dracut", "mkinitcpio"):
            assert run(["sh", installer, tool], env={**os.environ, "DESTDIR": place.path + "/image"}).returncode == 0
    # Each place of ours that the pages name.
    named = set(re.findall(r"/usr/local/((?:share/wrensshd|sbin)/[\w./-]+)", "".join(map(readme.read, readme.PAGES))))
    assert len(named) > 10
    for name in named:
        assert os.path.exists(f"{place.root}/usr/local/{name}") or (given and "/packaging/" in name), name
    # What README.md says removes them again, but no file of others.
    write(f"{place.root}/usr/local/sbin/other", "")
    remove = re.search(r"Remove it: `(ninja .*)`", readme.read("README.md"))[1]
    place.run(remove.replace("build/release", "build").split())
    assert {name for name in place.files() if "/image/" not in name} == {"/usr/local/sbin/other"}


@pytest.mark.parametrize("unit, first", [("wrensshd@.service.in", "[Unit]\nCollectMode"),
                                         ("wrensshd.socket", "[Socket]\nListenStream")])
def test_units_in_the_man_page(unit, first):
    """The lines of the units in the document are those of the units that are installed, but for the machine's host's keys."""
    ours = read_text(f"{PACKAGING}/systemd/{unit}").replace("@sbindir@", "/usr/local/sbin")
    ours = re.sub(r"-a credential:\S+ ", "", ours).splitlines()
    told = [line for line in readme.example(first).splitlines() if re.match(r"[A-Z]\w+=", line)]
    assert len(told) > 5 and set(told) <= set(ours)


# ---- the picture in README.md ---------------------------------------------------------------------

PICTURE = "packaging/try.svg"
MOST_BYTES = 40_000


def draw(site, port):
    """What packaging/picture.py says, and the picture that it makes of a login at the daemon under test."""
    top = site.folder("picture")
    for name in ("packaging/try.sh", "packaging/picture.py", "tests/packages.sh"):
        os.makedirs(os.path.dirname(f"{top}/{name}"), exist_ok=True)
        shutil.copy(os.path.join(PROJECT, name), f"{top}/{name}")
    os.makedirs(f"{top}/bin")
    for name in ("meson", "ninja"):
        os.symlink("/bin/true", f"{top}/bin/{name}")
    os.makedirs(f"{top}/build/try/src")
    os.symlink(site.daemon, f"{top}/build/try/src/wrensshd")
    for name, text in (("build.ninja", ""), ("source-root", top)):
        write(f"{top}/build/try/{name}", text)
    done = run([sys.executable, f"{top}/packaging/picture.py"],
               env={**os.environ, "PATH": f"{top}/bin:{os.environ['PATH']}", "PORT": str(port)})
    made = read_text(f"{top}/{PICTURE}") if os.path.exists(f"{top}/{PICTURE}") else None
    shutil.rmtree(top)
    return done, made


@pytest.mark.sandbox
def test_picture(site):
    """README.md shows what packaging/try.sh says today, and nothing of who made the picture and where."""
    if not shutil.which("tcpserver"):
        pytest.skip("no tcpserver here")
    done, made = draw(site, free_port())
    assert done.returncode == 0, done.stdout + done.stderr
    assert made == read_text(os.path.join(PROJECT, PICTURE)), "python3 packaging/picture.py makes the picture again"


def test_picture_of_a_failure(site):
    """A picture of a message of failure would take the place of the good one."""
    done, made = draw(site, 0)
    assert done.returncode == 1 and "PORT takes a number" in done.stderr and made is None


def test_picture_stands_alone():
    """A page can show the picture: well-formed, small, with a text for those who can't see it, and nothing to fetch."""
    text = read_text(os.path.join(PROJECT, PICTURE))
    assert len(text.encode()) <= MOST_BYTES
    names = [element.tag.removeprefix("{http://www.w3.org/2000/svg}") for element in ElementTree.fromstring(text).iter()]
    assert set(names) == {"svg", "title", "desc", "style", "rect", "circle", "text"}
    assert not re.search(r"href|url\(|@import|[^\"]https?:", text)
    assert "prefers-color-scheme: dark" in text and f"]({PICTURE})" in readme.read("README.md")


# ---- shellcheck ---------------------------------------------------------------------------------

def scripts():
    """All scripts of the tree, by their first line or, if they are sourced, by a comment that names the shell."""
    for top in ("packaging", "tests", ".ci"):
        for folder, _, names in os.walk(os.path.join(PROJECT, top)):
            for path in (os.path.join(folder, name) for name in names):
                with open(path, "rb") as file:
                    begin = file.read(200)
                if re.match(rb"#!\S*(/|env )(ba|da|a)?sh\b|#!/sbin/openrc-run|(#!.*\n)?# shellcheck shell=", begin):
                    yield os.path.relpath(path, PROJECT)


def test_shellcheck():
    """shellcheck finds nothing in any script."""
    if not shutil.which("shellcheck"):
        pytest.skip("no shellcheck here")
    found = sorted(scripts())
    assert {"packaging/runit/run", "packaging/initramfs/image.sh", "packaging/mkinitcpio/hook",
            "packaging/debian/wrensshd.postrm", "packaging/openwrt/files/wrensshd.init", "tests/run.sh"} <= set(found)
    done = subprocess.run(["shellcheck", *found], cwd=PROJECT, stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stdout
