# shellcheck shell=sh disable=SC2154
# Finds out which of Debian's packages are missing, and has root install them. Sourced by run.sh and bench/run.sh, which
# set $python, $needed and $useful before they call ensure_packages(): lines of package:probe, where the probe is a
# command that succeeds if the package is there.

has() { command -v "$1" >/dev/null 2>&1; }
has_python() { "$python" -c "import $1" >/dev/null 2>&1; }

missing_of() {
    printf '%s\n' "$1" | while IFS=: read -r package probe; do
        [ -n "$package" ] && { eval "$probe" >/dev/null 2>&1 || printf '%s ' "$package"; }
    done
}

# Installed daemons must not start: their packages ask this file. One that is there already stays.
policy=/usr/sbin/policy-rc.d
made_policy=
remove_policy() {
    [ -n "$made_policy" ] && rm -f $policy
    made_policy=
}
trap remove_policy EXIT
trap 'exit 130' HUP INT TERM

install_packages() {
    [ -e $policy ] || { made_policy=yes && printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy; }
    apt-get update -q || { sleep 3; apt-get update -q; } || echo "run.sh: apt-get update failed, going on" >&2
    # shellcheck disable=SC2086 # a list of packages
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $1 </dev/null
    status=$?
    remove_policy
    return $status
}

# ensure_packages LOG CONSEQUENCE: fails if one of the needed ones is missing in the end; without a useful one it says what
# follows from that.
ensure_packages() {
    must=$(missing_of "$needed")
    may=$(missing_of "$useful")
    [ -z "$must$may" ] && return 0
    if [ "$(id -u)" = 0 ] && has apt-get; then
        echo "installing $must$may"
        install_packages "$must$may" >"$1" 2>&1 || {
            tail -n 15 "$1"
            # One package that this release does not have must not keep the others away.
            for package in $must $may; do install_packages "$package" >>"$1" 2>&1; done
        }
        must=$(missing_of "$needed")
        may=$(missing_of "$useful")
    fi
    [ -n "$may" ] && echo "not installed, so $2: $may(apt-get install $may)"
    [ -z "$must" ] && return 0
    echo "run.sh: these packages are missing: $must" >&2
    echo "run.sh: install them as root: apt-get install $must$may" >&2
    return 1
}
