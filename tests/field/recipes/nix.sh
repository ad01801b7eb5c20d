# shellcheck shell=sh
# The recipe of packaging/nix, built by Nix without nixpkgs (see nix/default.nix), and a root in /target that has what Nix
# puts there and nothing else: see run.sh. This runs in a chroot of Debian.
set -u
# shellcheck source=tests/field/packages/checks.sh
. /tests/checks.sh
# shellcheck source=tests/field/recipes/target.sh
. /tests/target.sh
profile=/nix/var/nix/profiles/default
target_path=$profile/bin

settings() {
    mkdir -p /etc/nix /build
    printf '%s\n' 'build-users-group =' 'sandbox = false' 'substituters =' 'experimental-features = nix-command' \
        >/etc/nix/nix.conf
    version=$(sed -n 's/^ *version = "\(.*\)";$/\1/p' /source/packaging/nix/package.nix)
    XZ_OPT=-0 tar -cJf "/build/wrenssh-$version.tar.xz" --transform "s|^source|wrenssh-$version|" -C / source
}
install_profile() { nix-env -p $profile -f /tests/nix -i; }
copy() {
    path=$(readlink -f $profile)
    nix copy --no-check-sigs --to /target "$path" && mkdir -p /target/nix/var/nix/profiles &&
        ln -s "$path" /target$profile
}
write_accounts() {
    mkdir -p /target/etc /target/home
    echo 'root:x:0:0::/root:/none' >/target/etc/passwd
    echo "wrensshd:x:400:400::/:/none" >>/target/etc/passwd
    printf '%s\n' root:x:0: wrensshd:x:400: >/target/etc/group
    make_visitor $profile/bin/sh
}
serve() {
    in_target wrensshd-listen 22 $profile/bin/wrensshd /etc/wrensshd 2>>/tmp/server.log &
    await greets 22
}
in_store() { same "$(find /target -name '*.so*' ! -path '/target/nix/store/*' ! -path '/target/proc/*')" ''; }
unit_starts() { grep -qx "ExecStart=/nix/store/[^/]*-wrensshd-$version/s*bin/wrensshd .*[$]WRENSSHD_FLAGS /etc/wrensshd" "$path/lib/systemd/system/wrensshd@.service"; }

mount_target
settings
echo "$(nix --version), without nixpkgs"
check "Nix builds and installs into a profile" install_profile
check "copies it to an empty root" copy
check "what it has copied is whole" nix-store --store /target --verify --check-contents
path=$(readlink -f $profile)
check "its unit starts what is in the store" unit_starts
write_accounts
check "the root has no library but in the store" in_store
check "makes a host key" in_target wrensshd-makekey -q /etc/wrensshd
check "listens" serve
know_host
check "takes a login" logs_in
check "reads the network as its user" sees_network_process
check "serves scp and sftp" copies
end || { tail -n 20 /tmp/server.log; exit 1; }
