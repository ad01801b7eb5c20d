/* users_files.c and account_file.c on malformed files, in a folder that takes the place
 * of /etc. */
#include "users.h"

#include <errno.h>
#include <inttypes.h>

#include "account_file.h"
#include "etc_elsewhere.h"
#include "scratch.h"
#include "unit.h"

#define ALICE "alice:x:4000:4001:Alice,,,:/home/alice:/bin/sh\n"

/* Two paths and two numbers. */
#define USER_BYTES (2 * LIMIT_PATH_BYTES + 32)

static char scratch[SCRATCH_BYTES];

static void set_up(void)
{
    scratch_make(scratch);
    etc_elsewhere = scratch;
}

UNIT_FIXTURE(set_up, NULL);
UNIT_TIMEOUT(100); /* thousands of groups, under an emulator on a busy machine */

static void write_text(const char *name, const char *text)
{
    scratch_write(scratch, name, text, strlen(text), 0644);
}

static const struct {
    const char *text;
    const char *wanted; /* of alice: "uid gid home shell"; "" if there is no such user */
} passwds[] = {
    {ALICE, "4000 4001 /home/alice /bin/sh"},
    {"alice:x:4000:4001:Alice:/home/alice:/bin/sh", "4000 4001 /home/alice /bin/sh"},
    {"root:x:0:0::/root:/bin/sh\n" ALICE, "4000 4001 /home/alice /bin/sh"},
    {"alice:x:1:2::/a:/b\n" ALICE, "1 2 /a /b"},
    {"alice:x:1:2::/a:\n", "1 2 /a "},
    {"alice:x:1:2::/a:", "1 2 /a "},
    {"alice::1:2:::\n", "1 2  "},
    {"alice:x:007:0000000000000000002::/a:/b\n", "7 2 /a /b"},
    {"alice:x:4294967294:0::/a:/b\n", "4294967294 0 /a /b"},
    /* The shell takes what is left: a file of that name is not there. */
    {"alice:x:1:2::/a:/b:c\n", "1 2 /a /b:c"},
    {"alice:x:1:2::/a:/b\r\n", "1 2 /a /b\r"},
    /* Not lines at all. What follows still counts. */
    {"", ""},
    {"\n", ""},
    {"\n\n" ALICE, "4000 4001 /home/alice /bin/sh"},
    {"alice\n", ""},
    {"alice", ""},
    {"alice:x:1:2:g\n", ""},
    {"alice:x:1:2::/a\n", ""},
    {"alice:x:1:2::/a", ""},
    {"alice:x:1:2::/a\n" ALICE, "4000 4001 /home/alice /bin/sh"},
    {"alice:x::2::/a:/b\n", ""},
    {"alice:x:1:::/a:/b\n", ""},
    {"alice:x:+1:2::/a:/b\n", ""},
    {"alice:x:-1:2::/a:/b\n", ""},
    {"alice:x: 1:2::/a:/b\n", ""},
    {"alice:x:1 :2::/a:/b\n", ""},
    {"alice:x:0x1:2::/a:/b\n", ""},
    {"alice:x:1:2a::/a:/b\n", ""},
    {"alice:x:4294967295:2::/a:/b\n", ""},
    {"alice:x:1:4294967295::/a:/b\n", ""},
    {"alice:x:4294967296:2::/a:/b\n", ""},
    {"alice:x:1:4294967296::/a:/b\n", ""},
    {"alice:x:18446744073709551616:2::/a:/b\n", ""},
    {"alice:x:18446744073709551617:2::/a:/b\n", ""},
    {"alice:x:100000000000000000000000000000:2::/a:/b\n", ""},
    {" alice:x:1:2::/a:/b\n", ""},
    {"alice :x:1:2::/a:/b\n", ""},
    {"Alice:x:1:2::/a:/b\n", ""},
    {"alic:x:1:2::/a:/b\nalicee:x:1:2::/a:/b\n", ""},
    {"#alice:x:1:2::/a:/b\n", ""},
    {"+alice:x:1:2::/a:/b\n+:::::::\n" ALICE, "4000 4001 /home/alice /bin/sh"},
    {"-alice:x:1:2::/a:/b\n", ""},
    {":x:1:2::/a:/b\n", ""},
};

static void describe_user(char out[static USER_BYTES], const char *name)
{
    struct user user;
    int found = users_find(&user, name);
    ck_assert_int_ge(found, 0);
    out[0] = '\0';
    if (found > 0) {
        snprintf(out, USER_BYTES, "%u %u %s %s", user.uid, user.gid, user.home, user.shell);
    }
}

TEST_EACH(lines_of_passwd, COUNT_OF(passwds))
{
    char out[USER_BYTES];
    write_text("passwd", passwds[_i].text);
    describe_user(out, "alice");
    ck_assert_msg(strcmp(out, passwds[_i].wanted) == 0, "<%s>: <%s>", passwds[_i].text, out);
}

TEST(names_that_are_no_ones)
{
    static const char *const names[] = {"", "+", "-", "#", "+a", "-a", "#a", "alice:x", "a\nb"};
    char out[USER_BYTES];
    write_text("passwd",
               ":x:0:0::/:/b\n+:x:0:0::/:/b\n-:x:0:0::/:/b\n#:x:0:0::/:/b\n+a:x:0:0::/:/b\n"
               "-a:x:0:0::/:/b\n#a:x:0:0::/:/b\n" ALICE);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        describe_user(out, names[i]);
        ck_assert_msg(out[0] == '\0', "<%s>", names[i]);
    }
}

/* A NUL ends the line of C libraries, so that a home would become a shell. Here it ends nothing. */
TEST(nul_in_every_place)
{
    static const char line[] = "alice:x:1:2:g:/a:/b\n";
    char out[USER_BYTES];
    for (size_t at = 0; at < sizeof(line) - 2; at++) {
        char bytes[sizeof(line) + sizeof(ALICE)];
        memcpy(bytes, line, sizeof(line));
        memcpy(bytes + sizeof(line) - 1, ALICE, sizeof(ALICE));
        bytes[at] = '\0';
        scratch_write(scratch, "passwd", bytes, sizeof(line) + sizeof(ALICE) - 2, 0644);
        describe_user(out, "alice");
        ck_assert_str_eq(out, "4000 4001 /home/alice /bin/sh");
    }
}

TEST(paths_that_are_too_long)
{
    struct user user;
    char path[LIMIT_PATH_BYTES + 1], text[4 * LIMIT_PATH_BYTES];
    memset(path, 'p', sizeof(path));
    for (size_t bytes = LIMIT_PATH_BYTES - 1; bytes <= LIMIT_PATH_BYTES; bytes++) {
        for (int place = 0; place < 2; place++) {
            bool fits = bytes < LIMIT_PATH_BYTES;
            snprintf(text, sizeof(text), "alice:x:1:2::%.*s:%.*s\n%s", place == 0 ? (int)bytes : 1,
                     path, place == 1 ? (int)bytes : 1, path, ALICE);
            write_text("passwd", text);
            ck_assert_int_eq(users_find(&user, "alice"), fits ? 1 : -1);
            ck_assert(fits || errno == ENAMETOOLONG);
            ck_assert(!fits || strlen(user.home) + strlen(user.shell) == bytes + 1);
        }
    }
}

/* Any byte may be at the edge of the buffer, after lines of any length. Far from the edges some
 * lengths stand for all. */
TEST(lines_anywhere_in_the_file)
{
    static char text[8 * ACCOUNT_FILE_BYTES];
    char out[USER_BYTES];
    for (size_t before = 0; before < 2 * ACCOUNT_FILE_BYTES + 64;
         before += (before + 64) % ACCOUNT_FILE_BYTES < 128 ? 1 : 31) {
        /* If the long line were cut, the cut would begin what looks like a line of its own. */
        memset(text, 'a', before);
        strcpy(text + before, "root:x:0:0::/:/bad\n" ALICE);
        write_text("passwd", text);
        describe_user(out, "alice");
        ck_assert_str_eq(out, "4000 4001 /home/alice /bin/sh");
        describe_user(out, "root");
        ck_assert(before == 0 || out[0] == '\0');
    }
}

static const struct {
    const char *text;
    int found;
    gid_t gid;
    const char *groups; /* of alice, whose own is 7 */
} group_files[] = {
    {"wheel:x:10:alice\n", 1, 10, "7 10"},
    {"wheel:x:10:alice", 1, 10, "7 10"},
    {"wheel:x:10:\n", 1, 10, "7"},
    {"wheel:x:10:", 1, 10, "7"},
    {"wheel::10:bob,alice,carol\na:x:11:alice\nb:x:12:bob\n", 1, 10, "7 10 11"},
    {"wheel:x:10:bob\nwheel:x:11:alice\n", 1, 10, "7 11"},
    {"wheel:x:10:alice,alice\n", 1, 10, "7 10"},
    {"a:x:7:alice\nwheel:x:10:,,alice,\n", 1, 10, "7 10"},
    {"wheel:x:10:\nb:x:10:alice\nc:x:10:alice\n", 1, 10, "7 10 10"},
    {"wheel:x:010:alice\n", 1, 10, "7 10"},
    /* Members that are not alice. */
    {"wheel:x:10:malice,alicee,alic,Alice,ali,ce\n", 1, 10, "7"},
    {"wheel:x:10: alice,alice ,alice:,\talice\n", 1, 10, "7"},
    {"wheel:x:10:alice\r\n", 1, 10, "7"},
    {"wheel:x:10:bob:alice\n", 1, 10, "7"},
    {"alice:x:11:bob\nwheel:alice:10:\n", 1, 10, "7"},
    /* No lines. */
    {"", 0, 0, "7"},
    {"wheel\nwheel:\nwheel:x\nwheel:x:10\n", 0, 0, "7"},
    {"wheel:x::alice\n", 0, 0, "7"},
    {"wheel:x:+10:alice\n", 0, 0, "7"},
    {"wheel:x:-10:alice\n", 0, 0, "7"},
    {"wheel:x:10 :alice\n", 0, 0, "7"},
    {"wheel:x:ten:alice\n", 0, 0, "7"},
    {"wheel:x:4294967295:alice\n", 0, 0, "7"},
    {"wheel:x:4294967296:alice\n", 0, 0, "7"},
    {"wheel:x:18446744073709551626:alice\n", 0, 0, "7"},
    {"#wheel:x:10:alice\n+wheel:x:10:alice\n-wheel:x:10:alice\n+:x:10:alice\n", 0, 0, "7"},
    {"whee:x:10:alice\nwheell:x:11:\n", 0, 0, "7 10"},
};

static void describe_groups(char *out, size_t out_bytes, const char *name)
{
    static gid_t groups[LIMIT_USER_GROUPS];
    int count = users_groups(groups, name, 7);
    ck_assert_int_ge(count, 1);
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        used += (size_t)snprintf(out + used, out_bytes - used, "%s%u", i > 0 ? " " : "", groups[i]);
    }
}

TEST_EACH(lines_of_group, COUNT_OF(group_files))
{
    char out[256];
    gid_t gid = 0;
    write_text("group", group_files[_i].text);
    ck_assert_int_eq(users_find_group(&gid, "wheel"), group_files[_i].found);
    ck_assert_uint_eq(gid, group_files[_i].gid);
    describe_groups(out, sizeof(out), "alice");
    ck_assert_msg(strcmp(out, group_files[_i].groups) == 0, "<%s>: %s", group_files[_i].text, out);
}

TEST(nul_in_a_group)
{
    char out[64];
    static const char text[] = "wheel:x:10:alice,b\0b\nok:x:11:alice\n";
    gid_t gid;
    scratch_write(scratch, "group", text, sizeof(text) - 1, 0644);
    ck_assert_int_eq(users_find_group(&gid, "wheel"), 0);
    describe_groups(out, sizeof(out), "alice");
    ck_assert_str_eq(out, "7 11");
}

/* Thousands of members, with the one that counts at every place, and a look-alike of another line
 * in the middle. */
TEST(groups_of_thousands)
{
    static char text[65536];
    char out[64];
    size_t used = (size_t)snprintf(text, sizeof(text), "huge:x:10:");
    size_t at[64];
    for (size_t i = 0; used < sizeof(text) - 256; i++) {
        at[i % 64] = used;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "m%05zu,", i);
    }
    snprintf(text + used, sizeof(text) - used, "last\nwheel:x:11:alice\nfake:x:12:last\n");
    write_text("group", text);
    describe_groups(out, sizeof(out), "last");
    ck_assert_str_eq(out, "7 10 12");
    describe_groups(out, sizeof(out), "alice");
    ck_assert_str_eq(out, "7 11");
    for (size_t i = 0; i < 64; i++) {
        char name[8] = "";
        memcpy(name, text + at[i], 6);
        describe_groups(out, sizeof(out), name);
        ck_assert_str_eq(out, "7 10");
    }
}

TEST(more_groups_than_fit)
{
    static char text[65536];
    static gid_t groups[LIMIT_USER_GROUPS];
    size_t used = 0;
    for (int i = 1; i <= LIMIT_USER_GROUPS; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "g:x:%d:alice\n", 100 + i);
        write_text("group", text);
        if (i >= LIMIT_USER_GROUPS - 2) {
            bool fits = i < LIMIT_USER_GROUPS;
            ck_assert_int_eq(users_groups(groups, "alice", 7), fits ? i + 1 : -1);
            ck_assert(fits || errno == ERANGE);
        }
    }
}

static const struct {
    const char *text;
    int result;
    int64_t day;
} shadows[] = {
    {"alice:!:19000:0:99999:7::123:\n", 1, 123},
    {"alice:!:19000:0:99999:7::123:", 1, 123},
    {"alice:!:19000:0:99999:7::123\n", 1, 123},
    {"alice:!:19000:0:99999:7::0:\n", 1, 0},
    {"alice:!::::::123:\n", 1, 123},
    {"alice:!:19000:0:99999:7::9223372036854775807:\n", 1, INT64_MAX},
    {"alice:!:19000:0:99999:7:::\n", 1, -1},
    {"alice:!:19000:0:99999:7::\n", 1, -1},
    {"alice:!:19000:0:99999:7:::\nalice:!:19000:0:99999:7::123:\n", 1, -1},
    {"alice:!:19000:0:99999:7::123:\nalice:!:19000:0:99999:7:::\n", 1, 123},
    {"bob:!:19000:0:99999:7::123:\n", 0, 0},
    {"", 0, 0},
    {"#alice:!:19000:0:99999:7::123:\n", 0, 0},
    /* Lines that end before the day. */
    {"alice\nalice:!\nalice:!:19000:0:99999:7:\n", 0, 0},
    {"alice:!:19000:0:99999\nalice:!:19000:0:99999:7::123:\n", 1, 123},
    /* What can't be read must not mean "never". */
    {"alice:!:19000:0:99999:7::12x:\n", -1, 0},
    {"alice:!:x:0:99999:7:::\n", -1, 0},
    {"alice:!:19000:0:1e5:7:::\n", -1, 0},
    {"alice:!:19000:0:99999:7: 5::\n", -1, 0},
    {"alice:!:19000:0:99999:7:-2::\n", -1, 0},
    {"alice:!:19000:x:99999:0x7::123:\n", 1, 123},
    {"alice:!:-1:-1:-1:-1:-1:-1:\n", 1, -1},
    {"alice:!:19000:0:99999:7::-2:\n", -1, 0},
    {"alice:!:19000:0:99999:7::+1:\n", -1, 0},
    {"alice:!:19000:0:99999:7:: :\n", -1, 0},
    {"alice:!:19000:0:99999:7::123\r\n", -1, 0},
    {"alice:!:19000:0:99999:7::9223372036854775808:\n", -1, 0},
    {"alice:!:19000:0:99999:7::1000000000000000000000000000:\n", -1, 0},
    {"alice:!:19000:0:99999:7::0000000000000000000000000001:\n", -1, 0},
};

TEST_EACH(lines_of_shadow, COUNT_OF(shadows))
{
    struct user_days days;
    write_text("shadow", shadows[_i].text);
    ck_assert_msg(users_days(&days, "alice") == shadows[_i].result, "<%s>", shadows[_i].text);
    ck_assert(shadows[_i].result <= 0 || days.expires == shadows[_i].day);
}

TEST(days_of_shadow)
{
    struct user_days days;
    write_text("shadow", "bob:!:1:2:3:4:5:6:\nalice:!:11:12:13:14:15:16:\n");
    ck_assert_int_eq(users_days(&days, "alice"), 1);
    ck_assert_int_eq(days.changed, 11);
    ck_assert_int_eq(days.most, 13);
    ck_assert_int_eq(days.inactive, 15);
    ck_assert_int_eq(days.expires, 16);
    write_text("shadow", "alice:!:::::::\n");
    ck_assert_int_eq(users_days(&days, "alice"), 1);
    ck_assert(days.changed == -1 && days.most == -1 && days.inactive == -1 && days.expires == -1);
}

TEST(nul_in_shadow)
{
    struct user_days days;
    static const char text[] = "alice:!:19000:0:99999:7::\0:\n";
    static const char later[] = "alice:!:19000:0:99999:7:::\0\n";
    scratch_write(scratch, "shadow", text, sizeof(text) - 1, 0600);
    ck_assert_int_eq(users_days(&days, "alice"), -1);
    scratch_write(scratch, "shadow", later, sizeof(later) - 1, 0600);
    ck_assert_int_eq(users_days(&days, "alice"), -1);
}

TEST(files_that_are_missing)
{
    struct user user;
    gid_t gid, groups[LIMIT_USER_GROUPS];
    struct user_days days;
    ck_assert_int_eq(users_find(&user, "alice"), 0);
    ck_assert_int_eq(users_find_group(&gid, "wheel"), 0);
    ck_assert_int_eq(users_groups(groups, "alice", 7), 1);
    ck_assert_uint_eq(groups[0], 7);
    ck_assert_int_eq(users_days(&days, "alice"), 0);
}

/* A folder can be opened, but not read. */
TEST(files_that_can_not_be_read)
{
    struct user user;
    gid_t gid, groups[LIMIT_USER_GROUPS];
    struct user_days days;
    static const char *const names[] = {"passwd", "group", "shadow"};
    for (size_t i = 0; i < 3; i++) {
        char path[SCRATCH_BYTES + 16];
        snprintf(path, sizeof(path), "%s/%s", scratch, names[i]);
        ck_assert_int_eq(mkdir(path, 0700), 0);
    }
    ck_assert(users_find(&user, "alice") == -1 && errno == EISDIR);
    ck_assert(users_find_group(&gid, "wheel") == -1 && errno == EISDIR);
    ck_assert(users_groups(groups, "alice", 7) == -1 && errno == EISDIR);
    ck_assert(users_days(&days, "alice") == -1 && errno == EISDIR);
}

TEST(nothing_of_a_table_stays)
{
    static struct account_file file;
    char name[16];
    static const char zeros[ACCOUNT_FILE_BYTES];
    write_text("shadow", "alice:$6$secret:19000:0:99999:7::123:\n");
    ck_assert_int_eq(account_file_open(&file, "shadow"), 1);
    ck_assert(account_file_next(&file) && account_file_field(&file, ':', name, sizeof(name)));
    ck_assert_int_ne(memcmp(file.bytes, zeros, ACCOUNT_FILE_BYTES), 0);
    ck_assert_int_eq(account_file_close(&file), 0);
    ck_assert_int_eq(memcmp(file.bytes, zeros, ACCOUNT_FILE_BYTES), 0);
}
