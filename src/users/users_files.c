/*
 * Users and groups from /etc/passwd, /etc/group and /etc/shadow. As in the C library, the first
 * line with a name counts. Malformed lines are skipped: those with too few fields, with an id that
 * is not a plain number or is (uid_t)-1, or with a NUL. The last field takes the rest of the line,
 * colons and a carriage return included.
 */
#include "account_file.h"

bool users_leave_descriptors(void)
{
    return false;
}

int users_find(struct user *user, const char *name)
{
    return passwd_find(user, name);
}

int users_each(void (*visit)(const char *name))
{
    struct account_file file;
    char name[LIMIT_USER_BYTES];
    int found = account_file_open(&file, "passwd");
    if (found <= 0) {
        return found;
    }
    while (account_file_next(&file)) {
        if (account_file_field(&file, ':', name, sizeof(name))) {
            visit(name);
        }
    }
    return account_file_close(&file);
}

/* name:password:gid:member,member */
static bool read_group(struct account_file *file, gid_t *gid)
{
    uint64_t number;
    if (!account_file_skip(file, 1) || !account_file_number(file, ':', &number, ACCOUNT_ID_MAX) ||
        file->ended) {
        return false;
    }
    *gid = (gid_t)number;
    return true;
}

int users_find_group(gid_t *gid, const char *name)
{
    struct account_file file;
    int found = account_file_open(&file, "group");
    if (found <= 0) {
        return found;
    }
    for (found = 0; found == 0 && account_file_next(&file);) {
        found = account_file_field_is(&file, ':', name) && read_group(&file, gid) &&
                account_file_end_line(&file);
    }
    return account_file_close(&file) != 0 ? -1 : found;
}

static bool lists_member(struct account_file *file, const char *name)
{
    bool listed = false;
    while (!file->ended) {
        listed = account_file_field_is(file, ',', name) || listed;
    }
    return account_file_end_line(file) && listed;
}

int users_groups(gid_t groups[static LIMIT_USER_GROUPS], const char *name, gid_t primary)
{
    struct account_file file;
    gid_t gid;
    int count = 0;
    groups[count++] = primary;
    int found = account_file_open(&file, "group");
    if (found <= 0) {
        return found == 0 ? count : -1;
    }
    while (account_file_next(&file)) {
        if (!account_file_skip(&file, 1) || !read_group(&file, &gid) ||
            !lists_member(&file, name) || gid == primary) {
            continue;
        }
        if (count == LIMIT_USER_GROUPS) {
            file.error = ERANGE;
            break;
        }
        groups[count++] = gid;
    }
    return account_file_close(&file) != 0 ? -1 : count;
}

/*
 * name:hash:changed:min:max:warn:inactive:expires:flag. False if the line is of
 * another user, or ends before the last day: the C library skips it too, and -1 is the same as an
 * empty field there. Another day that is not a number is an error, because it can't be taken to
 * mean "never".
 */
static bool read_days(struct account_file *file, struct user_days *days, const char *name)
{
    char text[ACCOUNT_NUMBER_BYTES];
    int64_t *const fields[] = {&days->changed,  NULL,          &days->most, NULL,
                               &days->inactive, &days->expires};
    bool good = true;
    if (!account_file_field_is(file, ':', name) || !account_file_skip(file, 1)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        uint64_t number = 0;
        if (file->ended) {
            return false;
        }
        if (fields[i] == NULL) {
            account_file_skip(file, 1);
            continue;
        }
        good = account_file_field(file, ':', text, sizeof(text)) && good;
        bool given = text[0] != '\0' && strcmp(text, "-1") != 0;
        good = good && (!given || number_parse(&number, text, strlen(text), INT64_MAX));
        *fields[i] = given ? (int64_t)number : -1;
    }
    if (!account_file_end_line(file) || !good) {
        file->error = file->error != 0 ? file->error : EINVAL;
    }
    return true;
}

int users_days(struct user_days *days, const char *name)
{
    struct account_file file;
    int result = account_file_open(&file, "shadow");
    if (result <= 0) {
        return result;
    }
    bool found = false;
    while (!found && account_file_next(&file)) {
        found = read_days(&file, days, name);
    }
    return account_file_close(&file) != 0 ? -1 : found;
}
