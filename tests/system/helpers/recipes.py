"""Runs the recipes for other distributions as far as that goes without these. Arch's makepkg and pacman are real; other
tools are stubs that record their arguments. meson is real, but the program that it should compile is the daemon under
test."""

import glob
import os
import re
import shlex
import shutil
import subprocess

from daemon import run
from namespace import tree
from site_setup import PROJECT
from whole_files import read_text, write

PACKAGING = os.path.join(PROJECT, "packaging")
# What Meson and packaging/cross unpack, perhaps at this moment.
UNPACKED = shutil.ignore_patterns("libsodium-*", "check-*", "packagecache", "__pycache__")
SOURCES = ("LICENSE", "crypto", "man", "meson.build", "meson_options.txt", "packaging", "src", "subprojects")


def version():
    return re.search(r"version: '([^']+)'", read_text(os.path.join(PROJECT, "meson.build")))[1]


def page():
    """The address of the project's page."""
    return re.search(r"^page=(.+)$", read_text(os.path.join(PROJECT, "packaging/project")), re.M)[1]


class Place:
    """A copy of the source, as a recipe finds it, and stubs of the tools."""

    def __init__(self, site, path):
        self.site, self.path = site, str(path)
        self.tree = os.path.join(self.path, "wrenssh-" + version())
        self.root = os.path.join(self.path, "root")
        self.bin = os.path.join(self.path, "bin")
        os.makedirs(self.tree)
        os.mkdir(self.bin)
        for name in SOURCES:
            source = os.path.join(PROJECT, name)
            if os.path.isdir(source):
                shutil.copytree(source, os.path.join(self.tree, name), symlinks=True, ignore=UNPACKED)
            else:
                shutil.copy(source, self.tree)
        # "meson compile -C FOLDER", "meson install --no-rebuild -C FOLDER", "meson setup ...", the last without the tests.
        self.stub("meson", f"""
for word; do folder=$word; done
case $1 in
compile) cp {site.daemon} "$folder/src/wrensshd" ;;
setup)
    shift
    for word; do
        shift
        case $word in
        -Dtests=*) echo "$word" >>{self.path}/tests; set -- "$@" -Dtests=false ;;
        *) set -- "$@" "$word" ;;
        esac
    done
    exec {shutil.which("meson")} setup -Dtests=false "$@"
    ;;
*) exec {shutil.which("meson")} "$@" ;;
esac
""")

    def stub(self, name, text):
        write(os.path.join(self.bin, name), "#!/bin/sh\n" + text, mode=0o755)

    def run(self, command, **variables):
        environment = {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": self.path, **variables}
        done = subprocess.run(command, cwd=self.path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def meson(self, *options):
        """What a build system does that has a class of its own for Meson."""
        self.run(["sh", "-euc", 'tree=$1; shift; meson setup --prefix /usr "$@" build "$tree"; meson compile -C build',
                  "sh", self.tree, *options])
        self.meson_install()

    def meson_install(self):
        self.run(["meson", "install", "--no-rebuild", "-C", "build"], DESTDIR=self.root)

    def makepkg(self):
        """Builds as an ordinary user, as makepkg insists, and has pacman install what came out. Returns what makepkg said."""
        os.mkdir(self.path + "/recipe")
        for name in os.listdir(PACKAGING + "/arch"):
            shutil.copy(os.path.join(PACKAGING, "arch", name), self.path + "/recipe")
        self.run(["tar", "-cJf", f"recipe/wrenssh-{version()}.tar.xz", os.path.basename(self.tree)], XZ_OPT="-0")
        found = shutil.copytree(tree("makepkg"), self.path + "/tools", symlinks=True)
        tools = {"LIBRARY": found + "/usr/share/makepkg", "PATH": f"{self.bin}:{found}/usr/bin:{os.environ['PATH']}",
                 "LD_LIBRARY_PATH": ":".join(glob.glob(found + "/usr/lib/*-linux-*"))}
        owner = self.site.user
        for name in (self.path, self.path + "/recipe"):
            os.chown(name, owner.pw_uid, owner.pw_gid)
        said = self.run(["setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups", "sh", "-euc",
                         "cd recipe; makepkg --nodeps --nocheck --skipinteg --nocolor --config $0/etc/makepkg.conf", found],
                        PACMAN="true", **tools)
        os.makedirs(self.root + "/var/lib/pacman")
        write(self.path + "/pacman.conf", "[options]\nArchitecture = auto\nLocalFileSigLevel = Never\n")
        self.run(["pacman", "--config", "pacman.conf", "--root", self.root, "--cachedir", self.path, "--noconfirm",
                  "--noscriptlet", "-ddU", *glob.glob(self.path + "/recipe/*.pkg.tar.gz")], **tools)
        return said

    def make(self, makefile, *targets):
        path = os.path.join(self.path, "Makefile")
        write(path, makefile)
        return self.run(["make", "--no-print-directory", "-s", *targets])

    def files(self):
        """All that was installed, from the root."""
        found = set()
        for folder, _, names in os.walk(self.root):
            found.update(os.path.join(folder, name)[len(self.root):] for name in names)
        return found

    def read(self, path):
        return read_text(self.root + path)


class OpenWrt:
    """OpenWrt's service with stubs of what it finds there. With `root`, a folder, its files are below that, and the programs
    are those of `site`; without, they do nothing."""

    def __init__(self, path, root=None, site=None):
        self.path, self.root = str(path), root
        self.script, self.calls = os.path.join(self.path, "init"), os.path.join(self.path, "calls")
        self.memory = os.path.join(self.path, "memory")
        self.config = root + "/etc/config/wrensshd" if root else PACKAGING + "/openwrt/files/wrensshd.config"
        for name in ("killall", "logger"):
            write(os.path.join(self.path, name), f"#!/bin/sh\n{{ printf '%s\\037' {name} \"$@\"; echo; }} >>{self.calls}\n",
                  mode=0o755)
        write(os.path.join(self.path, "network.sh"),
              'network_get_device() { unset "$1"; [ "$2" != lan ] || eval "$1=br-lan"; [ "$2" = lan ]; }\n')
        # wan is an interface without a device, lan1 a section for a port. Of wrensshd it knows the option interface only.
        write(os.path.join(self.path, "uci"), f"""#!/bin/sh
cd {self.path}
case "$*" in
"-q get network.wan") echo interface ;;
"-q get network.lan1") echo device ;;
"set wrensshd.cfg0.interface="*) echo "${{2##*=}}" >changed ;;
"commit wrensshd") [ ! -e changed ] || mv changed committed ;;
*) exit 1 ;;
esac
""", mode=0o755)
        os.mkdir(self.memory)
        text = read_text(PACKAGING + "/openwrt/files/wrensshd.init")
        text = text.replace("/tmp/", self.memory + "/").replace("/lib/functions/", self.path + "/")
        if root:
            text = re.sub(r"^(\w+)=/etc/", rf"\1={root}/etc/", text, flags=re.M)
            text = re.sub(r"/usr/sbin/(wrensshd[-\w]*) (?!-c|-l)", rf"{site.bin}/\1 ", text)
        else:
            text = re.sub(r"/usr/sbin/wrensshd-(makekey|printkey)", "true", text).replace("|| import_keys", "|| true")
        write(self.script, text)

    def sections(self, package):
        """The sections of this name in a package's file, each a dict of its options."""
        path = self.config if package == "wrensshd" else f"{self.root}/etc/config/{package}"
        text = read_text(path) if os.path.exists(path) else ""
        for section in re.split(rf"^config {package}\b.*\n", text, flags=re.M)[1:]:
            found = {}
            for kind, name, value in re.findall(r"(option|list) (\w+) '(.*)'", section):
                found[name] = f"{found[name]} {value}" if kind == "list" and name in found else value
            yield found

    def run(self, verb, **settings):
        """Runs a verb with the file's settings, but these; None: the file has none. Returns what it called, a list of words
        each."""
        packages = {"wrensshd": [{**section, **settings} for section in self.sections("wrensshd")],
                    "dropbear": list(self.sections("dropbear"))}
        cases = "".join(f"{package}.cfg{number}.{name}) value={shlex.quote(value)} ;;\n"
                        for package, sections in packages.items() for number, section in enumerate(sections)
                        for name, value in section.items() if value is not None)
        counts = "".join(f"{package}) count={len(sections)} ;; " for package, sections in packages.items())
        stubs = "".join(f"{name}() {{ note {name} \"$@\"; }}\n" for name in (
            "procd_open_instance", "procd_close_instance", "procd_add_reload_trigger", "procd_add_interface_trigger",
            "procd_add_mdns", "procd_set_param", "stop"))
        done = run(["sh", "-uc", f"""
note() {{ {{ printf '%s\\037' "$@"; echo; }} >>{self.calls}; }}
{stubs}
config_load() {{ loaded=$1; committed=$(cat {self.path}/committed 2>/dev/null); case $1 in {counts}esac; }}
config_foreach() {{ [ "$2" = "$loaded" ]; for each in $(seq 0 $((count - 1))); do "$1" "cfg$each"; done; }}
config_get() {{ case $loaded.$2.$3 in
{cases}*) value=${{4:-}} ;;
esac; [ "$loaded.$3" != wrensshd.interface ] || value=${{committed:-$value}}; eval "$1=\\$value"; }}
config_get_bool() {{ config_get "$@"; }}
. {self.script}
{verb}"""], env={"PATH": f"{self.path}:{os.environ['PATH']}"})
        assert done.returncode == 0, done.stdout + done.stderr
        calls = [line.split("\037")[:-1] for line in read_text(self.calls).split("\n")[:-1]]
        os.remove(self.calls)
        return calls

    def start(self, **settings):
        """The command line that procd gets."""
        return next(call[2:] for call in self.run("start_service", **settings) if call[:2] == ["procd_set_param", "command"])


class Started:
    """A command line of wrensshd-listen that an init script has handed to its system."""

    def __init__(self, site, words):
        self.site, self.words = site, words
        daemon = words.index("/usr/sbin/wrensshd")
        self.listen, self.port, self.daemon = words[1:daemon - 1], words[daemon - 1], words[daemon + 1:]

    def check(self):
        """The flags are read from left to right, so -V is reached only if all before it is right."""
        assert self.words[0] == "/usr/sbin/wrensshd-listen"
        for program, flags in ((self.site.listen, self.listen), (self.site.daemon, self.daemon[:-1])):
            done = run([program, *flags, "-V"])
            assert done.returncode == 0, (flags, done.stdout, done.stderr)
        assert self.daemon[-1] == "/etc/wrensshd"


def words_of(path):
    return shlex.split(read_text(path))
