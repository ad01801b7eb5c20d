# shellcheck shell=sh
# The recipe of packaging/alpine on Alpine, which lies in /target: see run.sh.
set -u
# shellcheck source=tests/field/packages/checks.sh
. /tests/checks.sh
# shellcheck source=tests/field/recipes/target.sh
. /tests/target.sh

# ---- the packages ----------------------------------------------------------------------------------------------------

value() { sed -n "s/^$1=\"*\([^\"]*\).*/\1/p" /source/packaging/alpine/APKBUILD; }
version=$(value pkgver)

# Alpine's apk packs, signs and indexes.
pack() { # PACKAGE RELEASE FLAGS...
    package=$1 full=$version-r$2
    shift 2
    rm -rf /target/build
    cp -a "/build/$package" /target/build
    in_target apk mkpkg --sign-key /root/apk.rsa --files /build --output "/packages/$package-$full.apk" \
        --info "name:$package" --info "version:$full" --info "description:$(value pkgdesc)" --info arch:x86_64 \
        --info "license:$(value license)" --info origin:wrensshd --info "url:$(value url)" "$@"
}
pack_all() { # RELEASE
    rm -rf /target/packages
    mkdir /target/packages
    cp /source/packaging/alpine/wrensshd.pre-install /target/root/pre-install
    pack wrensshd "$1" --info depends:so:libc.musl-x86_64.so.1 --script pre-install:/root/pre-install &&
        pack wrensshd-openrc "$1" --info "install-if:openrc wrensshd=$full" &&
        pack wrensshd-doc "$1" --info "install-if:docs wrensshd=$full" &&
        in_target sh -c 'apk mkndx --sign-key /root/apk.rsa --output /packages/Packages.adb /packages/*.apk'
}
make_key() {
    ssh-keygen -q -t rsa -m PEM -N '' -f /target/root/apk.rsa
    ssh-keygen -e -m PKCS8 -f /target/root/apk.rsa.pub >/target/etc/apk/keys/apk.rsa.pub
    echo /packages/Packages.adb >/target/etc/apk/repositories
}

# ---- its life --------------------------------------------------------------------------------------------------------

has_user() { same "$(in_target sh -c 'id -un wrensshd; id -gn wrensshd; grep ^wrensshd: /etc/passwd | cut -d : -f 6,7')" "$1"; }
verifies() { in_target apk verify --keys-dir "$1" "/packages/wrensshd-$version-r0.apk"; } # FOLDER OF KEYS
logged() { await grep -q "wrensshd\[[0-9]*\]: $1" /target/var/log/messages; }
owns() { in_target apk info --who-owns "$1" | grep -q "owned by $2-$version-r$3"; }

mount_target
echo "Alpine $(cat /target/etc/alpine-release), $(in_target apk --version | cut -d , -f 1), musl"
check "is built by its steps" busybox sh /tests/abuild.sh
make_key
check "apk packs" pack_all 0
check "apk trusts them" verifies /etc/apk/keys
check "not without the key" isnt verifies /etc/apk/protected_paths.d

check "apk installs" in_target apk add wrensshd
check "and the service, as OpenRC is there" owns /etc/init.d/wrensshd wrensshd-openrc 0
check "has its user, who can't log in" has_user "wrensshd
wrensshd
/dev/null:/sbin/nologin"
make_visitor /bin/ash
# Alpine's own start of syslog would set the clock and the name of the machine.
in_target syslogd
mkdir /target/run/openrc
touch /target/run/openrc/softlevel
check "OpenRC starts it" in_target rc-service wrensshd start
await greets 22
know_host
check "takes a login" logs_in
check "reads the network as its user" sees_network_process
check "serves scp and sftp" copies
check "logs to syslog" logged "event=login .*verdict=accepted"
keys=$(keys_of /target/etc/wrensshd)
hold
check "has an open session" lives first
check "restarts" in_target rc-service wrensshd restart
await greets 22
check "takes a login, with the host key that is known" logs_in
check "the open session lives" lives restarted

sed -i 's/"22"/"2222"/' /target/etc/conf.d/wrensshd
check "a later version is packed" pack_all 1
check "apk upgrades" in_target apk upgrade
check "it is the later one" owns /usr/sbin/wrensshd wrensshd 1
check "keeps its host key" keeps_key /target/etc/wrensshd "$keys"
check "restarts" in_target rc-service wrensshd restart
check "listens as its settings say, which apk has kept" await greets 2222
check "the open session lives" lives upgraded
check "stops" in_target rc-service wrensshd stop
check "listens no more" isnt greets 2222
check "apk removes it" in_target apk del wrensshd
check "nothing is left but keys and settings" same "$(left_of wrensshd)" "/etc/conf.d/wrensshd /etc/wrensshd "
check "keeps its host key" keeps_key /target/etc/wrensshd "$keys"
check "the open session lives" lives removed
check "and ends as it should" ends

end || { tail -n 20 /target/var/log/messages; exit 1; }
