#!/bin/sh
# Lets system calls of wrensshd, wrensshd-sftp, wrensshd-listen and wrensshd-makekey fail, one in each run, and judges what
# comes of it: see README.md beside this, and --help.
#
#     sh tests/faults/run.sh [--seconds N] [--every] [SCENARIO...]
#
# Tests WRENSSHD, or the program of build/gcc, which it builds if it is missing. As root on x86-64; skipped elsewhere
# (status 77).
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
top=$(cd "$here/../.." && pwd) || exit 1
mkdir -p "$top/build/faults" || exit 1
python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3
# Two runs at once must not write the same file.
injector=$top/build/faults/inject.$$
trap 'rm -f "$injector"' EXIT
if [ "$(uname -m)" = x86_64 ]; then
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Wconversion -Wshadow -Werror -o "$injector" "$here"/*.c || exit 1
fi
PYTHONDONTWRITEBYTECODE=1 "$python" "$here/faults/main.py" --injector "$injector" "$@"
