# shellcheck shell=sh disable=SC2034,SC2154
# Emacs: the quick tests of TRAMP, which edits files on remote machines, by its method ssh
packages="emacs-nox:has emacs"
case $debian in 12) version=28.2 ;; *) version=30.1 ;; esac # the tests belong to one version
fetch() { case $debian in 12) from_debian emacs 1:28.2+1-15+deb12u4 ;; *) from_debian emacs 1:30.1+1-6+deb13u1 ;; esac; }
build() { find . -mindepth 1 -maxdepth 1 ! -name test -exec rm -rf {} +; }
play() {
    REMOTE_TEMPORARY_FILE_DIRECTORY=/ssh:peer:$TMPDIR timeout 600 emacs -Q --batch -L test -l ert -l ert-x \
        -l test/lisp/net/tramp-tests.el --eval '(setq tramp-verbose 1)' \
        --eval "(ert-run-tests-batch-and-exit '(not (or (tag :expensive-test) (tag :unstable))))" 2>&1
}
