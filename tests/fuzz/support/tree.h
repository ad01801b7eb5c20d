/*
 * A file tree in memory, with links, open files and the system calls of wrensshd-sftp. It watches
 * the calls: in a jail none may reach a name outside of it, and a read-only server changes nothing.
 */
#ifndef WREN_TREE_H
#define WREN_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "simulation.h"

#define TREE_JAIL "/srv/jail"

enum { FD_FILE = 1, FD_CLIENT };

extern struct tree_rules {
    bool jailed;    /* from now on only names inside are looked at */
    bool read_only; /* from now on nothing changes */
    bool no_openat2;
    bool never_replace; /* RENAME of version 3 */
    unsigned
        race_at; /* at this call another process puts a link in a directory's place; 0: never */
    unsigned calls;
} tree_rules;

/* The tree as each input finds it, with the working directory in the jail. */
void tree_begin(void);

/* A sum of all names, contents, modes and owners; `outside` leaves the jail out. */
uint64_t tree_sum(bool outside);

/* The client's side, of descriptors 0 and 1. */
ssize_t client_read(void *out, size_t bytes);
ssize_t client_write(const void *bytes, size_t count);
bool client_has_gone(void);

#endif
