/*
 * The table of connections, as any bytes: who is evicted before its login, judged by a plain sort;
 * the penalties, judged by their bounds; and who may log in, judged by who holds the records.
 *
 * Input: a byte, how many slots; a number for chance; then the front, or only its penalties, and
 * slots, until the input is used up. The same bytes, read again, are the records of logins.
 */
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/types.h>

#include "admission.h"
#include "fuzz.h"

#define COUNT (2 * LIMIT_SLOTS)
#define NOW   INT64_C(1000000000)

static struct table_front front;
static struct slot slots[COUNT];

static void fill(struct input *input, void *out, size_t bytes)
{
    const struct input part = input_take(input, bytes);
    memset(out, 0, bytes);
    if (part.left > 0) {
        memcpy(out, part.at, part.left);
    }
}

static bool is_candidate(const struct slot *slot)
{
    return slot->phase == SLOT_STARTED || slot->phase == SLOT_EXCHANGED;
}

/* The bits of a network that a group has in common, from the widest group. */
static bool is_beside(const struct source *a, const struct source *b, size_t level)
{
    static const uint64_t ipv6[] = {~UINT64_C(0xffff), ~UINT64_C(0xff), ~UINT64_C(0), ~UINT64_C(0)};
    static const uint64_t ipv4[] = {~UINT64_C(0xff), ~UINT64_C(0xff), ~UINT64_C(0), ~UINT64_C(0)};
    uint64_t kind = a->network >> 32;
    uint64_t mask = kind > 0xffff ? ipv6[level] : kind == 0xffff ? ipv4[level] : ~UINT64_C(0);
    return (a->network & mask) == (b->network & mask) && (level < 3 || a->host == b->host);
}

static size_t members(size_t count, const struct source *source, size_t level)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        found += is_candidate(&slots[i]) && is_beside(&slots[i].source, source, level);
    }
    return found > count / LIMIT_SLOTS_SHARE ? found : 0;
}

/* The victim's group is not smaller than any other's, and in it no more have done as little for
 * longer than are evicted at the moment, but for the silent of its younger half. */
static void check_victim(size_t count, size_t victim)
{
    size_t group = members(count, &slots[victim].source, 0);
    size_t older = 0, evicted = 0;
    for (size_t i = 0; i < count; i++) {
        evicted += slots[i].phase == SLOT_EVICTED;
    }
    for (size_t i = 0; i < count; i++) {
        if (!is_candidate(&slots[i])) {
            continue;
        }
        size_t other = members(count, &slots[i].source, 0);
        FUZZ_CHECK(other <= group);
        bool same = true;
        for (size_t level = 0; level < 4; level++) {
            same = same && members(count, &slots[i].source, level) ==
                               members(count, &slots[victim].source, level);
        }
        older += same && slots[i].phase == slots[victim].phase &&
                 slots[i].started_ms < slots[victim].started_ms;
    }
    FUZZ_CHECK(older <= evicted);
}

/* Of a copy, as each connection has one. */
static struct penalty look(const struct source *source)
{
    struct penalty copy[LIMIT_PENALTIES];
    memcpy(copy, front.penalties, sizeof(copy));
    return *penalty_of(copy, source, NOW);
}

static bool trusts(const struct source *source)
{
    return look(source).trusted != 0;
}

static bool confines(const struct source *source)
{
    const struct penalty penalty = look(source);
    return penalty_confines(&penalty, NOW);
}

static void check_penalties(struct input *input)
{
    struct source source;
    fill(input, &source, sizeof(source));
    int64_t added_ms = (int64_t)input_below_or_equal(input, LIMIT_PENALTY_MOST_MS);
    bool trusted = trusts(&source);
    bool refused = confines(&source);
    FUZZ_CHECK(!trusted || !refused);
    struct penalty *penalty = penalty_of(front.penalties, &source, NOW);
    penalty_add(penalty, added_ms, NOW);
    FUZZ_CHECK(penalty >= front.penalties && penalty < front.penalties + LIMIT_PENALTIES);
    FUZZ_CHECK(penalty->network == source.network && penalty->until_ms >= NOW);
    FUZZ_CHECK(penalty->until_ms <= NOW + (trusted ? LIMIT_TRUST_MS : LIMIT_PENALTY_MOST_MS));
    FUZZ_CHECK(trusts(&source) == trusted);
    FUZZ_CHECK(!refused || confines(&source));
    penalty = penalty_of(front.penalties, &source, NOW);
    penalty_clear(penalty, NOW);
    FUZZ_CHECK(penalty >= front.penalties && penalty < front.penalties + LIMIT_PENALTIES);
    FUZZ_CHECK(trusts(&source));
    FUZZ_CHECK(!confines(&source));
}

/* ---- after the login ------------------------------------------------------------------------- */

#define TABLE 1000

/* The records in the file, and who holds the lock of each. */
static uint32_t logins[LIMIT_LOGINS];
static enum { NOBODY, OTHERS, OURS } holders[LIMIT_LOGINS];

/* The record at this slot in the file, which must be one that the table has. */
static size_t record_at(int fd, off_t offset, off_t bytes)
{
    const off_t first = offsetof(struct table_file, logins);
    size_t record = (size_t)(offset - first) / sizeof(logins[0]);
    FUZZ_CHECK(fd == TABLE && offset >= first && offset % (off_t)sizeof(logins[0]) == 0);
    FUZZ_CHECK(record * sizeof(logins[0]) + (size_t)bytes <= sizeof(logins));
    return record;
}

ssize_t fake_pread(int fd, void *out, size_t bytes, off_t offset) __asm__("__wrap_pread64");
ssize_t fake_pwrite(int fd, const void *in, size_t bytes, off_t offset) __asm__("__wrap_pwrite64");
int fake_fcntl(int fd, int command, ...) __asm__("__wrap_fcntl64");

ssize_t fake_pread(int fd, void *out, size_t bytes, off_t offset)
{
    memcpy(out, &logins[record_at(fd, offset, (off_t)bytes)], bytes);
    return (ssize_t)bytes;
}

/* Only the holder of a record writes it. */
ssize_t fake_pwrite(int fd, const void *in, size_t bytes, off_t offset)
{
    size_t record = record_at(fd, offset, (off_t)bytes);
    FUZZ_CHECK(bytes == sizeof(logins[0]) && holders[record] == OURS);
    memcpy(&logins[record], in, bytes);
    return (ssize_t)bytes;
}

int fake_fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    const struct flock *lock = va_arg(arguments, const struct flock *);
    va_end(arguments);
    size_t record = record_at(fd, lock->l_start, lock->l_len);
    FUZZ_CHECK(command == F_SETLK && lock->l_len == sizeof(logins[0]));
    if (holders[record] == OTHERS) {
        FUZZ_CHECK(lock->l_type == F_WRLCK);
        errno = EAGAIN;
        return -1;
    }
    holders[record] = lock->l_type == F_WRLCK ? OURS : NOBODY;
    return 0;
}

static size_t count_held(size_t count, uint32_t record)
{
    size_t held = 0;
    for (size_t i = 0; i < count; i++) {
        held += holders[i] == OTHERS && (record == 0 || logins[i] == record);
    }
    return held;
}

/* What others hold stays as it was. Who gets in has one record more, of the reserve only where the
 * rest is held; who is refused has none. */
static void check_login(struct admission *admission, unsigned user, unsigned most, bool reserved)
{
    uint32_t before[LIMIT_LOGINS];
    const size_t limit = admission->limit;
    const size_t all = (limit - 4) * 432 / 124, reserve = limit / 4, common = all - reserve;
    const size_t of_user = most == UINT32_MAX ? (limit - 4) * 288 / 124 : most;
    const size_t allowed = of_user + (reserved ? reserve : 0);
    const bool too_many = count_held(all, user + 1) >= allowed;
    const bool common_full = count_held(common, 0) == common;
    const bool full = reserved ? count_held(all, 0) == all : common_full;
    size_t ours = 0;
    memcpy(before, logins, sizeof(before));
    const char *reason = admission_log_in(admission, user, most, reserved);
    FUZZ_CHECK((reason == NULL) == !(too_many || full));
    FUZZ_CHECK(reason == NULL || (strstr(reason, "this user") != NULL) == !full);
    for (size_t i = 0; i < LIMIT_LOGINS; i++) {
        FUZZ_CHECK(holders[i] != OTHERS || logins[i] == before[i]);
        FUZZ_CHECK(holders[i] != OURS || logins[i] == user + 1);
        FUZZ_CHECK(holders[i] != OURS || i < common || (reserved && common_full && i < all));
        ours += holders[i] == OURS;
    }
    FUZZ_CHECK(ours == (reason == NULL ? 1 : 0));
}

static void check_logins(struct input input)
{
    struct admission admission = {
        .fd = TABLE, .limit = LIMIT_SLOTS_LEAST + input_u8(&input) % 121U, .pid = input_u8(&input)};
    const uint8_t how = input_u8(&input);
    const unsigned most = (how & 2) != 0 ? 1U + (how >> 2) : UINT32_MAX;
    for (size_t i = 0; i < LIMIT_LOGINS; i++) {
        const uint8_t record = input.left > 0 ? input_u8(&input) : (uint8_t)(how + i / 64);
        logins[i] = record & 3U;
        holders[i] = (record & 4) != 0 ? OTHERS : NOBODY;
    }
    check_login(&admission, how >> 7, most, (how & 1) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    size_t count = input_u8(&input) + 1U;
    uint32_t random = input_u32(&input);
    fill(&input, &front, offsetof(struct table_front, penalties[4]));
    memset(front.penalties + 4, 0, sizeof(front.penalties) - 4 * sizeof(front.penalties[0]));
    FUZZ_CHECK(!table_front_is_ours(&front) ||
               (memcmp(front.magic, "wrensshd", 8) == 0 && front.limit <= LIMIT_SLOTS &&
                front.limit >= LIMIT_SLOTS_LEAST));
    check_penalties(&input);
    check_logins((struct input){data, size});
    for (size_t i = 0; i < COUNT; i++) {
        if (input.left > 0 || i == 0) {
            fill(&input, &slots[i], sizeof(slots[i]));
        } else {
            slots[i] = slots[i - 1]; /* so that short inputs have large groups */
        }
    }
    size_t victim = slots_victim(slots, count, NULL, random);
    FUZZ_CHECK(victim <= count && victim == slots_victim(slots, count, NULL, random));
    size_t own = slots_victim(slots, count, &slots[0].source, random);
    FUZZ_CHECK(own <= count &&
               (own == count || (is_candidate(&slots[own]) &&
                                 slots[own].source.network == slots[0].source.network)));
    if (victim < count) {
        FUZZ_CHECK(is_candidate(&slots[victim]));
        check_victim(count, victim);
    } else {
        for (size_t i = 0; i < count; i++) {
            FUZZ_CHECK(!is_candidate(&slots[i]));
        }
    }
    return 0;
}
