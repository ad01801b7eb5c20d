/*
 * Connections after their login: each has a record in the table, which counts for its user.
 */
#include <errno.h>
#include <string.h>

#include "admission.h"
#include "limit_places.h"
#include "log.h"
#include "table.h"

#define RECORD_BYTES sizeof(uint32_t)

static size_t offset_of(size_t login)
{
    return offsetof(struct places_file, logins) + login * RECORD_BYTES;
}

/* How many connections have this record. Those that have ended count, too, unless there are `most`
 * with them: then each record that this process can lock is emptied. Trick: own frame. */
__attribute__((noinline)) static size_t count_records(int fd, size_t count, uint32_t record,
                                                      size_t most)
{
    uint32_t logins[LIMIT_LOGINS];
    const uint32_t none = 0;
    size_t found = 0, ended = 0;
    if (!table_read(fd, logins, sizeof(logins), offset_of(0))) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        found += logins[i] == record;
    }
    for (size_t i = 0; i < count && found >= most; i++) {
        if (logins[i] == record && table_lock(fd, RECORD_BYTES, offset_of(i))) {
            table_write(fd, &none, RECORD_BYTES, offset_of(i));
            table_unlock(fd, RECORD_BYTES, offset_of(i));
            ended++;
        }
    }
    return found - ended;
}

const char *admission_log_in(struct admission *admission, uid_t user, unsigned most, bool reserved)
{
    const int fd = admission->fd;
    const uint32_t record = (uint32_t)user + 1;
    const unsigned slots = (unsigned)admission->limit;
    const unsigned reserve = limit_logins(slots, LIMIT_LOGINS_RESERVE);
    const size_t all = limit_logins(slots, LIMIT_LOGINS_OF_ALL);
    const size_t common = all - reserve, count = reserved ? all : common;
    if (fd < 0 || most == 0) {
        return NULL;
    }
    most = most == UINT32_MAX ? limit_logins(slots, LIMIT_LOGINS_OF_USER) : most;
    most += reserved ? reserve : 0;
    if (count_records(fd, all, record, most) >= most) {
        return "too many connections of this user";
    }
    size_t login = table_take(fd, RECORD_BYTES, offset_of(0), common, (size_t)admission->pid);
    if (login == common && reserved) { /* the reserve last */
        login = table_take(fd, RECORD_BYTES, offset_of(0), all, common);
    }
    if (login == count) {
        return "too many connections of all users";
    }
    admission->logged_in = true;
    if (!table_write(fd, &record, RECORD_BYTES, offset_of(login))) {
        log_trouble(TABLE_TROUBLE, NULL, strerror(errno));
    }
    return NULL;
}
