# shellcheck shell=sh disable=SC2034,SC2154
# Finds out which of Debian's packages are missing, and has root install them. Sourced by the commands of tests/ and
# packaging/, which set $needed and $useful before they call ensure_packages(): lines of package:probe, where the probe is
# a command that succeeds if the package is there. tests/system/test_fresh_machine.py runs them where everything is missing.
python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3

has() { command -v "$1" >/dev/null 2>&1; }
has_python() { "$python" -c "import $1" >/dev/null 2>&1; }
has_fuzzer() { has clang && ls "$(clang -print-resource-dir)"/lib/*/libclang_rt.fuzzer* >/dev/null 2>&1; }
has_static_busybox() { has busybox && ! ldd "$(command -v busybox)"; }

# Debian's names that differ from release to release: those of 12, and those of 13.
debian=$(sed -n 's/^VERSION_ID="\([0-9]*\).*/\1/p' /etc/os-release 2>/dev/null)
case $debian in
12) clang_rt=libclang-rt-14-dev systemd_dev=systemd libssl=libssl3 ;;
*) clang_rt=libclang-rt-19-dev systemd_dev=systemd-dev libssl=libssl3t64 ;;
esac
! has clang || clang_rt=libclang-rt-$(clang -dumpversion | cut -d . -f 1)-dev

# A build with GCC and its unit tests; the modules of tests/system/helpers, which other suites use, too; libFuzzer.
build_packages="
gcc:has gcc
libc6-dev:test -e /usr/include/stdio.h
meson:has meson
ninja-build:has ninja
pkg-config:has pkg-config
libsodium-dev:pkg-config --exists libsodium
check:pkg-config --exists check
"
system_packages="
python3:has python3
python3-pytest:has_python pytest
libsodium23:ls /usr/lib/*/libsodium.so.23
openssh-client:has ssh-keyscan
"
fuzz_packages="
clang:has clang
$clang_rt:has_fuzzer
"
# For what tests WRENSSHD, or builds a daemon.
[ -z "${WRENSSHD:-}" ] && daemon_packages=$build_packages$system_packages || daemon_packages=$system_packages

missing_of() { # LIST KNOWN: each package once, without those that are known to be missing
    known=" $2"
    printf '%s\n' "$1" | while IFS=: read -r package probe; do
        case $known in *" $package "*) continue ;; esac
        [ -z "$package" ] || (eval "$probe") >/dev/null 2>&1 || { printf '%s ' "$package" && known="$known$package "; }
    done
}

find_missing() {
    must=$(missing_of "$needed" '')
    may=$(missing_of "$useful" "$must")
}

# watch COMMAND...: runs the command every nine seconds, until stop_watching or the end of the script. So a step that takes
# minutes is not silent.
watcher=
watch() {
    (
        pause=
        trap 'kill $pause 2>/dev/null; exit' TERM
        while kill -0 $$ 2>/dev/null; do
            sleep 9 >/dev/null 2>&1 &
            pause=$!
            wait $pause
            "$@"
        done
    ) 9>&- &
    watcher=$!
}
stop_watching() {
    [ -z "$watcher" ] || { kill "$watcher" && wait "$watcher"; } 2>/dev/null || :
    watcher=
}
last_line() { # LOG: its name, and where the step is
    printf '... %s: %s\n' "$1" "$(tail -n 1 "$1" 2>/dev/null | tr -d '\r' | cut -c 1-100)"
}

# Installed daemons must not start: their packages ask this file. One that is there already stays.
policy=/usr/sbin/policy-rc.d
made_policy=
remove_policy() {
    [ -z "$made_policy" ] || rm -f $policy
    made_policy=
}
trap 'stop_watching; remove_policy' EXIT
trap 'exit 130' HUP INT TERM

install_packages() {
    [ -e $policy ] || { made_policy=yes && printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy; }
    # shellcheck disable=SC2086 # a list of packages
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $1 </dev/null && status=0 || status=$?
    remove_policy
    return "$status"
}

install_all() { # LOG
    echo "installing $must$may"
    : >"$1"
    watch last_line "$1"
    {
        apt-get update -q || { sleep 3; apt-get update -q; } || echo "apt-get update failed, going on"
        install_packages "$must$may"
    } >"$1" 2>&1 9>&- || {
        tail -n 15 "$1"
        # One package that this release does not have must not keep the others away.
        for package in $must $may; do install_packages "$package" >>"$1" 2>&1 9>&- || true; done
    }
    stop_watching
    find_missing
}

# What root may type, which starts no daemon either.
root_line() { # PACKAGE...
    # In single quotes: in double ones an interactive bash would look for "!" in its history.
    printf '%s\n' "(p=$policy; [ -e \$p ] || { printf '#!/bin/sh\nexit 101\n' >\$p; chmod 755 \$p; trap 'rm \$p' EXIT; };\
 apt-get install --no-install-recommends $*)"
}

# ensure_packages LOG CONSEQUENCE: fails if one of the needed ones is missing in the end; without a useful one it says what
# follows from that.
ensure_packages() {
    find_missing
    [ -n "$must$may" ] || return 0
    if [ "$(id -u)" = 0 ] && has apt-get; then
        # Of commands that run side by side one installs, with the folder locked that $policy is in. The others find what
        # it has installed.
        exec 9<"${policy%/*}"
        ! has flock || flock 9
        find_missing
        [ -z "$must$may" ] || install_all "$1"
        exec 9>&-
    fi
    # shellcheck disable=SC2086 # a list of packages
    [ -z "$may" ] || printf '%s\n' "not installed, so $2; root installs them with: $(root_line $may)"
    [ -n "$must" ] || return 0
    echo "${0##*/}: these packages are missing: $must" >&2
    # shellcheck disable=SC2086 # a list of packages
    printf '%s\n' "${0##*/}: install them as root: $(root_line $must $may)" >&2
    echo "${0##*/}: with apt-get alone, the daemons among them would start" >&2
    return 1
}

# The mirror that apt uses for Debian itself, not for its security updates. apt knows after its first update only.
debian_mirror() {
    # shellcheck disable=SC2016 # apt's names
    set -- apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian'
    [ -n "$("$@")" ] || [ "$(id -u)" != 0 ] || apt-get update -q >&2
    "$@" | head -n 1
}

# In a bare chroot / is no mount point: see own_root.py.
own_root() { # SCRIPT ARGUMENTS...
    [ "$(id -u)" = 0 ] && [ -z "${WREN_OWN_ROOT:-}" ] && has unshare && has "$python" || return 0
    ! unshare --mount true 2>/dev/null && unshare --mount --propagation unchanged true 2>/dev/null || return 0
    exec "$python" "$top/tests/own_root.py" sh "$@"
}
