# shellcheck shell=sh disable=SC2034,SC2154
# ssh2 for Rust: the tests of its client, which is libssh2
version=0.9.5
packages="cargo:has cargo
libssl-dev:pkg-config --exists libcrypto"
fetch() { from_crates ssh2 $version; }
build() {
    cargo update openssl-sys --precise 0.9.109 && cargo test -j 2 --no-run --test all &&
        find target/debug/deps -name 'all-*' -type f -perm -u+x -exec cp {} all \; && rm -r target
}
play() {
    export RUST_SSH2_FIXTURE_PORT="$SUITE_PORT"
    # shellcheck disable=SC2016 # the agent's shell
    ssh-agent sh -c 'ssh-add -q "$SUITE_KEY" && ./all --test-threads 2' 2>&1
}
