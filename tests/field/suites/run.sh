#!/bin/sh
# Runs the test suites of other projects against the daemon, and against a control: OpenSSH's server, restricted to our
# algorithms and to public keys. A case is red if it passes there and fails here, twice.
#
#     sh tests/field/suites/run.sh [--list] [SUITE...]           all of them if none is named
#
# Tests WRENSSHD, or the program of build/gcc, which it builds if it is missing. Root installs what the suites need. The suites
# themselves come from package registries into build/suites, each in the version that its file here names. They run as an
# ordinary user. A suite that can't be had or built is a failure, with the reason. Logs are in build/suites/logs.
# shellcheck disable=SC1090 # the files of the suites
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd) || exit 1
cd "$top" || exit 1
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin
export PATH
here=$top/tests/field/suites
work=$top/build/suites
# shellcheck disable=SC2034 # the suites' files read it
python_packages="python3-venv:has_python ensurepip"
names=$(cd "$here" && printf '%s\n' *.sh | sed -n 's/\.sh$//; /^run$/d; p')

list_suites() {
    . "$top/tests/packages.sh" # for $debian
    for listed in $names; do
        # shellcheck disable=SC2154 # its file sets it
        (. "$here/$listed.sh"; printf '%-16s %-9s %s\n' "$listed" "$version" "$(sed -n '2s/^# //p' "$here/$listed.sh")")
    done
}

wanted=
for word; do
    case $word in
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --list) list_suites; exit 0 ;;
    esac
    printf '%s\n' "$names" | grep -qx -e "$word" || { echo "suites: there is no suite $word; --list names them" >&2; exit 2; }
    wanted="$wanted $word"
done
[ -n "$wanted" ] || wanted=$names

given=${WRENSSHD:-}
. "$top/tests/setup.sh"
[ -z "$given" ] || export WRENSSHD="$given"
# shellcheck disable=SC2034 # packages.sh reads it
needed="$daemon_packages
ucspi-tcp:has tcpserver
openssh-server:test -x /usr/sbin/sshd
openssh-sftp-server:test -x /usr/lib/openssh/sftp-server
"
# shellcheck disable=SC2034,SC2154
useful=$(for word in $wanted; do (. "$here/$word.sh"; printf '%s\n' "$packages"); done)
mkdir -p "$work/logs"
ensure_packages "$work/apt.log" "some suites can't run" || exit 1
own_root "$here/run.sh" "$@"
ensure_venv

# ---- where suites come from: into $tree, the folder of the suite ------------------------------------------------------

# Sources of Debian's packages, of 12 and 13 alike: apt has lists of its own for them.
debian_sources() { # apt-get's or apt-cache's arguments
    program=$1
    shift
    "$program" -o Dir::Etc::SourceList="$work/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$work/apt/lists" -o Dir::Cache="$work/apt/cache" -o APT::Sandbox::User=root -q "$@"
}
from_debian() { # SOURCE VERSION: as its authors have packed it
    mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
    mirror=$(debian_mirror)
    printf "deb-src $mirror %s main\n" bookworm trixie >"$work/apt/sources.list"
    [ -n "$(find "$work/apt/lists" -name '*Sources*' -mmin -600)" ] || debian_sources apt-get update || return
    debian_sources apt-cache showsrc "$1" | grep -qx "Version: $2" || {
        echo "Debian has no source $1 $2: name another version in $here/$name.sh" && return 1
    }
    mkdir -p "$tree.part" && cd "$tree.part" && debian_sources apt-get source --tar-only "$1=$2" &&
        mkdir "$tree" && tar -xf ./*.orig.tar.[gxb]z* -C "$tree" --strip-components=1
}
from_go() { # MODULE VERSION
    folder=$(go mod download -json "$1@v$2" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
    [ -n "$folder" ] && cp -r "$folder" "$tree" && chmod -R u+w "$tree"
}

from_python() { # PROJECT VERSION: its source from the Python package index
    mkdir -p "$tree.part" &&
        "$venv/bin/pip" download -q --disable-pip-version-check --no-deps --no-binary "$1" -d "$tree.part" "$1==$2" &&
        mkdir "$tree" && tar -xf "$tree.part"/*.tar.gz -C "$tree" --strip-components=1
}

from_crates() { # CRATE VERSION
    mkdir -p "$tree.part/src" && cd "$tree.part" && : >src/lib.rs &&
        printf '[package]\nname = "none"\nversion = "0.0.0"\n[dependencies]\n%s = "=%s"\n' "$1" "$2" >Cargo.toml &&
        cargo fetch && cp -r "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$1-$2" "$tree"
}

with_python() { # PROJECT...: Python's packages beside the suite
    "$python" -m venv venv && venv/bin/pip install -q --disable-pip-version-check "$@"
}

export GOPATH="$work/go" GOCACHE="$work/go/cache" GOFLAGS=-modcacherw PIP_CACHE_DIR="$work/pip" TMPDIR="${TMPDIR:-/tmp}"
missed=0 ready=
for name in $wanted; do
    . "$here/$name.sh"
    tree=$work/$name-$version
    if [ ! -e "$tree/.built" ] || [ -n "$(find "$here/$name.sh" -newer "$tree/.built")" ]; then
        echo "fetching and building $name $version"
        rm -rf "$tree" "$tree.part"
        (fetch && cd "$tree" && build && touch "$tree/.built") >"$work/logs/$name.build" 2>&1 </dev/null
        status=$?
        rm -rf "$tree.part"
        [ $status = 0 ] || {
            echo "$name $version could not be fetched or built; the end of $work/logs/$name.build:"
            tail -n 5 "$work/logs/$name.build"
            missed=$((missed + 1))
            continue
        }
    fi
    ready="$ready $name=$tree"
done

WRENSSHD=$(sh tests/gcc_daemon.sh) || exit 1
export WRENSSHD
echo "tested: $WRENSSHD"
# shellcheck disable=SC2086 # a list of suites
PYTHONPATH=$top/tests/system/helpers PYTHONDONTWRITEBYTECODE=1 "$python" "$here/play.py" "$work/logs" "$missed" $ready
