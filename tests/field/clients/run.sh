#!/bin/sh
# Tries clients of others against the daemon, and compares what happens with the tables of packaging/CLIENTS.md. Tries
# what brings keys to a machine: ssh-import-id and cloud-init, as packaging/COMING-FROM-OPENSSH.md says.
#
#     sh tests/field/clients/run.sh [arguments of pytest]        such as: -k Go
#
# Tests WRENSSHD, or the program of build/gcc, which it builds if it is missing. Needs root. It installs Debian's clients,
# and unpacks those of the newest Debian. Libraries come from PyPI, npm, Go, Cargo, Maven and RubyGems, with the versions
# that the files of this folder name. All but Debian's own stay in build/clients, build/venv and build/node. A client that
# can't be had is skipped, with the reason. Go 1.26 and Rust 1.89 are newer than Debian 12's, and must be there.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd) || exit 1
cd "$top" || exit 1
case ${1:-} in -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
[ "$(id -u)" = 0 ] || { echo "clients: skipped, the users that log in are made by root"; exit 0; }
given=${WRENSSHD:-}
. "$top/tests/setup.sh"
has_ruby() { ruby -e "require '$1'" >/dev/null 2>&1; }
useful="$useful
ansible-core:has ansible
borgbackup:has borg
restic:has restic
rclone:has rclone
mosh:has mosh-server
netcat-openbsd:has nc
mmdebstrap:has mmdebstrap
libssh-dev:test -e /usr/include/libssh/libssh.h
nodejs:has node
npm:has npm
maven:has mvn
default-jdk-headless:has java
ruby:has ruby && has gem
ruby-dev:ls /usr/include/*/ruby-*/ruby/config.h
make:has make
ruby-net-sftp:has_ruby net/sftp
ruby-rbnacl:has_ruby rbnacl
ruby-ed25519:has_ruby ed25519
ruby-bcrypt-pbkdf:has_ruby bcrypt_pbkdf
"
built=$top/build/clients
here=$top/tests/field/clients
mkdir -p "$built"
ensure_packages "$top/build/apt.log" "some clients are skipped" || exit 1
ensure_venv
prepare_scanners
[ -z "$given" ] || export WRENSSHD="$given"
own_root "$here/run.sh" "$@"

try() { # CLIENT COMMAND...: without it the case is skipped
    client=$1
    shift
    "$@" >"$built/$client.log" 2>&1 || echo "$client could not be built, so it is skipped: $(tail -n 1 "$built/$client.log")"
}
build_go() { GOPATH=$built/go-path GOFLAGS=-modcacherw go build -C "$here/go" -o "$built/client-go" .; }
build_russh() { # from a copy: Cargo writes Cargo.lock beside the source
    rm -rf "$built/russh-source" && cp -r "$here/russh" "$built/russh-source" &&
        cargo build --manifest-path "$built/russh-source/Cargo.toml" --target-dir "$built/russh"
}
copy_java() { # FOLDER
    rm -rf "${built:?}/$1"
    mvn -B -q -f "$here/$1/pom.xml" dependency:copy-dependencies -DoutputDirectory="$built/$1" && touch "$built/$1.ok"
}
# The cases use its programs, and leave it as it is.
unpack_newest() {
    rm -rf "$built/newest"
    mmdebstrap --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' --include="$newest_packages" \
        forky "$built/newest" "deb $(debian_mirror) forky main" && touch "$built/newest.ok"
}
newest_packages=openssh-client,putty-tools,dropbear-bin,curl,libssh-4,php-cli,php-phpseclib3,erlang-ssh
newest_packages=$newest_packages,ansible-core,git,rsync,borgbackup,restic,lftp,sshfs,cloud-init,ssh-import-id,iproute2
# Debian 12's net-ssh is older, and Debian has no x25519.
fetch_gems() {
    [ -d "$built/gems" ] ||
        gem install --install-dir "$built/gems" --no-document --ignore-dependencies net-ssh:'~> 7.3.0' x25519
}
has gem && try net-ssh fetch_gems
has go && try go build_go
has cargo && try russh build_russh
is_new() { [ -n "$(find "$built/$1.ok" -newer "$2" 2>/dev/null)" ]; } # FOLDER FILE: made after that file
for java in java java-newer; do is_new $java "$here/$java/pom.xml" || { has mvn && try $java copy_java $java; }; done
is_new newest "$here/run.sh" || { has mmdebstrap && try newest unpack_newest; }
try libssh cc -Wall -Wextra -o "$built/client-libssh" "$here/libssh.c" -lssh

WRENSSHD=${given:-$(sh tests/gcc_daemon.sh)} || exit 1
export WRENSSHD
echo "tested: $WRENSSHD"
PYTHONPATH=$top/tests/system PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" -m pytest -p no:cacheprovider -p conftest \
    -q -rs "$here" "$@"
