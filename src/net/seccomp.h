/*
 * The last layer: the system calls that the network process may still make.
 */
#ifndef WREN_SECCOMP_H
#define WREN_SECCOMP_H

#include <stdbool.h>

/*
 * Makes descriptor 2 NULL_DESCRIPTOR (the log is the monitor's) and installs the allow-list: any
 * other system call, or one with other arguments, kills the process. Needs no_new_privs. Returns
 * false if the kernel has no seccomp filters.
 */
bool seccomp_enter(void);

#endif
