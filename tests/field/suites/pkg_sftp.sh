# shellcheck shell=sh disable=SC2034,SC2154
# pkg/sftp: the integration tests of Go's SFTP client, on the SFTP server and through a login
version=1.13.12
packages="golang-go:has go"
fetch() { from_go github.com/pkg/sftp $version; }
build() { go test -c -o sftp.test .; }
play() { # through a login without what gives the SFTP server options or another folder
    echo "== server"
    ./sftp.test -test.v -integration -sftp "$SUITE_SFTP" -test.run Client 2>&1
    printf '#!/bin/sh\nexec ssh -s peer sftp\n' >through && chmod 755 through
    echo "== login"
    ./sftp.test -test.v -integration -sftp "$PWD/through" -test.run Client -test.skip 'Readonly|Failed|Getwd|Walk' 2>&1
}
