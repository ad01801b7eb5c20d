/*
 * The last layer of the network process's sandbox: the list of system calls that it may make.
 */
#ifndef WREN_SECCOMP_H
#define WREN_SECCOMP_H

#include <stdbool.h>

/*
 * Puts NULL_DESCRIPTOR in the place of descriptor 2, as only the monitor writes the log, and
 * installs the filter: any other system call, or other arguments, kill the process. Needs
 * no_new_privs. Returns false if the kernel has no seccomp filters.
 */
bool seccomp_enter(void);

#endif
