/*
 * The sandbox of wrensshd-sftp. It has the user's rights already, so it gives up what a file server
 * does not need.
 */
#ifndef WREN_SFTP_SANDBOX_H
#define WREN_SFTP_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Gives up new privileges, core dumps and being traced; child processes; with Landlock the
 * execution of files, devices, all files outside of the directory `jail` (an O_PATH descriptor; -1
 * is "/"), and with `read_only` all changes; with seccomp all system calls but those of files.
 * Needs the files that are open already for anything outside of the jail.
 *
 * Returns the layers that are in force (sandbox_layers.h). Landlock's first version, of Linux 5.13
 * to 5.18, forbids to move files between directories: there only a read-only server uses it.
 */
uint32_t sftp_sandbox_enter(int jail, bool read_only);

#endif
