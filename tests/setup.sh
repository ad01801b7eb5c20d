# shellcheck shell=sh disable=SC2034,SC2154
# Prepares the machine for the tests: packages, tools that are used without installing them, Python's packages. Runs and
# times their steps. Sourced by run.sh in the top folder of the source, with $top set.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH
unset WRENSSHD WRENSSHD_REKEY WREN_CASES WREN_COUNTS WREN_MARKS WREN_SLOWNESS WREN_BULK_MIB WREN_NO_SANDBOX MAKEFLAGS
tools=$top/build/tools
venv=$top/build/venv

. "$top/tests/packages.sh"
needed="$build_packages
binutils:has nm
python3:has python3
python3-pytest:has_python pytest
openssh-client:has ssh-keyscan
ucspi-tcp:has tcpserver
procps:has ps
util-linux:has setpriv && has flock
"
# The compiler's sanitizer run-time libraries come with gcc's own packages. Without these some tests are skipped.
useful_for_tests="
openssh-sftp-server:test -x /usr/lib/openssh/sftp-server
passwd:has useradd
netbase:test -e /etc/protocols
login:test -x /usr/sbin/nologin
putty-tools:has plink
dropbear-bin:has dbclient
sshfs:has sshfs
lftp:has lftp
curl:has curl
python3-paramiko:has_python paramiko
openssh-server:test -x /usr/sbin/sshd
rsync:has rsync
git:has git
systemd:has systemd-socket-activate
socat:has socat
ipsvd:has tcpsvd
runit:has runsvdir
s6:has s6-svscan
daemontools:has svscan
nftables:has nft
busybox-static:has_static_busybox
iproute2:has ip
bindfs:has bindfs
mandoc:has mandoc
groff-base:has groff
valgrind:has valgrind
universal-ctags:has ctags
xz-utils:has xz
ca-certificates:test -d /etc/ssl/certs
python3-venv:has_python ensurepip
"
# For the layout, the static program and packaging/: 300 MB of files, which the builds gcc and sanitize do not need.
useful_for_more="
clang:has clang
clang-format:has clang-format
clang-tidy:has clang-tidy
lld:has ld.lld
llvm:has llvm-ar
make:has make
fakeroot:has fakeroot
shellcheck:has shellcheck
patch:has patch
"
useful=$useful_for_tests$useful_for_more
# What steps of tests/all.sh would install beside the tests, one after the other.
useful_for_all="
qemu-user-static:has qemu-aarch64-static || has qemu-aarch64
qemu-system-arm:has qemu-system-aarch64
qemu-system-x86:has qemu-system-x86_64
mmdebstrap:has mmdebstrap
cryptsetup-bin:has cryptsetup
e2fsprogs:has mke2fs
zstd:has zstd
cpio:has cpio
cppcheck:has cppcheck
swtpm:has swtpm
lintian:has lintian
systemd-container:has systemd-nspawn
build-essential:has make && has g++ && has dpkg-buildpackage
debhelper:has dh
$systemd_dev:pkg-config --exists systemd
$clang_rt:has_fuzzer
nmap:has nmap
nodejs:has node
npm:has npm
qemu-user:has qemu-aarch64
gcc-aarch64-linux-gnu:has aarch64-linux-gnu-gcc
gcc-arm-linux-gnueabihf:has arm-linux-gnueabihf-gcc
libc6-dev-arm64-cross:test -e /usr/aarch64-linux-gnu/include/stdio.h
libc6-dev-armhf-cross:test -e /usr/arm-linux-gnueabihf/include/stdio.h
"

# Inetds, TinySSH's tools, fail2ban, OpenRC and Arch's tools are used without installing them: their packages would set
# up services, or bring many others.
unpack_packages() { # FOLDER PACKAGE...
    folder=$1
    shift
    (
        scratch=$(mktemp -d) && cd "$scratch" && apt-get download -q "$@" &&
            for package in ./*.deb; do dpkg -x "$package" tree || exit; done && mv tree "$folder"
        rm -rf "$scratch"
    ) >>"$top/build/apt.log" 2>&1
}

# Their libraries are installed, which start nothing.
install_libraries() { # FOLDER PACKAGE...
    folder=$1
    shift
    lacks_library "$folder" && [ "$(id -u)" = 0 ] || return 0
    install_packages "$(libraries_of "$@")" >>"$top/build/apt.log" 2>&1
}
libraries_of() { # PACKAGE...
    apt-cache depends --no-pre-depends --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
        --no-enhances "$@" 2>/dev/null | sed -n 's/^ *|*Depends: \(lib[^ ]*\)$/\1/p' | sort -u | tr '\n' ' '
}
lacks_library() { # FOLDER: beside those in the folder itself
    own=$(find "$1" -name '*.so.*' -exec dirname {} + | sort -u | tr '\n' :)
    find "$1" -type f -exec env LD_LIBRARY_PATH="$own" ldd {} + 2>/dev/null | grep -q 'not found'
}

unpack_files() { # PACKAGE:PATH...
    for pair; do
        package=${pair%%:*} name=${pair##*/}
        [ "$name" = inetd ] && name=openbsd-inetd
        [ -e "$tools/$name" ] && continue
        rm -rf "$tools/unpacked"
        unpack_packages "$tools/unpacked" "$package" && cp -r "$tools/unpacked/${pair#*:}" "$tools/$name" &&
            install_libraries "$tools/$name" "$package"
        if [ ! -e "$tools/$name" ]; then
            echo "$package is not available, so its tests are skipped"
        elif lacks_library "$tools/$name"; then
            rm -rf "${tools:?}/$name"
            echo "$package lacks libraries, so its tests are skipped (apt-get install --no-install-recommends $(libraries_of "$package"))"
        fi
    done
    rm -rf "$tools/unpacked"
}

unpack_tools() {
    { has apt-get && has dpkg; } || return 0
    mkdir -p "$tools"
    unpack_files inetutils-inetd:usr/sbin/inetutils-inetd openbsd-inetd:usr/sbin/inetd xinetd:usr/sbin/xinetd \
        tinysshd:usr/sbin/tinysshd
    [ -x "$tools/tinysshd" ] && for name in makekey printkey; do ln -sf tinysshd "$tools/tinysshd-$name"; done
    return 0
}

# For the suite `packaging`, which all.sh adds.
prepare_packaging() {
    ensure_linter
    { has apt-get && has dpkg; } || return 0
    mkdir -p "$tools/tree"
    unpack_files fail2ban:usr/bin/fail2ban-regex fail2ban:usr/lib/python3/dist-packages/fail2ban
    # These are whole trees, for programs that want their own files and libraries.
    # Their names differ from release to release.
    libraries=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
        --no-enhances pacman-package-manager 2>/dev/null | grep -oE '^lib(alpm|gpgme|assuan)[0-9a-z]*$' | sort -u)
    for tree in "fail2ban python3-systemd" "openrc libeinfo1 librc1" \
        "makepkg pacman-package-manager libarchive-tools $libraries"; do
        folder=$tools/tree/${tree%% *}
        [ -e "$folder" ] && continue
        # shellcheck disable=SC2086 # a list of packages
        unpack_packages "$folder" $tree && install_libraries "$folder" $tree
        [ -e "$folder" ] || echo "${tree%% *} is not available, so its tests are skipped"
    done
}

# AsyncSSH and Hypothesis come from the Python package index, into a folder of its own. Their tests are skipped without them.
# Other versions of Hypothesis choose other examples, and continuous integration shall play the same ones each time.
ensure_venv() {
    "$venv/bin/python" -c 'import asyncssh, hypothesis, pytest' >/dev/null 2>&1 && return 0
    rm -rf "$venv"
    "$python" -m venv "$venv" >"$top/build/venv.log" 2>&1 && install_from_index asyncssh hypothesis==6.170.17 pytest ||
        echo "asyncssh and hypothesis could not be installed, so their tests are skipped: $(pip_error)"
}

# So does the linter of Yocto's recipes.
ensure_linter() {
    [ -x "$venv/bin/oelint-adv" ] && return 0
    install_from_index oelint-adv || echo "oelint-adv could not be installed, so its test is skipped: $(pip_error)"
}

# For the suite `scanners`, before a release: PyPI's into the same folder, and npm's below build/node.
prepare_scanners() {
    "$venv/bin/python" -c 'import paramiko, ssh_audit' 2>/dev/null ||
        install_from_index paramiko ssh-audit ||
        echo "ssh-audit and paramiko could not be installed, so their tests are skipped: $(pip_error)"
    [ -d "$top/build/node/node_modules/ssh2" ] && return 0
    has npm && npm install --prefix "$top/build/node" --cache "$top/build/node/cache" --no-audit --no-fund \
        --ignore-scripts --omit=optional ssh2 >"$top/build/npm.log" 2>&1 ||
        echo "ssh2 of npm could not be installed, so its test is skipped"
}

install_from_index() { "$venv/bin/pip" install -q --disable-pip-version-check "$@" >>"$top/build/venv.log" 2>&1; }

# What pip or venv itself reports. The first warnings name the cause, and the last line the consequence.
pip_error() {
    grep -m 1 -i 'retrying\|certificate\|error:' "$top/build/venv.log" || tail -n 1 "$top/build/venv.log"
}

prepare() { # SCRIPT ARGUMENTS...
    mkdir -p "$top/build"
    ensure_packages "$top/build/apt.log" "some tests are skipped" || exit 1
    own_root "$@"
    watch newest_log
    unpack_tools
    ensure_venv
    stop_watching
    sh "$top/tests/list_tree.sh" >"$top/build/tree-before" || exit 1
}

# Versions of Clang differ in what they lay out, what they warn of and which edges they count. These are Debian 12's. They live
# as long as some Debian has them (12: until 2028). Then move to the newest Debian's: one commit with all of `clang-format -i`,
# one for what the new clang-tidy finds, `sh tests/fuzz/run.sh --minimize` for floors.txt, and the new number here.
has_version_14() { has "$1" && "$1" --version | grep -q 'version 14\.'; }

# ---- jobs: functions, so many at a time ------------------------------------------------------------------------------

# Where the steps are, by the log that was written last.
newest_log() {
    # shellcheck disable=SC2012 # names without blanks
    last_line "$(ls -t build/*.log 2>/dev/null | head -n 1)"
}

# Each of $at_once lanes runs the first job that no lane has taken yet. What waits for another job stands after it in the
# list. Jobs print when they end, so that their words stay together.
run_jobs() { # JOB...
    rm -rf build/jobs
    mkdir build/jobs
    for _ in $(seq "$at_once"); do
        take_jobs "$@" &
        lanes="$lanes $!"
    done
    # shellcheck disable=SC2086 # a list of processes
    wait $lanes
    lanes=
}
take_jobs() { # JOB...
    for job; do
        mkdir "build/jobs/$job" 2>/dev/null || continue
        ("$job"; echo $? >"build/jobs/$job/status") >"build/jobs/$job/words" 2>&1
        cat "build/jobs/$job/words"
        [ -s "build/jobs/$job/status" ] || { failed_step jobs "$job has ended early" && echo 1 >"build/jobs/$job/status"; }
    done
}

# Waits until a job is over, and fails if that has failed.
after() { # JOB
    until [ -s "build/jobs/$1/status" ]; do sleep 1; done
    [ "$(cat "build/jobs/$1/status")" = 0 ]
}

# Jobs end with the script. A shell has its background jobs ignore Ctrl-C.
lanes=
stop_tree() { # PROCESS: before what it has started, so that it goes on to nothing else
    # shellcheck disable=SC2046 # numbers
    set -- "$1" $(pgrep -P "$1")
    kill "$1" 2>/dev/null
    shift
    for process; do stop_tree "$process"; done
}
stop_jobs() {
    for lane in $lanes; do stop_tree "$lane"; done
    stop_watching
    remove_policy
}
trap stop_jobs EXIT

format() { # FILE...
    printf '%s\n' "$@" | xargs -P "$(getconf _NPROCESSORS_ONLN)" -n 20 clang-format --dry-run -Werror
}

# tidy [--checks=CHANGES] FILE...: clang-tidy, with the command lines of a build with Clang, which knows no option of GCC's own. Version 14
# takes va_start() for unknown in the second file that one process reads.
tidy() {
    checks=
    case $1 in --checks=*) checks=$1; shift ;; esac
    [ -d build/tidy ] || CC=clang meson setup build/tidy -Dtests=false >build/tidy-setup.log 2>&1
    printf '%s\n' "$@" | nice -n 10 xargs -P "$(getconf _NPROCESSORS_ONLN)" -n 1 clang-tidy -p build/tidy --quiet \
        ${checks:+"$checks"} >build/tidy-output.log 2>&1
    status=$?
    # The log's end is shown. It must not be the counts of what is not reported.
    grep -v '^[0-9]* warnings* generated\.$' build/tidy-output.log
    return $status
}

# ---- results: a folder of build/results for each build, for counts.py ------------------------------------------------

say() { printf '\n== %s\n' "$*"; }

# What can't even be built, or ends early, is a failure of its own.
failed_step() { # BUILD WORDS
    mkdir -p "$top/build/results/$1"
    printf '{"%s": "failed"}\n' "$2" >"$top/build/results/$1/step-$(printf %s "$2" | tr -c '[:alnum:]' -).json"
}

# For the table of times: start, end, and the processor's time for all that the command has waited for.
timed() { # BUILD WORDS COMMAND...
    (
        words="$1, $2" times=$top/build/times/$(printf %s "$1-$2" | tr -c '[:alnum:]' -) began=$(date +%s)
        shift 2
        "$@"
        status=$?
        mkdir -p "$top/build/times"
        times >"$times"
        spent=$(sed -n '2s/[ms]/ /gp' "$times")
        echo "$began $(date +%s) $spent $words" >"$times"
        exit $status
    )
}

print_times() {
    printf '%-36s%8s%10s%11s\n' step start seconds processor
    sort -n "$top"/build/times/* | awk '
        NR == 1 { zero = $1 }
        { spent = $3 * 60 + $4 + $5 * 60 + $6; all += spent; if ($2 > end) { end = $2 }
          line = sprintf("%8d%10d%11d", $1 - zero, $2 - $1, spent); $1 = $2 = $3 = $4 = $5 = $6 = ""
          printf "%-36s%s\n", substr($0, 7), line }
        END { printf "%-36s%8d%10d%11d\n", "all", 0, end - zero, all }'
}

step() { # BUILD WORDS LOG COMMAND...: the end of the log is shown if the command fails
    build=$1 words=$2 log=$top/build/$3.log
    shift 3
    timed "$build" "$words" "$@" >"$log" 2>&1 </dev/null && return 0
    say "failed: $words, $build"
    tail -n 60 "$log"
    failed_step "$build" "$words"
    return 1
}

# LEFT_OUT: what no test of the run starts, as a pattern of programs' paths.
set_up() { # BUILD COMPILER LEFT_OUT flags of Meson's
    build=$1 compiler=$2 left_out=$3
    shift 3
    rm -rf "build/$build" "build/results/$build"
    step "$build" "set-up" "$build-setup" env CC="$compiler" meson setup "build/$build" --werror "$@" || return
    # shellcheck disable=SC2046 # paths without blanks
    step "$build" "build" "$build-build" nice -n 5 ninja -C "build/$build" \
        $(ninja -C "build/$build" -t targets rule c_LINKER | grep -v "^tests/\($left_out\)/")
}

# Runs tests of a build; what fails is shown with its output. WHAT names the log and the results.
run_suite() { # ROW BUILD WHAT arguments of meson test
    row=$1 build=$2 what=$3
    shift 3
    mkdir -p "build/results/$row"
    # Time limits are for what hangs. They must not matter on a busy machine. Static programs do not know WREN_CPU.
    timed "$row" "$what" env ${WRENSSHD:+-u WREN_CPU} WREN_CASES="$top/build/results/$row" nice -n 5 \
        meson test -C "build/$build" --no-rebuild --print-errorlogs \
        --timeout-multiplier 3 --logbase "$row-$what" "$@" >"build/$row-$what.log" 2>&1 </dev/null
    status=$?
    cp "build/$build/meson-logs/$row-$what.json" "build/results/$row/testlog-$what.json" 2>/dev/null ||
        failed_step "$row" "$what: no result"
    if [ $status != 0 ]; then
        say "$row, $what"
        sed -n '/^Summary of Failures/,$!p' "build/$row-$what.log" | grep -v ' \(OK\|SKIP\|EXPECTEDFAIL\)  '
    fi
    say "$row, $what: $(sed -n '/^\(Ok\|Fail\|Timeout\|Skipped\): *[1-9]/s/:  */ /p' "build/$row-$what.log" | tr '\n' ' ')"
}

# The tables of times and of all builds, and the last line; fails if anything has.
report() {
    sh "$top/tests/list_tree.sh" | LC_ALL=C comm -13 "$top/build/tree-before" - >"$top/build/tree-left"
    if [ -s "$top/build/tree-left" ]; then
        say "the tests left files in the source tree"
        cat "$top/build/tree-left"
        failed_step tree "files left in the source tree"
    fi
    echo
    print_times | tee build/times.txt
    echo
    "$python" "$top/tests/counts.py" "$top/build/results"
}
