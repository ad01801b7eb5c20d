/*
 * Who is who: users, groups and their accounts.
 */
#ifndef WREN_USERS_H
#define WREN_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "limit.h"

/* ---- an account ------------------------------------------------------------------------------ */

/* The account of the user who logs in, as the system describes it. The child that reads keys looks
 * it up, once for each key that is offered. */

/* Why an account without an executable shell may not log in. */
#define WORDS_NO_SHELL "shell is missing or not executable"

struct account {
    char user[LIMIT_USER_BYTES];
    char home[LIMIT_PATH_BYTES];
    char shell[LIMIT_PATH_BYTES]; /* "": it can't be executed, and only our SFTP server may run */
    uid_t uid;
    gid_t gid;
};

/* All groups of the account, looked up with it, so that the session process needs no name service.
 * Empty if the server does not run as root and has no -g. */
struct account_groups {
    int count; /* -1: the lookup failed, and `error` is the errno */
    int16_t error;
    int16_t has_reserve; /* not 0: one of them is that of -G */
    gid_t ids[LIMIT_USER_GROUPS];
};

/* ---- users and groups, users_nss.c or users_files.c ------------------------------------------ */

/* Looks up users and groups. Meson's option `accounts` chooses the implementation. users_nss.c asks
 * the C library, and so every name service. users_files.c reads passwd(5), group(5) and shadow(5)
 * itself, so that a static program needs neither stdio nor malloc(). For well-formed files both
 * give the same answers. */

struct user {
    uid_t uid;
    gid_t gid;
    char home[LIMIT_PATH_BYTES];
    char shell[LIMIT_PATH_BYTES]; /* may be empty */
};

/* True if a lookup may leave descriptors open: a name service's plugins may. */
bool users_leave_descriptors(void);

/* Finds the user with exactly this name. Returns 1; 0 if there is none; or -1 with errno if the
 * lookup failed. ENAMETOOLONG: the path of the home or the shell is too long. ENOTUNIQ: a name
 * service knows the user by another name. */
int users_find(struct user *user, const char *name);

/* Calls visit() with the name of each user that the system lists; a name service may list fewer
 * than it finds. Names of LIMIT_USER_BYTES or more are cut or left out. Returns 0, or -1 with
 * errno. */
int users_each(void (*visit)(const char *name));

/* Finds the group with exactly this name. Returns 1, 0 if there is none, -1 with errno. */
int users_find_group(gid_t *gid, const char *name);

/* Finds all groups of the user and puts `primary` first. Returns their count, or -1 with errno;
 * then the array means nothing. ERANGE: the user has more groups than the array holds. */
int users_groups(gid_t groups[static LIMIT_USER_GROUPS], const char *name, gid_t primary);

/* Days of shadow(5), the first and the last one counted from 1970; -1: the field is empty. */
struct user_days {
    int64_t changed;  /* the password */
    int64_t most;     /* after which it expires */
    int64_t inactive; /* after which the account is closed, if the password is not changed */
    int64_t expires;  /* the account, whatever its password does */
};

/* Finds the user's days. Returns 1; 0 if shadow(5) or the user's line is missing; or -1 with errno
 * if the lookup failed. Leaves no copy of the password's hash, which is in the same line. */
int users_days(struct user_days *days, const char *name);

/* ---- private groups, account_file.c ---------------------------------------------------------- */

/*
 * Whether only the user has the rights of the group, as Debian makes one for each user: /etc/group
 * alone has it, by the user's name and with no other member; /etc/passwd has the user with it, and
 * nobody else. False also where a line can't be understood or a file not be read.
 */
bool users_group_is_private(gid_t gid, const char *user);

/* ---- the identity of the sandbox, account_file.c --------------------------------------------- */

/* The unprivileged user that the network process, the monitor after a login and the child that
 * parses keys run as. */

struct identity {
    uid_t uid;
    gid_t gid;
    bool shared; /* it is the user nobody's, who may have processes of other services */
};

/*
 * Finds the user `wrensshd`, or else `nobody`, in /etc/passwd. If both are missing, as in an
 * initramfs, takes the kernel's overflow id 65534. Never asks a name service: its code and memory
 * would stay in the process. Skips an entry with root's uid or gid.
 */
struct identity identity_find(void);

#endif
