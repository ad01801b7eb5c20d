#!/bin/sh
# Sourced before zfs-dracut's hook, which gets our systemd-ask-password.
PATH=/usr/lib/wrensshd/zfs:$PATH
