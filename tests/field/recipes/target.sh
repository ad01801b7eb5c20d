# shellcheck shell=sh disable=SC2034,SC2154
# What the recipes' tests do with the system in /target. Sourced after tests/field/packages/checks.sh: see run.sh.
PATH=$PATH:/usr/sbin:/sbin
# Alpine has a user guest of its own.
user=visitor
target_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

in_target() { env -i PATH=$target_path HOME=/root /usr/sbin/chroot /target "$@" </dev/null; }
mount_target() {
    ip link set lo up
    mkdir -p /target/proc /target/dev /target/run /target/tmp
    mount -t proc proc /target/proc
    mount -t tmpfs -o mode=755 tmpfs /target/run
    mount --bind /dev /target/dev
    mount -t devpts -o newinstance,gid=5,mode=620,ptmxmode=666 devpts /dev/pts
    ln -sf pts/ptmx /dev/ptmx
}

# A user of the target with a key of ours.
make_visitor() { # SHELL
    ssh-keygen -q -t ed25519 -N '' -f /root/id
    echo "$user:x:5000:5000::/home/$user:$1" >>/target/etc/passwd
    echo "$user:x:5000:" >>/target/etc/group
    install -d -m 755 -o 5000 -g 5000 /target/home/$user
    install -d -m 700 -o 5000 -g 5000 /target/home/$user/.ssh
    install -m 600 -o 5000 -g 5000 /root/id.pub /target/home/$user/.ssh/authorized_keys
}
sees_network_process() { # while a session is open
    login sleep 3 &
    uid=$(in_target id -u wrensshd)
    await sh -c "cat /proc/[0-9]*/status 2>/dev/null | grep -q '^Uid:.$uid.$uid.$uid.$uid$'"
    status=$?
    wait $!
    return $status
}
copies() {
    head -c 300000 /dev/urandom >/tmp/sent
    # shellcheck disable=SC2086 # a list of words
    scp -q $client=yes /tmp/sent $user@127.0.0.1:copy && scp -q $client=yes $user@127.0.0.1:copy /tmp/got &&
        cmp /tmp/sent /tmp/got && cmp /tmp/sent /target/home/$user/copy
}
left_of() { (cd /target && find etc usr lib var home -name "*$1*" ! -path 'var/cache/*' ! -path 'var/log/*' ! -path 'usr/share/doc/*' | sort | sed 's|^|/|' | tr '\n' ' '); }
