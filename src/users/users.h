/*
 * Looks up users and groups. Meson's option `accounts` chooses the implementation. users_nss.c asks
 * the C library, and so every name service. users_files.c reads passwd(5), group(5) and shadow(5)
 * itself, so that a static program needs neither stdio nor malloc(). For well-formed files both
 * give the same answers.
 */
#ifndef WREN_USERS_H
#define WREN_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "limit.h"

struct user {
    uid_t uid;
    gid_t gid;
    char home[LIMIT_PATH_BYTES];
    char shell[LIMIT_PATH_BYTES]; /* may be empty */
};

/* True if a lookup may leave descriptors open: a name service's plugins may. */
bool users_leave_descriptors(void);

/* Finds the user with exactly this name. Returns 1; 0 if there is none; or -1 with errno if the
 * lookup failed. ENAMETOOLONG: the path of the home or the shell is too long. */
int users_find(struct user *user, const char *name);

/* Finds the group with exactly this name. Returns 1, 0 if there is none, -1 with errno. */
int users_find_group(gid_t *gid, const char *name);

/* Finds all groups of the user and puts `primary` first. Returns their count, or -1 with errno;
 * then the array means nothing. ERANGE: the user has more groups than the array holds. */
int users_groups(gid_t groups[static LIMIT_USER_GROUPS], const char *name, gid_t primary);

/* Finds the day since 1970 from which on the account is closed. Returns 1; 0 if it never
 * does, because shadow(5), the user's line or the day is missing; or -1 with errno if the lookup
 * failed. Leaves no copy of the password's hash, which is in the same line. */
int users_expiry(int64_t *day, const char *name);

#endif
