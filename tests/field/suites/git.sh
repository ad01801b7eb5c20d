# shellcheck shell=sh disable=SC2034,SC2154
# Git: those of its tests that clone, fetch and push through ssh, and those of its URLs
version=2.47.3
packages="make:has make
zlib1g-dev:test -e /usr/include/zlib.h"
fetch() { from_debian git 1:2.47.3-0+deb13u1; }
build() { # fake-ssh is their ssh: it notes its words, and runs the command in this folder, with its variables
    make -j 2 prefix=/usr CFLAGS=-O1 NO_CURL=1 NO_EXPAT=1 NO_OPENSSL=1 NO_GETTEXT=1 NO_TCLTK=1 NO_PERL=1 NO_PYTHON=1 || return
    cat >t/helper/test-fake-ssh <<'SHELL'
#!/bin/sh
echo "ssh: $*" >"$TRASH_DIRECTORY/ssh-output"
for command; do :; done
sent=''
[ "$1 $2" != "-o SendEnv=GIT_PROTOCOL" ] || sent="-o SendEnv=GIT_PROTOCOL"
# shellcheck disable=SC2086 # two words or none
exec ssh $sent peer "$(export -p | grep -v GIT_PROTOCOL)
cd '$PWD' && $command"
SHELL
}
play() {
    cd t || return
    for part in t5700-protocol-v1 t5702-protocol-v2 t5601-clone t5813-proto-disable-ssh; do
        echo "== $part"
        sh "$part.sh" 2>&1 | case $part in t57*) grep ssh ;; *) cat ;; esac
    done
}
