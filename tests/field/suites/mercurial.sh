# shellcheck shell=sh disable=SC2034,SC2154
# Mercurial: those of its tests that reach a repository through ssh
packages="mercurial:has hg"
case $debian in 12) version=6.3.2 ;; *) version=7.0.1 ;; esac # the tests belong to one version
fetch() { case $debian in 12) from_debian mercurial 6.3.2-1+deb12u1 ;; *) from_debian mercurial 7.0.1-2 ;; esac; }
# In the place of their dummyssh: notes its arguments, and runs the command through a login, in this folder and environment.
build() {
    cat >tests/dummyssh <<'PYTHON'
import os
import shlex
import sys

os.chdir(os.environ["TESTTMP"])
if sys.argv[1] != "user@dummy":
    sys.exit(-1)
with open("dummylog", "a") as log:
    print("Got arguments", *(f"{number}:{word}" for number, word in enumerate(sys.argv[1:], 1)), file=log)
variables = {**os.environ, "SSH_CLIENT": os.environ.get("LOCALIP", "127.0.0.1") + " 1 2"}
command = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items() if name.isidentifier())
command += f"cd {shlex.quote(os.getcwd())}\n{sys.argv[2]}\nexit $(($? != 0))"
os.execv(os.environ["SUITE_SSH"], ["ssh", "peer", command])
PYTHON
}
play() {
    SUITE_SSH=$(command -v ssh)
    export SUITE_SSH
    cd tests || return
    python3 run-tests.py -j 2 --xunit cases.xml --with-hg="$(command -v hg)" test-ssh*.t 2>&1
    sed -n '/<testcase /{
        /\/>$/!N
        s/.*<testcase name="\([^"]*\)".*<skipped.*/ok \1 # skip/p
        s/.*<testcase name="\([^"]*\)"[^>]*\/>$/ok \1/p
        s/.*<testcase name="\([^"]*\)".*/failed \1/p
    }' cases.xml
}
