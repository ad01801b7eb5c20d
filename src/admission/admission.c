#include "admission.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "call_numbers.h"
#include "clock.h"
#include "log.h"

#define NAME       "/wrensshd.places"
#define PATH_BYTES 160

/* ---- the file -------------------------------------------------------------------------------- */

static bool write_at(int fd, const void *bytes, size_t count, size_t offset)
{
    return pwrite(fd, bytes, count, (off_t)offset) == (ssize_t)count;
}

static bool read_front(int fd, struct places_front *front)
{
    return pread(fd, front, sizeof(*front), 0) == (ssize_t)sizeof(*front);
}

static void log_no_table(const char *path, const char *reason)
{
    log_trouble("no table of places", path, reason);
}

/* Under another name at first, so that nobody sees half of it. Returns -1, with errno, if it can't
 * be made: EEXIST if another connection has made it since. */
static int make_table(const char *path, struct places_front *front)
{
    char made[PATH_BYTES + 16];
    struct sysinfo found;
    snprintf(made, sizeof(made), "%s.%d", path, (int)getpid());
    places_make(front, sysinfo(&found) == 0 ? (uint64_t)found.totalram * found.mem_unit : 0);
    unlink(made); /* of a process that had this pid, and was killed */
    int fd = open(made, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool is_made = fd >= 0 && write_at(fd, front, sizeof(*front), 0) &&
                   ftruncate(fd, sizeof(struct places_file)) == 0 && link(made, path) == 0;
    int error = errno;
    unlink(made);
    if (fd >= 0 && !is_made) {
        close(fd);
    }
    errno = error;
    return is_made ? fd : -1;
}

/* NULL, or why the file is not to be trusted. */
static const char *judge_owner(const struct stat *found, uid_t uid)
{
    return !S_ISREG(found->st_mode)       ? "no regular file"
           : found->st_uid != uid         ? "has another owner"
           : (found->st_mode & 0077) != 0 ? "is open to other users"
                                          : NULL;
}

static const char damaged[] = "damaged or of another version; replaced";

/* NULL, or why the file is no table that can be used. */
static const char *judge_table(int fd, struct places_front *front, uid_t uid)
{
    struct stat found;
    const char *wrong = fstat(fd, &found) != 0 ? strerror(errno) : judge_owner(&found, uid);
    bool is_table = wrong == NULL && found.st_size == sizeof(struct places_file) &&
                    read_front(fd, front) && places_are_ours(front);
    return wrong == NULL && !is_table ? damaged : wrong;
}

#define FLAGS (O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

/* Others may make or replace the table at the same time. */
#define TRIES 3

/* Replaces a file of ours that is no table of this version. Its holders keep their places until the
 * login, but are not counted. On failure returns -1 with errno, which is 0 if the log has the
 * reason. */
static int open_table(const char *path, struct places_front *front, uid_t uid)
{
    for (unsigned tries = 0; tries < TRIES; tries++) {
        int fd = open(path, FLAGS);
        if (fd < 0) {
            fd = errno == ENOENT ? make_table(path, front) : -1;
            if (fd >= 0 || errno != EEXIST) {
                return fd;
            }
            continue;
        }
        const char *wrong = judge_table(fd, front, uid);
        if (wrong == NULL) {
            return fd;
        }
        log_no_table(path, wrong);
        close(fd);
        if (wrong != damaged || unlink(path) != 0) {
            break;
        }
    }
    errno = 0;
    return -1;
}

static int find_table(struct places_front *front, uid_t uid)
{
    char path[PATH_BYTES];
    const char *directory = uid == 0 ? "/run" : getenv("XDG_RUNTIME_DIR");
    if (directory == NULL || directory[0] != '/' || strlen(directory) + sizeof(NAME) > PATH_BYTES) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s" NAME, directory);
    int fd = open_table(path, front, uid);
    if (fd < 0 && errno == ENOENT && uid == 0) {
        snprintf(path, sizeof(path), "/var/run" NAME); /* the older name */
        fd = open_table(path, front, uid);
    }
    if (fd < 0 && errno != 0) {
        log_no_table(path, strerror(errno));
    }
    return fd;
}

/* ---- places ---------------------------------------------------------------------------------- */

static size_t offset_of(size_t place)
{
    return offsetof(struct places_file, places) + place * sizeof(struct place);
}

static struct flock lock_of(size_t first, size_t count)
{
    return (struct flock){.l_type = F_WRLCK,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)offset_of(first),
                          .l_len = (off_t)(count * sizeof(struct place))};
}

/* Takes one of `count` places from `first` on, or returns the number after them. Begins at one that
 * depends on `start`. Where the kernel refuses locks, a place can be taken twice. */
static size_t take_place(int fd, size_t first, size_t count, uint64_t start)
{
    for (size_t tried = 0; tried < count; tried++) {
        size_t place = first + (size_t)((start + tried) % count);
        struct flock lock = lock_of(place, 1);
        if (fcntl(fd, F_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES)) {
            return place;
        }
    }
    return first + count;
}

/* A process that holds one of the places, or 0: they are free, or it is in another container. */
static pid_t holder_of(int fd, size_t first, size_t count)
{
    struct flock lock = lock_of(first, count);
    bool held = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0;
    return held ? lock.l_pid : 0;
}

/* True if others hold as many places as the limit, in both halves together. A place of the second
 * half can be held for long when the first is nearly empty: that alone is no reason to evict. */
static bool is_crowded(int fd, size_t limit)
{
    size_t held = 0;
    if (holder_of(fd, limit, limit) == 0) {
        return false;
    }
    for (size_t place = 0; place < 2 * limit; place++) {
        held += holder_of(fd, place, 1) != 0;
    }
    return held >= limit;
}

static void set_phase(int fd, size_t place, uint32_t phase)
{
    write_at(fd, &phase, sizeof(phase), offset_of(place) + offsetof(struct place, phase));
}

/* True if the process that holds the lock has written the record. A newcomer takes its lock first:
 * until it writes its own record, that of an earlier holder is there. */
static bool is_held(int fd, const struct place *places, size_t place)
{
    return places[place].holder > 0 && holder_of(fd, place, 1) == places[place].holder;
}

/* Asks the holder to end, and marks its place before, so that the next newcomer asks another one.
 * The descriptor names a process, not a number: if the holder has ended and its number is another
 * process's by now, the second look shows it. */
static bool ask_to_end(int fd, const struct place *places, size_t place)
{
    const pid_t holder = places[place].holder;
    if (!is_held(fd, places, place)) {
        return false;
    }
    set_phase(fd, place, PLACE_EVICTED);
    int process = (int)syscall(CALL_PIDFD_OPEN, holder, 0U);
    if (process < 0) {
        /* Before Linux 5.3: the number would have to be reused since the last lines. */
        return errno == ENOSYS && kill(holder, ADMISSION_SIGNAL) == 0;
    }
    bool sent = is_held(fd, places, place) &&
                syscall(CALL_PIDFD_SEND_SIGNAL, process, ADMISSION_SIGNAL, NULL, 0U) == 0;
    close(process);
    return sent;
}

/* Trick: own frame; the places would stay on the stack's pages. */
__attribute__((noinline)) static bool evict_one(int fd, size_t count)
{
    struct place places[2 * LIMIT_PLACES];
    size_t bytes = count * sizeof(places[0]);
    if (pread(fd, places, bytes, (off_t)offset_of(0)) != (ssize_t)bytes) {
        return false;
    }
    /* Most of the others have just been found held. To choose takes longer than to look. */
    for (size_t i = count / 2; i < count; i++) {
        if (places[i].phase != PLACE_EMPTY && !is_held(fd, places, i)) {
            places[i].phase = PLACE_EMPTY;
        }
    }
    size_t victim;
    while ((victim = places_victim(places, count, randombytes_random())) < count) {
        if (ask_to_end(fd, places, victim)) {
            return true;
        }
        places[victim].phase = PLACE_EMPTY;
    }
    return false;
}

/* ---- the log --------------------------------------------------------------------------------- */

static void log_count(const char *event, const char *key, uint64_t count)
{
    struct log_line line;
    log_begin(&line, event);
    log_number(&line, key, count);
    log_end(&line, LOG_EVENT);
}

/* A time to come is not recent: the clock has started again. The file may hold any number, so none
 * is subtracted from it. */
static bool is_recent(int64_t when_ms, int64_t span_ms, int64_t now_ms)
{
    return when_ms <= now_ms && when_ms > now_ms - span_ms;
}

/* All before the debts. */
static void write_counts(int fd, const struct places_front *front)
{
    write_at(fd, front, offsetof(struct places_front, debts), 0);
}

/* A line for the first eviction. */
static void count_eviction(int fd, struct places_front *front, int64_t now_ms)
{
    if (front->evicted++ == 0) {
        log_count("eviction", "places", front->limit);
    }
    front->evicted_ms = now_ms;
    write_counts(fd, front);
}

/* A line when there have been no evictions for some time. */
static void report_evictions(int fd, struct places_front *front, int64_t now_ms)
{
    if (front->evicted > 0 && !is_recent(front->evicted_ms, LIMIT_EVICTION_QUIET_MS, now_ms)) {
        log_count("eviction", "evicted", front->evicted);
        front->evicted = 0;
        write_counts(fd, front);
    }
}

static void log_refusal(int fd, struct places_front *front, const char *reason, int64_t now_ms)
{
    struct log_line line;
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
    write_counts(fd, front);
}

/* ---- the way of a connection ----------------------------------------------------------------- */

/* Never waits for an evicted process to end: as many places again as the limit are for newcomers
 * while it does. As long as one of these is held, and as many as the limit in all, each newcomer
 * evicts somebody. If none of them is free, that many evicted processes have not ended. */
static const char *find_place(struct admission *admission, struct places_front *front,
                              int64_t now_ms)
{
    const int fd = admission->fd;
    const size_t limit = front->limit;
    if (debts_refuse(front->debts, &admission->source, now_ms)) {
        return "penalty";
    }
    admission->trusted = !source_is_remote(&admission->source) ||
                         debts_trust(front->debts, &admission->source, now_ms);
    admission->place = take_place(fd, 0, limit, (uint64_t)now_ms);
    bool full = admission->place == limit;
    if ((full || (front->evicted > 0 && is_crowded(fd, limit))) && evict_one(fd, 2 * limit)) {
        count_eviction(fd, front, now_ms);
    }
    if (full) {
        admission->place = take_place(fd, limit, limit, (uint64_t)now_ms);
    }
    return admission->place < 2 * limit ? NULL : "no place";
}

static void give_up_place(struct admission *admission)
{
    close(admission->fd);
    admission->fd = -1;
}

bool admission_enter(struct admission *admission, const struct peer *peer)
{
    struct places_front front = {.version = 0};
    const int64_t now_ms = clock_now_ms();
    const uid_t uid = geteuid();
    *admission = (struct admission){
        .pid = getpid(), .uid = uid, .fd = find_table(&front, uid), .source = source_of(peer)};
    if (admission->fd < 0) {
        return true;
    }
    report_evictions(admission->fd, &front, now_ms);
    const char *reason = find_place(admission, &front, now_ms);
    if (reason != NULL) {
        log_refusal(admission->fd, &front, reason, now_ms);
        return false;
    }
    const struct place mine = {.source = admission->source,
                               .started_ms = now_ms,
                               .phase = PLACE_STARTED,
                               .holder = admission->pid};
    /* A place that others can't see would be one that nobody can evict. */
    if (!write_at(admission->fd, &mine, sizeof(mine), offset_of(admission->place))) {
        log_no_table(NULL, strerror(errno));
        give_up_place(admission);
    }
    return true;
}

void admission_note_exchange(struct admission *admission)
{
    if (admission->fd >= 0 && !admission->exchanged) {
        admission->exchanged = true;
        set_phase(admission->fd, admission->place, PLACE_EXCHANGED);
    }
}

static void write_debt(int fd, const struct places_front *front, const struct debt *debt)
{
    write_at(fd, debt, sizeof(*debt), (size_t)((const char *)debt - (const char *)front));
}

void admission_leave(struct admission *admission)
{
    struct places_front front;
    if (admission->fd < 0) {
        return;
    }
    if (!admission->trusted && read_front(admission->fd, &front)) {
        write_debt(admission->fd, &front,
                   debts_clear(front.debts, &admission->source, clock_now_ms()));
    }
    give_up_place(admission);
}

void admission_fail(const struct admission *admission, int64_t added_ms)
{
    struct places_front front;
    if (admission->fd >= 0 && !admission->trusted && read_front(admission->fd, &front)) {
        write_debt(admission->fd, &front,
                   debts_add(front.debts, &admission->source, added_ms, clock_now_ms()));
    }
}
