SUMMARY = "Small SSH server for one connection, with a sandbox around the network"
DESCRIPTION = "An SSH server for ed25519 keys. The process that reads the network is in a sandbox from before its \
               first byte until its end."
# To fill in: this and SRC_URI, with the first release, and its sum as SRC_URI[sha256sum]: bitbake prints the line.
HOMEPAGE = "https://wrenssh.example/"
SECTION = "console/network"
LICENSE = "ISC"
LIC_FILES_CHKSUM = "file://LICENSE;md5=95959861bbac1739d187095c4f24e992"

# Of meta-openembedded's meta-oe.
DEPENDS = "libsodium"

# nooelint: oelint.vars.srcurichecksum
SRC_URI = "https://wrenssh.example/releases/wrenssh-${PV}.tar.xz"

# Before Yocto 5.1 it is ${WORKDIR}.
S = "${UNPACKDIR}/wrenssh-${PV}"

inherit meson pkgconfig systemd update-rc.d useradd

# The processors for which the sandbox has a list of system calls.
COMPATIBLE_HOST = "(aarch64|arm|i.86|mips|mipsel|riscv64|x86_64)-.*-linux.*"

EXTRA_OEMESON = "-Dtests=false -Dinitramfs=false"

PACKAGECONFIG ??= "${@bb.utils.filter('DISTRO_FEATURES', 'systemd', d)}"
PACKAGECONFIG[systemd] = "-Dsystemd=true,-Dsystemd=false"

SYSTEMD_SERVICE:${PN} = "wrensshd.socket"

INITSCRIPT_NAME = "wrensshd"
INITSCRIPT_PARAMS = "defaults 50"

# The user of the process that reads the network.
USERADD_PACKAGES = "${PN}"
USERADD_PARAM:${PN} = "--system --user-group --no-create-home --home-dir /nonexistent --shell /sbin/nologin wrensshd"

do_install:append() {
    # The same script serves busybox's init and System V's.
    install -Dm 0755 ${S}/packaging/buildroot/S50wrensshd ${D}${sysconfdir}/init.d/wrensshd

    # Without usrmerge systemd's folder is not below /usr.
    if [ -d ${D}${prefix}/lib/systemd/system ] && [ ${systemd_system_unitdir} != ${prefix}/lib/systemd/system ]; then
        install -d ${D}${systemd_system_unitdir}
        mv ${D}${prefix}/lib/systemd/system/* ${D}${systemd_system_unitdir}
        rm -r ${D}${prefix}/lib/systemd
        rmdir --ignore-fail-on-non-empty ${D}${prefix}/lib
    fi
}

FILES:${PN} += "${systemd_system_unitdir}"

# Both use port 22.
RCONFLICTS:${PN} = "dropbear openssh-sshd"
