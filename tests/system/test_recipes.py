"""The recipes for Alpine, Arch, Nix, OpenWrt, Buildroot and Yocto: they agree with the source, and the packages that they
make are whole. Their own tools are not available here: see recipes.py, and tests/field/recipes for those that can be had."""

import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys

import pytest

import proc
from daemon import PATIENCE_SECONDS, run
from namespace import tree
from listener import Listener
from openssh import OpenSSH
from recipes import PACKAGING, OpenWrt, Place, Started, page, version, words_of
from site_setup import PROJECT, run_or_fail
from whole_files import read, read_text, write

# They do not depend on how the daemon was built.
pytestmark = pytest.mark.slow
RECIPES = {"alpine": "alpine/APKBUILD", "arch": "arch/PKGBUILD", "nix": "nix/package.nix",
           "openwrt": "openwrt/Makefile", "buildroot": "buildroot/wrensshd.mk", "yocto": f"yocto/wrensshd_{version()}.bb"}
UNITS = ["wrensshd.socket", "wrensshd@.service", "wrensshd-listen.socket", "wrensshd-listen.service", "wrensshd-keygen.service",
         "wrensshd-sessions.service",
         *(f"wrensshd-{name}{kind}" for name in ("vsock", "unix-local", "unix-export") for kind in (".socket", "@.service"))]
NAMES = ["wrensshd", "wrensshd-makekey", "wrensshd-printkey", "wrensshd-listen", "wrensshd-sftp"]


def starts(unit, program):
    """Whether the unit starts this program with flags and the key directory."""
    return re.search(rf"^ExecStart={program} .*\$WRENSSHD_FLAGS /etc/wrensshd$", unit, re.M)


def recipe(name):
    return read_text(os.path.join(PACKAGING, RECIPES[name]))


@pytest.fixture
def place(site, closing):
    """A place that the tests' user, who runs makepkg, can reach."""
    if not shutil.which("meson"):
        pytest.skip("no meson here")
    made = Place(site, os.path.join(site.base, "recipe"))
    return closing(made, lambda: shutil.rmtree(made.path))


# ---- what they say ------------------------------------------------------------------------------

@pytest.mark.parametrize("name, begin", [
    ("alpine", "pkgver="), ("arch", "pkgver="), ("openwrt", "PKG_VERSION:="), ("buildroot", "WRENSSHD_VERSION = ")])
def test_version(name, begin):
    """Each recipe has the version of the source."""
    assert begin + version() in recipe(name).splitlines()


def test_versions_elsewhere():
    """Yocto takes the version from the file's name, so there is one such file only."""
    assert f'  version = "{version()}";' in recipe("nix").splitlines()
    assert [os.path.basename(path) for path in glob.glob(PACKAGING + "/yocto/*.bb")] == [f"wrensshd_{version()}.bb"]
    assert f"wrenssh-{version()}.tar.xz" in read_text(PACKAGING + "/buildroot/wrensshd.hash")


@pytest.mark.parametrize("name, line", [
    ("alpine", 'license="ISC"'), ("arch", "license=(ISC)"), ("openwrt", "PKG_LICENSE:=ISC"),
    ("nix", "    license = lib.licenses.isc;"), ("buildroot", "WRENSSHD_LICENSE = ISC"), ("yocto", 'LICENSE = "ISC"')])
def test_license(name, line):
    """Each recipe names the license, because image builders list licenses from it."""
    assert line in recipe(name).splitlines()
    assert "license: 'ISC'" in read_text(PROJECT + "/meson.build")


def test_license_sums():
    """The sums of the license file are right; Buildroot and Yocto refuse to build otherwise."""
    text = read(PROJECT + "/LICENSE")
    assert f"sha256  {hashlib.sha256(text).hexdigest()}  LICENSE\n" in read_text(PACKAGING + "/buildroot/wrensshd.hash")
    assert f"file://LICENSE;md5={hashlib.md5(text).hexdigest()}\"" in recipe("yocto")


@pytest.mark.parametrize("name", RECIPES)
def test_source(name):
    """All recipes take the source from one place, and none has an invented sum."""
    text = recipe(name)
    for variable in ("$pkgver", "${PV}", "${finalAttrs.version}", "$(PKG_VERSION)", "$(WRENSSHD_VERSION)"):
        text = text.replace(variable, version())
    assert "wrenssh-" + version() + ".tar.xz" in text
    assert page() + "/releases" in text
    assert "To fill in" in text
    assert not re.search(r"\b[0-9a-f]{64,}\b", text)


@pytest.mark.parametrize("name, count", [
    ("alpine/APKBUILD", 2), ("arch/PKGBUILD", 2), ("buildroot/Config.in", 1), ("buildroot/wrensshd.mk", 1),
    ("debian/control", 1), ("nix/package.nix", 2), ("openwrt/Makefile", 2), (RECIPES["yocto"], 2), ("../man/wrensshd.8", 1)])
def test_page(name, count):
    """All recipes and the man page have the page of the project that meson.build has, and no other address."""
    found = re.findall(r"https?://[^\s\"']+", read_text(os.path.join(PACKAGING, name)))
    assert len(found) == count and all(address.startswith(page() + "/") for address in found), found


@pytest.mark.parametrize("name", RECIPES)
def test_options(name):
    """Each option exists in the source, because meson ends at an unknown one."""
    known = set(re.findall(r"^option\('(\w+)'", read_text(PROJECT + "/meson_options.txt"), re.M))
    given = dict(re.findall(r"-D(\w+)=(\S+)", recipe(name)))
    assert set(given) <= known
    assert given["initramfs"].strip('" \\') == "false"


# ---- what their linters say ---------------------------------------------------------------------

@pytest.mark.parametrize("shell, files, excluded", [
    ("sh", ["alpine/APKBUILD", "alpine/wrensshd.initd", "alpine/wrensshd.pre-install"], ""),
    ("sh", ["alpine/wrensshd.confd"], "SC2034"),
    ("bash", ["arch/PKGBUILD", "arch/wrensshd.install", "arch/wrensshd-mkinitcpio.install"], ""),
    ("dash", ["openwrt/files/wrensshd.init"], ""),
    ("sh", ["buildroot/S50wrensshd"], "")])
def test_shellcheck(shell, files, excluded):
    """shellcheck finds nothing in the recipes."""
    if not shutil.which("shellcheck"):
        pytest.skip("no shellcheck here")
    exclude = ["-e", excluded] if excluded else []
    done = run(["shellcheck", "-s", shell, *exclude, *(os.path.join(PACKAGING, name) for name in files)])
    assert done.returncode == 0, done.stdout
    for name in files:
        assert run(["bash" if shell == "bash" else "sh", "-n", os.path.join(PACKAGING, name)]).returncode == 0


def test_oelint():
    """The rules of OpenEmbedded hold, except those that need a release."""
    program = shutil.which("oelint-adv", path=os.environ["PATH"] + ":" + os.path.dirname(sys.executable))
    if not program:
        pytest.skip("no oelint-adv here")
    left_out = ["oelint.vars.homepageping", "oelint.var.suggestedvar.BUGTRACKER", "oelint.var.suggestedvar.CVE_PRODUCT",
                "oelint.var.bbclassextend"]
    done = run([program, "--quiet", *(word for rule in left_out for word in ("--suppress", rule)),
                os.path.join(PACKAGING, RECIPES["yocto"])])
    assert done.returncode == 0 and not re.search(r":(warning|error|info):", done.stdout + done.stderr), done.stderr


def test_buildroot_rules():
    """The rules of Buildroot's check-package hold for the two files with a layout of their own."""
    for number, line in enumerate(read_text(PACKAGING + "/buildroot/S50wrensshd").splitlines(), 1):
        assert not line.startswith(" "), f"line {number} is indented with spaces"
    for line in read_text(PACKAGING + "/buildroot/Config.in").splitlines():
        if line.startswith("\t  "):
            assert len(line.expandtabs(8)) <= 72, line
    assert not os.access(PACKAGING + "/buildroot/S50wrensshd", os.X_OK)


# ---- what they install --------------------------------------------------------------------------

@pytest.mark.root
def test_arch(place):
    """The two packages share no file, and the units start programs that are there."""
    if not tree("makepkg"):
        pytest.skip("makepkg is not there")
    place.stub("arch-meson", 'exec meson setup --prefix /usr --libexecdir lib --sbindir bin --buildtype plain "$@"\n')
    said = place.makepkg()
    complaints = [line for line in re.findall(".*(?:WARNING|ERROR|error:).*", said) if "Skipping" not in line]
    assert not complaints, complaints
    files = place.files()
    assert files >= {*(f"/usr/bin/{name}" for name in NAMES), *(f"/usr/lib/systemd/system/{name}" for name in UNITS),
                     "/usr/lib/initcpio/install/wrensshd", "/usr/lib/initcpio/hooks/wrensshd",
                     "/etc/wrensshd/initramfs/wrensshd.conf", "/usr/share/licenses/wrensshd/LICENSE",
                     "/usr/share/licenses/wrensshd-mkinitcpio/LICENSE"}
    assert starts(place.read("/usr/lib/systemd/system/wrensshd@.service"), "/usr/bin/wrensshd")
    for service in ("listen", "runit", "s6", "tcpserver"):
        assert os.access(f"{place.root}/usr/share/wrensshd/{service}/run", os.X_OK)
    for name in ("inetd.conf", "wrensshd.xinetd"):
        assert re.search(r"(root|=) /usr/bin/wrensshd", place.read("/usr/share/wrensshd/inetd/" + name).replace("  ", " "))
    # pacman's record of each package: the install file was found, and settings are kept.
    for package, kept in (("wrensshd", ""), ("wrensshd-mkinitcpio", "etc/wrensshd/initramfs/wrensshd.conf\t")):
        known = f"/var/lib/pacman/local/{package}-{version()}-1"
        assert known + "/install" in files
        assert kept in (place.read(known + "/files") + "\n").partition("%BACKUP%")[2]
    sysusers = shutil.which("systemd-sysusers")
    if sysusers:
        place.run([sysusers, "--root", place.root])
        assert re.search(r"^wrensshd:.*/nologin$", place.read("/etc/passwd"), re.M)


@pytest.mark.parametrize("active, restarts", [(True, True), (False, False)])
def test_arch_scriptlets(tmp_path, active, restarts):
    """The scriptlets run without a complaint, restart units after an upgrade, and start none that was not started."""
    write(str(tmp_path / "systemctl"), f'#!/bin/sh\necho "$*" >>{tmp_path}/told\n'
          f'case $* in *is-active*) {str(active).lower()} ;; esac\n', mode=0o755)
    done = run(["bash", "-euc", f". {PACKAGING}/arch/wrensshd.install; post_install; post_upgrade 2 1; pre_remove"],
               env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == 0 and not done.stderr, done.stderr
    told = read_text(str(tmp_path / "told")).splitlines()
    sockets = [unit for unit in UNITS if unit.endswith(".socket")]
    for unit in sockets:
        assert (f"restart {unit}" in told) == restarts
    assert told[-2:] == ["--quiet disable --now " + " ".join(sockets), "stop wrensshd-listen.service"]


@pytest.mark.parametrize("package, folder", [("wrensshd", "wrensshd"), ("wrensshd-initramfs", "wrensshd/initramfs")])
def test_debian_purge_of_a_link(tmp_path, package, folder):
    """A purge works where the keys are on another file system, behind a link."""
    os.makedirs(tmp_path / "elsewhere")
    os.makedirs(os.path.dirname(tmp_path / folder), exist_ok=True)
    os.symlink(tmp_path / "elsewhere", tmp_path / folder)
    for name in (".ed25519.sk", "other"):
        (tmp_path / folder / name).touch()
    script = read_text(os.path.join(PACKAGING, f"debian/{package}.postrm")).replace("/etc/", str(tmp_path) + "/")
    done = run(["sh", "-c", script, "postrm", "purge"])
    assert done.returncode == 0, done.stderr
    assert os.listdir(tmp_path / "elsewhere") == ["other"]


def test_debian_purge_of_a_sealed_key(site, tmp_path):
    """The key that is sealed for a TPM lies on the disk as it is: a purge removes it, and leaves what is not ours."""
    sealed = tmp_path / "wrensshd/initramfs/sealed"
    os.makedirs(sealed)
    run_or_fail([os.path.join(site.bin, "wrensshd-makekey"), "-q", str(sealed)])
    (sealed / ".ed25519.sk.tmp").touch()
    (sealed / "notes").touch()
    script = read_text(os.path.join(PACKAGING, "debian/wrensshd-initramfs.postrm")).replace("/etc/", str(tmp_path) + "/")
    for action in ("remove", "purge"):
        done = run(["sh", "-c", script, "postrm", action])
        assert done.returncode == 0 and not done.stderr, done.stderr
        assert os.path.exists(sealed / ".ed25519.sk") == (action == "remove")
    assert os.listdir(sealed) == ["notes"]
    (sealed / "notes").unlink()
    assert run(["sh", "-c", script, "postrm", "purge"]).returncode == 0
    assert os.listdir(tmp_path) == []


def test_alpine(place):
    """The package has its service for OpenRC, and none for another init."""
    place.stub("abuild-meson", 'exec meson setup --prefix=/usr --sbindir=/usr/sbin --wrap-mode=nodownload "$@"\n')
    recipe_path = os.path.join(PACKAGING, "alpine/APKBUILD")
    for name in ("initd", "confd"):
        shutil.copy(f"{PACKAGING}/alpine/wrensshd.{name}", place.path)
    out = place.run(["sh", "-euc", f"want_check() {{ false; }}; . {recipe_path}; "
                     'cd "$builddir"; build >/dev/null; package >/dev/null; echo $source; echo $install'],
                    pkgdir=place.root, srcdir=place.path)
    source, install = out.splitlines()[-2:]
    for name in [*source.split()[1:], install]:
        assert os.path.exists(os.path.join(PACKAGING, "alpine", name))
    files = place.files()
    assert files >= {*(f"/usr/sbin/{name}" for name in NAMES), "/etc/init.d/wrensshd", "/etc/conf.d/wrensshd"}
    assert not [name for name in files if "systemd" in name or "initramfs" in name]
    assert read_text(place.path + "/tests") == "-Dtests=false\n"


OPENWRT = """
TOPDIR := .
INCLUDE_DIR := .
INSTALL_DIR := install -d -m0755
INSTALL_BIN := install -m0755
INSTALL_CONF := install -m0600
CP := cp -fpR
PKG_INSTALL_DIR := installed
BuildPackage = $(eval $(call Package/wrensshd))
include recipe/Makefile
arguments: ; @echo $(MESON_ARGS)
package: ; $(call Package/wrensshd/install,$(ROOT))
"""


def test_openwrt(place):
    """The package has everything that its service starts."""
    shutil.copytree(PACKAGING + "/openwrt", place.path + "/recipe")
    os.symlink("recipe/files", place.path + "/files")
    for name in ("rules.mk", "package.mk", "meson.mk"):
        write(os.path.join(place.path, name), "")
    place.meson(*place.make(OPENWRT, "arguments").split())
    os.rename(place.root, place.path + "/installed")
    place.make(OPENWRT, "package", f"ROOT={place.root}")
    assert place.files() == {*(f"/usr/sbin/{name}" for name in NAMES), "/etc/init.d/wrensshd", "/etc/config/wrensshd"}
    assert os.readlink(place.root + "/usr/sbin/wrensshd-listen") == "wrensshd"
    text = recipe("openwrt")
    for path in re.search(r"conffiles\n(.*?)endef", text, re.S)[1].split():
        assert path in ("/etc/wrensshd/", "/root/.ssh/authorized_keys") or path in place.files()
    assert "USERID:=wrensshd:wrensshd" in text


BUILDROOT = """
WRENSSHD_PKGDIR = recipe
INSTALL = install
include recipe/wrensshd.mk
options: ; @echo $(WRENSSHD_CONF_OPTS)
sysv: ; $(WRENSSHD_INSTALL_INIT_SYSV)
"""


@pytest.mark.parametrize("systemd", [True, False])
def test_buildroot(place, systemd):
    """The image has its init script, and none for another init."""
    shutil.copytree(PACKAGING + "/buildroot", place.path + "/recipe")
    settings = [f"TARGET_DIR={place.root}", *(["BR2_INIT_SYSTEMD=y"] if systemd else [])]
    place.meson(*place.make(BUILDROOT, "options", *settings).split())
    if not systemd:
        place.make(BUILDROOT, "sysv", *settings)
    files = place.files()
    assert files >= {f"/usr/sbin/{name}" for name in NAMES}
    assert {os.path.basename(name) for name in files if "/systemd/" in name} == set(UNITS if systemd else ())
    assert ("/etc/init.d/S50wrensshd" in files) != systemd
    if systemd:
        assert starts(place.read("/usr/lib/systemd/system/wrensshd@.service"), "/usr/sbin/wrensshd")


YOCTO = {"libexecdir": "/usr/libexec", "sysconfdir": "/etc", "prefix": "/usr", "datadir": "/usr/share"}


def test_yocto(place):
    """Each file belongs to a package, and units are where systemd looks for them."""
    text = recipe("yocto")

    def expand(value, **more):
        return re.sub(r"\$\{(\w+)\}", lambda found: {**YOCTO, **more}[found[1]], value)

    options = re.search(r'EXTRA_OEMESON = "(.*)"', text)[1] + " " + re.search(
        r'PACKAGECONFIG\[systemd\] = "([^,"]*),', text)[1]
    append = re.search(r"^do_install:append\(\) \{\n(.*?)^\}", text, re.S | re.M)[1]
    place.meson(*expand(options).split())
    for units in ("/usr/lib/systemd/system", "/lib/systemd/system"):
        shutil.rmtree(place.root)
        place.meson_install()
        place.run(["sh", "-euc", expand(append, S=place.tree, D=place.root, systemd_system_unitdir=units)])
        files = place.files()
        service = re.search(r'SYSTEMD_SERVICE:\$\{PN\} = "(.*)"', text)[1]
        assert f"{units}/{service}" in files
        assert {name for name in files if "/systemd/" in name} == {f"{units}/{name}" for name in UNITS}
        assert starts(place.read(f"{units}/wrensshd@.service"), "/usr/sbin/wrensshd")
        script = re.search(r'INITSCRIPT_NAME = "(.*)"', text)[1]
        assert os.access(f"{place.root}/etc/init.d/{script}", os.X_OK)
        packaged = ("/usr/sbin/", "/etc/", "/usr/share/man/", "/usr/share/wrensshd/", units + "/")
        assert not [name for name in files if not name.startswith(packaged)]


# ---- what their services start ------------------------------------------------------------------

class Services:
    """Runs the start of each init script with stubs; the result is the command line that it starts."""

    def __init__(self, path):
        self.path = str(path)
        self.note = os.path.join(self.path, "note")

    def script(self, name, *changes):
        text = read_text(os.path.join(PACKAGING, name))
        # The one path that a script runs itself.
        for old, new in (("/usr/sbin/wrensshd-makekey", self.path + "/makekey"), *changes):
            assert old in text, old
            text = text.replace(old, new)
        path = os.path.join(self.path, os.path.basename(name))
        write(path, text, mode=0o755)
        write(self.path + "/sleep", "#!/bin/sh\n", mode=0o755)
        write(self.path + "/makekey", f'#!/bin/sh\necho "$@" >{self.path}/made\n', mode=0o755)
        return path

    def sh(self, text):
        environment = {"PATH": f"{self.path}:{os.environ['PATH']}"}
        done = subprocess.run(["sh", "-uc", text], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=30, check=False)
        assert done.returncode == 0, done.stdout
        assert read_text(self.path + "/made") == "-q /etc/wrensshd\n"
        return words_of(self.note)

    def buildroot(self, verb="start"):
        write(self.path + "/start-stop-daemon", f'#!/bin/sh\nprintf "\'%s\' " "$@" >{self.note}\n', mode=0o755)
        words = self.sh(f"set -- {verb}; . {self.script('buildroot/S50wrensshd')}")
        return [words[words.index("-x") + 1], *words[words.index("--") + 1:]]

    def openwrt(self):
        return OpenWrt(self.path).start()

    def alpine(self):
        script = self.script("alpine/wrensshd.initd")
        return self.sh(f"""
use() {{ :; }}
after() {{ :; }}
. {PACKAGING}/alpine/wrensshd.confd
. {script}
depend
start_pre && eval "set -- $(echo $command_args)" && printf "'%s' " "$command" "$@" >{self.note}""")


@pytest.mark.parametrize("name, port", [("buildroot", "22"), ("openwrt", "2222"), ("alpine", "22")])
def test_init_scripts(site, tmp_path, new_log, name, port):
    """The command lines have valid flags, so that a board does not lose its login."""
    started = Started(site, getattr(Services(tmp_path), name)())
    started.check()
    assert started.port == port
    assert "-l" in started.daemon, "what the daemon says would go to /dev/null"
    # And it serves: with a port of its own and the test's key.
    listener = Listener(site, new_log(), *started.listen,
                        program=(site.daemon, *site.daemon_args(), *started.daemon[:-1], site.keydir(site.mode)))
    try:
        with listener.connect() as client:
            assert client.recv(8) == b"SSH-2.0-"
    finally:
        listener.end()
        proc.wait_until(lambda: not site.daemons_left(), PATIENCE_SECONDS)


def test_sysv_restarts(tmp_path):
    """restart works."""
    words = Services(tmp_path).buildroot("reload")
    assert words[0] == "/usr/sbin/wrensshd-listen"


def test_openwrt_shutdown(tmp_path):
    """At shutdown the sessions end after the listener, and before the network; a stop leaves them alone."""
    assert OpenWrt(tmp_path).run("shutdown") == [["stop"], ["killall", "-q", "wrensshd"]]


@pytest.mark.parametrize("interface, device", [("", None), ("lan", "br-lan"), ("wg0", "wg0"), ("lan1", "lan1")])
def test_openwrt_interface(tmp_path, interface, device):
    """The listener gets the kernel's name of OpenWrt's interface, or a name that only the kernel knows; and a change of the
    network starts the service again."""
    board = OpenWrt(tmp_path)
    words = board.start(interface=interface)
    assert ("-i" in words) == bool(device) and (not device or words[words.index("-i") + 1] == device)
    triggers = board.run("service_triggers", interface=interface)
    assert triggers == [["procd_add_reload_trigger", "wrensshd"]] + (
        [["procd_add_interface_trigger", "interface.*", interface, "/etc/init.d/wrensshd", "reload"]] if interface else [])


def test_openwrt_interface_is_down(tmp_path):
    """While OpenWrt's interface has no device, none of the same name is served, and the network's next change starts the service
    again."""
    board = OpenWrt(tmp_path)
    calls = board.run("start_service", interface="wan")
    assert [call[0] for call in calls] == ["logger"] and "until the interface wan is up" in logged(calls)
    assert "procd_add_interface_trigger" in [call[0] for call in board.run("service_triggers", interface="wan")]


def test_openwrt_settings(tmp_path):
    """mdns announces the port, unless it is off; a service that ends is started again without a limit; a file of settings
    from before has the keys where a new one has them; one that is off starts nothing."""
    board = OpenWrt(tmp_path)
    calls = board.run("start_service", keys=None, mdns=None, port="22")
    assert ["procd_add_mdns", "ssh", "tcp", "22", "daemon=wrensshd"] in calls
    assert ["procd_set_param", "respawn", "3600", "5", "0"] in calls
    command = next(call for call in calls if call[:2] == ["procd_set_param", "command"])
    assert command[command.index("-l"):] == ["-l", "-a", "/etc/wrensshd/keys/%u", "-a", "%h/.ssh/authorized_keys", "/etc/wrensshd"]
    assert "procd_add_mdns" not in [call[0] for call in board.run("start_service", mdns="0")]
    assert board.run("start_service; note nothing", enabled="0") == [["nothing"]]


def kept_by_sysupgrade(root, package):
    """What `sysupgrade -l` lists. A build writes those of conffiles that the package has no file of into keep.d, of which all
    files below are kept; the others, the opkg's conffiles, are kept if they were changed."""
    conffiles = re.search(r"conffiles\n(.*?)endef", recipe("openwrt"), re.S)[1].split()
    for name in conffiles:
        if os.path.isfile(package + name):
            if os.path.isfile(root + name) and read(root + name) != read(package + name):
                yield name
        elif os.path.isdir(root + name):
            yield from (os.path.join(folder, file)[len(root):] for folder, _, files in os.walk(root + name) for file in files)
        elif os.path.isfile(root + name):
            yield name


def login_on(site, new_log, board):
    """Starts the service, logs in as root with the command line that procd gets, and ends it again. The host key."""
    started = Started(site, board.start())
    flags = [word.replace("/etc/wrensshd/keys", f"{board.root}/etc/wrensshd/keys") for word in started.daemon if word != "-l"]
    listener = Listener(site, new_log(), *started.listen, program=(site.daemon, *site.daemon_args(), *flags))
    try:
        done = OpenSSH(site, listener.port, user="root")(
            "echo", "in", options=["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"])
        assert done.stdout == "in\n", done.stderr + listener.log.text()
    finally:
        listener.end()
        proc.wait_until(lambda: not site.daemons_left(), PATIENCE_SECONDS)
    return read(board.root + "/etc/wrensshd/ed25519.pk")


@pytest.mark.root
def test_openwrt_upgrade(site, tmp_path, folder, new_log):
    """Whoever has keys for Dropbear logs in to wrensshd after its first start, and after sysupgrade, which keeps only what the
    package names: with the same host key, the same keys and the changed settings."""
    root, package = folder, str(tmp_path / "package")
    for place in (root, package):
        os.makedirs(place + "/etc/config")
        shutil.copy(PACKAGING + "/openwrt/files/wrensshd.config", place + "/etc/config/wrensshd")
    os.mkdir(root + "/etc/dropbear")
    write(root + "/etc/dropbear/authorized_keys", site.identity_line + "\n", mode=0o600)
    board = OpenWrt(tmp_path, root, site)
    host_key = login_on(site, new_log, board)
    assert os.stat(root + "/etc/wrensshd/keys/root").st_mode & 0o777 == 0o600
    settings = read_text(root + "/etc/config/wrensshd")
    write(root + "/etc/config/wrensshd", settings.replace("'2222'", "'22'"))
    os.makedirs(root + "/root/.ssh")
    write(root + "/root/.ssh/authorized_keys", "kept\n")

    kept = sorted(kept_by_sysupgrade(root, package))
    assert kept == ["/etc/config/wrensshd", "/etc/wrensshd/.ed25519.sk", "/etc/wrensshd/ed25519.pk", "/etc/wrensshd/keys/.imported",
                    "/etc/wrensshd/keys/root", "/root/.ssh/authorized_keys"]
    run_or_fail(["tar", "-C", root, "-cf", tmp_path / "kept.tar", *(name[1:] for name in kept)])
    for name in os.listdir(root):
        shutil.rmtree(os.path.join(root, name))
    shutil.copytree(package, root, dirs_exist_ok=True)
    run_or_fail(["tar", "-C", root, "-xf", tmp_path / "kept.tar"])
    # Dropbear's files are kept, too.
    os.mkdir(root + "/etc/dropbear")
    write(root + "/etc/dropbear/authorized_keys", site.identity_line + "\n", mode=0o600)
    assert login_on(site, new_log, board) == host_key
    assert Started(site, board.start()).port == "22"



def board_of_dropbear(site, path, root):
    """A board before the first start of wrensshd, with keys for Dropbear."""
    os.makedirs(root + "/etc/config")
    shutil.copy(PACKAGING + "/openwrt/files/wrensshd.config", root + "/etc/config/wrensshd")
    os.mkdir(root + "/etc/dropbear")
    write(root + "/etc/dropbear/authorized_keys", site.identity_line + "\n", mode=0o600)
    return OpenWrt(path, root, site)


def logged(calls):
    return "\n".join(call[-1] for call in calls if call[0] == "logger")


@pytest.mark.root
def test_openwrt_imports_once(site, tmp_path, folder):
    """An import that was interrupted is done again. After a whole one, keys that were removed stay so: also when the host key
    is lost, or when sysupgrade has kept no other file of theirs."""
    board = board_of_dropbear(site, tmp_path, folder)
    keys = folder + "/etc/wrensshd/keys"
    os.makedirs(keys + ".new")
    write(keys + ".new/root", "half", mode=0o600)
    board.start()
    assert read_text(keys + "/root") == site.identity_line + "\n"
    assert sorted(os.listdir(folder + "/etc/wrensshd")) == [".ed25519.sk", "ed25519.pk", "keys"]
    os.remove(keys + "/root")
    os.remove(folder + "/etc/wrensshd/ed25519.pk")
    board.start()
    assert os.listdir(keys) == [".imported"] and os.path.exists(folder + "/etc/wrensshd/ed25519.pk")
    assert "/etc/wrensshd/keys/.imported" in kept_by_sysupgrade(folder, str(tmp_path))


@pytest.mark.root
@pytest.mark.parametrize("settings, imported, interface", [
    ("config dropbear\n\toption Port '22'", True, ""),
    ("config dropbear 'main'\n\toption Interface 'lan guest'", True, "lan"),
    ("config dropbear\n\toption Interface 'lan'\n\toption DirectInterface 'guest'", True, "guest"),
    ("config dropbear\n\toption RootLogin '0'", False, ""),
    ("config dropbear\n\toption enable '0'", False, ""),
    ("config dropbear\n\toption RunAsUser 'guest'", False, ""),
    ("config dropbear\n\toption ForceCommand '/bin/reboot'", False, ""),
    ("config dropbear\n\toption enable '0'\n\nconfig dropbear\n\toption Interface 'lan'", True, "lan"),
    ("config dropbear\n\toption Interface 'lan'\n\nconfig dropbear\n\toption Interface 'wan'", True, "lan")])
def test_openwrt_restrictions_of_dropbear(site, tmp_path, folder, settings, imported, interface):
    """Root's keys open no more for wrensshd than for Dropbear: root stays out if it was, and an interface is taken over into the
    settings before the listener starts. The log says what was done."""
    board = board_of_dropbear(site, tmp_path, folder)
    write(folder + "/etc/config/dropbear", settings + "\n")
    calls = board.run("start_service")
    assert os.path.exists(folder + "/etc/wrensshd/keys/root") == imported
    assert ("root gets the keys" if imported else "root does not get the keys") in logged(calls)
    command = next(call for call in calls if call[:2] == ["procd_set_param", "command"])
    assert ("-i" in command) == bool(interface)
    assert not interface or command[command.index("-i") + 1] == {"lan": "br-lan"}.get(interface, interface)


@pytest.mark.root
def test_openwrt_settings_are_not_written(site, tmp_path, folder):
    """If the interface can't be written, root gets no keys, and a later start tries again."""
    board = board_of_dropbear(site, tmp_path, folder)
    write(folder + "/etc/config/dropbear", "config dropbear\n\toption Interface 'lan'\n")
    program = board.path + "/uci"
    text = read_text(program)
    for verb in ("set", "commit"):
        write(program, text.replace(f'"{verb} ', '"no '), mode=0o755)
        assert "can't be imported" in logged(board.run("start_service"))
        assert not os.path.exists(folder + "/etc/wrensshd/keys")
    write(program, text, mode=0o755)
    assert "-i" in board.start()
    assert os.path.exists(folder + "/etc/wrensshd/keys/root")


@pytest.mark.root
def test_openwrt_interface_of_its_own(site, tmp_path, folder):
    """The administrator's own interface is not changed for Dropbear's."""
    board = board_of_dropbear(site, tmp_path, folder)
    write(board.config, read_text(board.config).replace("interface ''", "interface 'wg0'"))
    write(folder + "/etc/config/dropbear", "config dropbear\n\toption Interface 'lan'\n")
    words = board.start()
    assert words[words.index("-i") + 1] == "wg0"
    assert os.path.exists(folder + "/etc/wrensshd/keys/root")


@pytest.mark.root
@pytest.mark.skipif(not shutil.which("dropbearconvert"), reason="no dropbearconvert here")
def test_openwrt_host_key_of_dropbear(site, tmp_path, folder):
    """Clients of Dropbear know the host key, if its own converter is there. A key that can't be read is no obstacle."""
    board = board_of_dropbear(site, tmp_path, folder)
    key = folder + "/etc/dropbear/dropbear_ed25519_host_key"
    made = run(["dropbearkey", "-t", "ed25519", "-f", key])
    board.run("start_service")
    printed = run([site.bin + "/wrensshd-printkey", folder + "/etc/wrensshd"]).stdout
    assert re.search(r"ssh-ed25519 (\S+)", made.stdout)[1] in printed
    assert sorted(os.listdir(folder + "/etc/wrensshd")) == [".ed25519.sk", "ed25519.pk", "keys"]

    shutil.rmtree(folder + "/etc/wrensshd")
    write(key, "no key")
    calls = board.run("start_service")
    assert "can't be imported" in logged(calls)
    assert sorted(os.listdir(folder + "/etc/wrensshd")) == [".ed25519.sk", "ed25519.pk", "keys"]


@pytest.mark.root
@pytest.mark.parametrize("end", ["exit 0", "exit 1", "kill -TERM $PPID"])
def test_openwrt_leaves_no_secret(site, tmp_path, folder, end):
    """Dropbear's host key is converted in memory, and removed there: after a success, a failure and an interruption."""
    board = board_of_dropbear(site, tmp_path, folder)
    write(folder + "/etc/dropbear/dropbear_ed25519_host_key", "key")
    run_or_fail(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", board.path + "/made"])
    write(board.path + "/dropbearconvert", f"""#!/bin/sh
case $4 in {board.memory}/*) cat {board.path}/made >"$4" ;; esac
stat -c %a "$4" "${{4%/*}}" >{board.path}/modes
{end}
""", mode=0o755)
    calls = board.run("start_service")
    assert ("can't be imported" in logged(calls)) == (end != "exit 0")
    assert words_of(board.path + "/modes") == ["600", "700"]
    assert os.listdir(board.memory) == []
    assert sorted(os.listdir(folder + "/etc/wrensshd")) == [".ed25519.sk", "ed25519.pk", "keys"]
    printed = run([site.bin + "/wrensshd-printkey", folder + "/etc/wrensshd"]).stdout
    assert (read_text(board.path + "/made.pub").split()[1] in printed) == (end == "exit 0")


@pytest.mark.root
def test_openwrt_without_a_log(site, tmp_path, folder):
    """A logger that fails does not keep the service from its first start."""
    board = board_of_dropbear(site, tmp_path, folder)
    write(board.path + "/logger", "#!/bin/sh\nexit 1\n", mode=0o755)
    assert board.start()
    assert os.path.exists(folder + "/etc/wrensshd/keys/root")


def test_alpine_paths():
    """The service starts programs where the package has them."""
    text = read_text(PACKAGING + "/alpine/wrensshd.initd")
    assert 'command="/usr/sbin/wrensshd-listen"' in text
    assert set(re.findall(r"\$(wrensshd_\w+)", text)) == set(
        re.findall(r"^(wrensshd_\w+)=", read_text(PACKAGING + "/alpine/wrensshd.confd"), re.M))
