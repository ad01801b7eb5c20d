#!/bin/sh
# Makes the folder from which Containerfile builds an image: one static wrensshd, users and groups, and nothing else.
#
#     sh packaging/container/prepare.sh PROGRAM FOLDER
#
# PROGRAM is sbin/wrensshd of an archive of packaging/cross/build.sh. FOLDER must not exist; then
#
#     podman build --format docker -t wrensshd FOLDER     (or buildah build, docker build -f FOLDER/Containerfile)
#
# Needs no root. "A container" in packaging/README.md has the rest.
set -eu
case ${1:-} in -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
[ $# = 2 ] || { echo "usage: sh $0 PROGRAM FOLDER" >&2; exit 100; }
program=$1 folder=$2
here=$(dirname "$0")
# A program that needs a loader would not start where there is none.
if ! [ -x "$program" ] || grep -q -a -e ld-linux -e ld-musl "$program"; then
    echo "prepare.sh: $program is no static program: packaging/cross/build.sh makes one" >&2
    exit 100
fi
umask 022
mkdir "$folder" "$folder/root" "$folder/root/etc" "$folder/root/keys" "$folder/root/run" "$folder/users" "$folder/users/data"
cp "$here/Containerfile" "$folder"
install -m 755 "$program" "$folder/root/wrensshd"
for name in listen makekey printkey; do
    ln -s wrensshd "$folder/root/wrensshd-$name"
done
# The process that reads the network runs as wrensshd. No shell is there, and none is needed.
cat >"$folder/root/etc/passwd" <<EOF
root:x:0:0::/:/none
wrensshd:x:100:100::/:/none
files:x:1000:1000::/data:/none
EOF
cat >"$folder/root/etc/group" <<EOF
root:x:0:
wrensshd:x:100:
files:x:1000:
EOF
