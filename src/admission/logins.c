/*
 * Connections after their login: each has a login record in the table, which counts for its user.
 */
#include <errno.h>
#include <string.h>

#include "log.h"
#include "table.h"

#define RECORD_BYTES sizeof(uint32_t)

static size_t login_offset(size_t login)
{
    return offsetof(struct table_file, logins) + login * RECORD_BYTES;
}

/* Returns false if another process holds it. One that nobody holds is of an ended connection. */
static bool empty_record(int fd, size_t login)
{
    const uint32_t none = 0;
    if (!table_lock(fd, RECORD_BYTES, login_offset(login))) {
        return false;
    }
    table_write(fd, &none, RECORD_BYTES, login_offset(login));
    table_unlock(fd, RECORD_BYTES, login_offset(login));
    return true;
}

/* The record is written before the others are counted: of two logins at the same moment each sees
 * the other. */
const char *admission_log_in(struct admission *admission, uid_t user, unsigned most, bool reserved)
{
    uint32_t logins[LIMIT_LOGINS];
    const uint32_t record = (uint32_t)user + 1;
    const int fd = admission->fd;
    const unsigned slots = (unsigned)admission->limit;
    const unsigned reserve = slots / LIMIT_LOGINS_RESERVE;
    const size_t all = limit_logins(slots, LIMIT_LOGINS), common = all - reserve;
    if (fd < 0 || most == 0) {
        return NULL;
    }
    most = most == UINT32_MAX ? limit_logins(slots, LIMIT_LOGINS_OF_USER) : most;
    most += reserved ? reserve : 0;
    size_t taken = table_take(fd, RECORD_BYTES, login_offset(0), common, (size_t)admission->pid);
    if (taken == common && reserved) { /* the reserve last */
        taken = table_take(fd, RECORD_BYTES, login_offset(0), all, common);
    }
    if (taken == (reserved ? all : common)) {
        return "too many connections of all users";
    }
    if (!table_write(fd, &record, RECORD_BYTES, login_offset(taken)) ||
        !table_read(fd, logins, sizeof(logins), login_offset(0))) {
        log_trouble(TABLE_TROUBLE, NULL, strerror(errno));
        return NULL; /* the lock ends with that of the slot */
    }
    size_t held = 0;
    for (size_t i = 0; i < all; i++) {
        held += logins[i] == record;
    }
    for (size_t i = 0; i < all && held > most; i++) {
        held -= i != taken && logins[i] == record && empty_record(fd, i);
    }
    if (held > most) {
        empty_record(fd, taken);
        return "too many connections of this user";
    }
    admission->logged_in = true;
    return NULL;
}
