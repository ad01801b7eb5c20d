/* Each test runs in a process of its own, as rights that are given up do not come back. */
#include "process.h"
#include "users.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seccomp.h"
#include "unit.h"
#include "users.h"

static const struct identity somebody = {.uid = 4000, .gid = 4001};

static bool read_capabilities(struct capability_data data[static 2])
{
    struct capability_header header = {.version = CAPABILITY_VERSION_3};
    return syscall(SYS_capget, &header, data) == 0;
}

static bool write_capabilities(const struct capability_data data[static 2])
{
    struct capability_header header = {.version = CAPABILITY_VERSION_3};
    return syscall(SYS_capset, &header, data) == 0;
}

/* ---- identity -------------------------------------------------------------------------------- */

static bool takes_on_all_ids(void)
{
    uid_t uids[3];
    gid_t gids[3];
    if (!confine_identity(&somebody) || getresuid(&uids[0], &uids[1], &uids[2]) != 0 ||
        getresgid(&gids[0], &gids[1], &gids[2]) != 0) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        if (uids[i] != somebody.uid || gids[i] != somebody.gid) {
            return false;
        }
    }
    return setuid(0) != 0 && setgid(0) != 0;
}

/* SECBIT_NO_SETUID_FIXUP keeps the capabilities over the change. */
static bool finds_a_way_back(void)
{
    return prctl(PR_SET_SECUREBITS, 1UL << 2, 0L, 0L, 0L) == 0 && !confine_identity(&somebody);
}

/* -1 leaves an id as it is: what was asked for is not what is there. */
static bool refuses_no_id(void)
{
    const struct identity no_gid = {.uid = 4000, .gid = (gid_t)-1};
    const struct identity no_uid = {.uid = (uid_t)-1, .gid = 4001};
    return !confine_identity(&no_gid) && !confine_identity(&no_uid);
}

static bool lets_root_be_root(void)
{
    const struct identity root = {.uid = 0, .gid = 0};
    return confine_identity(&root) && geteuid() == 0;
}

static bool needs_the_right(void)
{
    const struct identity other = {.uid = 4002, .gid = 4001};
    return (geteuid() != 0 || confine_identity(&somebody)) && !confine_identity(&other);
}

static bool (*const of_root[])(void) = {takes_on_all_ids, finds_a_way_back, refuses_no_id,
                                        lets_root_be_root};

UNIT_NEEDS(!unit_is_emulated(), "an emulator runs it");

TEST_EACH(identities, COUNT_OF(of_root))
{
    if (geteuid() == 0) {
        ck_assert(unit_in_a_fork(of_root[_i]));
    }
    ck_assert(unit_in_a_fork(needs_the_right));
}

/* ---- capabilities ---------------------------------------------------------------------------- */

#define CAP_KILL_NUMBER 5UL

static bool empties_all_sets(void)
{
    struct capability_data data[2];
    if (!read_capabilities(data)) {
        return false;
    }
    data[0].inheritable = data[0].permitted;
    if (!write_capabilities(data)) {
        return false;
    }
    bool ambient = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL_NUMBER, 0L, 0L) == 0;
    if (!confine_capabilities() || !read_capabilities(data)) {
        return false;
    }
    return (data[0].effective | data[0].permitted | data[0].inheritable | data[1].effective |
            data[1].permitted | data[1].inheritable) == 0 &&
           (!ambient || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_KILL_NUMBER, 0L, 0L) == 0);
}

/* The process keeps its rights; the programs that it starts inherit none. */
static bool empties_the_inheritable_set(void)
{
    struct capability_data before[2], after[2];
    if (!read_capabilities(before)) {
        return false;
    }
    before[0].inheritable = before[0].permitted;
    if (!write_capabilities(before)) {
        return false;
    }
    bool ambient = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL_NUMBER, 0L, 0L) == 0;
    if (!confine_inheritable() || !read_capabilities(after)) {
        return false;
    }
    return after[0].inheritable == 0 && after[1].inheritable == 0 &&
           after[0].permitted == before[0].permitted && after[0].effective == before[0].effective &&
           (!ambient || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_KILL_NUMBER, 0L, 0L) == 0);
}

TEST_EACH(capabilities, 2)
{
    ck_assert(unit_in_a_fork(_i == 0 ? empties_all_sets : empties_the_inheritable_set));
}

/* ---- limits ---------------------------------------------------------------------------------- */

static bool limit_is(rlim_t soft, rlim_t hard)
{
    struct rlimit found;
    return getrlimit(RLIMIT_NOFILE, &found) == 0 && found.rlim_cur == soft &&
           found.rlim_max == hard;
}

static bool lowers_a_limit(void)
{
    const struct rlimit before = {.rlim_cur = 40, .rlim_max = 60};
    return setrlimit(RLIMIT_NOFILE, &before) == 0 && confine_limit(RLIMIT_NOFILE, 50) &&
           limit_is(50, 50);
}

/* Root may raise limits, too. */
static bool keeps_a_lower_limit(void)
{
    const struct rlimit before = {.rlim_cur = 40, .rlim_max = 60};
    return setrlimit(RLIMIT_NOFILE, &before) == 0 && confine_limit(RLIMIT_NOFILE, 60) &&
           limit_is(40, 60) && confine_limit(RLIMIT_NOFILE, 70) && limit_is(40, 60);
}

static bool keeps_it_without_rights(void)
{
    return confine_identity(&somebody) && keeps_a_lower_limit();
}

static bool refuses_no_limit(void)
{
    return !confine_limit(-1, 60) && errno == EINVAL;
}

static bool (*const of_limits[])(void) = {lowers_a_limit, keeps_a_lower_limit,
                                          keeps_it_without_rights, refuses_no_limit};

TEST_EACH(limits, COUNT_OF(of_limits))
{
    if (of_limits[_i] != keeps_it_without_rights || geteuid() == 0) {
        ck_assert(unit_in_a_fork(of_limits[_i]));
    }
}

/* ---- an ordinary user ------------------------------------------------------------------------ */

static const struct {
    uid_t real_uid, uid;
    gid_t real_gid, gid;
    bool ordinary;
} starts[] = {
    {4000, 4000, 4001, 4001, true},  {0, 0, 4001, 4001, false},
    {4000, 4000, 0, 0, false},       {0, 4000, 4001, 4001, false},
    {4000, 0, 4001, 4001, false},    {4000, 4000, 0, 4001, false},
    {4000, 4000, 4001, 0, false},    {4000, 4002, 4001, 4001, false},
    {4000, 4000, 4001, 4002, false},
};

static int start_tried;

/* The saved ids are those in force, as after an exec. The change of uids keeps the capabilities. */
static bool judges_the_start(void)
{
    struct capability_data data[2];
    bool ordinary = starts[start_tried].ordinary;
    return setgroups(0, NULL) == 0 && prctl(PR_SET_SECUREBITS, 4UL, 0L, 0L, 0L) == 0 &&
           confine_set_gids(starts[start_tried].real_gid, starts[start_tried].gid,
                            starts[start_tried].gid) == 0 &&
           confine_set_uids(starts[start_tried].real_uid, starts[start_tried].uid,
                            starts[start_tried].uid) == 0 &&
           confine_ordinary_user() == ordinary && read_capabilities(data) &&
           (data[0].permitted == 0) == ordinary &&
           prctl(PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L) == (ordinary ? 1 : 0);
}

TEST_EACH(ordinary_users, COUNT_OF(starts))
{
    start_tried = _i;
    if (geteuid() == 0) {
        ck_assert(unit_in_a_fork(judges_the_start));
    }
}

/* ---- keyrings -------------------------------------------------------------------------------- */

enum { JOIN = 1, DESCRIBE = 6, UNLINK = 9, SEARCH = 10, READ = 11, OF_SESSION = -3, OF_USER = -4 };

static long add_key(const char *name, long keyring)
{
    return syscall(SYS_add_key, "user", name, "secret", (size_t)6, keyring);
}

static bool finds_key(const char *name, long wanted)
{
    char bytes[16];
    long key = syscall(SYS_keyctl, (long)SEARCH, (long)OF_SESSION, "user", name, 0L);
    return key == wanted && syscall(SYS_keyctl, (long)READ, key, bytes, sizeof(bytes)) == 6 &&
           memcmp(bytes, "secret", 6) == 0;
}

/* The keys that programs add to it count for the quota of its owner. */
static bool owns_the_session_keyring(void)
{
    char described[64] = "", wanted[32];
    long bytes = syscall(SYS_keyctl, (long)DESCRIBE, (long)OF_SESSION, described, 63L);
    snprintf(wanted, sizeof(wanted), "keyring;%u;", (unsigned)geteuid());
    return bytes > 0 && strncmp(described, wanted, strlen(wanted)) == 0;
}

/* The user's own keys can be found and read, the launcher's can't. */
static bool has_the_users_keys_alone(void)
{
    if (syscall(SYS_keyctl, (long)JOIN, NULL) < 0) {
        return errno == ENOSYS || errno == EPERM;
    }
    long launchers = add_key("wren-launchers", OF_SESSION);
    if (!finds_key("wren-launchers", launchers) || !confine_leave_keyring() ||
        (geteuid() == 0 && (setgroups(0, NULL) != 0 || !confine_identity(&somebody)))) {
        return false;
    }
    long own = add_key("wren-own", OF_USER);
    bool before = finds_key("wren-own", own);
    confine_join_users_keyring();
    bool after = finds_key("wren-own", own) && !finds_key("wren-launchers", launchers) &&
                 owns_the_session_keyring();
    return syscall(SYS_keyctl, (long)UNLINK, own, (long)OF_USER) == 0 && !before && after;
}

TEST(keyrings)
{
    ck_assert(unit_in_a_fork(has_the_users_keys_alone));
}

/* ---- flags ----------------------------------------------------------------------------------- */

static bool sets_the_flags(void)
{
    return prctl(PR_SET_DUMPABLE, 1L, 0L, 0L, 0L) == 0 &&
           prctl(PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L) == 0 && confine_new_privileges() &&
           prctl(PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L) == 1 &&
           prctl(PR_GET_DUMPABLE, 0L, 0L, 0L, 0L) == 1 && confine_not_dumpable() &&
           prctl(PR_GET_DUMPABLE, 0L, 0L, 0L, 0L) == 0;
}

TEST(flags)
{
    ck_assert(unit_in_a_fork(sets_the_flags));
}
