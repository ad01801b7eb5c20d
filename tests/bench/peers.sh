#!/bin/sh
# Makes a folder with the newest peers in it, for run.sh's --peers: a Debian of a later release, as small as it goes,
# from the mirror that this machine itself uses.
#
#     sh tests/bench/peers.sh [--suite SUITE] DIR
#     sh tests/bench/peers.sh --libraries ARCHITECTURE DIR
#
# SUITE is forky, unless told otherwise. Takes half a minute and 400 MB. The second form makes a folder with another
# architecture's C library, OpenSSL, libsodium and servers, of this machine's own release, for the counts of
# instructions; run.sh does that by itself. Needs root, and installs mmdebstrap.
set -u
suite=forky
architecture=
while [ $# -gt 0 ]; do
    case $1 in
    --suite) suite=${2:?--suite takes a name}; shift 2 ;;
    --libraries) architecture=${2:?--libraries takes an architecture}; shift 2 ;;
    -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "peers.sh: unknown option $1, see --help" >&2; exit 100 ;;
    *) break ;;
    esac
done
folder=${1:?peers.sh: which folder? see --help}
[ "$(id -u)" = 0 ] || { echo "peers.sh: needs root" >&2; exit 100; }
[ ! -e "$folder" ] || { echo "peers.sh: $folder is there already" >&2; exit 100; }

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/tests/packages.sh"
# shellcheck disable=SC2034 # packages.sh reads them
useful='' needed="mmdebstrap:has mmdebstrap"
mkdir -p "$top/build"
ensure_packages "$top/build/apt.log" "there are no peers" || exit 1
uri=$(debian_mirror)
[ -n "$uri" ] || { echo "peers.sh: no Debian mirror among apt's sources" >&2; exit 1; }

mkdir -p "$(dirname "$folder")"
if [ -n "$architecture" ]; then
    # shellcheck source=/dev/null
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    set -- --variant=extract --architectures="$architecture" \
        --include=libc6,$libssl,libsodium-dev,dropbear-bin,tinysshd,openssh-server
else
    set -- --variant=minbase \
        --include=openssh-server,openssh-client,openssh-sftp-server,dropbear-bin,tinysshd,passwd,netbase
fi
# A mirror that is a frozen copy may be older than its own index allows.
mmdebstrap "$@" --aptopt='Acquire::Check-Valid-Until "false"' "$suite" "$folder" "deb $uri $suite main" ||
    { rm -rf "$folder"; exit 1; }
# shellcheck disable=SC2016 # dpkg's names
[ -n "$architecture" ] ||
    chroot "$folder" dpkg-query -W -f '${Package} ${Version}\n' openssh-server dropbear-bin tinysshd
