/*
 * Who exists, in place of monitor/account_find.c: alice and bob, both with our own uid and gid and
 * one home. It runs in the child that reads keys, so what it is told goes through shared memory.
 */
#ifndef WREN_UNIT_PEOPLE_H
#define WREN_UNIT_PEOPLE_H

#include <stdbool.h>

#include "account_find.h"

struct people {
    char home[256];
    /* Changes what is found, in the child; NULL for nothing. */
    void (*spoil)(struct account *account, struct account_groups *groups);
    /* What the child was told last, and how often one asked. */
    struct account_rules rules;
    unsigned asked;
};

/* Call people_begin() before anything forks. */
extern struct people *people;
void people_begin(const char *home);

/* Whether seccomp_install() works here: not in an emulator, nor beside a sanitizer, whose builds
 * have no filters. */
bool people_have_seccomp(void);

#endif
