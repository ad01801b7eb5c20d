#include "monitor_internal.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "grant.h"
#include "users.h"

#define NOBODY 65534

#define SECONDS_PER_DAY 86400

static const char no_lookup[] = "account could not be looked up";

static bool is_name_safe(const char *user)
{
    if (user[0] == '\0' || user[0] == '-' || strcmp(user, ".") == 0 || strcmp(user, "..") == 0) {
        return false;
    }
    for (const char *at = user; *at != '\0'; at++) {
        if (*at < 0x20 || *at > 0x7e || *at == '/') {
            return false;
        }
    }
    return true;
}

static bool copy_text(char *out, size_t out_bytes, const char *text)
{
    size_t bytes = strlen(text) + 1;
    if (bytes > out_bytes) {
        return false;
    }
    memcpy(out, text, bytes);
    return true;
}

static void find_groups(struct account_groups *groups, const struct account *account)
{
    groups->count = users_groups(groups->ids, account->user, account->gid);
    groups->error = (int16_t)errno;
}

void account_nobody(struct account *account, struct account_groups *groups)
{
    memset(account, 0, sizeof(*account));
    copy_text(account->user, sizeof(account->user), "nobody");
    copy_text(account->home, sizeof(account->home), "/nonexistent");
    copy_text(account->shell, sizeof(account->shell), "/nonexistent");
    bool as_root = geteuid() == 0;
    account->uid = as_root ? NOBODY : geteuid();
    account->gid = as_root ? NOBODY : getegid();
    groups->count = 0;
    if (as_root) {
        find_groups(groups, account);
    }
}

/* An account is closed from the day of its expiry on, in UTC, as usermod(8) says and PAM does. Day
 * 0 has passed. */
static const char *judge_expiry(const char *user)
{
    int64_t day;
    int given = users_expiry(&day, user);
    if (given < 0) {
        return no_lookup;
    }
    return given > 0 && day <= time(NULL) / SECONDS_PER_DAY ? "account has expired" : NULL;
}

static bool is_member(const struct account_groups *groups, const char *name)
{
    gid_t gid;
    bool exists = name != NULL && users_find_group(&gid, name) > 0;
    bool found = false;
    for (int i = 0; exists && i < groups->count; i++) {
        found = found || groups->ids[i] == gid;
    }
    return found;
}

static bool is_shell_usable(const char *shell)
{
    struct stat found;
    return stat(shell, &found) == 0 && S_ISREG(found.st_mode) && (found.st_mode & 0111) != 0;
}

static const char *judge_shell(struct account *account, const char *forced_command)
{
    if ((forced_command != NULL && grant_is_sftp(forced_command)) ||
        is_shell_usable(account->shell)) {
        return NULL;
    }
    account->shell[0] = '\0';
    return forced_command != NULL ? ACCOUNT_NO_SHELL : NULL;
}

static const char *look_up(struct account *account, const char *user)
{
    struct user entry;
    int found = users_find(&entry, user);
    if (found == 0) {
        return "unknown user";
    }
    if (found < 0 && errno != ENAMETOOLONG) {
        return no_lookup;
    }
    if (found < 0 || !copy_text(account->user, sizeof(account->user), user)) {
        return "home directory or shell has too long a path";
    }
    const char *shell = entry.shell[0] == '\0' ? "/bin/sh" : entry.shell;
    copy_text(account->home, sizeof(account->home), entry.home);
    copy_text(account->shell, sizeof(account->shell), shell);
    account->uid = entry.uid;
    account->gid = entry.gid;
    return NULL;
}

/* Like pam_nologin(8), which lets only root in while one of the files exists. */
static const char *judge_nologin(void)
{
    return access("/run/nologin", F_OK) == 0   ? "/run/nologin exists"
           : access("/etc/nologin", F_OK) == 0 ? "/etc/nologin exists"
                                               : NULL;
}

static const char *judge_account(struct account *account, const struct account_rules *rules,
                                 uid_t own_uid)
{
    bool as_root = own_uid == 0;
    if (!as_root && account->uid != own_uid) {
        return "not the user this server runs as";
    }
    const char *shell = judge_shell(account, rules->forced_command);
    if (shell != NULL) {
        return shell;
    }
    const char *expiry = as_root ? judge_expiry(account->user) : NULL;
    if (expiry != NULL) {
        return expiry;
    }
    if (account->uid == 0 && rules->no_root) {
        return "root may not log in here";
    }
    /* With that uid a user could stop the monitor and read the network process's memory. */
    if (as_root && account->uid == rules->reserved_uid) {
        return "account is the server's own";
    }
    return account->uid != 0 ? judge_nologin() : NULL;
}

const char *account_find(struct account *account, struct account_groups *groups, const char *user,
                         const struct account_rules *rules)
{
    const char *reason = "name is too long or holds characters that are not allowed";
    uid_t own_uid = geteuid();
    memset(account, 0, sizeof(*account));
    if (is_name_safe(user)) {
        reason = look_up(account, user);
    }
    if (reason == NULL) {
        reason = judge_account(account, rules, own_uid);
    }
    groups->count = 0;
    groups->has_reserve = 0;
    if (reason == NULL && (rules->groups[0] != NULL || own_uid == 0)) {
        find_groups(groups, account);
        groups->has_reserve = is_member(groups, rules->reserve_group);
    }
    bool is_allowed = reason != NULL || rules->groups[0] == NULL;
    for (size_t i = 0; i < LIMIT_ALLOWED_GROUPS; i++) {
        is_allowed = is_allowed || is_member(groups, rules->groups[i]);
    }
    if (!is_allowed) {
        reason = "not a member of a group that -g names";
    }
    if (reason != NULL) {
        account_nobody(account, groups);
    }
    return reason;
}
