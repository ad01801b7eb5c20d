# shellcheck shell=sh disable=SC2154
# Root file systems of Debian, and commands in them. Sourced by commands of tests/, which set
#
#   work   a folder that keeps what is made
#   root   the root file system of the moment
#   suite  the release of Debian
#
# and skip() and die().

# Makes a new $root with these packages and their dependencies.
make_root() { # PACKAGES, with commas
    tarball=$work/$suite-$(printf %s "$1" | sha256sum | cut -c 1-12).tar.zst
    if [ ! -e "$tarball" ]; then
        echo "making a root file system of $suite, once"
        mirror=$(debian_mirror)
        [ -n "$mirror" ] || skip "no Debian mirror among the sources of apt"
        mmdebstrap --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' --include="$1" --format=tar "$suite" \
            "$work/root.tar" "deb $mirror $suite main" \
            >"$work/mmdebstrap.log" 2>&1 ||
            skip "mmdebstrap fails: $(grep -m 1 '^E: ' "$work/mmdebstrap.log" || tail -n 1 "$work/mmdebstrap.log")"
        zstd -q -3 --rm "$work/root.tar" -o "$tarball"
    fi
    rm -rf "$root"
    mkdir -p "$root"
    tar --zstd -xpf "$tarball" -C "$root" || die "the root file system can't be unpacked"
}

# in_root COMMAND...: with processes and a network of its own.
in_root() {
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root \
        DEBIAN_FRONTEND=noninteractive \
        unshare --net --mount --pid --fork --kill-child --mount-proc="$root/proc" chroot "$root" "$@" </dev/null
}

# boot_root OPTION...: boots $root, with more options of systemd-nspawn(1); /tests/booted.sh is all that it is for, and may
# take $boot_seconds (0: for ever). Where no systemd is running here, what the container's makes of control groups stays in
# one of its own, which goes with it.
boot_root() {
    units=$root/etc/systemd/system
    mkdir -p "$units/multi-user.target.wants"
    ln -s ../test.service "$units/multi-user.target.wants/"
    cat >"$units/test.service" <<END
[Unit]
DefaultDependencies=no
After=basic.target
[Service]
Type=oneshot
ExecStart=-/bin/sh /tests/booted.sh
Environment=HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive
StandardOutput=file:/booted.log
END
    set -- systemd-nspawn -q --register=no --private-network --resolv-conf=off --timezone=off --link-journal=no \
        --console=pipe "$@" -D "$root" --boot
    groups=
    if [ ! -d /run/systemd/system ]; then
        set -- "$@" --keep-unit
        for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
            [ ! -e $hierarchy/cgroup.procs ] || groups="$groups $hierarchy/wrenssh-test.$$"
        done
    fi
    # shellcheck disable=SC2016,SC2086 # for the shell that becomes the container; a list of words
    timeout --foreground "${boot_seconds:-120}" sh -c \
        'for group in $0; do mkdir "$group" && echo $$ >"$group/cgroup.procs"; done; exec "$@"' \
        "$groups" "$@" </dev/null >"$work/nspawn.log" 2>&1
    status=$?
    # shellcheck disable=SC2086 # a list of words
    [ -z "$groups" ] || find $groups -depth -type d -exec rmdir {} \;
    if [ -s "$root/booted.log" ]; then cat "$root/booted.log"; else tail -n 20 "$work/nspawn.log"; fi
    return $status
}
