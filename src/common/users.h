/*
 * What the system says of users and groups. One of two is linked, as Meson's option `accounts`
 * says: users_nss.c asks the C library and with it every name service, users_files.c reads
 * passwd(5), group(5) and shadow(5) itself and brings neither stdio nor malloc() into a static
 * program. For well-formed files both say the same.
 */
#ifndef WREN_USERS_H
#define WREN_USERS_H

#include <stdint.h>
#include <sys/types.h>

#include "limit.h"

struct user {
    uid_t uid;
    gid_t gid;
    char home[LIMIT_PATH_BYTES];
    char shell[LIMIT_PATH_BYTES]; /* may be empty */
};

/* Finds the user of exactly this name. Returns 1; 0 if there is none; or -1 with errno if that
 * can't be told, or is ENAMETOOLONG: the home or the shell is too long. */
int users_find(struct user *user, const char *name);

/* Finds the group of exactly this name. Returns 1, 0 if there is none, -1 with errno. */
int users_find_group(gid_t *gid, const char *name);

/* All groups of the user, `primary` first. Returns how many, or -1 with errno: then none of them
 * may be relied on. ERANGE: there are more than the array holds. */
int users_groups(gid_t groups[static LIMIT_USER_GROUPS], const char *name, gid_t primary);

/* On which day since 1970 the account expired or will. Returns 1; 0 if it never does: no shadow(5),
 * no line in it, or none given; or -1 with errno if that can't be told. Leaves no copy of the hash
 * that stands in the same line. */
int users_expiry(int64_t *day, const char *name);

#endif
