#include "table.h"

#include <signal.h>
#include <sodium.h>

#include "log.h"

/* ---- slots ----------------------------------------------------------------------------------- */

static size_t slot_offset(size_t slot)
{
    return offsetof(struct table_file, slots) + slot * sizeof(struct slot);
}

/* True if others hold as many slots as the limit, spare ones included. A spare can be held for long
 * when the slots are nearly empty: that alone is no reason to evict. */
static bool is_crowded(int fd, size_t limit)
{
    size_t held = 0;
    if (table_holder(fd, limit * sizeof(struct slot), slot_offset(limit)) == 0) {
        return false;
    }
    for (size_t slot = 0; slot < 2 * limit; slot++) {
        held += table_holder(fd, sizeof(struct slot), slot_offset(slot)) != 0;
    }
    return held >= limit;
}

static void set_phase(int fd, size_t slot, uint32_t phase)
{
    table_write(fd, &phase, sizeof(phase), slot_offset(slot) + offsetof(struct slot, phase));
}

/* True if the process that holds the lock has written the record. A new connection takes its lock
 * first: until it writes its own record, that of an earlier holder is there. */
static bool is_held(int fd, const struct slot *record, size_t slot)
{
    return record->holder > 0 &&
           table_holder(fd, sizeof(*record), slot_offset(slot)) == record->holder;
}

/* ---- eviction -------------------------------------------------------------------------------- */

enum asked { ASKED, GONE, UNABLE };

/* Asks the holder to end, unless another new connection has asked it, or it has exchanged keys,
 * since we read its record. Marks its slot before, so that the next new connection asks another
 * one. The descriptor names a process, not a number: if the holder has ended and its number is
 * another process's by now, the second look shows it. Without one, before Linux 5.3 or in a
 * container whose filter forbids it, the number would have to be reused between that look and
 * kill(). */
static enum asked ask_to_end(int fd, const struct slot *record, size_t slot)
{
    const pid_t holder = record->holder;
    struct slot now;
    if (!table_read(fd, &now, sizeof(now), slot_offset(slot)) ||
        memcmp(&now, record, sizeof(now)) != 0 || !is_held(fd, record, slot)) {
        return GONE;
    }
    set_phase(fd, slot, SLOT_EVICTED);
    int process = (int)syscall(CALL_PIDFD_OPEN, holder, 0U);
    bool held = is_held(fd, record, slot);
    bool sent = held && process >= 0 &&
                syscall(CALL_PIDFD_SEND_SIGNAL, process, ADMISSION_SIGNAL, NULL, 0U) == 0;
    sent = sent || (held && errno != ESRCH && kill(holder, ADMISSION_SIGNAL) == 0);
    bool refused = held && !sent && errno != ESRCH;
    if (process >= 0) {
        close(process);
    }
    if (refused) {
        set_phase(fd, slot, record->phase); /* or it could never be evicted */
        return UNABLE;
    }
    return sent ? ASKED : GONE;
}

/* Of `only` this source's network, if it is not NULL. Trick: own frame; the slots would stay on the
 * stack's pages. */
__attribute__((noinline)) static enum asked ask_one(int fd, size_t count, const struct source *only)
{
    struct slot slots[2 * LIMIT_SLOTS];
    if (!table_read(fd, slots, count * sizeof(slots[0]), slot_offset(0))) {
        return UNABLE;
    }
    for (size_t i = 0; i < count; i++) {
        if (slots[i].phase != SLOT_EMPTY && !is_held(fd, &slots[i], i)) {
            slots[i].phase = SLOT_EMPTY;
        }
    }
    size_t victim = slots_victim(slots, count, only, randombytes_random());
    return victim < count ? ask_to_end(fd, &slots[victim], victim) : UNABLE;
}

static bool evict_one(int fd, size_t count, const struct source *only)
{
    enum asked asked = GONE;
    for (unsigned tries = 0; tries < LIMIT_EVICTION_TRIES && asked == GONE; tries++) {
        asked = ask_one(fd, count, only);
    }
    return asked == ASKED;
}

/* ---- the log --------------------------------------------------------------------------------- */

static void log_eviction(const char *key, uint64_t count)
{
    struct log_line line;
    log_begin(&line, "eviction");
    log_number(&line, key, count);
    log_end(&line, LOG_EVENT);
}

/* A time to come is not recent: the clock has started again. The file may hold any number, so none
 * is subtracted from it. */
static bool is_recent(int64_t when_ms, int64_t span_ms, int64_t now_ms)
{
    return when_ms <= now_ms && when_ms > now_ms - span_ms;
}

/* All before the penalties. */
#define COUNTS_BYTES offsetof(struct table_front, penalties)

/* New connections at the same moment would overwrite each other's counts, or all write the line:
 * only the one that gets the lock counts, and none waits for it. */
static bool begin_counting(int fd, struct table_front *front)
{
    return table_lock(fd, COUNTS_BYTES, 0) && table_read(fd, front, COUNTS_BYTES, 0);
}

static void end_counting(int fd, const struct table_front *front)
{
    table_write(fd, front, COUNTS_BYTES, 0);
    table_unlock(fd, COUNTS_BYTES, 0);
}

/* A line for the first eviction. */
static void count_eviction(int fd, struct table_front *front, int64_t now_ms)
{
    if (begin_counting(fd, front)) {
        if (front->evicted++ == 0) {
            log_eviction("slots", front->limit);
        }
        front->evicted_ms = now_ms;
        end_counting(fd, front);
    }
}

static bool is_over(const struct table_front *front, int64_t now_ms)
{
    return front->evicted > 0 && !is_recent(front->evicted_ms, LIMIT_EVICTION_QUIET_MS, now_ms);
}

/* A line when there have been no evictions for some time. */
static void report_evictions(int fd, struct table_front *front, int64_t now_ms)
{
    if (is_over(front, now_ms) && begin_counting(fd, front)) {
        if (is_over(front, now_ms)) { /* nobody else has reported them */
            log_eviction("evicted", front->evicted);
            front->evicted = 0;
        }
        end_counting(fd, front);
    }
}

static void count_refusal(int fd, struct table_front *front, const char *reason, int64_t now_ms)
{
    struct log_line line;
    if (!begin_counting(fd, front)) {
        return;
    }
    if (is_recent(front->refusal_line_ms, LIMIT_REFUSAL_LINE_MS, now_ms)) {
        front->refused++;
    } else {
        log_begin(&line, "refused");
        log_text(&line, "reason", reason);
        log_number(&line, "others", front->refused);
        log_end(&line, LOG_EVENT);
        front->refused = 0;
        front->refusal_line_ms = now_ms;
    }
    end_counting(fd, front);
}

/* ---- the way of a connection ----------------------------------------------------------------- */

/* Locks one of the first `count` slots and returns its number, or `count`. The search begins at
 * `first` or, by the pid, after it. */
static size_t take_slot(const struct admission *admission, size_t count, size_t first)
{
    const size_t start = first + (size_t)admission->pid % admission->limit;
    return table_take(admission->fd, sizeof(struct slot), slot_offset(0), count, start);
}

/* After a failed call. Others do not see this connection then, and could not evict it. */
static void leave_table(struct admission *admission)
{
    log_trouble(TABLE_TROUBLE, NULL, strerror(errno));
    close(admission->fd);
    admission->fd = -1;
}

/* On entry admission->slot is below the limit, or the limit if none there was free.
 *
 * Never waits for an evicted process to end: it takes a spare slot meanwhile. As long as one of
 * these is held, and as many as the limit in all, each new connection evicts somebody. If no spare
 * is free, that many evicted processes have not ended. A source with a penalty takes free slots,
 * and otherwise evicts its own connections alone: so nobody who shares it with an attacker is kept
 * out by the penalty. Returns NULL, or why there is no slot. */
static const char *find_slot(struct admission *admission, struct table_front *front, int64_t now_ms)
{
    const int fd = admission->fd;
    const size_t limit = front->limit;
    const struct penalty *penalty = penalty_of(front->penalties, &admission->source, now_ms);
    const bool confined = penalty_confines(penalty, now_ms);
    admission->trusted = !source_is_remote(&admission->source) || penalty->trusted != 0;
    const bool full = admission->slot == limit;
    const bool evicts = (full || (front->evicted > 0 && is_crowded(fd, limit))) &&
                        evict_one(fd, 2 * limit, confined ? &admission->source : NULL);
    if (evicts) {
        count_eviction(fd, front, now_ms);
    }
    if (full && confined && !evicts) {
        return "penalty";
    }
    if (full) {
        admission->slot = take_slot(admission, 2 * limit, limit);
    }
    return admission->slot < 2 * limit ? NULL : "no slot";
}

bool admission_enter(struct admission *admission, const struct peer *peer)
{
    struct table_front front = {.version = 0};
    const uid_t uid = geteuid();
    *admission = (struct admission){
        .pid = getpid(), .uid = uid, .fd = table_open(&front, uid), .source = source_of(peer)};
    if (admission->fd < 0) {
        table_front_make_here(&front);
    }
    admission->limit = front.limit;
    if (admission->fd < 0) {
        return true;
    }
    admission->slot = take_slot(admission, admission->limit, 0);
    if (admission->slot == admission->limit && errno != EAGAIN) {
        leave_table(admission); /* a kernel without file locks, or a security module */
        return true;
    }
    /* After the table: a time in it that is to come is one of before a restart. */
    const int64_t now_ms = clock_now_ms();
    report_evictions(admission->fd, &front, now_ms);
    const char *reason = find_slot(admission, &front, now_ms);
    if (reason != NULL) {
        count_refusal(admission->fd, &front, reason, now_ms);
        return false;
    }
    const struct slot mine = {.source = admission->source,
                              .started_ms = now_ms,
                              .phase = SLOT_STARTED,
                              .holder = admission->pid};
    if (!table_write(admission->fd, &mine, sizeof(mine), slot_offset(admission->slot))) {
        leave_table(admission);
    }
    return true;
}

void admission_note_exchange(struct admission *admission)
{
    if (admission->fd >= 0 && !admission->exchanged) {
        admission->exchanged = true;
        set_phase(admission->fd, admission->slot, SLOT_EXCHANGED);
    }
}

/* Reads the records in parts: more of the stack would stay in memory. */
#define READ_AT_ONCE 16

int64_t admission_silence_ms(const struct admission *admission, int64_t most_ms)
{
    struct slot slots[READ_AT_ONCE];
    const int fd = admission->fd;
    size_t silent = 0;
    for (size_t first = 0; first < 2 * admission->limit; first += READ_AT_ONCE) {
        if (!table_read(fd, slots, sizeof(slots), slot_offset(first))) {
            return most_ms;
        }
        for (size_t i = 0; i < READ_AT_ONCE && silent < LIMIT_SILENT_MANY; i++) {
            silent += slots[i].phase == SLOT_STARTED && is_held(fd, &slots[i], first + i);
        }
    }
    if (silent <= LIMIT_SILENT_FEW || most_ms <= LIMIT_SILENT_MS) {
        return most_ms;
    }
    return LIMIT_SILENT_MS + (most_ms - LIMIT_SILENT_MS) * (int64_t)(LIMIT_SILENT_MANY - silent) /
                                 (LIMIT_SILENT_MANY - LIMIT_SILENT_FEW);
}

/* Writes what a login or an end makes of the source's penalty. Trick: own frame, for the table's
 * front: it would lie above the stack of each process. */
__attribute__((noinline)) static void write_penalty(const struct admission *admission, bool logs_in,
                                                    int64_t added_ms)
{
    const int64_t now_ms = clock_now_ms();
    struct table_front front;
    if (!table_read(admission->fd, &front, sizeof(front), 0)) {
        return;
    }
    struct penalty *penalty = penalty_of(front.penalties, &admission->source, now_ms);
    if (logs_in) {
        penalty_clear(penalty, now_ms);
    } else {
        penalty_add(penalty, added_ms, now_ms);
    }
    table_write(admission->fd, penalty, sizeof(*penalty),
                (size_t)((const char *)penalty - (const char *)&front));
}

void admission_leave(struct admission *admission)
{
    if (admission->fd < 0) {
        return;
    }
    if (source_is_remote(&admission->source)) {
        write_penalty(admission, true, 0);
    }
    admission->trusted = true;
    if (admission->logged_in) {
        table_unlock(admission->fd, sizeof(struct slot), slot_offset(admission->slot));
    } else {
        close(admission->fd);
        admission->fd = -1;
    }
}

void admission_fail(const struct admission *admission, int64_t added_ms)
{
    if (admission->fd >= 0 && !admission->trusted) {
        write_penalty(admission, false, added_ms);
    }
}
