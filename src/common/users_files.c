/*
 * Users and groups out of /etc/passwd, /etc/group and /etc/shadow. What counts, as in the C
 * library: the first line of a name. What is none is passed over: a line with too few fields, with
 * an id that is not a plain number or is (uid_t)-1, or with a NUL. The last field takes all that is
 * left, colons and a carriage return too.
 */
#include "users.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "number.h"
#include "passwd.h"
#include "table.h"

int users_find(struct user *user, const char *name)
{
    return passwd_find(user, name);
}

/* name:password:gid:member,member */
static bool read_group(struct table *table, gid_t *gid)
{
    uint64_t number;
    if (!table_skip(table, 1) || !table_number(table, ':', &number, TABLE_ID_MAX) || table->ended) {
        return false;
    }
    *gid = (gid_t)number;
    return true;
}

int users_find_group(gid_t *gid, const char *name)
{
    struct table table;
    int found = table_open(&table, "group");
    if (found <= 0) {
        return found;
    }
    for (found = 0; found == 0 && table_next(&table);) {
        found = table_is(&table, ':', name) && read_group(&table, gid) && table_whole(&table);
    }
    return table_close(&table) != 0 ? -1 : found;
}

static bool lists_member(struct table *table, const char *name)
{
    bool listed = false;
    while (!table->ended) {
        listed = table_is(table, ',', name) || listed;
    }
    return table_whole(table) && listed;
}

int users_groups(gid_t groups[static LIMIT_USER_GROUPS], const char *name, gid_t primary)
{
    struct table table;
    gid_t gid;
    int count = 0;
    groups[count++] = primary;
    int found = table_open(&table, "group");
    if (found <= 0) {
        return found == 0 ? count : -1;
    }
    while (table_next(&table)) {
        if (!table_skip(&table, 1) || !read_group(&table, &gid) || !lists_member(&table, name) ||
            gid == primary) {
            continue;
        }
        if (count == LIMIT_USER_GROUPS) {
            table.error = ERANGE;
            break;
        }
        groups[count++] = gid;
    }
    return table_close(&table) != 0 ? -1 : count;
}

/*
 * name:hash:changed:min:max:warn:inactive:expires:flag. False if this isn't the line. One that ends
 * before the day is none, as with the C library; one whose day is no number can't be taken to mean
 * "never".
 */
static bool read_expiry(struct table *table, int64_t *day, const char *name, int *result)
{
    char text[TABLE_NUMBER_BYTES];
    uint64_t number = 0;
    if (!table_is(table, ':', name) || !table_skip(table, 6) || table->ended) {
        return false;
    }
    bool good = table_field(table, ':', text, sizeof(text));
    bool given = text[0] != '\0';
    if (!table_whole(table) || !good ||
        (given && !number_parse(&number, text, strlen(text), INT64_MAX))) {
        table->error = table->error != 0 ? table->error : EINVAL;
    }
    *day = (int64_t)number;
    *result = given ? 1 : 0;
    return true;
}

int users_expiry(int64_t *day, const char *name)
{
    struct table table;
    int result = table_open(&table, "shadow");
    if (result <= 0) {
        return result;
    }
    result = 0;
    while (table_next(&table) && !read_expiry(&table, day, name, &result)) {
    }
    return table_close(&table) != 0 ? -1 : result;
}
