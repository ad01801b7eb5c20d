/* Covers account_find.c and account_become(). If the test is root and may mount, it has an /etc of
 * its own; otherwise only the tests run that need none. */
#include "monitor_internal.h"
#include "session_internal.h"

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "scratch.h"
#include "seccomp.h"
#include "unit.h"

/* Below the root's group, a user's own, and one that alice is in as a supplementary member. */
static const char groups[] = "root:x:0:\nalice:x:4000:\nwheel:x:4100:root,alice\nempty:x:4200:\n";

static const char users[] = "root:x:0:0::/root:/bin/sh\n"
                            "alice:!:4000:4000::/home/alice:/bin/sh\n"
                            "bob:*:4001:4001::/home/bob:\n"
                            "old:x:4002:4001::/home/old:/bin/sh\n"
                            "noshell:x:4003:4001::/home/noshell:/bin/none\n"
                            "dirshell:x:4004:4001::/home/dirshell:/bin\n"
                            "datashell:x:4005:4001::/home/datashell:/etc/passwd\n"
                            "nologin:x:4006:4001::/home/nologin:/usr/sbin/nologin\n"
                            "-flag:x:4007:4001::/:/bin/sh\n"
                            "a/b:x:4008:4001::/:/bin/sh\n"
                            "wheelie:x:4009:4100::/:/bin/sh\n";

static const char names[] = "passwd: files\ngroup: files\nshadow: files\n";

/* Who was found, and in which groups. */
static struct account account;
static struct account_groups all;

/* A day on which nobody runs this test, and seconds from its start. */
#define TODAY           20000
#define SECONDS_PER_DAY INT64_C(86400)
#define YEAR_1970       (-TODAY * SECONDS_PER_DAY)
static int64_t second_of_today;

/* Replaces libc's. */
time_t time(time_t *out)
{
    time_t now = (time_t)(TODAY * SECONDS_PER_DAY + second_of_today);
    if (out != NULL) {
        *out = now;
    }
    return now;
}

#define NO_UID ((uid_t)-1)

/* NULL, or the words of the reason. */
static const char *find_by(const char *user, const struct options *options, uid_t own_uid)
{
    enum account_reason reason = account_find(&account, &all, user, options, own_uid);
    return reason != ACCOUNT_GOOD ? account_words(reason) : NULL;
}

static const char *find(const char *user, const char *group)
{
    char first[32] = "";
    const char *second = group != NULL ? strchr(group, '+') : NULL;
    struct options options = {.groups = {group}};
    if (second != NULL) {
        snprintf(first, sizeof(first), "%.*s", (int)(second - group), group);
        options.groups[0] = first;
        options.groups[1] = second + 1;
    }
    return find_by(user, &options, NO_UID);
}

static bool own_etc(void)
{
    char etc[SCRATCH_BYTES];
    char long_user[4096];
    static const char shadow[] = "root:*:19000:0:99999:7:::\nalice:!:19000:0:99999:7::20001:\n"
                                 "old:x:19000:0:99999:7::19999:\nnologin:x:0:0:99999:7:::\n";
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        return false;
    }
    scratch_make(etc);
    if (mount("none", etc, "tmpfs", 0, "mode=755") != 0) {
        return false;
    }
    /* This machine's own /run/nologin must not count, either. */
    if (mount("none", "/run", "tmpfs", 0, "mode=755") != 0) {
        return false;
    }
    size_t used = (size_t)snprintf(long_user, sizeof(long_user), "%slong:x:4010:4001::/", users);
    memset(long_user + used, 'h', LIMIT_PATH_BYTES);
    snprintf(long_user + used + LIMIT_PATH_BYTES, 64, ":/bin/sh\n");
    scratch_write(etc, "passwd", long_user, strlen(long_user), 0644);
    scratch_write(etc, "group", groups, strlen(groups), 0644);
    scratch_write(etc, "shadow", shadow, strlen(shadow), 0600);
    scratch_write(etc, "nsswitch.conf", names, strlen(names), 0644);
    return mount(etc, "/etc", NULL, MS_BIND, NULL) == 0 && umount2(etc, MNT_DETACH) == 0 &&
           rmdir(etc) == 0;
}

TEST(nobody_has_no_home)
{
    account_nobody(&account, &all);
    ck_assert_int_ne(access(account.home, F_OK), 0);
    ck_assert_uint_eq(account.uid, geteuid() == 0 ? 65534 : geteuid());
}

static void start(void)
{
    ck_assert(own_etc());
}

UNIT_NEEDS(unit_in_a_fork(own_etc), "needs root that may mount");
UNIT_FIXTURE(start, NULL);

static const struct {
    const char *user;
    const char *group;  /* or two, with + in between */
    const char *reason; /* NULL: may log in */
} cases[] = {
    {"root", NULL, NULL},
    {"alice", NULL, NULL}, /* locked, expires tomorrow */
    {"bob", NULL, NULL},   /* no shell named, no shadow line */
    {"nologin", NULL, NULL},
    {"old", NULL, "expired"},
    {"long", NULL, "too long a path"},
    {"carol", NULL, "unknown user"},
    {"ALICE", NULL, "unknown user"},
    {"", NULL, "not allowed"},
    {"-flag", NULL, "not allowed"},
    {"a/b", NULL, "not allowed"},
    {".", NULL, "not allowed"},
    {"..", NULL, "not allowed"},
    {"alice\n", NULL, "not allowed"},
    {"alice\x7f", NULL, "not allowed"},
    {"caf\xc3\xa9", NULL, "not allowed"},
    {"alice", "wheel", NULL},
    {"alice", "alice", NULL},
    {"root", "wheel", NULL},
    {"wheelie", "wheel", NULL},
    {"bob", "wheel", "member"},
    {"alice", "empty", "member"},
    {"alice", "nosuchgroup", "member"},
    {"alice", "wheel+empty", NULL},
    {"alice", "empty+wheel", NULL},
    {"alice", "nosuchgroup+alice", NULL},
    {"alice", "empty+nosuchgroup", "member"},
    {"bob", "wheel+empty", "member"},
};

TEST_EACH(who_may_log_in, COUNT_OF(cases))
{
    const char *reason = find(cases[_i].user, cases[_i].group);
    if (cases[_i].reason == NULL) {
        ck_assert_msg(reason == NULL, "%s: %s", cases[_i].user, reason);
        ck_assert_str_eq(account.user, cases[_i].user);
        return;
    }
    ck_assert_msg(reason != NULL, "%s", cases[_i].user);
    assert_contains(reason, cases[_i].reason);
    ck_assert_uint_eq(account.uid, 65534);
    ck_assert_str_eq(account.home, "/nonexistent");
}

static const struct {
    const char *user, *forced, *shell;
    bool refused;
} shells[] = {
    /* Only the key can say what such an account may run: the path of its shell is gone. */
    {"noshell", NULL, "", false},
    {"dirshell", NULL, "", false},
    {"datashell", NULL, "", false},
    {"noshell", "true", NULL, true},
    {"dirshell", "internal-sftp2", NULL, true},
    {"datashell", "", NULL, true},
    /* No shell is looked at. */
    {"noshell", "internal-sftp", "/bin/none", false},
    {"datashell", "internal-sftp -R", "/etc/passwd", false},
    {"alice", NULL, "/bin/sh", false},
    {"alice", "true", "/bin/sh", false},
};

TEST_EACH(who_needs_a_shell, COUNT_OF(shells))
{
    const struct options options = {.forced_command = shells[_i].forced};
    const char *reason = find_by(shells[_i].user, &options, NO_UID);
    if (shells[_i].refused) {
        ck_assert_str_eq(reason, account_words(ACCOUNT_NO_SHELL));
        ck_assert_uint_eq(account.uid, 65534);
    } else {
        ck_assert_ptr_null(reason);
        ck_assert_str_eq(account.shell, shells[_i].shell);
    }
}

TEST(fields_of_an_account)
{
    ck_assert_ptr_null(find("bob", NULL));
    ck_assert_str_eq(account.home, "/home/bob");
    ck_assert_str_eq(account.shell, "/bin/sh");
    ck_assert_uint_eq(account.uid, 4001);
    ck_assert_uint_eq(account.gid, 4001);
}

TEST_EACH(nologin_stops_all_but_root, 2)
{
    static const char *const folders[] = {"/etc", "/run"};
    ck_assert_ptr_null(find("alice", NULL));
    scratch_write(folders[_i], "nologin", "", 0, 0600);
    ck_assert_ptr_null(find("root", NULL));
    assert_contains(find("alice", NULL), _i == 0 ? "/etc/nologin" : "/run/nologin");
    ck_assert_uint_eq(account.uid, 65534);
}

TEST(no_root_keeps_root_out)
{
    const struct options options = {.no_root = true};
    assert_contains(find_by("root", &options, NO_UID), "root may not log in");
    ck_assert_str_eq(account.home, "/nonexistent");
    ck_assert_ptr_null(find_by("alice", &options, NO_UID));
}

/* It could stop the monitor and read the network process's memory. */
TEST(the_servers_own_user_stays_out)
{
    const struct options options = {0};
    assert_contains(find_by("bob", &options, 4001), "the server's own");
    ck_assert_ptr_null(find_by("alice", &options, 4001));
    ck_assert_ptr_null(find_by("root", &options, 4001));
    /* A server that runs as an ordinary user has no other uid. */
    ck_assert_int_eq(setresgid(4001, 4001, 4001), 0);
    ck_assert_int_eq(setresuid(4001, 4001, 4001), 0);
    ck_assert_ptr_null(find_by("bob", &options, 4001));
}

TEST(ordinary_user_serves_itself_only)
{
    ck_assert_int_eq(setresgid(4000, 4000, 4000), 0);
    ck_assert_int_eq(setresuid(4000, 4000, 4000), 0);
    ck_assert_ptr_null(find("alice", NULL));
    ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1), 0);
    ck_assert_int_eq(account_become(&account, &all), 0);
    ck_assert_int_eq(prctl(PR_GET_DUMPABLE), 0);
    assert_contains(find("bob", NULL), "not the user");
    /* The dummy account is one that the child can become. */
    ck_assert_uint_eq(account.uid, 4000);
    ck_assert_int_eq(account_become(&account, &all), 0);
    assert_contains(find("root", NULL), "not the user");
    account.uid = 4001;
    ck_assert_int_eq(account_become(&account, &all), -1);
}

static bool has_group(gid_t wanted)
{
    gid_t mine[64];
    int count = getgroups(64, mine);
    for (int i = 0; i < count; i++) {
        if (mine[i] == wanted) {
            return true;
        }
    }
    return false;
}

TEST(becoming_a_user_can_not_be_undone)
{
    uid_t uids[3];
    gid_t gids[3];
    static const gid_t inherited[] = {0, 4200, 77};
    ck_assert_int_eq(setgroups(3, inherited), 0);
    ck_assert_ptr_null(find("alice", NULL));
    ck_assert_int_eq(account_become(&account, &all), 0);
    ck_assert_int_eq(getresuid(&uids[0], &uids[1], &uids[2]), 0);
    ck_assert_int_eq(getresgid(&gids[0], &gids[1], &gids[2]), 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(uids[i], 4000);
        ck_assert_uint_eq(gids[i], 4000);
    }
    ck_assert(has_group(4100) && has_group(4000));
    ck_assert(!has_group(0) && !has_group(4200) && !has_group(77));
    ck_assert_int_ne(setuid(0), 0);
    ck_assert_int_ne(setgid(0), 0);
    ck_assert_int_eq(prctl(PR_GET_DUMPABLE), 0);
    ck_assert_int_ne(access("/etc/shadow", R_OK), 0);
}

/* The user's programs do not inherit capabilities that a launcher has made inheritable. */
TEST_EACH(no_capability_is_inherited, 2)
{
    struct capability_header header = {.version = CAPABILITY_VERSION_3};
    struct capability_data data[2];
    ck_assert_int_eq(syscall(SYS_capget, &header, data), 0);
    data[0].inheritable = data[0].permitted;
    ck_assert_int_eq(syscall(SYS_capset, &header, data), 0);
    ck_assert_ptr_null(find(_i == 0 ? "alice" : "root", NULL));
    ck_assert_int_eq(account_become(&account, &all), 0);
    ck_assert_int_eq(syscall(SYS_capget, &header, data), 0);
    ck_assert_uint_eq(data[0].inheritable | data[1].inheritable, 0);
    if (_i == 0) {
        ck_assert_uint_eq(data[0].permitted | data[1].permitted | data[0].effective, 0);
    }
}

/* With a launcher's securebits, capabilities may survive the change of uid: this must be noticed.
 */
TEST(a_way_back_to_root_is_noticed)
{
    if (prctl(PR_SET_SECUREBITS, 1 << 2) != 0) { /* SECBIT_NO_SETUID_FIXUP */
        return;
    }
    ck_assert_ptr_null(find("alice", NULL));
    ck_assert_int_eq(account_become(&account, &all), -1);
}

/* musl's initgroups() stops at 32 groups. A login with more than LIMIT_USER_GROUPS is refused, and
 * never gets fewer groups than it has. */
static void join_groups(int count)
{
    static char text[65536];
    size_t used = (size_t)snprintf(text, sizeof(text), "%s", groups);
    for (int i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "g%d:x:%d:alice\n", i, 6000 + i);
    }
    ck_assert_uint_lt(used, sizeof(text) - 1);
    scratch_write("/etc", "group", text, used, 0644);
}

TEST(users_of_many_groups)
{
    join_groups(LIMIT_USER_GROUPS - 2); /* alice's own, and wheel */
    ck_assert_ptr_null(find("alice", "g1021"));
    ck_assert_int_eq(account_become(&account, &all), 0);
    ck_assert_int_eq(getgroups(0, NULL), LIMIT_USER_GROUPS);
}

TEST(users_of_too_many_groups)
{
    join_groups(LIMIT_USER_GROUPS - 1);
    ck_assert_str_eq(find("alice", NULL), "user is in too many groups");
    ck_assert_uint_eq(account.uid, 65534);
}

/* The days are of UTC, wherever the machine is. */
static const struct {
    const char *day;
    int64_t second; /* of today */
    bool expired;
} days[] = {
    {"19999", 0, true},
    {"20000", 0, true},
    {"20000", SECONDS_PER_DAY - 1, true},
    {"20001", 0, false},
    {"20001", SECONDS_PER_DAY - 1, false},
    {"20001", SECONDS_PER_DAY, true},
    {"0", 0, true},
    {"1", 0, true},
    {"0", YEAR_1970, true}, /* a clock without a battery */
    {"1", YEAR_1970, false},
    {"", 0, false},
};

TEST_EACH(day_of_expiry, COUNT_OF(days))
{
    char shadow[128];
    setenv("TZ", _i % 2 == 0 ? "XXX-14" : "XXX+12", 1);
    tzset();
    /* Neither a locked password counts, nor one that must be changed, nor one that has expired. */
    int bytes =
        snprintf(shadow, sizeof(shadow),
                 _i % 2 == 0 ? "alice:!:0:0:1:7:1:%s:\n" : "alice:!:1:0:1:7::%s:\n", days[_i].day);
    scratch_write("/etc", "shadow", shadow, (size_t)bytes, 0600);
    second_of_today = days[_i].second;
    const char *reason = find("alice", NULL);
    ck_assert_msg((reason != NULL) == days[_i].expired, "<%s>", days[_i].day);
    ck_assert_str_eq(reason != NULL ? reason : "", days[_i].expired ? "account has expired" : "");
}

static const struct {
    const char *ages;
    bool closed;
} ages[] = {
    /* The password of day 19900 expires after 90 days, and the account is closed after 9 or 10. */
    {"19900:0:90:7:10:", false},
    {"19900:0:90:7:9:", true},
    {"19899:0:90:7:10:", true},
    {"19900:0:100:7:0:", false},
    {"19900:0:99:7:0:", true},
    {"19900:0:99:7::", false},
    {"19900:0::7:0:", false},
    {":0:90:7:0:", false},
    {"0:0:90:7:0:", false},
    {"20001:0:0:7:0:", false},
    {"1:0:99999:7:0:", false},
    {"9223372036854775807:0:9223372036854775807:7:9223372036854775807:", false},
};

TEST_EACH(days_of_inactivity, COUNT_OF(ages))
{
    char shadow[128];
    int bytes = snprintf(shadow, sizeof(shadow), "alice:!:%s:\n", ages[_i].ages);
    scratch_write("/etc", "shadow", shadow, (size_t)bytes, 0600);
    second_of_today = 0;
    const char *reason = find("alice", NULL);
    ck_assert_msg((reason != NULL) == ages[_i].closed, "<%s>", ages[_i].ages);
    ck_assert(reason == NULL ||
              strcmp(reason, "password has expired, and its inactive days are over") == 0);
}

/* A folder in place of a file can be opened, but not read. */
static void break_file(const char *path)
{
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0755), 0);
}

TEST(expiry_that_can_not_be_read)
{
    break_file("/etc/shadow");
    assert_contains(find("alice", NULL), "could not be looked up");
    ck_assert_uint_eq(account.uid, 65534);
    ck_assert_int_eq(rmdir("/etc/shadow"), 0);
    ck_assert_ptr_null(find("alice", NULL));
}

TEST(groups_that_can_not_be_read)
{
    break_file("/etc/group");
    ck_assert_ptr_nonnull(find("alice", "wheel")); /* the C library finds less without an error */
    ck_assert_int_eq(rmdir("/etc/group"), 0);
    assert_contains(find("alice", "wheel"), "member");
    ck_assert_ptr_null(find("alice", NULL));
    ck_assert_int_eq(account_become(&account, &all), 0);
    ck_assert(!has_group(4100) && !has_group(0));
}

TEST(users_that_can_not_be_read)
{
    break_file("/etc/passwd");
    ck_assert_ptr_nonnull(find("alice", NULL));
    ck_assert_ptr_nonnull(find("root", NULL));
}

/* The session process uses the groups that the child found, and looks up none. */
TEST(groups_stay_as_found)
{
    ck_assert_ptr_null(find("alice", NULL));
    break_file("/etc/group");
    ck_assert_int_eq(account_become(&account, &all), 0);
    ck_assert(has_group(4100) && has_group(4000) && !has_group(0));
}

TEST(root_becomes_root)
{
    static const gid_t inherited[] = {4200};
    ck_assert_int_eq(setgroups(1, inherited), 0);
    ck_assert_ptr_null(find("root", NULL));
    ck_assert_int_eq(account_become(&account, &all), 0);
    ck_assert(!has_group(4200));
}
