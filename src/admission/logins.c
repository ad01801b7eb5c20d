/*
 * Connections after their login: each has a record in the table, which counts for its user.
 */
#include <errno.h>
#include <string.h>

#include "admission.h"
#include "limit_places.h"
#include "table.h"

#define RECORD_BYTES sizeof(uint32_t)

static size_t offset_of(size_t login)
{
    return offsetof(struct places_file, logins) + login * RECORD_BYTES;
}

const char *admission_log_in(struct admission *admission, uid_t user, unsigned most, bool reserved)
{
    uint32_t logins[LIMIT_LOGINS];
    const uint32_t record = (uint32_t)user + 1, none = 0;
    const int fd = admission->fd;
    const unsigned slots = (unsigned)admission->limit;
    const unsigned reserve = limit_logins(slots, LIMIT_LOGINS_RESERVE);
    const size_t all = limit_logins(slots, LIMIT_LOGINS_OF_ALL);
    const size_t common = all - reserve, count = reserved ? all : common;
    const size_t start = (size_t)admission->pid;
    size_t held = 0, taken = all;
    if (fd < 0 || most == 0 || !table_read(fd, logins, sizeof(logins), offset_of(0))) {
        return NULL;
    }
    most = most == UINT32_MAX ? limit_logins(slots, LIMIT_LOGINS_OF_USER) : most;
    most += reserved ? reserve : 0;
    for (size_t i = 0; i < all; i++) {
        held += logins[i] == record;
    }
    /* What this process can lock is of a connection that has ended: one is taken, others are
     * emptied, and if the login is refused the lock ends with this process. */
    for (size_t tried = 0; tried < all && held >= most; tried++) {
        size_t login = (start + tried) % all;
        if (logins[login] != record || !table_lock(fd, RECORD_BYTES, offset_of(login))) {
            continue;
        }
        held--;
        if (taken == all && login < count) {
            taken = login;
        } else {
            table_write(fd, &none, RECORD_BYTES, offset_of(login));
            table_unlock(fd, RECORD_BYTES, offset_of(login));
        }
    }
    if (held >= most) {
        return "too many connections of this user";
    }
    if (taken == all) {
        taken = table_take(fd, RECORD_BYTES, offset_of(0), common, start);
    }
    if (taken == common && reserved) { /* the reserve last */
        taken = table_take(fd, RECORD_BYTES, offset_of(0), all, common);
    }
    if (taken == count) {
        return "too many connections of all users";
    }
    admission->logged_in = table_write(fd, &record, RECORD_BYTES, offset_of(taken));
    if (!admission->logged_in) { /* the lock ends with that of the place */
        table_log_trouble(NULL, strerror(errno));
    }
    return NULL;
}
