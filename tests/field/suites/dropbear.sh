# shellcheck shell=sh disable=SC2034,SC2154
# Dropbear: the tests of its client dbclient
version=2025.89
packages="make:has make
$python_packages"
fetch() { from_debian dropbear 2025.89-1~deb13u1; }
build() { ./configure --disable-zlib && make -j 2 PROGRAMS="dbclient dropbearconvert" && with_python asyncssh pytest psutil; }
play() {
    ./dropbearconvert openssh dropbear "$SUITE_KEY" key
    DROPBEAR_DEFAULT_CLI_AUTHKEY=$PWD/key
    cd test && ../venv/bin/python -m pytest -v -p no:cacheprovider --remote 127.0.0.1 --port "$SUITE_PORT" --dbclient "../dbclient -i ../key" \
        --user "$SUITE_USER" test_channels.py test_concurrent.py 2>&1
}
