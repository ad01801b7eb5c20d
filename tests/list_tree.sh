#!/bin/sh
# Lists the files of the source tree, sorted, without those that building leaves there: build/, what Meson unpacks below
# subprojects/, and the caches of Python and pytest. Needs no git, so that it works in an unpacked archive too.
#
#     sh tests/list_tree.sh
set -eu
cd "$(dirname "$0")/.."
find . \( -path ./.git -o -path ./build -o -path ./subprojects/packagecache -o -path './subprojects/*-[0-9]*' \
    -o -name __pycache__ -o -name .pytest_cache \) -prune -o ! -type d ! -path ./subprojects/.wraplock -print | LC_ALL=C sort
