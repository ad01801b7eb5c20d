#!/bin/sh
# Does what README.md tells a stranger to do, on machines that have nothing installed: clones the last commit into a minimal
# root file system (mmdebstrap --variant=minbase) and runs `sh packaging/try.sh --once` and `sh tests/run.sh` there; root
# also builds the static program, and the user also tests the man pages and clients of others, since other releases of groff
# and of clients differ. What is skipped there must be what tests/field/fresh_machines/skipped-* names.
#
#     sh tests/field/fresh_machines/run.sh [--suite bookworm|trixie] [--load N] [--short | --repeated ARGUMENTS] [root|user]...
#
#     --suite  the release, without it trixie
#     --load   N busy processes beside the tests, with their priority
#     --short  without what shows the same on every machine: root only tries the program, the user tests the build with GCC,
#              without the suites `wire` and `hostile`
#     --repeated types `sh tests/field/repeated_runs/run.sh ARGUMENTS` in place of both commands
#     root     in a bare chroot with nothing mounted, below /root with its mode of 0700, under nohup; installs by itself
#     user     as an ordinary user whose shell is bash, after root has installed what the scripts ask for
#
# Without root or user both, one after the other in one file system. Needs root and a mirror of Debian among apt's sources.
# Logs and results stay in build/fresh_machines, and so do the root file system's tar archive and the packages.
# shellcheck disable=SC2317 # functions that traps call, or that are called by a name in a variable
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd) || exit 1
cd "$top" || exit 1
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
PYTHONDONTWRITEBYTECODE=1
export PATH PYTHONDONTWRITEBYTECODE
work=$top/build/fresh_machines
suite=trixie
load=0
short=
repeated=

die() { echo "run.sh: $*" >&2; exit 1; }
skip() {
    echo "fresh machines: skipped, $*"
    [ -z "${WREN_COUNTS:-}" ] || { mkdir -p "$WREN_COUNTS/fresh" && echo '{"skipped": 1}' >"$WREN_COUNTS/fresh/cases.json"; }
    exit 0
}

while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) sed -n '2,18s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --suite) suite=${2:?--suite takes a name}; shift ;;
    --load) load=${2:?--load takes a number}; shift ;;
    --short) short=--short ;;
    --repeated) repeated=${2:?--repeated takes arguments}; shift ;;
    root | user) break ;;
    *) die "unknown argument: $1" ;;
    esac
    shift
done
[ $# -gt 0 ] || set -- root user
for who; do [ "$who" = root ] || [ "$who" = user ] || die "unknown argument: $who"; done
[ "$(id -u)" = 0 ] || skip "a chroot needs root"
command -v apt-get >/dev/null || skip "this is no Debian"

# shellcheck disable=SC2034 # packages.sh reads them
useful='' needed="
git:has git
mmdebstrap:has mmdebstrap
python3:has python3
util-linux:has unshare && has setpriv
zstd:has zstd
"
. "$top/tests/packages.sh"
mkdir -p "$work"
ensure_packages "$work/apt.log" "nothing can be tested" || exit 1
# shellcheck disable=SC2086 # empty or one word
own_root "$top/tests/field/fresh_machines/run.sh" --suite "$suite" --load "$load" $short ${repeated:+--repeated "$repeated"} "$@"
unshare --mount --pid --fork true 2>/dev/null || skip "no namespaces can be made here"

# ---- the machine -----------------------------------------------------------------------------------------------------

archives=$work/archives-$suite
root=$work/$suite.$$
remove_root() {
    trap - EXIT
    [ -z "${running:-}" ] || { kill -KILL "$running" && wait "$running"; } 2>/dev/null
    remove_policy
    rm -rf --one-file-system "$root"
}
trap remove_root EXIT

make_tarball() {
    tarball=$work/$suite.tar.zst
    [ ! -e "$tarball" ] || return 0
    echo "making a root file system of $suite, once"
    mirror=$(debian_mirror)
    [ -n "$mirror" ] || skip "no Debian mirror among the sources of apt"
    # A mirror that is a frozen copy may be older than its own index allows.
    unshare --mount mmdebstrap --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' --format=tar "$suite" \
        "$work/$suite.tar" "deb $mirror $suite main" >"$work/mmdebstrap.log" 2>&1 ||
        skip "mmdebstrap fails: $(grep -m 1 '^E: ' "$work/mmdebstrap.log" || tail -n 1 "$work/mmdebstrap.log")"
    zstd -q -3 --rm "$work/$suite.tar" -o "$tarball"
}

# /dev/ptmx is a link, as containers have it. Packages that an earlier run has downloaded are there, and nothing else is.
make_machine() {
    for old in "$work/$suite".*[0-9]; do
        [ ! -d "$old" ] || kill -0 "${old##*.}" 2>/dev/null || rm -rf --one-file-system "$old"
    done
    mkdir -p "$root" "$archives"
    tar --zstd -xpf "$tarball" -C "$root" || die "the root file system can't be unpacked"
    ln -sfn pts/ptmx "$root/dev/ptmx"
    [ ! -e /dev/fuse ] || mknod -m 666 "$root/dev/fuse" c 10 229
    ln -sfn ../proc/self/mounts "$root/etc/mtab"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    # Certificates of the network that this machine is in.
    if ls /usr/local/share/ca-certificates/*.crt >/dev/null 2>&1; then
        mkdir -p "$root/usr/local/share/ca-certificates"
        cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/"
    fi
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/fresh-machines" # half of the time that packages take
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
    mkdir -p "$root/var/cache/apt/archives"
    find "$archives" -name '*.deb' -exec ln -t "$root/var/cache/apt/archives" {} +
    # The kernel counts processes by number, those of this machine's users as well.
    useradd --root "$root" --create-home --groups users --shell /bin/bash --uid $((20000 + $$ % 40000)) guest || die "no user can be made"
}

keep_packages() {
    find "$root/var/cache/apt/archives" -maxdepth 1 -name '*.deb' -exec ln -f -t "$archives" {} +
}

# What a machine has beyond a chroot: / is a mount point, and the kernel's file systems are there.
# shellcheck disable=SC2016 # for the shell that runs it
mounts='mount --bind "$0" "$0" && cd "$0" && mount -t proc proc proc && mount -t sysfs sysfs sys &&
    mount -t devpts -o newinstance,gid=5,mode=620,ptmxmode=666 devpts dev/pts && mount -t tmpfs tmpfs dev/shm &&
    pivot_root . mnt && umount -l mnt && cd / || exit'
# The first process waits for all others, and they end with it. Busy ones that were not nice would stop the builds, which are.
# shellcheck disable=SC2016
first='for number in $(seq "$busy"); do nice -n 5 sh -c "while :; do :; done" & done; chroot . "$@" & wait $!'

# in_root SETUP COMMAND...: with processes and mounts of its own, which end with the command.
in_root() {
    setup=$1
    shift
    busy=${busy:-0} setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child \
        sh -c "cd \"\$0\" && $setup; $first" "$root" \
        env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@" </dev/null &
    running=$!
    wait $running
    status=$?
    running=
    return $status
}

# What a person types in the folder of the source.
type_root() { in_root : sh -c "cd /root/wrenssh && nohup $*"; }
type_user() {
    in_root "$mounts" setpriv --reuid guest --regid guest --init-groups --inh-caps=-all --reset-env env --default-signal \
        bash -lc "cd ~/wrenssh && $*"
}

# A clone of the last commit, in the home of a user.
clone() { # HOME
    git -c safe.directory='*' clone -q --depth 1 "file://$top" "$root$1/wrenssh" || die "the source can't be cloned"
    in_root : chown -R --reference="$1" "$1/wrenssh"
}

# An ordinary user gets the names of the packages that are missing, and has root install them. Fails if none were named.
install_what_was_asked_for() {
    ! grep -q ' passed, ' "$log" || return 1
    packages=$(sed -n 's/.*: (p=.* apt-get install --no-install-recommends \([a-z0-9.+ -]*\))$/\1/p' "$log" | tail -n 1)
    [ -n "$packages" ] || return 1
    echo "$row: root installs what the script has asked for: $packages"
    # shellcheck disable=SC2086 # a list of packages
    in_root : sh -c 'export DEBIAN_FRONTEND=noninteractive; apt-get update -q &&
        exec apt-get install -y -q --no-install-recommends "$@"' sh $packages >"$work/apt.log" 2>&1 ||
        { tail -n 15 "$work/apt.log"; return 1; }
}

# ---- what a stranger does --------------------------------------------------------------------------------------------

# Types a command of README.md.
follow() { # LOG COMMAND
    log=$1
    started=$(date +%s)
    "type_$who" "$2" >"$log" 2>&1
    status=$?
    if [ $status != 0 ] && [ "$who" = user ] && install_what_was_asked_for; then
        started=$(date +%s)
        "type_$who" "$2" >"$log" 2>&1
        status=$?
    fi
    echo "$row: $2: exit status $status, $(($(date +%s) - started)) seconds"
    [ $status = 0 ] || { tail -n 100 "$log"; return 1; }
}

run_row() { # root|user
    who=$1
    row=$suite-$who
    home=/root
    [ "$who" = root ] || home=/home/guest
    clone $home
    if [ -n "$repeated" ]; then
        busy=$load
        follow "$work/$row-repeated.log" "sh tests/field/repeated_runs/run.sh $repeated"
        status=$?
        busy=0
        keep_packages
        rm -rf "${work:?}/repeated-$row"
        cp -r "$root$home/wrenssh/build/repeated_runs" "$work/repeated-$row"
        [ $status != 0 ] || cat "$work/$row-repeated.log"
        return $status
    fi
    failed='' tried=passed
    follow "$work/$row-try.log" 'sh packaging/try.sh --once' || failed=yes tried=failed
    if [ "$who$short" = root--short ]; then
        keep_packages
        [ -z "${WREN_COUNTS:-}" ] || { mkdir -p "$WREN_COUNTS/$row" &&
            echo "{\"packaging/try.sh --once\": \"$tried\"}" >"$WREN_COUNTS/$row/cases.json"; }
        [ -z "$failed" ]
        return
    fi
    busy=$load
    follow "$work/$row.log" "${short:+env WREN_NO_WIRE=yes }sh tests/run.sh${short:+ --only gcc}" || failed=yes
    busy=0
    case $who$short in
    root) more='' && { follow "$work/$row-static.log" 'sh packaging/cross/build.sh x86_64' || failed=yes; } ;;
    user) more='man_pages asyncssh other_clients sftp_other_clients' ;;
    *) more=man_pages ;;
    esac
    for file in $more; do
        follow "$work/$row-$file.log" "env WREN_CASES=build/results/gcc tests/one test_$file.py" || failed=yes
    done
    log=$work/$row.log
    keep_packages
    rm -rf "${work:?}/results-$row"
    cp -r "$root$home/wrenssh/build/results" "$work/results-$row" && grep '^not installed\|skipped: ' "$log"
    "$python" tests/field/fresh_machines/compare.py "$work/results-$row" "tests/field/fresh_machines/skipped-$row.txt" "$work/$row.json" ||
        failed=yes
    [ -z "${WREN_COUNTS:-}" ] || { mkdir -p "$WREN_COUNTS/$row" && cp "$work/$row.json" "$WREN_COUNTS/$row/cases.json"; }
    [ -z "$failed" ]
}

make_tarball
make_machine
result=0
for who; do run_row "$who" || result=1; done
exit $result
