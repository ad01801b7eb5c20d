#include "process.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "seccomp.h"
#include "users.h"

/* From linux/keyctl.h, which a musl toolchain may lack. */
#define KEYCTL_JOIN_SESSION_KEYRING 1
#define KEYCTL_LINK                 8
#define KEY_SPEC_SESSION_KEYRING    (-3L)
#define KEY_SPEC_USER_KEYRING       (-4L)

/* On older 32-bit architectures the calls without "32" have ids of 16 bits. */
#ifdef SYS_setresuid32
#define SET_GROUPS SYS_setgroups32
#define SET_GIDS   SYS_setresgid32
#define SET_UIDS   SYS_setresuid32
#else
#define SET_GROUPS SYS_setgroups
#define SET_GIDS   SYS_setresgid
#define SET_UIDS   SYS_setresuid
#endif

int confine_set_groups(size_t count, const gid_t *groups)
{
    return (int)syscall(SET_GROUPS, count, groups);
}

int confine_set_gids(gid_t real, gid_t effective, gid_t saved)
{
    return (int)syscall(SET_GIDS, real, effective, saved);
}

int confine_set_uids(uid_t real, uid_t effective, uid_t saved)
{
    return (int)syscall(SET_UIDS, real, effective, saved);
}

static bool is_exactly(const struct identity *identity)
{
    uid_t uids[3];
    gid_t gids[3];
    if (getresuid(&uids[0], &uids[1], &uids[2]) != 0 ||
        getresgid(&gids[0], &gids[1], &gids[2]) != 0) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        if (uids[i] != identity->uid || gids[i] != identity->gid) {
            return false;
        }
    }
    return true;
}

/* True if the process can become root again: a launcher's securebits may have kept capabilities. */
static bool is_way_back(const struct identity *identity)
{
    return identity->uid != 0 &&
           (confine_set_uids((uid_t)-1, 0, (uid_t)-1) == 0 ||
            (identity->gid != 0 && confine_set_gids((gid_t)-1, 0, (gid_t)-1) == 0));
}

bool confine_identity(const struct identity *identity)
{
    return confine_set_gids(identity->gid, identity->gid, identity->gid) == 0 &&
           confine_set_uids(identity->uid, identity->uid, identity->uid) == 0 &&
           is_exactly(identity) && !is_way_back(identity);
}

bool confine_limit(int resource, rlim_t most)
{
    const struct rlimit limit = {.rlim_cur = most - (resource == RLIMIT_CPU), .rlim_max = most};
    struct rlimit before;
    if (syscall(SYS_prlimit64, 0, resource, &limit, &before) == 0) {
        /* A lower limit of the launcher's stays: as root, the call above has raised it. */
        return before.rlim_max > most || syscall(SYS_prlimit64, 0, resource, &before, NULL) == 0;
    }
    return syscall(SYS_prlimit64, 0, resource, NULL, &before) == 0 && before.rlim_max <= most;
}

bool confine_capabilities(void)
{
    const struct capability_header header = {.version = CAPABILITY_VERSION_3};
    const struct capability_data none[2] = {{0}};
    return syscall(SYS_capset, &header, none) == 0;
}

bool confine_inheritable(void)
{
    struct capability_header header = {.version = CAPABILITY_VERSION_3};
    struct capability_data data[2] = {{0}};
    if (syscall(SYS_capget, &header, data) != 0) {
        return false;
    }
    /* The kernel keeps the ambient set within this one, and empties it, too. */
    data[0].inheritable = data[1].inheritable = 0;
    return syscall(SYS_capset, &header, data) == 0;
}

bool confine_new_privileges(void)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) == 0;
}

/* Trick: own frame; the groups would lie above each process's stack. */
__attribute__((noinline)) static bool has_roots_group(void)
{
    gid_t groups[LIMIT_USER_GROUPS];
    int count = getgroups(LIMIT_USER_GROUPS, groups);
    for (int i = 0; i < count; i++) {
        if (groups[i] == 0) {
            return true;
        }
    }
    return count < 0;
}

bool confine_ordinary_user(void)
{
    uid_t uid = getuid();
    gid_t gid = getgid();
    return !has_roots_group() && uid != 0 && uid == geteuid() && gid != 0 && gid == getegid() &&
           confine_capabilities() && confine_new_privileges();
}

bool confine_not_dumpable(void)
{
    return prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L) == 0;
}

bool confine_leave_keyring(void)
{
    return syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0 || errno == ENOSYS ||
           errno == EPERM || geteuid() != 0;
}

void confine_join_users_keyring(void)
{
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0) {
        syscall(SYS_keyctl, KEYCTL_LINK, KEY_SPEC_USER_KEYRING, KEY_SPEC_SESSION_KEYRING);
    }
}

/* ---- the layers of a sandbox ----------------------------------------------------------------- */

void sandbox_layers_name(char out[static SANDBOX_NAMES_BYTES], uint32_t layers)
{
    static const char names[][sizeof("no-new-privs")] = {
        "root", "uid", "groups", "no-new-privs", "not-dumpable", "rlimits", "landlock", "seccomp"};
    size_t used = 0;
    snprintf(out, SANDBOX_NAMES_BYTES, "none");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if ((layers & (1U << i)) != 0) {
            int count = snprintf(out + used, SANDBOX_NAMES_BYTES - used, "%s%s",
                                 used > 0 ? "," : "", names[i]);
            used += (size_t)count;
        }
    }
}

/* ---- Landlock -------------------------------------------------------------------------------- */

int landlock_rules(uint64_t rights, uint64_t scopes)
{
    const struct landlock_attributes attributes = {.handled_access_fs = rights, .scoped = scopes};
    /* A kernel refuses a longer structure than its own, unless the rest is zero. */
    return (int)syscall(CALL_LANDLOCK_CREATE_RULESET, &attributes, sizeof(attributes), 0);
}

bool landlock_allow_beneath(int rules, int directory, uint64_t rights)
{
    const struct landlock_beneath beneath = {.allowed_access = rights, .parent_fd = directory};
    return syscall(CALL_LANDLOCK_ADD_RULE, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) == 0;
}

bool landlock_enter(int rules)
{
    if (rules < 0) {
        return false;
    }
    bool entered = syscall(CALL_LANDLOCK_RESTRICT_SELF, rules, 0) == 0;
    close(rules);
    return entered;
}

void landlock_isolate(void)
{
    int rules = landlock_rules(0, LANDLOCK_SCOPE_SIGNAL);
    if (rules < 0) {
        /* A rule set must name a right. The right to move files between directories is taken away
         * even by rule sets that do not name it, so this one gives it back for all directories. */
        int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        rules = landlock_rules(LANDLOCK_REFER, 0);
        if (!landlock_allow_beneath(rules, root, LANDLOCK_REFER)) {
            close(rules);
            rules = -1;
        }
        close(root);
    }
    landlock_enter(rules);
}
