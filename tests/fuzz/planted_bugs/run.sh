#!/bin/sh
# Plants bugs in a copy of the tree, one of each kind, and measures which tests find each, and after how long.
#
#     sh tests/fuzz/planted_bugs/run.sh [--means MEANS] [BUG...]
#
#     --means MEANS  only these, for example unit,fuzz
#
# First the copy without a bug: what fails there finds nothing. All in all about an hour on two processors. As root, which
# installs what is needed (Debian 12 or 13).
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd) || exit 1
case "${1:-}" in -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
. "$top/tests/setup.sh"
needed="$needed$fuzz_packages
git:has git
rsync:has rsync
"
prepare "$top/tests/fuzz/planted_bugs/run.sh" "$@"
PYTHONDONTWRITEBYTECODE=1 exec "$python" "$top/tests/fuzz/planted_bugs/planted.py" "$top" "$@"
