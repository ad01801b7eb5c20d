# shellcheck shell=sh disable=SC2034,SC2154
# libssh2: those of its tests that need a server
version=1.11.1
packages="make:has make
libssl-dev:pkg-config --exists libcrypto"
fetch() { from_debian libssh2 1.11.1-1+deb13u2; }
build() {
    sed -i 's/key_rsa/key_ed25519/; s/(unsigned short)port_number/atoi(getenv("SUITE_PORT"))/' tests/test_read.c tests/test_ssh2.c
    ./configure --disable-shared --enable-static && make -j 2 && make -j 2 -C tests check TESTS=
}
# Without the tests that log in with a password, or with keys of other types.
play() {
    export OPENSSH_NO_DOCKER=1 OPENSSH_SERVER_HOST=127.0.0.1 OPENSSH_SERVER_PORT="$SUITE_PORT" srcdir=.
    export PRIVKEY="$SUITE_KEY" PUBKEY="$SUITE_KEY.pub"
    cd tests && cp "$SUITE_KEY" key_ed25519 && cp "$SUITE_KEY.pub" key_ed25519.pub || return
    for test in aa_warmup auth_pubkey_fail auth_pubkey_ok_ed25519 auth_pubkey_ok_ed25519_mem read ssh2; do
        if timeout 60 "./test_$test" >log 2>&1; then echo "ok $test"; else cat log && echo "failed $test"; fi
    done
}
