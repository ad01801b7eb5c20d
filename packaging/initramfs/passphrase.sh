# shellcheck shell=sh
# How wrensshd-unlock reads standard input without systemd, where a passphrase can be any bytes. Sourced.

say() { printf '%s\n' "$*" >&2; }

# Everything typed is a passphrase, also before a question and between two: the terminal does not show it until the end.
hide_typing() {
    modes=$(stty -g) || exit 1
    trap 'stty "$modes"' EXIT
    trap 'echo; exit 1' HUP INT QUIT TERM
    stty -echo
}

# Sets folder and key: a file in memory with the standard input, which is removed at the end of the program.
take_passphrase() {
    say "Taking the passphrase from standard input, up to its end (to be asked for it: ssh -t)."
    umask 077
    folder=$(mktemp -d /run/wrensshd-unlock-XXXXXX) || exit 1
    trap 'rm -rf "$folder"' EXIT
    trap 'exit 1' HUP INT TERM
    key=$folder/key
    head -c 8388609 >"$key" # one more than cryptsetup would read
    [ -s "$key" ] || { say "Standard input was empty."; exit 1; }
}

# Removes a newline from the end of the passphrase, which `echo` adds. Fails if there is none.
cut_newline() {
    bytes=$(wc -c <"$key")
    [ -z "$(tail -c 1 "$key")" ] && [ "$bytes" -gt 1 ] || return 1
    head -c $((bytes - 1)) "$key" >"$key.cut" && mv "$key.cut" "$key"
}
