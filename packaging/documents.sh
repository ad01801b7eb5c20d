#!/bin/sh
# Copies README.md, the pages that it links to, and those of packaging/ into FOLDER, so that their links between each other
# work. The man pages become HTML.
#
#     sh packaging/documents.sh FOLDER
#
# The archives of packaging/cross and the Debian package have them in share/doc/wrensshd.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
case ${1:-} in
'' | -*) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 1 ;;
esac
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$top"
for file in LICENSE *.md packaging/*.md packaging/*/*.md packaging/allowed_signers packaging/try.svg \
    tests/README.md tests/known_holes.md tests/bench/README.md tests/bench/results/*; do
    mkdir -p "$folder/$(dirname "$file")"
    cp "$file" "$folder/$file"
done
sh packaging/man_html.sh "$folder/man"
