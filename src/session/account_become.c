#include "session_internal.h"

#include <errno.h>
#include <unistd.h>

#include "process.h"
#include "users.h"

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
    errno = EPERM;
    return confine_identity(&user) ? 0 : -1;
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
