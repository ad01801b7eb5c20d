#include "account.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <shadow.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534

#define SECONDS_PER_DAY 86400

/* One line of /etc/shadow: a name, a hash, some numbers. */
#define SHADOW_BYTES 4096

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

void account_nobody(struct account *account)
{
    memset(account, 0, sizeof(*account));
    copy_text(account->user, sizeof(account->user), "nobody");
    copy_text(account->home, sizeof(account->home), "/nonexistent");
    copy_text(account->shell, sizeof(account->shell), "/nonexistent");
    bool as_root = geteuid() == 0;
    account->uid = as_root ? NOBODY : geteuid();
    account->gid = as_root ? NOBODY : getegid();
}

/* Password hashes pass through here only because the expiry date stands beside them: wiped. */
static bool is_expired(const char *user)
{
    char buffer[SHADOW_BYTES];
    struct spwd entry;
    struct spwd *found = NULL;
    bool expired = false;
    if (getspnam_r(user, &entry, buffer, sizeof(buffer), &found) == 0 && found != NULL) {
        expired = entry.sp_expire >= 0 && entry.sp_expire < time(NULL) / SECONDS_PER_DAY;
    }
    sodium_memzero(buffer, sizeof(buffer));
    return expired;
}

static bool list_groups(const struct account *account, gid_t groups[static LIMIT_USER_GROUPS],
                        int *count)
{
    *count = LIMIT_USER_GROUPS;
    errno = ERANGE;
    return getgrouplist(account->user, account->gid, groups, count) >= 0 && *count >= 0 &&
           *count <= LIMIT_USER_GROUPS;
}

static bool is_member(const struct account *account, const char *group)
{
    gid_t groups[LIMIT_USER_GROUPS];
    int count;
    const struct group *wanted = getgrnam(group);
    if (wanted == NULL) {
        return false;
    }
    gid_t gid = wanted->gr_gid;
    if (!list_groups(account, groups, &count)) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (groups[i] == gid) {
            return true;
        }
    }
    return false;
}

static bool is_shell_usable(const char *shell)
{
    struct stat found;
    return stat(shell, &found) == 0 && S_ISREG(found.st_mode) && (found.st_mode & 0111) != 0;
}

static const char *look_up(struct account *account, const char *user)
{
    const struct passwd *entry = getpwnam(user);
    /* Some name services know names in several spellings: rules are for the one they give. */
    if (entry == NULL || strcmp(entry->pw_name, user) != 0) {
        return "unknown user";
    }
    const char *shell =
        entry->pw_shell == NULL || entry->pw_shell[0] == '\0' ? "/bin/sh" : entry->pw_shell;
    if (!copy_text(account->user, sizeof(account->user), user) ||
        !copy_text(account->home, sizeof(account->home), entry->pw_dir) ||
        !copy_text(account->shell, sizeof(account->shell), shell)) {
        return "home directory or shell has too long a path";
    }
    account->uid = entry->pw_uid;
    account->gid = entry->pw_gid;
    return NULL;
}

static const char *judge(const struct account *account, const char *group)
{
    bool as_root = geteuid() == 0;
    if (!as_root && account->uid != geteuid()) {
        return "not the user this server runs as";
    }
    if (!is_shell_usable(account->shell)) {
        return "shell is missing or not executable";
    }
    if (as_root && is_expired(account->user)) {
        return "account has expired";
    }
    if (account->uid != 0 && access("/etc/nologin", F_OK) == 0) {
        return "/etc/nologin exists";
    }
    if (group != NULL && !is_member(account, group)) {
        return "not a member of the group that -g names";
    }
    return NULL;
}

const char *account_find(struct account *account, const char *user, const char *group)
{
    const char *reason = "name is too long or holds characters that are not allowed";
    memset(account, 0, sizeof(*account));
    if (is_name_safe(user)) {
        reason = look_up(account, user);
    }
    if (reason == NULL) {
        reason = judge(account, group);
    }
    if (reason != NULL) {
        account_nobody(account);
    }
    return reason;
}

static bool is_exactly(const struct account *account)
{
    uid_t uids[3];
    gid_t gids[3];
    if (getresuid(&uids[0], &uids[1], &uids[2]) != 0 ||
        getresgid(&gids[0], &gids[1], &gids[2]) != 0) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        if (uids[i] != account->uid || gids[i] != account->gid) {
            return false;
        }
    }
    return true;
}

/* Not initgroups(): musl's knows 32 groups and fails on more. */
static int become(const struct account *account)
{
    gid_t groups[LIMIT_USER_GROUPS];
    int count;
    if (!list_groups(account, groups, &count) || setgroups((size_t)count, groups) != 0 ||
        setresgid(account->gid, account->gid, account->gid) != 0 ||
        setresuid(account->uid, account->uid, account->uid) != 0) {
        return -1;
    }
    if (!is_exactly(account)) {
        errno = EPERM;
        return -1;
    }
    /* Capabilities kept by a launcher's secure bits would lead back. */
    bool back =
        account->uid != 0 && (setresuid((uid_t)-1, 0, (uid_t)-1) == 0 ||
                              (account->gid != 0 && setresgid((gid_t)-1, 0, (gid_t)-1) == 0));
    errno = EPERM;
    return back ? -1 : 0;
}

int account_become(const struct account *account)
{
    int result = 0;
    if (geteuid() == 0) {
        result = become(account);
    } else if (account->uid != geteuid() || account->uid != getuid()) {
        errno = EPERM;
        result = -1;
    }
    /* The kernel makes a process dumpable again when its uid changes. */
    int error = errno;
    if (prctl(PR_SET_DUMPABLE, 0) != 0 && result == 0) {
        return -1;
    }
    errno = error;
    return result;
}
