#!/bin/sh
# Builds with GCC, with Clang, with sanitizers and for other machines (packaging/cross), runs the unit tests and the
# system tests on the builds, and ends with one line of counts.
#
#     sh tests/run.sh [--only unit|system] [--build gcc|clang|sanitize|cross]... [pytest's arguments]
#
# As root it installs what it needs (Debian, Ubuntu); otherwise it says what is missing.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
cd "$top" || exit 1
tools=$top/build/tools
venv=$top/build/venv
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH
unset WRENSSHD WRENSSHD_REKEY WREN_COUNTS MAKEFLAGS

only=
builds=
while [ $# -gt 0 ]; do
    case $1 in
    --only) only=${2:?--only takes unit or system}; shift 2 ;;
    --build) builds="$builds ${2:?--build takes gcc, clang, sanitize or cross}"; shift 2 ;;
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) break ;;
    esac
done
builds=${builds:-gcc clang sanitize cross}
case $only in '' | unit | system) ;; *) echo "run.sh: --only takes unit or system" >&2; exit 100 ;; esac

say() { printf '\n== %s\n' "$*"; }

python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3

# ---- what is needed: package, and how to tell that it is there -------------------------------------------------------

. "$top/tests/packages.sh"
needed="
gcc:has gcc
libc6-dev:test -e /usr/include/stdio.h
clang:has clang
meson:has meson
ninja-build:has ninja
pkg-config:has pkg-config
libsodium-dev:pkg-config --exists libsodium
check:pkg-config --exists check
python3:has python3
python3-pytest:has_python pytest
openssh-client:has ssh-keyscan
ucspi-tcp:has tcpserver
procps:has ps
util-linux:has setpriv && has flock
"
# The compiler's sanitizer run-time libraries come with gcc's own packages. Without these some tests are skipped.
useful="
shellcheck:has shellcheck
openssh-sftp-server:test -x /usr/lib/openssh/sftp-server
passwd:has useradd
netbase:test -e /etc/protocols
login:test -x /usr/sbin/nologin
putty-tools:has plink
dropbear-bin:has dbclient
openssh-server:test -x /usr/sbin/sshd
rsync:has rsync
git:has git
systemd:has systemd-socket-activate
ipsvd:has tcpsvd
runit:has runsvdir
s6:has s6-svscan
daemontools:has svscan
nftables:has nft
busybox-static:has busybox && ! ldd /bin/busybox
iproute2:has ip
bindfs:has bindfs
mandoc:has mandoc
valgrind:has valgrind
universal-ctags:has ctags
ca-certificates:test -d /etc/ssl/certs
python3-venv:has_python ensurepip
qemu-system-arm:has qemu-system-aarch64
qemu-system-x86:has qemu-system-x86_64
mmdebstrap:has mmdebstrap
cryptsetup-bin:has cryptsetup
e2fsprogs:has mke2fs
zstd:has zstd
cpio:has cpio
"
# The last ones are for tests/vm, which would install them, and another busybox, beside the tests.

# Inetds, TinySSH's tools, fail2ban, OpenRC and Arch's tools are used without installing them: their packages would set
# up services, or bring many others.
unpack_tools() {
    mkdir -p "$tools"
    for pair in inetutils-inetd:usr/sbin/inetutils-inetd openbsd-inetd:usr/sbin/inetd xinetd:usr/sbin/xinetd \
        tinysshd:usr/sbin/tinysshd fail2ban:usr/bin/fail2ban-regex fail2ban:usr/lib/python3/dist-packages/fail2ban; do
        name=${pair##*/}
        [ "$name" = inetd ] && name=openbsd-inetd
        { [ -e "$tools/$name" ] || ! has apt-get || ! has dpkg; } && continue
        (
            scratch=$(mktemp -d) && cd "$scratch" && apt-get download -q "${pair%%:*}" && dpkg -x ./*.deb . &&
                cp -r "${pair#*:}" "$tools/$name"
            rm -rf "$scratch"
        ) >>"$top/build/apt.log" 2>&1
        [ -e "$tools/$name" ] || echo "no ${pair%%:*} to be had, so its tests are skipped"
    done
    # These are whole trees, for programs that want their own files and libraries.
    for tree in "fail2ban python3-systemd" "openrc libeinfo1 librc1" \
        "makepkg pacman-package-manager libalpm13 libarchive-tools libgpgme11 libassuan0"; do
        folder=$tools/tree/${tree%% *}
        { [ -e "$folder" ] || ! has apt-get || ! has dpkg; } && continue
        (
            # shellcheck disable=SC2086 # a list of packages
            scratch=$(mktemp -d) && cd "$scratch" && apt-get download -q $tree &&
                for package in ./*.deb; do dpkg -x "$package" tree || exit; done &&
                mkdir -p "$tools/tree" && mv tree "$folder"
            rm -rf "$scratch"
        ) >>"$top/build/apt.log" 2>&1
        [ -e "$folder" ] || echo "no ${tree%% *} to be had, so its tests are skipped"
    done
    [ -x "$tools/tinysshd" ] && for name in makekey printkey; do ln -sf tinysshd "$tools/tinysshd-$name"; done
    return 0
}

# AsyncSSH and the linter of Yocto's recipes come from the Python package index, into a folder of its own. Their tests
# are skipped without them.
ensure_venv() {
    "$venv/bin/python" -c 'import asyncssh, pytest' >/dev/null 2>&1 && { python=$venv/bin/python; return 0; }
    rm -rf "$venv"
    if "$python" -m venv "$venv" >"$top/build/venv.log" 2>&1 &&
        "$venv/bin/pip" install -q --disable-pip-version-check asyncssh pytest >>"$top/build/venv.log" 2>&1; then
        python=$venv/bin/python
        "$venv/bin/pip" install -q --disable-pip-version-check oelint-adv >>"$top/build/venv.log" 2>&1 ||
            echo "oelint-adv could not be had, so its test is skipped"
    else
        echo "asyncssh could not be had, so its tests are skipped: $(tail -n 1 "$top/build/venv.log")"
    fi
}

# ---- building and testing --------------------------------------------------------------------------------------------

compiler_of() { case $1 in clang) echo clang ;; *) echo gcc ;; esac; }

# One of the builds reads users and groups itself, so that the system tests see both ways.
setup_flags() {
    case $1 in
    clang) echo "-Daccounts=files" ;;
    sanitize) echo "-Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false" ;;
    esac
}

build() {
    say "build $1"
    rm -rf "build/$1"
    # shellcheck disable=SC2046 # a list of flags
    CC=$(compiler_of "$1") meson setup "build/$1" --werror $(setup_flags "$1") >"build/$1.log" 2>&1 &&
        $yielding ninja -C "build/$1" >>"build/$1.log" 2>&1 && return 0
    tail -n 40 "build/$1.log"
    return 1
}

unit_tests() {
    say "unit tests, $1"
    $yielding meson test -C "build/$1" --no-rebuild --print-errorlogs >"build/$1-unit.log" 2>&1 || {
        sed -n '/FAIL\|TIMEOUT\|ERROR/p' "build/$1-unit.log" | head -n 60
        broken=1
    }
    tail -n 12 "build/$1-unit.log" | sed -n '/^[A-Z][A-Za-z ]*: *[1-9]/p'
    results="$results build/$1/meson-logs/testlog.json"
}

# What says how a build is tested. The others than GCC's are the same source again, and sanitizers and emulators make
# everything slower: they get less data to move. The sanitizers' own system calls do not fit the sandbox, and qemu knows
# neither seccomp nor Landlock, so these run without it. Clang's build is tested as the static one for this machine.
system_tests() { # BUILD DAEMON pytest's arguments
    build=$1
    WRENSSHD=$2
    shift 2
    say "system tests, $build"
    WREN_COUNTS=$top/build/$build-counts.json
    WREN_BULK_MIB=200 WREN_SLOWNESS=2 WREN_NO_SANDBOX=
    skip_marks=
    # shellcheck disable=SC2086 # a list of names
    leave_out=$(printf -- '--ignore-glob=*/test_%s.py ' $built_once)
    case $build in
    packaging) leave_out= ;;
    static) WREN_BULK_MIB=32 skip_marks='not slow' ;;
    aarch64 | armv7) WREN_BULK_MIB=20 WREN_SLOWNESS=3 WREN_NO_SANDBOX=1 skip_marks='not slow' ;;
    sanitize)
        WREN_BULK_MIB=32 WREN_SLOWNESS=3 WREN_NO_SANDBOX=1 skip_marks='not slow'
        # Older kernels are played by filters, which the sanitizers' own system calls would meet as well.
        leave_out="$leave_out --ignore-glob=*/test_old_kernels.py"
        ASAN_OPTIONS=detect_leaks=0:abort_on_error=0:exitcode=86
        UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:exitcode=86
        export ASAN_OPTIONS UBSAN_OPTIONS
        ;;
    esac
    export WRENSSHD WREN_COUNTS WREN_BULK_MIB WREN_SLOWNESS WREN_NO_SANDBOX
    echo '{"passed": 0, "failed": 1, "skipped": 0}' >"$WREN_COUNTS" # in case pytest gets no further
    # shellcheck disable=SC2086 # a list of flags
    PYTHONDONTWRITEBYTECODE=1 "$python" -m pytest -q --tb=short -p no:cacheprovider -r fE \
        -m "$skip_marks" $leave_out "$@" </dev/null
    status=$?
    # With a choice of the caller's there may be nothing to run.
    [ $status = 0 ] || { [ $status = 5 ] && [ -n "$chosen" ]; } || broken=1
    unset ASAN_OPTIONS UBSAN_OPTIONS
    results="$results $WREN_COUNTS"
}

# Beside what follows, which yields to it: these tests wait more than they work. Those of one turn run one after the other.
# In a shell of its own, so what they set there is said again here.
system_tests_beside() { # TURN BUILD DAEMON pytest's arguments
    turn=$1
    shift
    echo "beside what follows: system tests, $1"
    (
        broken=
        flock 9
        system_tests "$@" 9>&-
        [ -z "$broken" ]
    ) >"build/$1-system.log" 2>&1 9>"build/turn-$turn.lock" &
    beside="$beside $!:$1"
    results="$results $top/build/$1-counts.json"
}

wait_for_those_beside() {
    for pair in $beside; do
        wait "${pair%%:*}" || broken=1
        cat "build/${pair#*:}-system.log"
    done
    beside=
}

stop_those_beside() {
    for pair in $beside; do pkill -P "${pair%%:*}"; done
}

# The static builds and what they must be; then logins to the one for this machine with all its sandbox, and to the ARM
# ones under an emulator.
cross_tests() {
    say "static builds for x86_64, aarch64, armv7"
    WREN_COUNTS=$top/build/cross-counts.json
    export WREN_COUNTS
    $yielding sh packaging/cross/build.sh || { unbuilt=$((unbuilt + 1)); return; }
    for arch in x86_64 aarch64 armv7; do
        results="$results build/cross/$arch/tests/meson-logs/testlog.json"
    done
    echo '{"passed": 0, "failed": 1, "skipped": 0}' >"$WREN_COUNTS"
    PYTHONDONTWRITEBYTECODE=1 "$python" -m pytest -q --tb=short -p no:cacheprovider -r fE tests/cross || broken=1
    results="$results $WREN_COUNTS"
    [ "$only" = unit ] && return
    system_tests_beside 2 static build/cross/x86_64/release/src/wrensshd "$@" tests/system
    for arch in aarch64 armv7; do
        emulated=build/cross/$arch/wrensshd-emulated
        qemu=$(sed -n "s/^exe_wrapper = '\(.*\)'/\1/p" "build/cross/$arch/clang.ini")
        # shellcheck disable=SC2016 # for the script that is written
        printf '#!/bin/sh\nexec %s -0 "$0" "%s" "$@"\n' \
            "$qemu" "$top/build/cross/$arch/release/src/wrensshd" >"$emulated"
        chmod 755 "$emulated"
        # shellcheck disable=SC2046,SC2086 # a list of files
        system_tests "$arch" "$emulated" "$@" $(printf 'tests/system/test_%s.py ' $emulated_tests)
    done
    boot_boards
}

# The quickest of the machines, where seccomp is seen on ARM, which the emulator above has not.
boot_boards() {
    say "booted boards, aarch64 and armv7; the other machines: sh tests/vm/run.sh"
    WREN_COUNTS=$top/build/vm-counts.json
    export WREN_COUNTS
    echo '{"passed": 0, "failed": 1, "skipped": 0}' >"$WREN_COUNTS"
    sh tests/vm/run.sh --no-build aarch64 armv7 || broken=1
    results="$results $WREN_COUNTS"
}

# The quickest of what Debian's packages go through: built, installed, upgraded and purged in a chroot.
debian_packages() {
    say "Debian's packages in a chroot; below systemd and in images: sh tests/debian/run.sh"
    WREN_COUNTS=$top/build/debian-counts.json
    export WREN_COUNTS
    echo '{"passed": 0, "failed": 1, "skipped": 0}' >"$WREN_COUNTS"
    # The unit tests have run: dpkg-buildpackage need not run them again.
    DEB_BUILD_OPTIONS=nocheck $yielding sh tests/debian/run.sh life || broken=1
    results="$results $WREN_COUNTS"
}

mkdir -p build
ensure_packages "$top/build/apt.log" "some tests are skipped" || exit 1
if [ "$only" != unit ]; then
    unpack_tools
    ensure_venv
fi

sh tests/list_tree.sh >build/tree-before || exit 1
results=
broken=
beside=
yielding='nice -n 10'
chosen=$*
trap stop_those_beside EXIT
unbuilt=0
# The bench suite and its client, and what is in packaging/, are the same beside each build.
built_once='bench_* lean_* fail2ban initramfs* migration packaging recipes services systemd_units'
emulated_tests='openssh_exec openssh_pty openssh_bulk openssh_files tools key_exchange'
for name in $builds; do
    if [ "$name" = cross ]; then
        cross_tests "$@"
        [ "$only" = unit ] || debian_packages
        continue
    fi
    if ! build "$name"; then
        unbuilt=$((unbuilt + 1))
        continue
    fi
    [ "$only" = system ] || unit_tests "$name"
    [ "$only" = unit ] && continue
    case $name in
    gcc) system_tests_beside 1 gcc build/gcc/src/wrensshd "$@" tests/system ;;
    sanitize) system_tests_beside 1 sanitize build/sanitize/src/wrensshd "$@" tests/system ;;
    esac
done
if [ "$only" != unit ] && [ -x build/gcc/src/wrensshd ]; then
    # shellcheck disable=SC2046,SC2086 # a list of files
    case " $builds " in
    *" gcc "*) system_tests packaging build/gcc/src/wrensshd "$@" $(printf 'tests/system/test_%s.py ' $built_once) ;;
    esac
fi
wait_for_those_beside

sh tests/list_tree.sh | LC_ALL=C comm -13 build/tree-before - >build/tree-left
if [ -s build/tree-left ]; then
    say "the tests left files in the source tree"
    cat build/tree-left
    broken=1
fi

# shellcheck disable=SC2046,SC2086 # lists of words
set -- $("$python" tests/system/counts.py $results)
[ $# -eq 3 ] || set -- 0 1 0
failed=$(($2 + unbuilt))
[ -n "$broken" ] && [ "$failed" = 0 ] && failed=1
echo
if [ "$3" = 0 ]; then
    echo "$1 passed, $failed failed"
else
    echo "$1 passed, $failed failed, $3 skipped"
fi
[ "$failed" = 0 ]
