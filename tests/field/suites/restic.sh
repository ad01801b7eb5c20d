# shellcheck shell=sh disable=SC2034,SC2154
# restic: the tests of its SFTP backend, on the SFTP server and through a login
version=0.18.1
packages="golang-go:has go"
fetch() { from_go github.com/restic/restic $version; }
build() { go test -c -o sftp.test ./internal/backend/sftp; }
play() {
    mkdir server login
    printf '#!/bin/sh\nexec %s\n' "$SUITE_SFTP" >server/sftp-server
    printf '#!/bin/sh\nexec ssh -s peer sftp\n' >login/sftp-server
    chmod 755 server/sftp-server login/sftp-server
    for part in server login; do
        echo "== $part"
        (export RESTIC_TEST_SFTPPATH="$PWD/$part" && cd internal/backend/sftp &&
            ../../../sftp.test -test.v -test.timeout 300s 2>&1 | sed 's:/max-[0-9]*:/max:') # a random number
    done
}
