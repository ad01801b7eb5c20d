#include "monitor_internal.h"

#define NOBODY 65534

#define SECONDS_PER_DAY 86400

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
 * 0 has passed. It is also closed when its password has expired and the inactive days are over. */
static enum account_reason judge_days(const char *user)
{
    struct user_days days;
    int64_t today = time(NULL) / SECONDS_PER_DAY;
    int found = users_days(&days, user);
    if (found <= 0) {
        return found < 0 ? ACCOUNT_NO_LOOKUP : ACCOUNT_GOOD;
    }
    if (days.expires >= 0 && days.expires <= today) {
        return ACCOUNT_EXPIRED;
    }
    bool ages = days.changed > 0 && days.most >= 0 && days.inactive >= 0;
    uint64_t last = (uint64_t)days.changed + (uint64_t)days.most + (uint64_t)days.inactive;
    return ages && (uint64_t)today > last ? ACCOUNT_INACTIVE : ACCOUNT_GOOD;
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

static enum account_reason judge_shell(struct account *account, const char *forced_command)
{
    if ((forced_command != NULL && grant_is_sftp(forced_command)) ||
        is_shell_usable(account->shell)) {
        return ACCOUNT_GOOD;
    }
    account->shell[0] = '\0';
    return forced_command != NULL ? ACCOUNT_NO_SHELL : ACCOUNT_GOOD;
}

static enum account_reason look_up(struct account *account, const char *user)
{
    struct user entry;
    int found = users_find(&entry, user);
    if (found == 0) {
        return ACCOUNT_UNKNOWN;
    }
    if (found < 0 && errno != ENAMETOOLONG) {
        return errno == ENOTUNIQ ? ACCOUNT_OTHER_NAME : ACCOUNT_NO_LOOKUP;
    }
    if (found < 0 || !copy_text(account->user, sizeof(account->user), user)) {
        return ACCOUNT_LONG_PATH;
    }
    const char *shell = entry.shell[0] == '\0' ? "/bin/sh" : entry.shell;
    copy_text(account->home, sizeof(account->home), entry.home);
    copy_text(account->shell, sizeof(account->shell), shell);
    account->uid = entry.uid;
    account->gid = entry.gid;
    return ACCOUNT_GOOD;
}

/* Like pam_nologin(8), which lets only root in while one of the files exists. */
static enum account_reason judge_nologin(void)
{
    return access("/run/nologin", F_OK) == 0   ? ACCOUNT_RUN_NOLOGIN
           : access("/etc/nologin", F_OK) == 0 ? ACCOUNT_ETC_NOLOGIN
                                               : ACCOUNT_GOOD;
}

static enum account_reason judge_account(struct account *account, const struct options *options,
                                         uid_t own_uid)
{
    bool as_root = geteuid() == 0;
    if (!as_root && account->uid != geteuid()) {
        return ACCOUNT_OTHER_USER;
    }
    enum account_reason reason = judge_shell(account, options->forced_command);
    if (reason == ACCOUNT_GOOD && as_root) {
        reason = judge_days(account->user);
    }
    if (reason != ACCOUNT_GOOD) {
        return reason;
    }
    if (account->uid == 0 && options->no_root) {
        return ACCOUNT_ROOT;
    }
    /* With that uid a user could stop the monitor and read the network process's memory. */
    if (as_root && account->uid == own_uid) {
        return ACCOUNT_OURS;
    }
    return account->uid != 0 ? judge_nologin() : ACCOUNT_GOOD;
}

enum account_reason account_find(struct account *account, struct account_groups *groups,
                                 const char *user, const struct options *options, uid_t own_uid)
{
    enum account_reason reason = ACCOUNT_WRONG_NAME;
    memset(account, 0, sizeof(*account));
    if (is_name_safe(user)) {
        reason = look_up(account, user);
    }
    if (reason == ACCOUNT_GOOD) {
        reason = judge_account(account, options, own_uid);
    }
    groups->count = 0;
    groups->has_reserve = 0;
    if (reason == ACCOUNT_GOOD && (options->groups[0] != NULL || geteuid() == 0)) {
        find_groups(groups, account);
        groups->has_reserve = is_member(groups, options->reserve_group);
        reason = groups->count >= 0        ? ACCOUNT_GOOD
                 : groups->error == ERANGE ? ACCOUNT_MANY_GROUPS
                                           : ACCOUNT_NO_LOOKUP;
    }
    bool is_allowed = reason != ACCOUNT_GOOD || options->groups[0] == NULL;
    for (size_t i = 0; i < LIMIT_ALLOWED_GROUPS; i++) {
        is_allowed = is_allowed || is_member(groups, options->groups[i]);
    }
    if (!is_allowed) {
        reason = ACCOUNT_NO_MEMBER;
    }
    if (reason != ACCOUNT_GOOD && (!options->check_all || account->user[0] == '\0')) {
        account_nobody(account, groups);
    }
    return reason;
}
