#!/bin/sh
# Makes a release of the commit that is checked out. RELEASING.md, beside this file, has the steps around it.
#
#     sh packaging/release.sh --sync
#     sh packaging/release.sh --check
#     sh packaging/release.sh --key FILE [--source-only] [x86_64|aarch64|armv7]...
#     sh packaging/release.sh --key FILE --tag
#
#     --sync         writes the version of meson.build and the addresses of packaging/project into README.md, the pages and
#                    recipes of packaging/, and the man pages
#     --check        only reports whether this commit can be released
#     --key FILE     the SSH key that signs. FILE.pub must lie beside it, and its line in packaging/allowed_signers; FILE
#                    may be in ssh-agent only
#     --source-only  no static binaries
#     --tag          signs a tag for the commit of the release that was made
#
# Leaves in build/release/VERSION: wrenssh-VERSION.tar.xz, a wrensshd-VERSION-ARCH.tar.xz for each architecture, the
# bills of materials wrensshd-VERSION.spdx and wrensshd-VERSION.cdx.json, what is known of its libraries' holes in
# wrensshd-VERSION.openvex.json, security.txt, the advisories, SHA256SUMS, and a signature FILE.sig of each. The same commit
# and the same compilers give the same bytes; only signatures may differ.
set -eu
export LC_ALL=C
umask 022
top=$(cd "$(dirname "$0")/.." && pwd)
key='' architectures='' task=release binaries=yes
signers=$top/packaging/allowed_signers

die() { echo "release.sh: $*" >&2; exit 1; }

while [ $# -gt 0 ]; do
    case $1 in
    --sync | --check | --tag) task=${1#--} ;;
    --key)
        [ $# -ge 2 ] || die "--key takes a file"
        key=$2
        shift
        ;;
    --source-only) binaries= ;;
    -h | --help) sed -n '2,22s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) die "unknown option: $1" ;;
    *) architectures="$architectures $1" ;;
    esac
    shift
done

version=$(sed -n "s/^ *version: '\(.*\)',.*/\1/p" "$top/meson.build" | head -n 1)
printf '%s\n' "$version" | grep -qE '^[0-9]+\.[0-9]+\.[0-9]+$' ||
    die "the version in meson.build is \"$version\", and not three numbers"
address() { sed -n "s/^$1=//p" "$top/packaging/project"; } # NAME
page=$(address page) contact=$(address contact)
{ [ -n "$page" ] && [ -n "$contact" ]; } || die "packaging/project lacks the page or the contact"
missing=''
case $page in *.example) missing="a page" ;; esac
case $contact in *.invalid) missing="${missing:+$missing, }a contact" ;; esac
grep -q '^[^#]' "$signers" || missing="${missing:+$missing, }a key for signatures"

# ---- one version, one page -------------------------------------------------------------------------------------------

# Files that name the version. Not all tracked files: a text may speak of an older release.
files_with_version() {
    git -C "$top" ls-files README.md man packaging | grep -vx 'packaging/debian/changelog' |
        while IFS= read -r file; do [ ! -f "$top/$file" ] || printf '%s\n' "$file"; done
}

# For the line that says whether there is a release.
releases() {
    [ -n "$missing" ] && echo "*not released yet*; what is missing: $missing." && return
    echo "[$page/releases]($page/releases). Report vulnerabilities to <$contact>."
}

# The file with the version of meson.build instead of any other. Recipes for distributions and the man page also get the
# page: https://ANY/, https://ANY/releases, and what lies below that; two pages get the line of releases().
with_version() { # FILE
    case $1 in
    README.md | packaging/PRODUCTS.md) set -- "$1" -e "s#(\*\*Releases:\*\*) .*#\1 $(releases)#" ;;
    packaging/alpine/APKBUILD | packaging/arch/PKGBUILD | packaging/buildroot/* | packaging/debian/control | \
        packaging/nix/package.nix | packaging/openwrt/Makefile | packaging/yocto/* | man/wrensshd.8)
        set -- "$1" -e "s#https?://[^\"' ]*/((releases(/[^\"' ]*)?)?([\"' ]|\$))#$page/\\1#" -e "s#^(Maintainer: .*<).*>#\\1$contact>#"
        ;;
    esac
    file_with_version=$top/$1
    shift
    sed -E -e "s/(wrensshd?[-_ ])[0-9]+\.[0-9]+\.[0-9]+/\1$version/g" \
        -e "s/^(pkgver=|WRENSSHD_VERSION = |PKG_VERSION:=|  version = \")[0-9.]+((\";)?)\$/\1$version\2/" \
        "$@" "$file_with_version"
}

recipe=packaging/yocto/wrensshd_$version.bb
changelog=packaging/debian/changelog
debian_is_right() { head -n 1 "$top/$changelog" | grep -qF "wrenssh ($version) "; }

sync_version() {
    files_with_version | while IFS= read -r file; do
        with_version "$file" | cmp -s - "$top/$file" && continue
        with_version "$file" >"$top/$file.new"
        # Into the same file, which keeps its mode.
        cat "$top/$file.new" >"$top/$file"
        rm "$top/$file.new"
        echo "$file"
    done
    if [ ! -e "$top/$recipe" ]; then
        git -C "$top" mv packaging/yocto/wrensshd_*.bb "$recipe"
        echo "$recipe"
    fi
    if ! debian_is_right; then
        printf 'wrenssh (%s) unstable; urgency=medium\n\n  * See NEWS.md.\n\n -- %s  %s\n\n' \
            "$version" "The wrenssh developers <$contact>" "$(date -u '+%a, %d %b %Y %H:%M:%S +0000')" |
            cat - "$top/$changelog" >"$top/$changelog.new"
        mv "$top/$changelog.new" "$top/$changelog"
        echo "$changelog"
    fi
}

# ---- what is refused -------------------------------------------------------------------------------------------------

check_version() {
    other=$(files_with_version | while IFS= read -r file; do
        with_version "$file" | cmp -s - "$top/$file" || printf ' %s' "$file"
    done)
    [ -e "$top/$recipe" ] || other="$other $recipe"
    debian_is_right || other="$other $changelog"
    [ -z "$other" ] || die "meson.build has version $version, packaging/project has $page, and these have another:$other; run release.sh --sync"
}

# NEWS.md has a heading "## VERSION", with or without a date behind it, and text below.
check_news() {
    [ -e "$top/NEWS.md" ] || die "there is no NEWS.md"
    awk -v version="$version" '
        /^## / { inside = $2 == version; found = found || inside; next }
        inside && NF > 0 { text = 1 }
        END { exit !found ? 2 : !text }' "$top/NEWS.md" && return 0
    case $? in
    1) die "the entry \"## $version\" of NEWS.md is empty" ;;
    *) die "NEWS.md has no entry \"## $version\"" ;;
    esac
}

check_tree() {
    [ -e "$top/.git" ] || die "this is no Git work tree: a release is made of a commit"
    ! git -C "$top" rev-parse -q --verify "refs/tags/v$version" >/dev/null ||
        die "version $version is tagged already: change it in meson.build, then run release.sh --sync"
    changes=$(git -C "$top" status --porcelain)
    [ -z "$changes" ] || die "the tree has changes that are not committed:
$changes"
    check_version
    check_news
}

# What only a release itself needs: --check notes it.
check_published() { # COMMAND for what is wrong
    [ -z "$missing" ] || note "missing: $missing (packaging/project, packaging/allowed_signers)"
    ! grep -q "^## $version (unreleased)$" "$top/NEWS.md" || "$1" "NEWS.md calls version $version unreleased: write the date"
}
note() { echo "note: $*" >&2; }

# The line of packaging/allowed_signers for a public key: for tags of Git's and for files.
signer_of() { printf 'wrenssh namespaces="git,wrenssh-release" %s\n' "$(cut -d ' ' -f 1,2 "$1")"; }

check_key() {
    [ -n "$key" ] || die "--key is missing: the SSH key that signs"
    key=${key%.pub}
    public=$key.pub
    [ -e "$public" ] || die "there is no $public: the public half of the key"
    [ -e "$key" ] || key=$public # ssh-agent has the other half
    grep -qxF "$(signer_of "$public")" "$signers" || die "packaging/allowed_signers lacks the key; commit this line in it:
$(signer_of "$public")"
}

# ---- what is made ----------------------------------------------------------------------------------------------------

# Meson's archive has this user's name and the order of this file system: it is packed again without them.
make_source() {
    if ! { meson setup "$work/dist" "$top" -Dtests=false && meson dist -C "$work/dist" --no-tests --formats gztar; } \
        >"$work/dist.log" 2>&1 </dev/null; then
        tail -n 20 "$work/dist.log" >&2
        die "meson dist failed; the whole log is in build/release/work/dist.log"
    fi
    tar -xzf "$work/dist/meson-dist/wrenssh-$version.tar.gz" -C "$work"
    tar -C "$work" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mode='u=rwX,go=rX' \
        --mtime="@$seconds" -cf "$work/source.tar" "wrenssh-$version"
    xz -T1 -9e -c "$work/source.tar" >"$new/wrenssh-$version.tar.xz"
    echo "wrenssh-$version.tar.xz"
}

# Built from the source archive, not from the tree: this shows that the archive is complete.
make_binaries() {
    [ ! -d "$top/subprojects/packagecache" ] || cp -R "$top/subprojects/packagecache" "$unpacked/subprojects/"
    # shellcheck disable=SC2086 # a list of architectures
    env -u SOURCE_DATE_EPOCH sh "$unpacked/packaging/cross/build.sh" --skip-tests $architectures
    cp "$unpacked"/build/cross/wrensshd-*.tar.xz "$new/"
}

# RFC 9116. Its time is less than a year, as the RFC recommends.
make_security_txt() {
    cat >"$new/security.txt" <<END
Contact: mailto:$contact
Expires: $(date -u -d "@$((seconds + 360 * 86400))" '+%Y-%m-%dT%H:%M:%SZ')
Preferred-Languages: en
Canonical: $page/.well-known/security.txt
Policy: $page/SECURITY.md
END
    echo security.txt
}

sign() {
    (cd "$new" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" SHA256SUMS)
    for file in "$new"/*; do
        ssh-keygen -q -Y sign -f "$key" -n wrenssh-release "$file"
        ssh-keygen -q -Y verify -f "$signers" -I wrenssh -n wrenssh-release -s "$file.sig" <"$file" \
            >"$work/verify.log" 2>&1 || die "packaging/allowed_signers does not verify the signature of ${file##*/}"
    done
}

# The tag names the sums, so that it vouches for the files, too.
make_tag() {
    made=$top/build/release/$version
    [ -e "$made.commit" ] || die "build/release/$version.commit is missing: make the release first"
    commit=$(cat "$made.commit")
    set -- -c gpg.format=ssh -c user.signingKey="$key" -c gpg.ssh.allowedSignersFile="$signers"
    { printf 'wrenssh %s\n\n' "$version" && cat "$made/SHA256SUMS"; } |
        git -C "$top" "$@" tag -s -F - "v$version" "$commit" || die "Git can't make the tag v$version"
    git -C "$top" "$@" verify-tag "v$version" 2>/dev/null || {
        git -C "$top" tag -d "v$version" >/dev/null
        die "packaging/allowed_signers does not verify the tag, which is removed again"
    }
    echo "tag v$version is signed. When the files are published: git push origin v$version"
}

make_release() {
    work=$top/build/release/work new=$top/build/release/work/new unpacked=$top/build/release/work/wrenssh-$version
    seconds=$(git -C "$top" log -1 --format=%ct)
    rm -rf "$work"
    mkdir -p "$new"
    make_source
    [ -n "$missing" ] || make_security_txt
    sh "$top/packaging/csaf.sh" "$new"
    if [ -n "$binaries" ]; then
        make_binaries
        sh "$top/packaging/spdx.sh" "$new" "$unpacked" "$seconds" >"$work/spdx"
        mv "$work/spdx" "$new/wrensshd-$version.spdx"
        echo "wrensshd-$version.spdx"
        sh "$top/packaging/cyclonedx.sh" "$new" "$unpacked" "$seconds" >"$work/cyclonedx"
        mv "$work/cyclonedx" "$new/wrensshd-$version.cdx.json"
        echo "wrensshd-$version.cdx.json"
        sh "$top/packaging/vex.sh" "$new" "$unpacked" "$seconds" >"$work/vex"
        mv "$work/vex" "$new/wrensshd-$version.openvex.json"
        echo "wrensshd-$version.openvex.json"
    fi
    sign
    rm -rf "${top:?}/build/release/$version"
    mv "$new" "$top/build/release/$version"
    git -C "$top" rev-parse HEAD >"$top/build/release/$version.commit"
    echo "build/release/$version is complete. Next: release.sh --key FILE --tag"
}

case $task in
sync) sync_version ;;
check)
    check_tree
    check_published note
    echo "version $version can be released"
    ;;
release)
    check_key
    check_tree
    check_published die
    make_release
    ;;
tag)
    check_key
    check_tree
    make_tag
    ;;
esac
