################################################################################
#
# wrensshd
#
################################################################################

# To fill in: the site, here and in Config.in, with the first release, and its
# sum in wrensshd.hash.
WRENSSHD_VERSION = 1.0.0
WRENSSHD_SOURCE = wrenssh-$(WRENSSHD_VERSION).tar.xz
WRENSSHD_SITE = https://wrenssh.example/releases
WRENSSHD_LICENSE = ISC
WRENSSHD_LICENSE_FILES = LICENSE
WRENSSHD_DEPENDENCIES = host-pkgconf libsodium
WRENSSHD_CONF_OPTS = \
	-Dtests=false \
	-Dinitramfs=false

ifeq ($(BR2_INIT_SYSTEMD),y)
WRENSSHD_CONF_OPTS += -Dsystemd=true
else
WRENSSHD_CONF_OPTS += -Dsystemd=false
endif

# The user of the process that reads the network.
define WRENSSHD_USERS
	wrensshd -1 wrensshd -1 * - - - wrensshd
endef

define WRENSSHD_INSTALL_INIT_SYSV
	$(INSTALL) -D -m 0755 $(WRENSSHD_PKGDIR)/S50wrensshd \
		$(TARGET_DIR)/etc/init.d/S50wrensshd
endef

$(eval $(meson-package))
