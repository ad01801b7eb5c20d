#include "passwd.h"

#include <errno.h>
#include <stdbool.h>

#include "table.h"

/* name:password:uid:gid:gecos:home:shell */
static bool read_user(struct table *table, struct user *user, const char *name, bool *fits)
{
    uint64_t uid, gid;
    if (!table_is(table, ':', name) || !table_skip(table, 1) ||
        !table_number(table, ':', &uid, TABLE_ID_MAX) ||
        !table_number(table, ':', &gid, TABLE_ID_MAX) || !table_skip(table, 1)) {
        return false;
    }
    bool home_fits = table_field(table, ':', user->home, sizeof(user->home));
    if (table->ended) {
        return false;
    }
    bool shell_fits = table_field(table, '\n', user->shell, sizeof(user->shell));
    if (!table_whole(table)) {
        return false;
    }
    *fits = home_fits && shell_fits;
    user->uid = (uid_t)uid;
    user->gid = (gid_t)gid;
    return true;
}

int passwd_find(struct user *user, const char *name)
{
    struct table table;
    bool fits = true;
    int found = table_open(&table, "passwd");
    if (found <= 0) {
        return found;
    }
    for (found = 0; found == 0 && table_next(&table);) {
        found = read_user(&table, user, name, &fits) ? 1 : 0;
    }
    if (table_close(&table) != 0) {
        return -1;
    }
    errno = ENAMETOOLONG;
    return fits ? found : -1;
}
