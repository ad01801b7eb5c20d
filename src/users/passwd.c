#include "passwd.h"

#include <errno.h>

/* name:password:uid:gid:gecos:home:shell */
bool passwd_read_rest(struct account_file *file, struct user *user, bool *fits)
{
    uint64_t uid, gid;
    if (!account_file_skip(file, 1) || !account_file_number(file, ':', &uid, ACCOUNT_ID_MAX) ||
        !account_file_number(file, ':', &gid, ACCOUNT_ID_MAX) || !account_file_skip(file, 1)) {
        return false;
    }
    bool home_fits = account_file_field(file, ':', user->home, sizeof(user->home));
    if (file->ended) {
        return false;
    }
    bool shell_fits = account_file_field(file, '\n', user->shell, sizeof(user->shell));
    if (!account_file_end_line(file)) {
        return false;
    }
    *fits = home_fits && shell_fits;
    user->uid = (uid_t)uid;
    user->gid = (gid_t)gid;
    return true;
}

int passwd_find(struct user *user, const char *name)
{
    struct account_file file;
    bool fits = true;
    int found = account_file_open(&file, "passwd");
    if (found <= 0) {
        return found;
    }
    for (found = 0; found == 0 && account_file_next(&file);) {
        found = account_file_field_is(&file, ':', name) && passwd_read_rest(&file, user, &fits);
    }
    if (account_file_close(&file) != 0) {
        return -1;
    }
    errno = ENAMETOOLONG;
    return fits ? found : -1;
}
