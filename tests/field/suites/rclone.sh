# shellcheck shell=sh disable=SC2034,SC2154
# rclone: the integration tests of its SFTP backend, with Go's client and with OpenSSH's
version=1.76.0
packages="golang-go:has go"
fetch() { from_go github.com/rclone/rclone $version; }
build() { go test -c -o sftp.test ./backend/sftp; }
play() {
    export RCLONE_CONFIG="$PWD/config" RCLONE_CONFIG_PEER_TYPE=sftp RCLONE_CONFIG_PEER_HOST=127.0.0.1 \
        RCLONE_CONFIG_PEER_PORT="$SUITE_PORT" RCLONE_CONFIG_PEER_USER="$SUITE_USER" RCLONE_CONFIG_PEER_KEY_FILE="$SUITE_KEY"
    cd backend/sftp || return
    for part in Go OpenSSH; do
        echo "== $part"
        [ "$part" = Go ] || export RCLONE_CONFIG_PEER_SSH="ssh peer"
        ../../sftp.test -test.v -test.timeout 600s -test.run 'TestIntegration$' -remote peer:rclone 2>&1
    done
}
