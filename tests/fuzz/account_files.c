/*
 * passwd(5), group(5) and shadow(5), by two second opinions: a reader of the whole file in memory,
 * and glibc's fgetpwent(3), fgetgrent(3) and fgetspent(3).
 *
 * glibc is asked only for files of which all lines are sound, as the product differs by design on
 * others: it takes no sign and no blank in a number, no id of (uid_t)-1, no blank before a name,
 * and it skips lines with a NUL and those of "+" and "-", for which glibc has a meaning. In a day
 * of shadow(5) that is no number it sees an error, not "never".
 *
 * Input: a byte with the question; pieces (a length and the bytes, support/memory_file.h); a line
 * with the name; then the file. 0xfe in it stands for the name.
 */
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <shadow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account_file.h"
#include "memory_file.h"
#include "second.h"
#include "users.h"

#define FILE_BYTES 32768
#define NAME_BYTES 300

static struct input whole, pieces;
static size_t broken_from;

/* In the place of src/users/etc.c. */
int etc_open(const char *name)
{
    FUZZ_CHECK(strcmp(name, "passwd") == 0 || strcmp(name, "group") == 0 ||
               strcmp(name, "shadow") == 0);
    int fd = memory_file_open(0, whole, pieces);
    memory_file_break(fd, broken_from);
    return fd;
}

/* ---- the answers ----------------------------------------------------------------------------- */

struct answer {
    int result;
    int error;
    struct user user;
    gid_t gid;
    struct user_days days;
    gid_t groups[LIMIT_USER_GROUPS];
};

enum { ASK_USER, ASK_GROUP, ASK_GROUPS, ASK_DAYS, QUESTIONS };

#define PRIMARY 20

static void ask(struct answer *answer, unsigned question, const char *name)
{
    memset(answer, 0, sizeof(*answer));
    errno = 0;
    switch (question) {
    case ASK_USER:
        answer->result = users_find(&answer->user, name);
        break;
    case ASK_GROUP:
        answer->result = users_find_group(&answer->gid, name);
        break;
    case ASK_GROUPS:
        answer->result = users_groups(answer->groups, name, PRIMARY);
        break;
    default:
        answer->result = users_days(&answer->days, name);
    }
    answer->error = answer->result < 0 ? errno : 0;
    FUZZ_CHECK(memory_files_open() == 0);
}

static void same(const struct answer *one, const struct answer *other, unsigned question)
{
    FUZZ_CHECK(one->result == other->result && one->error == other->error);
    if (one->result <= 0) {
        return;
    }
    if (question == ASK_USER) {
        FUZZ_CHECK(one->user.uid == other->user.uid && one->user.gid == other->user.gid);
        FUZZ_CHECK(strcmp(one->user.home, other->user.home) == 0);
        FUZZ_CHECK(strcmp(one->user.shell, other->user.shell) == 0);
    } else if (question == ASK_GROUPS) {
        size_t bytes = sizeof(gid_t) * (size_t)one->result;
        FUZZ_CHECK(memcmp(one->groups, other->groups, bytes) == 0);
    } else {
        FUZZ_CHECK(one->gid == other->gid);
        FUZZ_CHECK(memcmp(&one->days, &other->days, sizeof(one->days)) == 0);
    }
}

/* ---- in memory ------------------------------------------------------------------------------- */

#define MOST_FIELDS 9

/* Splits at colons; the last of `most` fields takes the rest. */
static size_t split(struct input *fields, size_t most, struct input line)
{
    size_t count = 0;
    fields[count++] = (struct input){line.at, 0};
    for (size_t i = 0; i < line.left; i++) {
        if (line.at[i] == ':' && count < most) {
            fields[count++] = (struct input){line.at + i + 1, 0};
        } else {
            fields[count - 1].left++;
        }
    }
    return count;
}

static bool read_number(struct input text, uint64_t most, uint64_t *number)
{
    char digits[24], *end;
    if (text.left == 0 || text.left >= sizeof(digits) || second_has_nul(text)) {
        return false;
    }
    input_text(text, digits, sizeof(digits));
    if (strspn(digits, "0123456789") != text.left) {
        return false;
    }
    errno = 0;
    *number = strtoull(digits, &end, 10);
    return errno == 0 && *number <= most;
}

static bool is_id(struct input text, uint64_t *id)
{
    return read_number(text, UINT32_MAX - 1ULL, id);
}

/* True if the line answers the question. */
static bool read_user(struct answer *answer, struct input line, const char *name)
{
    struct input fields[7];
    uint64_t uid, gid;
    if (split(fields, 7, line) < 7 || second_has_nul(line) || fields[0].left == 0 ||
        !second_is(fields[0], name) || !is_id(fields[2], &uid) || !is_id(fields[3], &gid)) {
        return false;
    }
    bool fits = fields[5].left < LIMIT_PATH_BYTES && fields[6].left < LIMIT_PATH_BYTES;
    answer->result = fits ? 1 : -1;
    answer->error = fits ? 0 : ENAMETOOLONG;
    answer->user.uid = (uid_t)uid;
    answer->user.gid = (gid_t)gid;
    input_text(fields[5], answer->user.home, sizeof(answer->user.home));
    input_text(fields[6], answer->user.shell, sizeof(answer->user.shell));
    return true;
}

static bool read_group(struct answer *answer, struct input line, const char *name)
{
    struct input fields[4];
    uint64_t gid;
    if (split(fields, 4, line) < 4 || second_has_nul(line) || fields[0].left == 0 ||
        !second_is(fields[0], name) || !is_id(fields[2], &gid)) {
        return false;
    }
    answer->result = 1;
    answer->gid = (gid_t)gid;
    return true;
}

static bool has_member(struct input list, const char *name)
{
    size_t start = 0;
    for (size_t i = 0; i <= list.left; i++) {
        if (i == list.left || list.at[i] == ',') {
            if (i > start && second_is((struct input){list.at + start, i - start}, name)) {
                return true;
            }
            start = i + 1;
        }
    }
    return false;
}

static bool read_member(struct answer *answer, struct input line, const char *name)
{
    struct input fields[4];
    uint64_t gid;
    if (split(fields, 4, line) < 4 || second_has_nul(line) || !is_id(fields[2], &gid) ||
        gid == PRIMARY || !has_member(fields[3], name)) {
        return false;
    }
    if (answer->result == LIMIT_USER_GROUPS) {
        answer->result = -1;
        answer->error = ERANGE;
        return true;
    }
    answer->groups[answer->result++] = (gid_t)gid;
    return false;
}

static bool read_days(struct answer *answer, struct input line, const char *name)
{
    struct input fields[MOST_FIELDS];
    int64_t days[8];
    bool good = !second_has_nul(line);
    if (split(fields, MOST_FIELDS, line) < 8 || fields[0].left == 0 ||
        !second_is(fields[0], name)) {
        return false;
    }
    for (size_t i = 2; i < 8; i++) {
        uint64_t day = 0;
        bool given = fields[i].left > 0 && !second_is(fields[i], "-1");
        bool ignored = i == 3 || i == 5;
        good = good && (!given || ignored || read_number(fields[i], INT64_MAX, &day));
        days[i] = given ? (int64_t)day : -1;
    }
    answer->result = good ? 1 : -1;
    answer->error = good ? 0 : EINVAL;
    answer->days = (struct user_days){days[2], days[4], days[6], days[7]};
    return true;
}

static void read_whole(struct answer *answer, unsigned question, const char *name)
{
    bool (*const readers[])(struct answer *, struct input, const char *) = {read_user, read_group,
                                                                            read_member, read_days};
    struct input rest = whole;
    bool found = false;
    memset(answer, 0, sizeof(*answer));
    if (question == ASK_GROUPS) {
        answer->groups[answer->result++] = PRIMARY;
    }
    while (rest.left > 0 && !found) {
        const struct input line = input_line(&rest);
        bool service = line.left > 0 && strchr("#+-", line.at[0]) != NULL && line.at[0] != 0;
        found = !service && readers[question](answer, line, name);
    }
}

/* ---- glibc ----------------------------------------------------------------------------------- */

static bool is_word(struct input text, const char *others)
{
    for (size_t i = 0; i < text.left; i++) {
        bool other = text.at[i] != 0 && strchr(others, text.at[i]) != NULL;
        if (!other && !(isascii(text.at[i]) && isalnum(text.at[i]))) {
            return false;
        }
    }
    return true;
}

/* An empty number of shadow(5) is -1, otherwise it is small. */
static bool are_sound_days(const struct input *fields)
{
    uint64_t number;
    for (size_t i = 2; i < 8; i++) {
        if (fields[i].left > 0 && !read_number(fields[i], 99999, &number)) {
            return false;
        }
    }
    return fields[8].left == 0;
}

static bool is_sound(unsigned question, struct input line)
{
    static const size_t counts[] = {7, 4, 4, 9};
    struct input fields[MOST_FIELDS];
    uint64_t id;
    size_t count = split(fields, counts[question], line);
    if (count < counts[question] || fields[0].left == 0 || !isalpha(fields[0].at[0]) ||
        line.left > 900) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        bool members = question == ASK_GROUP || question == ASK_GROUPS;
        const char *others = members && i == 3 ? "_.-," : i >= 4 ? "_.-/ " : "_.-";
        if (!is_word(fields[i], others)) {
            return false;
        }
    }
    switch (question) {
    case ASK_USER:
        return is_id(fields[2], &id) && is_id(fields[3], &id);
    case ASK_DAYS:
        return are_sound_days(fields);
    default:
        return is_id(fields[2], &id);
    }
}

static bool is_sound_file(unsigned question)
{
    struct input rest = whole;
    while (rest.left > 0) {
        const struct input line = input_line(&rest);
        if (line.left > 0 && line.at[0] != '#' && !is_sound(question, line)) {
            return false;
        }
        if (second_has_nul(line)) {
            return false;
        }
    }
    return whole.left > 0; /* fmemopen() takes no empty buffer */
}

static bool lists(char **members, const char *name)
{
    for (; *members != NULL; members++) {
        if (name[0] != '\0' && strcmp(*members, name) == 0) {
            return true;
        }
    }
    return false;
}

static void ask_groups(struct answer *answer, FILE *stream, unsigned question, const char *name)
{
    struct group *group;
    while ((group = fgetgrent(stream)) != NULL && answer->result >= 0) {
        if (question == ASK_GROUP && strcmp(group->gr_name, name) == 0) {
            answer->result = 1;
            answer->gid = group->gr_gid;
            return;
        }
        if (question == ASK_GROUPS && group->gr_gid != PRIMARY && lists(group->gr_mem, name)) {
            if (answer->result == LIMIT_USER_GROUPS) {
                answer->result = -1;
                answer->error = ERANGE;
                return;
            }
            answer->groups[answer->result++] = group->gr_gid;
        }
    }
}

static void ask_glibc(struct answer *answer, unsigned question, const char *name)
{
    FILE *stream = fmemopen((void *)(uintptr_t)whole.at, whole.left, "r");
    struct passwd *user = NULL;
    struct spwd *shadow = NULL;
    FUZZ_CHECK(stream != NULL);
    memset(answer, 0, sizeof(*answer));
    if (question == ASK_USER) {
        while ((user = fgetpwent(stream)) != NULL && strcmp(user->pw_name, name) != 0) {
        }
    } else if (question == ASK_DAYS) {
        while ((shadow = fgetspent(stream)) != NULL && strcmp(shadow->sp_namp, name) != 0) {
        }
    } else {
        answer->groups[0] = PRIMARY;
        answer->result = question == ASK_GROUPS ? 1 : 0;
        ask_groups(answer, stream, question, name);
    }
    if (user != NULL) {
        answer->result = 1;
        answer->user.uid = user->pw_uid;
        answer->user.gid = user->pw_gid;
        snprintf(answer->user.home, sizeof(answer->user.home), "%s", user->pw_dir);
        snprintf(answer->user.shell, sizeof(answer->user.shell), "%s", user->pw_shell);
    }
    if (shadow != NULL) {
        answer->result = 1;
        answer->days = (struct user_days){shadow->sp_lstchg, shadow->sp_max, shadow->sp_inact,
                                          shadow->sp_expire};
    }
    fclose(stream);
}

/* ---- the comparison -------------------------------------------------------------------------- */

static void check(unsigned question, const char *name, struct input some_pieces)
{
    static struct answer found, other;
    pieces = (struct input){NULL, 0};
    broken_from = SIZE_MAX;
    ask(&found, question, name);
    read_whole(&other, question, name);
    same(&found, &other, question);
    pieces = some_pieces;
    ask(&other, question, name);
    same(&found, &other, question);
    if (is_sound_file(question)) {
        ask_glibc(&other, question, name);
        same(&found, &other, question);
    }
    broken_from = whole.left * 2654435761U % (whole.left + 1);
    ask(&other, question, name);
    if (other.error != EIO) {
        same(&found, &other, question);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t text[FILE_BYTES];
    struct input input = {data, size};
    char name[NAME_BYTES];
    unsigned question = input_u8(&input) % QUESTIONS;
    const struct input some_pieces = input_take(&input, input_u8(&input));
    input_text(input_line(&input), name, sizeof(name));
    whole = (struct input){text, second_expand(text, sizeof(text), input, name)};
    uint8_t *copy = input_copy(whole);
    whole.at = copy;
    check(question, name, some_pieces);
    free(copy);
    return 0;
}
