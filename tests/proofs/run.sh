#!/bin/sh
# Proves with CBMC what the parsers and the accounting rest on: each proof is one step from any valid state, against the
# real source files. Each file beside this one says what it proves.
#
#     sh tests/proofs/run.sh [--self-check | --quick] [PROOF...]
#
#     --self-check  proves nothing: plants bugs in a copy of the source, and each proof must find its own
#     --quick  without admission, sftp, window, stdin and queue, which take most of the time
#
# CBMC 6 comes from the PATH (Debian 13: cbmc). Where it is missing, root has mmdebstrap fetch Debian 13's package and
# what it needs into build/proofs, once; nothing of that is installed. Where that can't be done, all is skipped, with
# the reason. As root it installs the other packages that it needs.
# To go on living, this needs a CBMC 6 and somebody who raises bounds and step counts when a structure grows. If it dies, the
# fuzz targets reader, writer, slots, krl and connection judge the same functions, without a proof.
# The variable WREN_PROOF_SECONDS ends a proof that takes more seconds of the processor (240).
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
cd "$top" || exit 1
work=$top/build/proofs
passed=0 failed=0 total=0

die() { echo "proofs: $*" >&2; exit 1; }
count() { # PASSED FAILED SKIPPED, for tests/all.sh
    [ -z "${WREN_COUNTS:-}" ] || printf '{"passed": %d, "failed": %d, "skipped": %d}\n' "$@" >"$WREN_COUNTS"
}
skip() {
    echo "proofs: skipped, $*"
    count 0 0 1
    exit 0
}

# The longest first: one for each processor runs at once.
all_proofs="window stdin queue sftp admission revocation reader writer_mpint writer sizes_monitor sizes_session packet_open packet_seal"
quick_proofs="revocation reader writer_mpint writer sizes_monitor sizes_session packet_open packet_seal"
usage_error() { echo "proofs: $*; -h helps" >&2; exit 100; }
self_check='' proofs=''
for argument; do
    case $argument in
    -h | --help) sed -n '2,16s/^# \{0,1\}//p' "$top/tests/proofs/run.sh"; exit 0 ;;
    --self-check) self_check=yes ;;
    --quick) proofs=$quick_proofs ;;
    -*) usage_error "unknown option: $argument" ;;
    *)
        case " $all_proofs " in
        *" $argument "*) proofs="$proofs $argument" ;;
        *) usage_error "there is no proof $argument, only $all_proofs" ;;
        esac ;;
    esac
done

# ---- CBMC ------------------------------------------------------------------------------------------------------------

# Only unpacked: the program runs with its own libraries.
unpack_cbmc() {
    [ -x "$work/root/usr/bin/cbmc" ] && return
    [ "$(id -u)" = 0 ] || skip "there is no CBMC 6, and only root can have Debian 13's unpacked"
    has mmdebstrap || skip "there is neither CBMC 6 nor mmdebstrap"
    mirror=$(debian_mirror)
    [ -n "$mirror" ] || skip "there is no Debian mirror among the sources of apt"
    echo "unpacking Debian 13's cbmc into build/proofs/root, once"
    rm -rf "$work/root"
    mmdebstrap --variant=extract --aptopt='Acquire::Check-Valid-Until "false"' --include=cbmc trixie "$work/root" \
        "deb $mirror trixie main" >"$work/mmdebstrap.log" 2>&1 || {
        rm -rf "$work/root"
        skip "mmdebstrap fails: $(grep -m 1 '^E: ' "$work/mmdebstrap.log" || tail -n 1 "$work/mmdebstrap.log")"
    }
}

run_cbmc() {
    if [ -x "$work/root/usr/bin/cbmc" ]; then
        libraries=$(find "$work/root/usr/lib" -maxdepth 1 -name '*-linux-gnu' | head -n 1):$work/root/usr/lib
        loader=$(find "$work/root/usr/lib/" "$work/root/usr/lib64/" -name 'ld-linux-*' 2>/dev/null | head -n 1)
        "$loader" --library-path "$libraries" "$work/root/usr/bin/cbmc" "$@"
    else
        cbmc "$@"
    fi
}

# ---- the proofs ------------------------------------------------------------------------------------------------------

# Sets the source files of a proof, how often its loops go round at most, its steps, and options of its own.
describe() {
    steps=0 rounds=14 options=""
    case $1 in
    reader) sources=src/wire/reader.c steps="0 1 2 3 4 5 6 7 8 9 10 11 12 13" ;;
    writer) sources=src/wire/writer.c steps="0 1 2 3 4 5 6" ;;
    writer_mpint) sources=src/wire/writer.c rounds=34 ;;
    packet_open | packet_seal) sources=src/net/transport/packet.c ;;
    # These include the files, for what is static there. An array of 17 is one variable for each element.
    window) sources="" rounds=18 steps="0 1 2 3 4" options="--max-field-sensitivity-array-size 17" ;;
    stdin) sources="" rounds=18 steps="0 1 2 3 4 5 6 7" options="--max-field-sensitivity-array-size 17" ;;
    queue) sources="" rounds=18 steps="0 1 2 3" options="--max-field-sensitivity-array-size 17 --unwindset queue_add.0:4,queue_drop.0:6" ;;
    admission)
        sources="" steps="0 1 2 3 4" # three slots, and four levels of groups
        options="--unwindset slots_victim.0:4,slots_victim.1:5,slots_victim.2:4,sort.0:3,sort.1:3,memmove.0:3"
        options="$options,end_of_group.0:3,keep_largest.0:4,keep_largest.1:4,keep_highest.0:4,keep_highest.1:4" ;;
    sftp) sources=src/wire/writer.c steps="0 1 2 3 4 5" options="--unwindset attributes_read.0:2" ;;
    revocation)
        sources=src/wire/reader.c rounds=17 steps="0 1 2 3 4 5 6 7 8 9 10 11"
        options="--unwindset read_certificates.0:2,section_itself.0:2,krl_look.0:2" ;;
    sizes_session) sources="" ;;
    sizes_monitor) sources=src/monitor/sign.c ;;
    esac
}

# Bugs for each proof: the step that finds it, the file, what is replaced there, and by what.
bugs_of() {
    sed -n "s/^$1@//p" <<'END'
packet_open@0@src/net/transport/packet.c@padding + 2 >@padding >
packet_seal@0@src/net/transport/packet.c@padding < PADDING_MIN_BYTES ?@padding <= PADDING_MIN_BYTES ?
reader@0@src/wire/reader.c@count > reader->left@count > reader->left + 1
reader@7@src/wire/reader.c@count <= reader->left && @
reader@9@src/wire/reader.c@(size_t)(found - reader->bytes) : count;@(size_t)(found - reader->bytes) : reader->left + 1;
reader@12@src/wire/reader.c@reader->left >= capacity@reader->left > capacity
writer@3@src/wire/writer.c@count > writer->capacity - writer->used@writer->used + count > writer->capacity + 1
writer_mpint@0@src/wire/writer.c@while (count > 0 && big_endian@while (big_endian
window@0@src/net/channels/channel_window.c@channel->limit - LIMIT_WINDOW_BYTES : 0@channel->limit : 0
window@1@src/net/channels/channel_window.c@smaller(more, spare_window(connection))@smaller(more, LIMIT_WINDOWS_BYTES)
window@2@src/net/channels/channel_window.c@count > channel->window@count > channel->limit
window@2@src/net/channels/channel_window.c@(uint32_t)smaller(count, channel->unmeasured)@(uint32_t)count
window@3@src/net/channels/channel_window.c@channel->consumed += (uint32_t)count@channel->consumed = (uint32_t)count
window@4@src/net/channels/channel.c@channel->window = LIMIT_WINDOW_BYTES@channel->window = LIMIT_LARGEST_WINDOW_BYTES
stdin@0@src/net/channels/channel_stdin.c@batch->bytes += count@batch->bytes = count
stdin@1@src/net/channels/channel_stdin.c@consume(channel, (size_t)written)@consume(channel, 0)
stdin@2@src/net/channels/channel_stdin.c@&channel->pending, taken)@&channel->pending, count)
stdin@6@src/net/channels/channel_stdin.c@consume(channel, channel_waiting_bytes(connection, channel))@consume(channel, 0)
queue@0@src/net/channels/channels.h@2 * LIMIT_CHANNELS)@LIMIT_CHANNELS)
queue@1@src/net/channels/channel.c@pool->free = pool->next[chunk - 1];@pool->free = 0;
queue@2@src/net/channels/channel.c@pool->next[chunk - 1] = pool->free;@
queue@3@src/net/channels/channel.c@*count = end - queue->start;@*count = end;
admission@0@src/admission/slots.c@return (size_t)(left[random % choices] - slots);@return (size_t)(left[random % choices] - slots) + 1;
admission@2@src/admission/slots.c@MIN(penalty->until_ms + added_ms, now_ms + LIMIT_PENALTY_MOST_MS)@penalty->until_ms + added_ms
admission@3@src/admission/slots.c@penalty->until_ms = now_ms + LIMIT_TRUST_MS;@
admission@4@src/admission/table.c@ && front->limit <= LIMIT_SLOTS;@;
admission@4@src/admission/table.c@wrong != damaged || unlink@unlink
sftp@0@src/sftp/answer.c@texts[status]@texts[status + 1]
sftp@0@src/sftp/answer.c@writer_u32(&sftp->answers, sftp->id)@sftp->answers.used = 0
sftp@1@src/sftp/answer.c@return answer_end(sftp, mark);@return SFTP_ANSWERED;
sftp@2@src/base/base.h@count -= (size_t)written;@count--;
sftp@3@src/sftp/attributes.c@wanted.modified = reader_u32(message)@wanted.size = reader_u32(message)
sftp@3@src/sftp/attributes.c@reader_u32(message) & 07777@reader_u32(message)
sftp@4@src/sftp/attributes.c@writer_u32(answers, status->st_gid);@
sftp@5@src/sftp/attributes.c@    close(fd);@
revocation@0@src/authkeys/krl.c@count > krl->left ||@count > krl->left + 1 ||
revocation@0@src/authkeys/krl.c@ || count > sizeof(krl->file->bytes)@
revocation@1@src/authkeys/krl.c@!more && !krl->file->ended@more && !krl->file->ended
revocation@1@src/authkeys/krl.c@krl->file->start -= more ? 1 : 0;@
revocation@2@src/authkeys/krl.c@if (count > krl->left) {@if (count > krl->left + 1) {
revocation@2@src/authkeys/krl.c@ || !allowed)@)
revocation@3@src/authkeys/krl.c@while (krl->left > 0) {@while (krl->verdict != REVOKED) {
revocation@5@src/authkeys/krl.c@valid = krl->entry.left == sizeof(fingerprint);@valid = true;
revocation@8@src/authkeys/krl.c@certificate->serial <= last@certificate->serial < last
revocation@11@src/authkeys/krl.c@krl->entry.left - 1 - n / 8@krl->entry.left - n / 8
sizes_session@0@src/session/session_ipc.c@spawn->command_bytes > LIMIT@spawn->environment_bytes > LIMIT
sizes_session@0@src/session/session_ipc.c@{sizeof(struct ipc_##name)@{sizeof(struct ipc_release)
sizes_monitor@0@src/ipc/ipc_serve.c@request_bytes - row->bytes != tail_bytes@request_bytes - row->bytes > tail_bytes
sizes_monitor@0@src/monitor/monitor_ipc.c@reply_bytes, phases, tail_bytes@reply_bytes, MONITOR_NOT_OVER, tail_bytes
END
}

# One program: preprocessed here, since CBMC of another release has no headers of its own.
prove() { # NAME STEP SOURCE-TREE
    folder=$work/$1.$2
    mkdir -p "$folder"
    rm -f "$folder"/*.i "$folder/times"
    include="-I$top/tests/proofs"
    for room in . base log users process ipc wire net net/transport net/channels admission authkeys hostkey monitor session listen sftp tools; do
        include="$include -I$3/src/$room"
    done
    for file in "$top/tests/proofs/$1.c" $sources; do
        case $file in /*) ;; *) file=$3/$file ;; esac
        # shellcheck disable=SC2086 # several arguments
        gcc -std=gnu11 -D_GNU_SOURCE -U_FORTIFY_SOURCE -DSTEP="$2" '-DWREN_VERSION="0"' -E -P $include "-I$3/crypto" \
            "$file" -o "$folder/$(basename "$file" .c)-$(basename "$(dirname "$file")").i" || return 2
    done
    (
        # shellcheck disable=SC3045 # dash and bash have it
        ulimit -v 8000000
        # shellcheck disable=SC3045
        ulimit -t "${WREN_PROOF_SECONDS:-240}"
        # shellcheck disable=SC2086 # several arguments
        run_cbmc "$folder"/*.i --no-malloc-may-fail --unsigned-overflow-check --pointer-overflow-check --stop-on-fail \
            --slice-formula --unwind $rounds --unwinding-assertions $options >"$folder/log" 2>&1
        status=$?
        times >"$folder/times"
        exit $status
    )
}

# Of the processor, in the last proof's CBMC: on a busy machine the clock would say nothing.
processor_seconds() { # NAME STEP
    sed -n '2s/[ms]/ /gp' "$work/$1.$2/times" 2>/dev/null | awk '{ print int($1 * 60 + $2 + $3 * 60 + $4 + 0.5) }'
}

violated() { # LOG: the function and what does not hold there
    sed -n '/^Violated property:/{n;s/.* function \([^ ]*\) line.*/\1(): /;N;s/\n *//p;}' "$1"
}

report() { # NAME STEP STATUS: CBMC says 0 for a proof, 10 for a counterexample
    case $3 in
    0) verdict=proved ;;
    10) verdict="fails: $(violated "$work/$1.$2/log")" ;;
    *) verdict="no answer (status $3)" ;;
    esac
    seconds=$(processor_seconds "$1" "$2")
    total=$((total + ${seconds:-0}))
    printf '%-14s %-3s %4d s  %s\n' "$1" "$2" "${seconds:-0}" "$verdict"
}

verify() {
    describe "$1"
    for step in $steps; do
        prove "$1" "$step" "$top"
        status=$?
        report "$1" "$step" $status
        if [ $status = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    done
}

plant() { # FILE BEFORE AFTER
    python3 - "$@" <<'PY'
import sys
path, before, after = sys.argv[1:]
text = open(path, encoding="utf-8").read()
assert text.count(before) == 1, f"{path}: {before!r} stands there {text.count(before)} times"
open(path, "w", encoding="utf-8").write(text.replace(before, after))
PY
}

# The copy has the bug; the proof must find a counterexample, not merely end.
bite() { # NAME STEP FILE BEFORE AFTER
    broken=$work/broken.$1
    rm -rf "$broken"
    mkdir -p "$broken"
    cp -R src crypto "$broken"
    plant "$broken/$3" "$4" "$5" || die "a bug of $1 can't be planted"
    prove "$1" "$2" "$broken"
    status=$?
    rm -rf "$broken"
    report "$1" "$2" $status
    if [ $status = 10 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

bite_all() {
    describe "$1"
    bugs_of "$1" >"$work/$1.bugs"
    while IFS=@ read -r step file before after; do
        bite "$1" "$step" "$file" "$before" "$after" </dev/null
    done <"$work/$1.bugs"
}

# Takes proofs that no other process has taken.
take_proofs() { # PROOF...
    for proof; do
        mkdir "$work/taken/$proof" 2>/dev/null || continue
        passed=0 failed=0 total=0
        if [ -n "$self_check" ]; then bite_all "$proof"; else verify "$proof"; fi
        echo $passed $failed $total >"$work/taken/$proof/counts"
    done
}

has_cbmc() { case $(cbmc --version 2>/dev/null) in [6-9].*) ;; *) return 1 ;; esac; }

. "$top/tests/packages.sh"
[ "$debian" = 12 ] && cbmc=mmdebstrap || cbmc=cbmc
# shellcheck disable=SC2034 # packages.sh reads them
needed="
gcc:has gcc
libc6-dev:test -e /usr/include/stdio.h
libsodium-dev:test -e /usr/include/sodium.h
python3:has python3
"
useful="$cbmc:has_cbmc || has $cbmc || has \"$work/root/usr/bin/cbmc\""
mkdir -p "$work"
ensure_packages "$work/apt.log" "nothing can be proved" || exit 1
has_cbmc || unpack_cbmc
rm -rf "$work/taken"
mkdir "$work/taken"
for _ in $(seq "$(getconf _NPROCESSORS_ONLN)"); do
    # shellcheck disable=SC2086 # a list of words
    take_proofs ${proofs:-$all_proofs} &
done
wait
for proof in ${proofs:-$all_proofs}; do
    read -r more_passed more_failed seconds <"$work/taken/$proof/counts" || die "$proof has ended early"
    passed=$((passed + more_passed)) failed=$((failed + more_failed)) total=$((total + seconds))
done
if [ -n "$self_check" ]; then
    echo "$passed planted bugs found, $failed not found, $total s of the processor"
else
    echo "$passed proved, $failed not proved, $total s of the processor"
fi
count $passed $failed 0
[ $failed = 0 ]
