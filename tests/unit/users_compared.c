/*
 * users_files.c against the C library, on generated files. Against fgetpwent() and its like, line
 * by line, on damaged files; against users_nss.c (its functions are called nss_... here) on sound
 * ones in an /etc of its own, where the test is root and may mount.
 */
#include "users.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <shadow.h>
#include <stdbool.h>
#include <sys/mount.h>

#include "etc_elsewhere.h"
#include "scratch.h"
#include "unit.h"

#define FILES      1500
#define TEXT_BYTES 4096

int nss_find(struct user *user, const char *name);
int nss_find_group(gid_t *gid, const char *name);
int nss_groups(gid_t groups[static LIMIT_USER_GROUPS], const char *name, gid_t primary);
int nss_days(struct user_days *days, const char *name);
int nss_each(void (*visit)(const char *name));

static const char *const names[] = {"root", "a", "ab", "aba", "b", "bob", "wheel", "x"};
#define NAMES (sizeof(names) / sizeof(names[0]))

static char scratch[SCRATCH_BYTES];
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

static void set_up(void)
{
    scratch_make(scratch);
    etc_elsewhere = scratch;
}

UNIT_FIXTURE(set_up, NULL);
UNIT_TIMEOUT(60);

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

/* Bytes that mean the same to every reader: signs, blanks, comments and NULs do not, users.c has
 * them. */
static void damage(char text[static TEXT_BYTES])
{
    static const char alphabet[] = "::::,,\n\nabx019/";
    for (unsigned times = draw(5); times > 0; times--) {
        size_t bytes = strlen(text);
        size_t at = draw((unsigned)bytes + 1);
        char byte = alphabet[draw(sizeof(alphabet) - 1)];
        switch (draw(3)) {
        case 0:
            text[at] = at < bytes ? byte : '\0';
            break;
        case 1:
            memmove(text + at, text + at + (at < bytes ? 1 : 0), bytes - at + (at < bytes ? 0 : 1));
            break;
        default:
            memmove(text + at + 1, text + at, bytes - at + 1);
            text[at] = byte;
        }
    }
}

/* The next line that has as many colons, alone in a stream; NULL at the end. */
static FILE *next_line(const char **at, size_t colons)
{
    while (**at != '\0') {
        size_t bytes = strcspn(*at, "\n");
        const char *line = *at;
        size_t found = 0;
        for (size_t i = 0; i < bytes; i++) {
            found += line[i] == ':' ? 1 : 0;
        }
        *at += bytes + (line[bytes] == '\n' ? 1 : 0);
        if (found >= colons) {
            static char copy[TEXT_BYTES];
            snprintf(copy, sizeof(copy), "%.*s\n", (int)bytes, line);
            FILE *stream = fmemopen(copy, strlen(copy), "r");
            ck_assert_ptr_nonnull(stream);
            return stream;
        }
    }
    return NULL;
}

static bool is_id(unsigned id)
{
    return id != UINT32_MAX;
}

static void compare_passwd(uint64_t seed)
{
    char text[TEXT_BYTES];
    state = 0x1000 + seed;
    make_passwd(text);
    damage(text);
    scratch_write(scratch, "passwd", text, strlen(text), 0644);
    for (size_t i = 0; i < NAMES; i++) {
        struct user user;
        int found = users_find(&user, names[i]);
        bool wanted = false;
        const char *at = text;
        for (FILE *line; !wanted && (line = next_line(&at, 6)) != NULL; fclose(line)) {
            const struct passwd *entry = fgetpwent(line);
            wanted = entry != NULL && strcmp(entry->pw_name, names[i]) == 0 &&
                     is_id(entry->pw_uid) && is_id(entry->pw_gid);
            ck_assert_msg(!wanted ||
                              (found == 1 && user.uid == entry->pw_uid &&
                               user.gid == entry->pw_gid && strcmp(user.home, entry->pw_dir) == 0 &&
                               strcmp(user.shell, entry->pw_shell) == 0),
                          "%s in\n%s", names[i], text);
        }
        ck_assert_msg(found == (wanted ? 1 : 0), "%s in\n%s", names[i], text);
    }
}

TEST(damaged_passwd)
{
    for (uint64_t seed = 0; seed < FILES; seed++) {
        compare_passwd(seed);
    }
}

static bool has_member(const struct group *entry, const char *name)
{
    for (char **member = entry->gr_mem; *member != NULL; member++) {
        if (strcmp(*member, name) == 0) {
            return true;
        }
    }
    return false;
}

static void compare_group(uint64_t seed)
{
    char text[TEXT_BYTES];
    state = 0x2000000 + seed;
    make_group(text);
    damage(text);
    scratch_write(scratch, "group", text, strlen(text), 0644);
    for (size_t i = 0; i < NAMES; i++) {
        gid_t gid = 0, wanted_gid = 0, groups[LIMIT_USER_GROUPS], wanted[64] = {7};
        int found = users_find_group(&gid, names[i]);
        int count = users_groups(groups, names[i], 7);
        int wanted_count = 1;
        bool wanted_found = false;
        const char *at = text;
        for (FILE *line; (line = next_line(&at, 3)) != NULL; fclose(line)) {
            const struct group *entry = fgetgrent(line);
            if (entry == NULL || !is_id(entry->gr_gid)) {
                continue;
            }
            if (!wanted_found && strcmp(entry->gr_name, names[i]) == 0) {
                wanted_found = true;
                wanted_gid = entry->gr_gid;
            }
            if (entry->gr_gid != 7 && has_member(entry, names[i])) {
                wanted[wanted_count++] = entry->gr_gid;
            }
        }
        ck_assert_msg(found == (wanted_found ? 1 : 0) && gid == wanted_gid, "%s in\n%s", names[i],
                      text);
        ck_assert_msg(count == wanted_count &&
                          memcmp(groups, wanted, (size_t)count * sizeof(gid_t)) == 0,
                      "%s in\n%s", names[i], text);
    }
}

TEST(damaged_group)
{
    for (uint64_t seed = 0; seed < FILES; seed++) {
        compare_group(seed);
    }
}

/* The first line of the name decides. If the C library can't read it we need not agree. */
static void compare_shadow(uint64_t seed)
{
    char text[TEXT_BYTES];
    state = 0x3000000 + seed;
    make_shadow(text);
    damage(text);
    scratch_write(scratch, "shadow", text, strlen(text), 0600);
    for (size_t i = 0; i < NAMES; i++) {
        struct user_days days;
        int found = users_days(&days, names[i]);
        bool seen = false;
        const char *at = text;
        for (FILE *line; !seen && (line = next_line(&at, 7)) != NULL; fclose(line)) {
            const char *start = at - 1;
            while (start > text && start[-1] != '\n') {
                start--;
            }
            size_t bytes = strlen(names[i]);
            seen = strncmp(start, names[i], bytes) == 0 && start[bytes] == ':';
            const struct spwd *entry = seen ? fgetspent(line) : NULL;
            ck_assert_msg(entry == NULL || found == 1, "%s in\n%s", names[i], text);
            ck_assert(entry == NULL ||
                      (days.changed == entry->sp_lstchg && days.most == entry->sp_max &&
                       days.inactive == entry->sp_inact && days.expires == entry->sp_expire));
        }
        ck_assert_msg(seen || found == 0, "%s in\n%s", names[i], text);
    }
}

TEST(damaged_shadow)
{
    for (uint64_t seed = 0; seed < FILES; seed++) {
        compare_shadow(seed);
    }
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
    if (!own_etc()) {
        return;
    }
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
    if (!own_etc()) {
        return;
    }
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
    if (!own_etc()) {
        return;
    }
    memset(text, 'h', sizeof(text));
    memcpy(text, "bob:", 4);
    strcpy(text + sizeof(text) - 32, ":1:0:9:7::1:\n");
    scratch_write("/etc", "shadow", text, strlen(text), 0600);
    ck_assert_int_eq(nss_days(&days, "bob"), -1);
    ck_assert_int_eq(users_days(&days, "bob"), 1);
}
