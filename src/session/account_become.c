#include "session_internal.h"

#include <fcntl.h>
#include <stdio.h>

/* As pam_loginuid(8) does. Without root's rights the kernel refuses to replace an ID that the
 * launcher has; as root we ask. Failures don't matter: not every kernel or container has it. */
static void set_audit_id(int file, uid_t uid)
{
    char text[sizeof("4294967295")] = "4294967295"; /* none is set */
    if (uid != 0 || (read(file, text, sizeof(text) - 1) == sizeof(text) - 1 &&
                     strcmp(text, "4294967295") == 0)) {
        snprintf(text, sizeof(text), "%u", uid);
        (void)!pwrite(file, text, strlen(text), 0);
    }
    close(file);
}

static int become_as_root(const struct account *account, const struct account_groups *groups)
{
    const struct identity user = {.uid = account->uid, .gid = account->gid};
    if (groups->count < 0) {
        errno = groups->error;
        return -1;
    }
    if (!confine_inheritable() || confine_set_groups((size_t)groups->count, groups->ids) != 0) {
        return -1;
    }
    int audit_id = openat(AT_FDCWD, "/proc/self/loginuid", O_RDWR | O_CLOEXEC);
    bool became = confine_identity(&user);
    if (audit_id >= 0) {
        set_audit_id(audit_id, user.uid);
    }
    errno = EPERM;
    return became ? 0 : -1;
}

int account_become(const struct account *account, const struct account_groups *groups)
{
    int result = 0;
    if (geteuid() == 0) {
        result = become_as_root(account, groups);
    } else if (account->uid != geteuid() || account->uid != getuid()) {
        errno = EPERM;
        result = -1;
    } else if (!confine_capabilities()) {
        result = -1;
    }
    int error = errno;
    if (!confine_not_dumpable() && result == 0) {
        return -1;
    }
    errno = error;
    return result;
}
