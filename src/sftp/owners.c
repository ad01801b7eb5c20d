#include "sftp.h"

#include <stdio.h>
#include <stdlib.h>

#include "account_file.h"

/* The names found last: the files of a directory have few owners. A name may be in any row, so that
 * no two of them replace each other again and again: each costs reading a whole file. */
#define CACHE_ROWS 128

struct cached {
    int fd; /* of the table; 0: the row is free */
    uint32_t id;
    bool known;
    char name[OWNER_NAME_BYTES];
};

/* First the process's own numbers, then those that answers have shown. */
struct shown {
    size_t own;
    size_t others; /* so far; a new one replaces the oldest */
    uint32_t numbers[1 + LIMIT_USER_GROUPS + LIMIT_SFTP_OWNERS];
};

static struct shown users;
static struct shown groups;
static int passwd = -1;
static int group = -1;
static const char *own_home; /* NULL without HOME */
static struct cached cache[CACHE_ROWS];
static size_t cached_names; /* so far; a new one replaces the oldest */

void owners_open(void)
{
    passwd = etc_open("passwd");
    group = etc_open("group");
    own_home = getenv("HOME");
    int count = getgroups(LIMIT_USER_GROUPS, groups.numbers + 1);
    groups.own = count > 0 ? (size_t)count + 1 : 1;
    groups.numbers[0] = getgid();
    users.own = 1;
    users.numbers[0] = getuid();
    users.others = groups.others = 0;
}

/* name:password:id, in both files. */
static bool find_owner(int fd, char name[static OWNER_NAME_BYTES], uint32_t id)
{
    struct account_file file;
    uint64_t number;
    bool found = false;
    if (!account_file_rewind(&file, fd)) {
        return false;
    }
    while (!found && account_file_next(&file)) {
        found = account_file_field(&file, ':', name, OWNER_NAME_BYTES) &&
                account_file_skip(&file, 1) &&
                account_file_number(&file, ':', &number, ACCOUNT_ID_MAX) && number == id &&
                account_file_end_line(&file);
    }
    return found;
}

static bool name_of(int fd, char name[static OWNER_NAME_BYTES], uint32_t id)
{
    struct cached *cached = cache;
    while (cached < cache + CACHE_ROWS && (cached->fd != fd || cached->id != id)) {
        cached++;
    }
    if (cached == cache + CACHE_ROWS) {
        cached = &cache[cached_names++ % CACHE_ROWS];
        *cached = (struct cached){.fd = fd, .id = id};
        cached->known = find_owner(fd, cached->name, id);
        if (!cached->known) {
            snprintf(cached->name, sizeof(cached->name), "%u", id);
        }
    }
    memcpy(name, cached->name, OWNER_NAME_BYTES);
    return cached->known;
}

static bool is_shown(const struct shown *shown, uint32_t id)
{
    size_t others = shown->others < LIMIT_SFTP_OWNERS ? shown->others : LIMIT_SFTP_OWNERS;
    for (size_t i = 0; i < shown->own + others; i++) {
        if (shown->numbers[i] == id) {
            return true;
        }
    }
    return false;
}

static void show_number(struct shown *shown, uint32_t id)
{
    if (!is_shown(shown, id)) {
        shown->numbers[shown->own + shown->others++ % LIMIT_SFTP_OWNERS] = id;
    }
}

void owners_show(uint32_t uid, uint32_t gid)
{
    show_number(&users, uid);
    show_number(&groups, gid);
}

bool owners_user(char name[static OWNER_NAME_BYTES], uint32_t uid, bool jailed)
{
    return (!jailed || is_shown(&users, uid)) && name_of(passwd, name, uid);
}

bool owners_group(char name[static OWNER_NAME_BYTES], uint32_t gid, bool jailed)
{
    return (!jailed || is_shown(&groups, gid)) && name_of(group, name, gid);
}

/* name:password:uid:gid:gecos:home */
bool owners_home(char home[static PATH_BYTES], const char *user)
{
    struct account_file file;
    bool found = false;
    if (user[0] == '\0' && own_home != NULL) {
        return snprintf(home, PATH_BYTES, "%s", own_home) < PATH_BYTES;
    }
    if (user[0] == '\0') {
        char name[OWNER_NAME_BYTES];
        return name_of(passwd, name, users.numbers[0]) && owners_home(home, name);
    }
    if (!account_file_rewind(&file, passwd)) {
        return false;
    }
    while (!found && account_file_next(&file)) {
        found = account_file_field_is(&file, ':', user) && account_file_skip(&file, 4) &&
                account_file_field(&file, ':', home, PATH_BYTES) && account_file_end_line(&file);
    }
    return found;
}
