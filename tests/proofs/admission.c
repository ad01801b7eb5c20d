/*
 * The table of slots, src/admission/table.c and slots.c: any bytes may be in its file, since all
 * daemons of the host write it without waiting for each other.
 *
 * Step 0: slots_victim() answers with a slot that may be evicted, or that there is none. Steps 1
 * to 3: the penalties: an entry that is changed is one of the table, no other one changes, a
 * penalty never passes its maximum, and after a login the source is trusted. Step 4: table_open()
 * returns only a file that is regular, ours and closed to others, of the right size, with a limit
 * that the arrays have room for; or one that it has made itself. It leaves no other descriptor
 * open, and unlinks no file but a damaged one of ours and the one it was making.
 *
 * Bounds: SLOTS slots and PENALTIES penalties. The code looks at each in the same way.
 */
#include "limit_slots.h"

enum { SLOTS = 2, PENALTIES = 2 };
#undef LIMIT_SLOTS
#undef LIMIT_SLOTS_LEAST
#undef LIMIT_SLOTS_SHARE
#undef LIMIT_PENALTIES
#define LIMIT_SLOTS       SLOTS
#define LIMIT_SLOTS_LEAST 1
#define LIMIT_SLOTS_SHARE 2
#define LIMIT_PENALTIES   PENALTIES

/* The header's function has the large limits. */
#define limit_slots(memory_bytes)                                                                  \
    (unsigned)MIN(MAX((memory_bytes) / LIMIT_SLOT_MEMORY_BYTES, LIMIT_SLOTS_LEAST), LIMIT_SLOTS)

#include "proofs.h"

/* Of pointers, to higher addresses. CBMC's own makes a copy of any size, and needs more than 8 GB.
 */
void *memmove(void *to, const void *from, size_t count)
{
    PROVE(to >= from && count % sizeof(void *) == 0, "pointers move up");
    for (size_t i = count / sizeof(void *); i > 0; i--) {
        ((const void **)to)[i - 1] = ((const void *const *)from)[i - 1];
    }
    return to;
}

#include "slots.c"
#include "table.c"

/* After 4,000 years the clock would be too large. */
#define CLOCK_END_MS ((int64_t)1 << 47)

static struct table_front front;
static int error;

/* ---- what table.c calls ---------------------------------------------------------------------- */

enum file { NONE, FOUND, MADE };
static enum file open_file; /* what the one open descriptor is of */
static bool linked, judged_damaged, preads;
static struct stat status;
static uid_t owner;
static const char *table; /* the name of what was found */

int *__errno_location(void)
{
    return &error;
}

static int outcome(void)
{
    error = (int)nondet_unsigned();
    ASSUME(error > 0);
    return nondet_bool() ? 0 : -1;
}

int open(const char *path, int flags, ...)
{
    PROVE(open_file == NONE, "one descriptor at a time");
    PROVE((flags & O_CLOEXEC) != 0, "no program inherits it");
    PROVE((flags & (O_CREAT | O_EXCL)) != O_CREAT, "what is made is new");
    PROVE((flags & O_CREAT) != 0 || (flags & O_NOFOLLOW) != 0, "no link is followed");
    if (outcome() != 0) {
        return -1;
    }
    open_file = (flags & O_CREAT) != 0 ? MADE : FOUND;
    table = open_file == FOUND ? path : table;
    linked = preads = judged_damaged = false;
    return open_file;
}

int close(int fd)
{
    PROVE(fd == (int)open_file && open_file != NONE, "the open descriptor");
    open_file = NONE;
    return 0;
}

int fstat(int fd, struct stat *found)
{
    struct stat any;
    PROVE(fd == FOUND, "a file that was found");
    status = any;
    *found = any;
    return outcome();
}

ssize_t pread(int fd, void *bytes, size_t count, off_t offset)
{
    struct table_front any;
    PROVE(fd == FOUND && bytes == &front && count == sizeof(front) && offset == 0, "the front");
    front = any;
    preads = true;
    return outcome() == 0 ? (ssize_t)count : (ssize_t)(nondet_u8() % count);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
    PROVE(fd == MADE && __CPROVER_r_ok(bytes, count), "into the new file");
    PROVE((size_t)offset + count <= sizeof(struct table_file), "within its size");
    return outcome() == 0 ? (ssize_t)count : -1;
}

int link(const char *made, const char *path)
{
    PROVE(open_file == MADE && made != path, "the new file gets its name");
    linked = outcome() == 0;
    return linked ? 0 : -1;
}

int unlink(const char *path)
{
    PROVE(open_file != FOUND, "what is open stays");
    PROVE(path != table || (judged_damaged && judge_owner(&status, owner) == NULL),
          "what is not ours stays, and what is no damaged table");
    return outcome();
}

int sysinfo(struct sysinfo *found)
{
    struct sysinfo any;
    *found = any;
    found->totalram = nondet_u32();
    found->mem_unit = 1;
    return outcome();
}

pid_t getpid(void)
{
    return (pid_t)(nondet_unsigned() >> 1);
}

char *getenv(const char *name)
{
    (void)name;
    static char directory[] = "/x";
    return nondet_bool() ? directory : NULL;
}

int snprintf(char *text, size_t size, const char *format, ...)
{
    (void)format;
    PROVE(__CPROVER_w_ok(text, size), "the path has room");
    return 0;
}

char *strerror(int number)
{
    (void)number;
    static char text[] = "an error";
    return text;
}

/* The reason says what was found. */
void log_trouble(const char *what, const char *path, const char *reason)
{
    (void)what;
    (void)path;
    judged_damaged = reason == damaged;
}

/* ---- the steps ------------------------------------------------------------------------------- */

static void prove_victim(void)
{
    struct slot slots[2 * SLOTS];
    struct source only;
    size_t count = nondet_size();
    bool restricted = nondet_bool();
    ASSUME(count < (size_t)2 * SLOTS);
    size_t victim = slots_victim(slots, count, restricted ? &only : NULL, nondet_u32());
    PROVE(victim <= count, "a slot, or none");
    size_t any = nondet_size();
    ASSUME(any < count);
    bool fits =
        is_candidate(&slots[any]) && (!restricted || slots[any].source.network == only.network);
    PROVE(victim != any || fits, "one that may be evicted");
    PROVE(victim < count || !fits, "none only if no slot may be");
}

/* The changed entry is one of the table; any other one is as before. */
static void prove_entry(const struct penalty *before, struct penalty *entry, size_t any)
{
    PROVE(entry >= front.penalties && entry < front.penalties + PENALTIES, "an entry of the table");
    PROVE(entry == &front.penalties[any] || (before->network == front.penalties[any].network &&
                                             before->until_ms == front.penalties[any].until_ms &&
                                             before->trusted == front.penalties[any].trusted),
          "no other one changes");
}

static void prove_penalties(void)
{
    struct table_front found;
    struct source source;
    int64_t now_ms = (int64_t)nondet_size(), added_ms = nondet_u32();
    size_t any = nondet_size();
    front = found;
    ASSUME(now_ms >= 0 && now_ms < CLOCK_END_MS && any < PENALTIES);
    ASSUME(added_ms <= LIMIT_PENALTY_MOST_MS);
    const struct penalty before = front.penalties[any];
    struct penalty *entry = penalty_of(front.penalties, &source, now_ms);
    const bool trusts = entry->trusted != 0, confines = penalty_confines(entry, now_ms);
    PROVE(!trusts || !confines, "a trusted source has no penalty");
    if (STEP == 1) {
        prove_entry(&before, entry, any);
    } else if (STEP == 2) {
        penalty_add(entry, added_ms, now_ms);
        prove_entry(&before, entry, any);
        PROVE(entry->network == source.network, "the source's");
        PROVE(left_ms(entry, now_ms) <=
                  (entry->trusted != 0 ? LIMIT_TRUST_MS : LIMIT_PENALTY_MOST_MS),
              "no penalty passes its maximum");
        PROVE(!trusts || penalty_of(front.penalties, &source, now_ms)->trusted != 0, "trust stays");
        entry = penalty_of(front.penalties, &source, now_ms);
        PROVE(!confines || penalty_confines(entry, now_ms), "a penalty stays");
    } else {
        penalty_clear(entry, now_ms);
        prove_entry(&before, entry, any);
        entry = penalty_of(front.penalties, &source, now_ms);
        PROVE(entry->trusted != 0, "it is trusted");
        PROVE(!penalty_confines(entry, now_ms), "it has no penalty");
    }
}

static void prove_open(void)
{
    owner = nondet_unsigned();
    int fd = table_open(&front, owner);
    PROVE(fd < 0 ? open_file == NONE : fd == (int)open_file, "no other descriptor stays open");
    if (fd < 0) {
        return;
    }
    PROVE(table_front_is_ours(&front), "a table of this version");
    PROVE(front.limit >= 1 && front.limit <= SLOTS, "the arrays have room for all slots");
    PROVE(fd != MADE || linked, "a table that others see");
    PROVE(fd != FOUND || (S_ISREG(status.st_mode) && status.st_uid == owner), "a file of ours");
    PROVE(fd != FOUND || (status.st_mode & 0077) == 0, "closed to others");
    PROVE(fd != FOUND || (preads && status.st_size == sizeof(struct table_file)), "of this size");
}

int main(void)
{
    switch (STEP) {
    case 0:
        prove_victim();
        break;
    case 1:
    case 2:
    case 3:
        prove_penalties();
        break;
    default:
        prove_open();
        break;
    }
    return 0;
}
