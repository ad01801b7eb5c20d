#!/bin/sh
# The walls between the rooms, as the built libraries show them, and the tree's sizes.
#
#     walls.sh SOURCE_ROOT LIBRARY...
#
# Of the libraries those of base, log, users (users_files, tables, etc), process, ipc, admission, wire, net, monitor, authkeys,
# hostkey, session, sftp and wrencrypto must be there. The others, and programs, may be linked besides: none of it all allocates, or
# has stdio's streams. Says what is wrong, one line each; exit 1 if anything is.
set -u
export LC_ALL=C
root=$1
failed=0
shift
made=$(mktemp -d) || exit 1
trap 'rm -rf "$made"' EXIT

fail() {
    printf '%s\n' "$*" >&2
    failed=1
}

# names LIBRARY: every symbol that it defines or references, local ones too. What a compiler makes of a function, such as
# "words.part.0" or a static variable in it, counts as the function.
names() {
    kept=$made/$(echo "$1" | tr / _)
    [ -e "$kept" ] ||
        nm "$1" 2>/dev/null | awk 'NF >= 2 && $NF !~ /:$/ { sub(/[.].*/, "", $NF); print $NF }' | sort -u >"$kept"
    cat "$kept"
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

# library NAME: its path among the arguments.
library() {
    wanted=lib$1.a
    shift
    for path; do
        [ "${path##*/}" = "$wanted" ] && printf '%s' "$path" && return
    done
    fail "there is no $wanted"
}

base=$(library base "$@") log=$(library log "$@") process=$(library process "$@") ipc=$(library ipc "$@")
users_files=$(library users_files "$@") tables=$(library tables "$@") etc=$(library etc "$@")
wire=$(library wire "$@") net=$(library net "$@") monitor=$(library monitor "$@")
authkeys=$(library authkeys "$@") hostkey=$(library hostkey "$@") session=$(library session "$@")
sftp=$(library sftp "$@") admission=$(library admission "$@") crypto=$(library wrencrypto "$@")

has "$base" '^flags_next$'
has "$log" '^log_open$'
has "$users_files" '^users_find$'
has "$tables" '^identity_find$'
has "$etc" '^etc_open$'
has "$process" '^confine_identity$'
has "$ipc" '^ipc_serve$'
has "$admission" '^admission_enter$'
has "$admission" '^slots_victim$'
has "$wire" '^reader_end$'
has "$net" '^dispatch_lookup$'
has "$net" '^channel_on_request$'
has "$monitor" '^monitor_run$'
has "$authkeys" '^authkeys_search$'
has "$hostkey" '^openssh_key_parse$'
has "$session" '^session_process_start$'
has "$session" '^sessions_spawn$'
has "$sftp" '^sftp_main$'
has "$sftp" '^on_open$'
has "$crypto" '^chachapoly_open$'

parser='reader_'
of_log='log_'
of_users='users_|passwd_|account_file_|identity_find|etc_open'
of_process='confine_|descriptors_|signals_|dirs_numbers|entropy_|landlock_|memory_give_back|oom_|sandbox_layers_|secret_|seccomp_'
of_ipc='ipc_serve|sftp_report_|signature_'
of_admission='admission_|slots_victim|penalty_|table_(front|open|read|write|lock|unlock|take|holder)|source_(of|is_remote)'
of_net='packet_|connection_|queue_|loop_run|sandbox_enter|idle_trim|hostkeys_|dispatch|kexinit_|kex_|channel_|userauth_|messages_|version_read|tty_modes|ask_(start|sign|prove|auth|pty|spawn|signal|release|note|end)'
of_net="$of_net|deadlines_|message_(begin|send)|output_room|pace_|version_(is_openssh|send)|seccomp_enter"
of_monitor='monitor_|ending_|drop_privileges|account_find|account_nobody|authkeys_(ask|child|words)|login_|sign_|tcp_(bytes|waits)'
of_authkeys='authkeys_|certificate_|revoked_|match_|expiry_|krl_|lines_|key_'
of_hostkey='hostkey_|openssh_key_|host_certificate_'
of_session='sessions_|session_request|program_|streams_|child_start|account_become|task_|sftp_reports_'
# sftp_report_log() is a function of ipc/, and sftp_reports_read() the session process's. Other rooms, too, have names in on_.
of_sftp='sftp_(end|log|main|options|read|request|run|sandbox|send)|attributes_|listing_|owners_|paths?_'
of_sftp="$of_sftp|answer_(begin|end|name|result|status|u64)|handle_(open|read)|sftp_client"
of_sftp="$of_sftp|on_(open|close|read|write|[fl]?(set)?stat|(open|read|mk|rm)dir|readlink|realpath|symlink|rename)$|on_(copy_data|expand_path|f?statvfs|fsync|hardlink|home_directory|limits|posix_rename|remove|users_groups)$"
of_others="$parser|$of_admission|$of_net|$of_monitor|$of_authkeys|$of_hostkey|$of_session|$of_sftp"
# The ground floor, from below: base, then log and users, then process, then ipc.
free_of base "$base" "^($of_log|$of_users|$of_process|$of_ipc|$of_others)"
free_of log "$log" "^($of_users|$of_process|$of_ipc|$of_others)"
for part in "$users_files" "$tables" "$etc"; do
    free_of users "$part" "^($of_log|$of_process|$of_ipc|$of_others)"
done
free_of process "$process" "^($of_users|$of_ipc|$of_others)"
free_of ipc "$ipc" "^($of_users|secret_|seccomp_|confine_|landlock_|$of_others)"
free_of admission "$admission" "^($of_users|$of_process|$of_ipc|$parser|$of_net|$of_monitor|$of_authkeys|$of_hostkey|$of_session|$of_sftp)"
free_of wire "$wire" "^($of_log|$of_users|$of_process|$of_ipc|$of_admission|$of_net|$of_monitor|$of_authkeys|$of_hostkey|$of_session|$of_sftp)"
free_of net "$net" "^($of_admission|$of_monitor|$of_authkeys|$of_hostkey|$of_session|$of_sftp|session_process_)"
free_of net "$net" '^(signature_verify|ipc_serve|secret_)'
# The monitor parses nothing: it enters the parsers' room, and that of the session process, by one header each.
free_of monitor "$monitor" "^($parser|$of_net|$of_session|$of_sftp|openssh_key_|host_certificate_)"
entered=$(names "$monitor" | grep -E "^($of_authkeys)" |
    grep -vE '^authkeys_(ask|child|words|open_admins|open_users|search|stop_reading)$' | tr '\n' ' ')
[ -z "$entered" ] || fail "monitor enters authkeys by $entered"
entered=$(names "$monitor" | grep '^session_' | grep -v '^session_process_' | tr '\n' ' ')
[ -z "$entered" ] || fail "monitor enters the session process by $entered"
# Of admission it has the calls, but the first, and nothing of the table.
entered=$(names "$monitor" | grep -E "^($of_admission)" | grep -vE '^admission_(note_exchange|silence_ms|log_in|leave|fail)$' | tr '\n' ' ')
[ -z "$entered" ] || fail "monitor enters admission by $entered"
# What parses keys has nothing of the host key; what loads the host key has nothing of users' keys.
free_of authkeys "$authkeys" "^($of_admission|$of_net|$of_monitor|$of_hostkey|$of_session|$of_sftp|session_process_|secret_|log_)"
free_of hostkey "$hostkey" "^($of_admission|$of_net|$of_monitor|$of_authkeys|$of_session|$of_sftp|session_process_)"
# The session process is the user's: it has nothing of the host key, of logins, of keys or of the wire.
free_of session "$session" "^($parser|$of_admission|$of_net|$of_monitor|$of_authkeys|$of_hostkey|$of_sftp|secret_(new|free))"
# The SFTP server is a program of its own: it has nothing of a connection and no key, starts nothing, opens no socket.
free_of sftp "$sftp" "^($of_admission|$of_net|$of_monitor|$of_authkeys|$of_hostkey|$of_session|session_process_|signature_|secret_)"
free_of sftp "$sftp" '^(f?exec[vl]p?e?|execveat|v?fork|clone|posix_spawnp?|system|popen)$'
free_of sftp "$sftp" '^(socket|socketpair|connect|bind|listen|accept4?)$'
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
streams='fopen|fdopen|fmemopen|v?[fs]?printf|v?errx?|v?warnx?|f?puts|f?putc|putchar|fwrite|fflush|v?f?scanf|perror|std(in|out|err)'
calls='syslog|vsyslog|openlog|closelog|strftime|ctime|initgroups'
for part; do
    free_of "$part" "$part" "^(__)?($heap|$streams|$calls)(64|_r)?(_chk)?(@.*)?$"
    # glibc's looks at /etc/localtime at each call; localtime_r() does not.
    free_of "$part" "$part" '^localtime(64)?(@.*)?$'
done
for part in "$monitor" "$authkeys" "$hostkey" "$net" "$session" "$sftp"; do
    free_of "$part" "$part" '^(get(pw|gr|sp)(nam|uid|gid|ent)(_r)?|getgrouplist)$'
done

# may_include FOLDER OTHER...: the files of the folder include headers of their own, of the others, of the system's; an
# other is a folder, or a header beside main.c.
may_include() {
    folder=$1
    for file in "$root/$folder"/*.[ch]; do
        # shellcheck disable=SC2013 # no header's name has a space
        for header in $(sed -n 's/^ *# *include *"\([^"]*\)".*/\1/p' "$file"); do
            found=
            for other; do [ "$other" = "src/$header" ] || [ -e "$root/$other/$header" ] && found=1; done
            [ -n "$found" ] || fail "$file includes $header"
        done
    done
}

net_folders='src/net src/net/transport src/net/channels'
below='src/base src/log src/users src/process src/ipc'
may_include src/base
may_include src/log src/base
may_include src/users src/base
may_include src/process src/base src/log src/users
may_include src/ipc src/base src/log src/process
may_include src/admission src/base src/log
may_include src/wire src/base src/ipc
# shellcheck disable=SC2086 # lists of folders
{
    for folder in $net_folders; do
        may_include $folder $net_folders src/wire $below crypto
    done
    may_include src/authkeys src/wire src/base src/users src/ipc
    may_include src/hostkey src/wire src/base src/log src/process src/ipc
    may_include src/session $below
    may_include src/sftp src/wire $below src/tools
    may_include src/monitor src/authkeys src/hostkey src/session src/admission src/wire $below src/options.h crypto
    may_include src/tools src/hostkey src/wire src/base src/log src/ipc
    may_include src/listen src/tools src/base src/log src/process
}
may_include crypto

# calls LIBRARY...: "A B" for each object file A that names a function or an object of the file B.
calls() {
    nm -A "$@" 2>/dev/null | sed -n 's|^.*[:/]\([^:/]*\)\.o:|\1 |p' | awk '
        $(NF - 1) == "U" { uses[$1 " " $NF] = $1; next }
        $(NF - 1) ~ /^[A-Z]$/ { home[$NF] = $1 }
        END {
            for (use in uses) {
                symbol = substr(use, length(uses[use]) + 2)
                if (symbol in home && home[symbol] != uses[use]) print uses[use], home[symbol]
            }
        }' | sort -u
}

# includes FILE...: "A B" for each file A that includes our header B. No two headers have one name.
includes() {
    for file; do
        sed -n "s/^ *# *include *\"\([^\"]*\)\".*/${file##*/} \1/p" "$file"
    done
}

# circles: reads lines "A B". Writes a line for each group of files, of which each leads to each other one.
circles() {
    awk '
        function number(name) { if (!(name in known)) { known[name] = ++count; names[count] = name } return known[name] }
        { leads[number($1), number($2)] }
        END {
            for (via = 1; via <= count; via++)
                for (from = 1; from <= count; from++)
                    if ((from, via) in leads)
                        for (to = 1; to <= count; to++) if ((via, to) in leads) leads[from, to]
            for (first = 1; first <= count; first++) {
                if (first in done || !((first, first) in leads)) continue
                group = ""
                for (other = first; other <= count; other++)
                    if ((first, other) in leads && (other, first) in leads) { done[other]; group = group " " names[other] }
                print substr(group, 2)
            }
        }'
}

# The circles that have to stay, one a line as it is reported, and in a comment here why: today there is none.
kept_circles=

# no_circles WHAT LINES: no other circle is among the lines "A B".
no_circles() {
    [ -n "$2" ] || fail "no $1 are found"
    found=$(printf '%s\n' "$2" | circles | grep -vxF -e "$kept_circles" | sed 's/^/    /')
    [ -z "$found" ] || fail "circles of $1:
$found"
}

no_circles calls "$(calls "$@")"
no_circles includes \
    "$(includes "$root"/src/*.[ch] "$root"/src/*/*.[ch] "$root"/src/net/*/*.[ch] "$root"/crypto/*.[ch])"

for file in "$root"/src/*.[ch] "$root"/src/*/*.[ch] "$root"/src/net/*/*.[ch] "$root"/crypto/*.[ch]; do
    lines=$(wc -l <"$file")
    [ "$lines" -le 400 ] || fail "$file has $lines lines"
done

for folder in "$root"/src/* "$root"/src/net/*; do
    [ -d "$folder" ] || continue
    most=30
    [ "$folder" != "$root/src/base" ] || most=25
    files=$(find "$folder" -maxdepth 1 -type f -name '*.[ch]' | wc -l)
    [ "$files" -le $most ] || fail "$folder has $files files, more than $most"
done

if ctags --version 2>/dev/null | grep -q 'Universal Ctags'; then
    functions=$(ctags -x --languages=C --kinds-C=f --_xformat='%{end} %n %N %F' \
        "$root"/src/*.c "$root"/src/*/*.c "$root"/src/net/*/*.c "$root"/crypto/*.c)
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
