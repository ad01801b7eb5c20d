/*
 * The environment that the launcher has handed over. It may hold secrets of the launcher's, and
 * stays in the memory of every process that is forked.
 */
#ifndef WREN_LAUNCHER_ENVIRONMENT_H
#define WREN_LAUNCHER_ENVIRONMENT_H

/* Overwrites it with zeros, but for CREDENTIALS_DIRECTORY, where the host key may be, and TZ, for
 * times without a zone in files of keys; TZ is set where it was not. To be called once. */
void launcher_environment_wipe(void);

#endif
