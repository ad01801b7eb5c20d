#!/bin/sh
# The walls between the rooms, as the built libraries show them, and the tree's sizes.
#
#     walls.sh SOURCE_ROOT libpriv.a libnet.a libsession.a libwrencrypto.a [OTHER]...
#
# The others are what may be linked besides: none of it all allocates, or has stdio's streams.
# Says what is wrong, one line each; exit 1 if anything is.
set -u
export LC_ALL=C
root=$1 priv=$2 net=$3 session=$4 crypto=$5
failed=0
shift 5

fail() {
    printf '%s\n' "$*" >&2
    failed=1
}

# names LIBRARY: every symbol that it defines or references, local ones too.
names() {
    nm "$1" 2>/dev/null | awk 'NF >= 2 && $NF !~ /:$/ { print $NF }' | sort -u
}

# free_of WHO LIBRARY PATTERN: no symbol of the library matches.
free_of() {
    found=$(names "$2" | grep -E "$3" | tr '\n' ' ')
    [ -z "$found" ] || fail "$1 has symbols it must not have: $found"
}

# has LIBRARY PATTERN: a symbol matches, so that an empty answer of nm is not taken for a good one.
has() {
    names "$1" | grep -q -E "$2" || fail "nm finds no $2 in $1"
}

has "$priv" '^monitor_run$'
has "$net" '^reader_end$'
has "$net" '^dispatch_lookup$'
has "$net" '^session_on_request$'
has "$session" '^session_process_start$'
has "$session" '^spawn_program$'
has "$crypto" '^chachapoly_open$'

parser='reader_|packet_|dispatch|kexinit_|kex_|channel_|session_on|auth_on|transport_|version_read'
privileged='monitor_|hostkey_|account_find|account_nobody|authkeys_|login_|exchange_(hash|prove|tail|tell)|users_|passwd_|identity_find'
privileged=$privileged'|certificate_|cursor_|revoked_|signature_verify|match_|expiry_|lines_|key_|openssh_key_'
of_session='spawn_|sessions_|session_request|program_|pty_|pipes_|child_start|account_become'
free_of 'priv' "$priv" "^($parser|$of_session)"
free_of 'net' "$net" "^($privileged|$of_session|session_process_|request_serve|secret_)"
# The session process is the user's: it has nothing of the host key, of logins, of keys or of the wire.
free_of 'session' "$session" "^($privileged|$parser|secret_(new|free))"
# It is entered by what its one header for the monitor names.
entered=$(names "$priv" | grep '^session_' | grep -v '^session_process_' | tr '\n' ' ')
[ -z "$entered" ] || fail "priv enters the session process by $entered"
free_of 'crypto' "$crypto" '^(sodium_)?(malloc|calloc|realloc|free|allocarray|aligned_alloc)$'
free_of 'crypto' "$crypto" '^(__)?(v?f?printf|vd?printf|dprintf|puts|fputs|fwrite|putchar|write)(_chk)?$'
free_of 'crypto' "$crypto" '^(read|open|openat|close|exit|abort|__errno_location|getenv)$'

# What is compiled for more than the architecture's baseline exports its kernels only, which nobody calls unasked: of any
# other function, an inline one of a header, the linker might keep this copy for all. And what is named like a kernel is
# in such an object, or the names of files have changed.
strangers=$(nm -A --defined-only "$crypto" 2>/dev/null | awk '$(NF - 1) !~ /^[A-Zuvw]$/ { next }
    (/_(avx|neon)[^:]*\.o:/) != ($NF ~ /_(avx|neon)/) { print $1, $NF }')
[ -z "$strangers" ] || fail "the linker might keep for all what a kernel's object defines: $strangers"

# What would bring malloc() or stdio into a static program, in it or by what the C library does for it.
heap='malloc|calloc|realloc|reallocarray|free|strn?dup|v?asprintf|getline|opendir|fdopendir|scandir'
streams='fopen|fdopen|fmemopen|v?f?printf|f?puts|f?putc|putchar|fwrite|fflush|v?f?scanf|perror|std(in|out|err)'
calls='syslog|vsyslog|openlog|closelog|strftime|localtime|ctime|initgroups'
for part in "$priv" "$net" "$session" "$@"; do
    free_of "$part" "$part" "^(__)?($heap|$streams|$calls)(64|_r)?(_chk)?(@.*)?$"
done
for library in "$priv" "$net" "$session"; do
    free_of "$library" "$library" '^(get(pw|gr|sp)(nam|uid|gid|ent)(_r)?|getgrouplist)$'
done

# no_include FOLDER OTHER [HEADER]: no file of the one includes a header of the other, but for the one that is named.
no_include() {
    for file in "$root/$1"/*.[ch]; do
        # shellcheck disable=SC2013 # no header's name has a space
        for header in $(sed -n 's/^ *# *include *"\([^"]*\)".*/\1/p' "$file"); do
            case $header in
            */*) fail "$file includes $header by a path" ;;
            esac
            if [ -e "$root/$2/$header" ] && [ ! -e "$root/$1/$header" ] &&
                [ "$header" != "${3-}" ]; then
                fail "$file includes $2/$header"
            fi
        done
    done
}

no_include src/net src/priv
no_include src/priv src/net
no_include src/net src/session
no_include src/priv src/session session_process.h
no_include src/session src/net
no_include src/session src/priv
no_include src/common src/net
no_include src/common src/priv
no_include src/common src/session
no_include src/tools src/net
no_include src/tools src/session
for folder in common net priv session tools; do
    no_include crypto src/$folder
done

for file in "$root"/src/*.c "$root"/src/*/*.[ch] "$root"/crypto/*.[ch]; do
    lines=$(wc -l <"$file")
    [ "$lines" -le 400 ] || fail "$file has $lines lines"
done

if ctags --version 2>/dev/null | grep -q 'Universal Ctags'; then
    functions=$(ctags -x --languages=C --kinds-C=f --_xformat='%{end} %n %N %F' \
        "$root"/src/*.c "$root"/src/*/*.c "$root"/crypto/*.c)
    [ -n "$functions" ] || fail 'ctags finds no function'
    long=$(printf '%s\n' "$functions" | awk '$1 - $2 + 1 > 80 { print $4 ": " $3 "()" }')
    [ -z "$long" ] || fail "functions over 80 lines: $long"
else
    echo 'no universal-ctags: the length of functions is not looked at' >&2
fi

# "git add" takes what a test or an editor has left in the tree. Without git nobody can tell which files are ours.
at_top='\.(ci|clang-format|clang-tidy|editorconfig|gitattributes|gitignore)|(HACKING|NEWS|README|SECURITY)\.md'
at_top="$at_top|LICENSE|meson\.build|meson_options\.txt|crypto|man|packaging|src|subprojects|tests"
if up=$(git -C "$root" rev-parse --show-cdup 2>/dev/null) && [ -z "$up" ]; then
    tracked=$(git -C "$root" ls-files)
    [ -n "$tracked" ] || fail 'git lists no file'
    strays=$(printf '%s\n' "$tracked" | cut -d / -f 1 | sort -u | grep -vxE "$at_top" | tr '\n' ' ')
    [ -z "$strays" ] || fail "these do not belong at the top of the tree: $strays"
    keys=$({
        printf '%s\n' "$tracked" | grep -E '(^|/)([^/]*\.(sk|pem)|ssh_host_[a-z0-9]+_key|id_[a-z0-9]+)$'
        git -C "$root" grep -lE '^-----BEGIN ([A-Z]+ )*PRIVATE KEY'
    } | tr '\n' ' ')
    [ -z "$keys" ] || fail "secret keys are in the tree: $keys"
else
    echo 'no git repository: stray files are not looked for' >&2
fi

exit $failed
