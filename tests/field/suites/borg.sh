# shellcheck shell=sh disable=SC2034,SC2154
# Borg: tests of its remote repositories, each borg serve through a login
version=1.4.1
packages="$python_packages
pkg-config:has pkg-config
libacl1-dev:test -e /usr/include/sys/acl.h
libssl-dev:pkg-config --exists libcrypto
liblz4-dev:pkg-config --exists liblz4
libzstd-dev:pkg-config --exists libzstd
libxxhash-dev:pkg-config --exists libxxhash
python3-dev:ls /usr/include/python3*/Python.h"
fetch() { from_python borgbackup $version; }
build() { with_python borgbackup==$version pytest pytest-benchmark python-dateutil; }
play() {
    cat >peer.py <<'PYTHON'
import os
import shlex

from borg.remote import RemoteRepository

here = RemoteRepository.borg_cmd


def through(self, args, testing):
    words = here(self, args, testing)
    if not testing:
        return words
    borg = "".join(f"{name}={shlex.quote(value)} " for name, value in os.environ.items() if name.startswith("BORG"))
    return ["ssh", "peer", f"cd {shlex.quote(os.getcwd())} && {borg}exec {shlex.join(words)}"]


RemoteRepository.borg_cmd = through
PYTHON
    # The quick ones of the archiver's, and without test_borg_cmd, whose answer peer.py changes.
    cases="RemoteArchiverTestCase and (remote_repo or basic_functionality or sparse)"
    cases="(RemoteRepositoryTestCase or RemoteLegacy or RemoteRepositoryCheck or $cases) and not borg_cmd"
    PYTHONPATH=. venv/bin/python -m pytest -p peer -v --tb=short -p no:cacheprovider --pyargs borg.testsuite -k "$cases" 2>&1
}
