/* Users and groups by the C library's name services (nsswitch.conf(5)). */
#include "users.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <shadow.h>
#include <sodium.h>
#include <stddef.h>
#include <string.h>

/* One line of /etc/shadow: a name, a hash, some numbers. */
#define SHADOW_BYTES 4096

#define NO_ID ((uid_t)-1)

/* Services report an unknown name in several ways; getpwnam(3) has the list. EPERM and EBADF are
 * left out: they can also mean that the lookup never happened. */
static int absent_or_failed(int error)
{
    errno = error;
    return error == 0 || error == ENOENT || error == ENOTDIR || error == ESRCH ? 0 : -1;
}

static bool copy_text(char out[static LIMIT_PATH_BYTES], const char *text)
{
    size_t bytes = text != NULL ? strlen(text) + 1 : 1;
    if (bytes > LIMIT_PATH_BYTES) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(out, text != NULL ? text : "", bytes);
    return true;
}

bool users_leave_descriptors(void)
{
    return true;
}

int users_find(struct user *user, const char *name)
{
    errno = 0;
    const struct passwd *entry = getpwnam(name);
    if (entry == NULL) {
        return absent_or_failed(errno);
    }
    if (entry->pw_uid == NO_ID || entry->pw_gid == NO_ID) {
        return 0;
    }
    /* Some name services accept several spellings of a name: rules apply to the one that they
     * return. */
    if (strcmp(entry->pw_name, name) != 0) {
        errno = ENOTUNIQ;
        return -1;
    }
    user->uid = entry->pw_uid;
    user->gid = entry->pw_gid;
    return copy_text(user->home, entry->pw_dir) && copy_text(user->shell, entry->pw_shell) ? 1 : -1;
}

int users_each(void (*visit)(const char *name))
{
    const struct passwd *entry;
    for (errno = 0; (entry = getpwent()) != NULL; errno = 0) {
        visit(entry->pw_name);
    }
    return absent_or_failed(errno);
}

int users_find_group(gid_t *gid, const char *name)
{
    errno = 0;
    const struct group *entry = getgrnam(name);
    if (entry == NULL) {
        return absent_or_failed(errno);
    }
    *gid = entry->gr_gid;
    return entry->gr_gid != NO_ID ? 1 : 0;
}

/* Not initgroups(): musl's knows 32 groups and fails on more. */
int users_groups(gid_t groups[static LIMIT_USER_GROUPS], const char *name, gid_t primary)
{
    int count = LIMIT_USER_GROUPS;
    errno = ERANGE;
    if (getgrouplist(name, primary, groups, &count) < 0 || count < 0 || count > LIMIT_USER_GROUPS) {
        return -1;
    }
    return count;
}

int users_days(struct user_days *days, const char *name)
{
    char buffer[SHADOW_BYTES];
    struct spwd entry;
    struct spwd *found = NULL;
    errno = 0;
    int error = getspnam_r(name, &entry, buffer, sizeof(buffer), &found);
    sodium_memzero(buffer, sizeof(buffer));
    if (error != 0) {
        return absent_or_failed(error);
    }
    if (found == NULL) {
        return 0;
    }
    *days = (struct user_days){.changed = entry.sp_lstchg,
                               .most = entry.sp_max,
                               .inactive = entry.sp_inact,
                               .expires = entry.sp_expire};
    return 1;
}
