/*
 * users_files.c against users_nss.c, whose functions are called nss_... here, on sound files in an
 * /etc of its own, where the test is root and may mount. tests/fuzz/account_files.c has damaged
 * files.
 */
#include "users.h"

#include <errno.h>
#include <pwd.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>

#include "etc_elsewhere.h"
#include "scratch.h"
#include "unit.h"

#define TEXT_BYTES 4096

int nss_find(struct user *user, const char *name);
int nss_find_group(gid_t *gid, const char *name);
int nss_groups(gid_t groups[static LIMIT_USER_GROUPS], const char *name, gid_t primary);
int nss_days(struct user_days *days, const char *name);
int nss_each(void (*visit)(const char *name));

static const char *const names[] = {"root", "a", "ab", "aba", "b", "bob", "wheel", "x"};
#define NAMES (sizeof(names) / sizeof(names[0]))

static uint64_t state = 1;

static unsigned draw(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 20) % below);
}

static const char *draw_name(void)
{
    return names[draw(NAMES)];
}

static void make_passwd(char text[static TEXT_BYTES])
{
    size_t used = 0;
    for (unsigned lines = draw(9); lines > 0; lines--) {
        used += (size_t)snprintf(text + used, TEXT_BYTES - used, "%s:x:%u:%u:%s:/%s:/bin/%s\n",
                                 draw_name(), draw(9999), draw(9999), draw_name(), draw_name(),
                                 draw(3) != 0 ? "sh" : "");
    }
    text[used] = '\0';
}

static void make_group(char text[static TEXT_BYTES])
{
    size_t used = 0;
    for (unsigned lines = draw(9); lines > 0; lines--) {
        used += (size_t)snprintf(text + used, TEXT_BYTES - used, "%s:x:%u:", draw_name(), draw(20));
        for (unsigned members = draw(6); members > 0; members--) {
            used += (size_t)snprintf(text + used, TEXT_BYTES - used, "%s%s", draw_name(),
                                     members > 1 ? "," : "");
        }
        text[used++] = '\n';
    }
    text[used] = '\0';
}

static void make_shadow(char text[static TEXT_BYTES])
{
    size_t used = 0;
    for (unsigned lines = draw(9); lines > 0; lines--) {
        char day[16] = "";
        if (draw(2) == 0) {
            snprintf(day, sizeof(day), "%u", draw(99999));
        }
        used += (size_t)snprintf(text + used, TEXT_BYTES - used, "%s:!:19000:0:99999:7::%s:\n",
                                 draw_name(), day);
    }
    text[used] = '\0';
}

static bool own_etc(void)
{
    static const char services[] = "passwd: files\ngroup: files\nshadow: files\n";
    etc_elsewhere = "/etc";
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/etc", "tmpfs", 0, "mode=755") != 0) {
        return false;
    }
    scratch_write("/etc", "nsswitch.conf", services, strlen(services), 0644);
    return true;
}

static void start(void)
{
    ck_assert(own_etc());
}

UNIT_NEEDS(unit_in_a_fork(own_etc), "needs root that may mount");
UNIT_FIXTURE(start, NULL);
UNIT_TIMEOUT(60);

static void compare_with_nss(const char *name)
{
    struct user user, same_user;
    gid_t gid = 0, same_gid = 0, groups[LIMIT_USER_GROUPS], same_groups[LIMIT_USER_GROUPS];
    struct user_days days, same_days;
    int found = users_find(&user, name);
    ck_assert_int_eq(found, nss_find(&same_user, name));
    ck_assert(found == 0 ||
              (user.uid == same_user.uid && user.gid == same_user.gid &&
               strcmp(user.home, same_user.home) == 0 && strcmp(user.shell, same_user.shell) == 0));
    ck_assert_int_eq(users_find_group(&gid, name), nss_find_group(&same_gid, name));
    ck_assert_uint_eq(gid, same_gid);
    int count = users_groups(groups, name, 7);
    ck_assert_int_eq(count, nss_groups(same_groups, name, 7));
    ck_assert_mem_eq(groups, same_groups, (size_t)count * sizeof(gid_t));
    int aged = users_days(&days, name);
    ck_assert_int_eq(aged, nss_days(&same_days, name));
    ck_assert(aged == 0 || memcmp(&days, &same_days, sizeof(days)) == 0);
}

static char listed[TEXT_BYTES];

static void append_name(const char *name)
{
    strcat(strcat(listed, name), " ");
}

static void compare_lists(void)
{
    char wanted[TEXT_BYTES];
    listed[0] = '\0';
    ck_assert_int_eq(nss_each(append_name), 0);
    strcpy(wanted, listed);
    listed[0] = '\0';
    ck_assert_int_eq(users_each(append_name), 0);
    ck_assert_str_eq(listed, wanted);
    endpwent();
}

TEST(sound_files)
{
    char text[TEXT_BYTES];
    static void (*const makers[])(char[static TEXT_BYTES]) = {make_passwd, make_group, make_shadow};
    static const char *const files[] = {"passwd", "group", "shadow"};
    for (uint64_t seed = 1; seed <= 300; seed++) {
        state = 0x4000000 + seed;
        for (size_t i = 0; i < 3; i++) {
            makers[i](text);
            size_t bytes = strlen(text);
            scratch_write("/etc", files[i], text, bytes - (bytes > 0 ? draw(2) : 0), 0600);
        }
        for (size_t i = 0; i < NAMES; i++) {
            compare_with_nss(names[i]);
        }
        compare_lists();
    }
}

/* Both fail in the same way. */
TEST(files_that_are_missing_or_none)
{
    struct user user;
    gid_t gid;
    struct user_days days;
    ck_assert(nss_find(&user, "bob") == 0 && users_find(&user, "bob") == 0);
    ck_assert(nss_find_group(&gid, "bob") == 0 && users_find_group(&gid, "bob") == 0);
    ck_assert(nss_days(&days, "bob") == 0 && users_days(&days, "bob") == 0);
    ck_assert(mkdir("/etc/shadow", 0700) == 0 && users_days(&days, "bob") == -1);
}

/* A line that is too long for the buffer must not count as a missing line. */
TEST(shadow_that_can_not_be_told)
{
    static char text[65536];
    struct user_days days;
    memset(text, 'h', sizeof(text));
    memcpy(text, "bob:", 4);
    strcpy(text + sizeof(text) - 32, ":1:0:9:7::1:\n");
    scratch_write("/etc", "shadow", text, strlen(text), 0600);
    ck_assert_int_eq(nss_days(&days, "bob"), -1);
    ck_assert_int_eq(users_days(&days, "bob"), 1);
}
