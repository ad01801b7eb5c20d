/*
 * Replaces monitor/account_find.c: the only users are alice and bob, both with our own uid and gid
 * and one home. Where the rules refuse root, it says so. It runs in the child that reads keys, and
 * reports through shared memory.
 */
#ifndef WREN_UNIT_PEOPLE_H
#define WREN_UNIT_PEOPLE_H

#include <stdbool.h>

#include "monitor_internal.h"

struct people {
    char home[256];
    /* Changes the account in the child; NULL for no change. */
    void (*change_account)(struct account *account, struct account_groups *groups);
    /* The rules of the last lookup, and the number of lookups. */
    struct options options;
    uid_t own_uid;
    unsigned lookups;
};

/* Call people_begin() before the first fork(). */
extern struct people *people;
void people_begin(const char *home);

/* Returns whether seccomp_install() works: not in an emulator, and not in sanitizer builds, which
 * have no filters. */
bool people_have_seccomp(void);

#endif
