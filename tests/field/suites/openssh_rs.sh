# shellcheck shell=sh disable=SC2034,SC2154
# openssh for Rust: OpenSSH's client driven as a program and through its control socket
version=0.11.5
packages="cargo:has cargo"
fetch() { from_crates openssh $version; }
build() {
    cargo test -j 2 --no-run --all-features --test openssh &&
        find target/debug/deps -name 'openssh-*' -type f -perm -u+x -exec cp {} all \; && rm -r target
}
# Left out: forwarding; what ends programs of another machine; and an end of the server's process without a word, as
# wrensshd's other processes then say goodbye.
play() { # with sockets in a folder whose name is short enough
    XDG_RUNTIME_DIR=$(mktemp -d /tmp/suite.XXXXXX)
    mkdir "$XDG_RUNTIME_DIR/openssh-rs" && cp "$HOME/.ssh/known_hosts" "$XDG_RUNTIME_DIR/openssh-rs"
    export XDG_RUNTIME_DIR TEST_HOST="ssh://$SUITE_USER@127.0.0.1:$SUITE_PORT"
    ./all --include-ignored --test-threads 2 --skip socket_forward --skip process_exit_on_signal --skip broken_connection 2>&1
    rm -rf "$XDG_RUNTIME_DIR"
}
