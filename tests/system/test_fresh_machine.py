"""The commands of tests/README.md and packaging/README.md where nothing is installed: each names everything that it lacks at
once, and has apt-get install it if it runs as root. The machine is a folder with a shell and little else."""

import os
import re
import shutil
import subprocess

import pytest

from daemon import run
from site_setup import PROJECT, run_or_fail
from whole_files import read_text, write

pytestmark = [pytest.mark.root, pytest.mark.slow]

PAGES = ("README.md", "tests/README.md", "packaging/README.md")
# What Debian's essential packages have, as far as a script may use it before it looks for what is missing.
TOOLS = ("sh", "awk", "basename", "cat", "chmod", "cut", "date", "dirname", "env", "find", "getconf", "grep", "head", "id",
         "ls", "mkdir", "mktemp", "printf", "rm", "sed", "sleep", "sort", "tail", "tr", "uname")
NOBODY = 65534

BUILD = "gcc libc6-dev meson ninja-build pkg-config libsodium-dev check "
SYSTEM = "python3 python3-pytest libsodium23 openssh-client "
ARM = "gcc-aarch64-linux-gnu gcc-arm-linux-gnueabihf "
ARM_LIBC = "libc6-dev-arm64-cross libc6-dev-armhf-cross "
STATIC = "clang lld llvm make mandoc patch xz-utils "
SUITE = BUILD + "python3 python3-pytest openssh-client ucspi-tcp openssh-server busybox-static iproute2 python3-venv "
# What each command must name; {rt}, {cbmc}, {systemd} and {other} are called otherwise in each release.
COMMANDS = {
    "tests/run.sh": SUITE,
    "tests/field/repeated_runs/run.sh": SUITE + "git ",
    "tests/vm/run.sh": SYSTEM + "busybox-static qemu-system-arm qemu-system-x86 mmdebstrap cryptsetup-bin "
                       "swtpm e2fsprogs zstd cpio iproute2 util-linux",
    "tests/field/suites/run.sh": BUILD + SYSTEM + "python3-venv openssh-server openssh-sftp-server ucspi-tcp golang-go perl make",
    "tests/bench/run.sh": BUILD + ARM + ARM_LIBC + STATIC + "python3 openssh-client openssh-server openssh-sftp-server "
                          "dropbear-bin tinysshd ucspi-tcp qemu-user mmdebstrap iproute2 strace",
    "tests/fuzz/run.sh": BUILD + "clang {rt} python3 util-linux llvm",
    "tests/coverage.sh": SUITE + "clang {rt} llvm",
    "tests/release/analyzers/run.sh": BUILD + "clang cppcheck",
    "tests/proofs/run.sh": "gcc libc6-dev libsodium-dev python3 {cbmc}",
    "tests/proofs/models/run.sh": "spin gcc libc6-dev python3",
    "tests/proofs/models/run.sh secrecy": "spin gcc libc6-dev python3 cargo-web",
    "tests/proofs/crypto.sh": ARM + ARM_LIBC + "clang libc6-dev python3 python3-z3 qemu-user",
    "tests/proofs/constant_time/run.sh": BUILD + ARM + ARM_LIBC + "python3 binutils clang valgrind qemu-user",
    "tests/proofs/constant_time/run.sh login": BUILD + SYSTEM,
    "tests/fuzz/planted_bugs/run.sh": SUITE + "clang {rt} git rsync",
    "packaging/cross/build.sh": ARM + STATIC + "gcc meson ninja-build libc6-dev openssh-client qemu-user-static",
    "tests/release/archives/logins.sh riscv64": BUILD + SYSTEM,
    "packaging/debian/build.sh": "build-essential debhelper libsodium-dev mandoc meson pkgconf {systemd} check openssh-client",
    "packaging/try.sh": "gcc libc6-dev meson ninja-build pkg-config libsodium-dev openssh-client ucspi-tcp",
}
# These do nothing without root, and say so to anybody else.
OF_ROOT = {
    "tests/field/packages/run.sh": "python3 lintian mmdebstrap systemd-container zstd",
    "tests/field/containers/run.sh": SYSTEM + "crun runc uidmap passwd util-linux",
    "tests/field/fleet/run.sh": BUILD + SYSTEM + "python3-venv ca-certificates systemd systemd-container",
    "tests/faults/run.sh": BUILD + SYSTEM + "iproute2 passwd util-linux",
    "tests/soak/run.sh": BUILD + SYSTEM + "iproute2 passwd util-linux ucspi-tcp mmdebstrap systemd-container zstd",
    "tests/system/learned_states/run.sh": BUILD + SYSTEM + "python3-venv openssh-server",
    "tests/field/recipes/run.sh": "python3 python3-venv ca-certificates mmdebstrap systemd-container zstd",
    "tests/field/fresh_machines/run.sh": "git mmdebstrap python3 util-linux zstd",
    "tests/field/forges/run.sh": BUILD + SYSTEM + "ucspi-tcp git gitolite3 borgbackup restic rclone rsync ca-certificates",
    "tests/release/run.sh": BUILD + SYSTEM + "{other} linux-libc-dev busybox util-linux python3-venv ucspi-tcp devscripts checksec",
    "tests/field/clients/run.sh": SUITE + "ansible-core borgbackup restic rclone mosh libssh-dev nodejs npm maven ruby",
}
# The containers of OSS-Fuzz and AFL++ have everything; build.sh stands for toolchain.sh; prepare.sh only copies.
ELSEWHERE = {"packaging/container/prepare.sh", "tests/fuzz/oss_fuzz.sh", "packaging/cross/toolchain.sh"}
NAMES = {"12": {"rt": "libclang-rt-14-dev", "cbmc": "mmdebstrap", "systemd": "systemd",
                "other": "clang-19 lld-19 llvm-19"},
         "13": {"rt": "libclang-rt-19-dev", "cbmc": "cbmc", "systemd": "systemd-dev",
                "other": "clang-17 lld-17 llvm-17"}}


def wanted(packages, release):
    return set(packages.format(**NAMES[release]).split())


def copy_program(name, root):
    """With the libraries that it needs."""
    found = shutil.which(name, path="/usr/bin:/bin")
    shutil.copy(found, f"{root}/bin/{name}")
    for library in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", run(["ldd", found]).stdout, re.M):
        os.makedirs(root + os.path.dirname(library), exist_ok=True)
        shutil.copy(library, root + library)


@pytest.fixture(scope="module")
def bare(site):
    """The folder: the tools, the scripts, and an apt-get that notes what it is asked for and fails."""
    root = site.folder("bare", 0o755)
    for name in ("bin", "etc", "dev", "tmp", "usr/sbin"):
        os.makedirs(f"{root}/{name}")
    for name in TOOLS:
        copy_program(name, root)
    write(f"{root}/etc/passwd", f"root:x:0:0::/:/bin/sh\nnobody:x:{NOBODY}:{NOBODY}::/:/bin/sh\n")
    with open(f"{root}/dev/null", "wb"):  # a device would be more than some containers allow
        os.chmod(f"{root}/dev/null", 0o666)
    for name, text in (("apt-get", '[ ! -x /usr/sbin/policy-rc.d ] || /usr/sbin/policy-rc.d || policy=$?\n'
                                   'echo "$*" >>/asked; echo "${policy-}" >/policy; [ "$1" != install ]'), ("dpkg", "echo amd64")):
        write(f"{root}/bin/{name}", f"#!/bin/sh\n{text}\n", mode=0o755)
    shutil.copytree(PROJECT, f"{root}/source", ignore=lambda folder, names: {
        name for name in names if name in ("build", ".git", "src", "crypto", "subprojects", "__pycache__")
        or not os.path.isdir(f"{folder}/{name}") and not name.endswith((".sh", ".build", "changelog"))})
    run_or_fail(["chmod", "-R", "a+rX", f"{root}/source"])
    yield root
    shutil.rmtree(root)


def type_in(bare, release, command, user):
    """All that the command says, in a new tree without builds."""
    write(f"{bare}/etc/os-release", f'VERSION_ID="{release}"\nVERSION_CODENAME=name\n')
    shutil.rmtree(f"{bare}/source/build", ignore_errors=True)
    os.mkdir(f"{bare}/source/build")
    os.chown(f"{bare}/source/build", user, user)
    done = subprocess.run([shutil.which("chroot"), f"--userspec={user}:{user}", bare, "sh", "-c",
                           f"cd /source && exec sh {command}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60, env={"PATH": "/bin", "LC_ALL": "C"},
                          check=False)
    return done.returncode, done.stdout


def asked(bare):
    """What apt-get was asked to install, each time."""
    path = f"{bare}/asked"
    if not os.path.exists(path):
        return []
    with open(path, encoding="ascii") as file:
        found = [set(line.split()[1:]) for line in file if line.startswith("install ")]
    os.unlink(path)
    return found


def line_for_root(said):
    """What an ordinary user is told to have root type; its first group is the packages."""
    return re.search(r"(?<=install them as root: ).* apt-get install --no-install-recommends (.*)\)$", said, re.M)


@pytest.mark.parametrize("there", [False, True])
def test_line_for_root(bare, there):
    """What root types starts no service of what it installs, sshd among them, and leaves no policy that was not there. An
    interactive bash finds nothing in it that it would look up in its history."""
    _, said = type_in(bare, "12", "tests/run.sh", NOBODY)
    assert "with apt-get alone, the daemons among them would start" in said
    line, policy = line_for_root(said), f"{bare}/usr/sbin/policy-rc.d"
    assert "openssh-server" in line[1].split()
    if there:
        with open(policy, "w", encoding="ascii") as file:
            os.chmod(policy, 0o755)
            file.write("#!/bin/sh\nexit 104\n")
    typed = run(["bash"], input=f"set -o history -o histexpand -o noexec\n{line[0]}\n")
    assert (typed.returncode, typed.stderr) == (0, "")
    run([shutil.which("chroot"), bare, "sh", "-c", line[0]], env={"PATH": "/bin"})
    assert asked(bare) == [{"--no-install-recommends", *line[1].split()}]
    assert read_text(f"{bare}/policy") == ("104\n" if there else "101\n")
    assert os.path.exists(policy) == there
    if there:
        os.unlink(policy)


@pytest.mark.parametrize("release", NAMES)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_user_reads_all_that_is_missing(bare, release, command):
    """One refusal names every package, and apt-get's line for root has them all."""
    status, said = type_in(bare, release, command, NOBODY)
    assert status != 0 and "not found" not in said, said
    offered = set(line_for_root(said)[1].split())
    assert wanted(COMMANDS[command], release) <= offered
    assert not asked(bare)


@pytest.mark.parametrize("release", NAMES)
@pytest.mark.parametrize("command", {**COMMANDS, **OF_ROOT})
def test_root_has_all_of_it_installed(bare, release, command):
    """The first call of apt-get has every package. What apt-get can't install is named."""
    status, said = type_in(bare, release, command, 0)
    assert status != 0 and "not found" not in said, said
    assert wanted({**COMMANDS, **OF_ROOT}[command], release) <= asked(bare)[0]
    assert "these packages are missing: " in said
    assert not os.path.exists(f"{bare}/usr/sbin/policy-rc.d")


@pytest.mark.parametrize("command", OF_ROOT)
def test_what_needs_root_says_so(bare, command):
    """An ordinary user is not told to install packages for a command that would do nothing."""
    _, said = type_in(bare, "12", command, NOBODY)
    assert "root" in said and "skipped" in said and "not found" not in said, said


@pytest.mark.parametrize("page", PAGES)
def test_each_command_of_the_pages_is_tried(page):
    """A script that a page tells people to run is in the tables above."""
    named = set(re.findall(r"\bsh ((?:tests|packaging)/[\w./-]+\.sh)\b", read_text(os.path.join(PROJECT, page))))
    assert named and named <= {command.split()[0] for command in {**COMMANDS, **OF_ROOT}} | ELSEWHERE


def test_build_depends():
    """packaging/debian/build.sh names what debian/control asks for, so that dpkg-buildpackage has nothing to add."""
    with open(os.path.join(PROJECT, "packaging/debian/control"), encoding="ascii") as file:
        field = re.search(r"^Build-Depends: (.*?)^\S", file.read(), re.M | re.S)[1]
    for release, names in NAMES.items():
        offered = wanted(COMMANDS["packaging/debian/build.sh"], release)
        for one in field.split(","):
            choices = {choice.split()[0].removesuffix("-compat") for choice in one.split("|")}
            # Part of debhelper.
            assert choices & (offered | {"dh-sequence-installsysusers"}), (release, choices, names)
