/*
 * The environment that the daemon inherits from its launcher. It may hold secrets, and every forked
 * process would keep a copy of it.
 */
#ifndef WREN_LAUNCHER_ENVIRONMENT_H
#define WREN_LAUNCHER_ENVIRONMENT_H

/* Overwrites it with zeros, except CREDENTIALS_DIRECTORY, where the host key may be, and TZ, for
 * expiry times without a zone in authorized_keys. Sets TZ if it is not set. To be called once. */
void launcher_environment_wipe(void);

#endif
