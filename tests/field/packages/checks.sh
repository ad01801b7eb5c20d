# shellcheck shell=sh disable=SC2012,SC2029,SC2034
# What the lives of the packages are told with. Sourced in the chroot: see run.sh.
folder=/etc/wrensshd
passed=0
failed=0

check() { # WORDS COMMAND...
    words=$1
    shift
    if "$@" >/tmp/check.log 2>&1; then
        passed=$((passed + 1))
        echo "  ok    $words"
    else
        failed=$((failed + 1))
        echo "  FAIL  $words"
        tail -n 20 /tmp/check.log | sed 's/^/        /'
    fi
}
isnt() { ! "$@"; }
same() { [ "$1" = "$2" ] || { echo "$1, not $2"; return 1; }; }
# says WORDS COMMAND...: all that the command writes has the words in it, whether it succeeds or not.
says() {
    said=$1
    shift
    "$@" >/tmp/said.log 2>&1
    grep -qF -e "$said" /tmp/said.log || { cat /tmp/said.log; return 1; }
}
# All that a folder has in it, a blank behind each name.
left_in() { same "$(ls -A "$1" | tr '\n' ' ')" "$2"; }
state_of() { systemctl is-enabled "$1" 2>/dev/null; }
keys_of() { (cd "$1" && cat ed25519.pk .ed25519.sk | sha256sum); }
keeps_key() { test -s "$1/.ed25519.sk" && same "$(keys_of "$1")" "$2"; } # FOLDER KEYS
unit_file() { dpkg -L wrensshd | grep "/system/$1\$"; }

# For a tenth of a second, fifty times.
await() { # COMMAND...
    turns=0
    until "$@" >/dev/null 2>&1; do
        [ $turns -lt 50 ] || return 1
        sleep 0.1
        turns=$((turns + 1))
    done
}
greets() { ssh-keyscan -p "$1" 127.0.0.1 2>/dev/null | grep -q ed25519; }

client="-F none -i /root/id -o BatchMode=yes -o UserKnownHostsFile=/root/known_hosts -o StrictHostKeyChecking"
user=guest
# shellcheck disable=SC2086 # a list of words
login() { ssh $client=yes $user@127.0.0.1 "$@"; }
logs_in() { same "$(login id -un)" $user; }
know_host() { ssh-keyscan -t ed25519 127.0.0.1 2>/dev/null | grep '^127.0.0.1 ' >/root/known_hosts; }

make_guest() {
    useradd -m guest
    ssh-keygen -q -t ed25519 -N '' -f /root/id
    install -d -m 700 -o guest /home/guest/.ssh
    install -m 600 -o guest /root/id.pub /home/guest/.ssh/authorized_keys
}

# A session that stays open, over everything that follows: it says what it is told.
hold() {
    mkfifo /tmp/to
    login cat </tmp/to >/tmp/from 2>/tmp/session.log &
    holder=$!
    exec 3>/tmp/to
}
lives() {
    echo "$1" >&3
    await grep -qx "$1" /tmp/from
}
ends() {
    exec 3>&-
    wait "$holder"
    status=$?
    rm /tmp/to
    return $status
}

end() {
    echo "  $passed passed, $failed failed"
    [ $failed -eq 0 ]
}
