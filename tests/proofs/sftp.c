/*
 * src/sftp/answer.c and src/sftp/attributes.c, from any valid state of the answers' buffer.
 *
 * Steps 0 and 1: STATUS and NAME are whole packets with the right length, of less than
 * LIMIT_SFTP_ANSWER_BYTES, which is what answer_all() keeps free. Step 2: sftp_send() sends what
 * the buffer holds, each byte once and in order, however little write() takes; or the session ends.
 * Steps 3 and 4: the attributes of any message are read inside of it, what is not named stays zero,
 * and those written have 32 bytes. Step 5: attributes_set() sets what is named and nothing else,
 * leaves no descriptor open, and returns the last error.
 *
 * The loops of sftp_send() and attributes_read() are proved by one round from any state.
 */
#include "limit.h"

enum { PACKET_BYTES = LIMIT_SFTP_PACKET_BYTES };

/* Buffers of one byte: the answers go elsewhere here, and the others are not used. */
#undef LIMIT_SFTP_HANDLES
#undef LIMIT_SFTP_ENTRIES_BYTES
#undef LIMIT_SFTP_PACKET_BYTES
#undef LIMIT_SFTP_OUTPUT_BYTES
#define LIMIT_SFTP_HANDLES       1
#define LIMIT_SFTP_ENTRIES_BYTES 1
#define LIMIT_SFTP_PACKET_BYTES  1
#define LIMIT_SFTP_OUTPUT_BYTES  1
#include "sftp.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "answer.c"

/* The loop of attributes_read() asks this before each round. */
static bool cut(uint32_t *left, struct reader *message);
/* clang-format off */
#define failed failed && cut(&left, message)
/* clang-format on */
#include "attributes.c"
#undef failed

#include "base.h"
#include "copies.h"

static struct sftp sftp;
static int error;

/* ---- what they call -------------------------------------------------------------------------- */

int *__errno_location(void)
{
    return &error;
}

size_t strlen(const char *text)
{
    size_t count = nondet_size();
    ASSUME(count < PATH_BYTES);
    PROVE(__CPROVER_r_ok(text, 1), "a text is there");
    ASSUME(__CPROVER_r_ok(text, count + 1));
    return count;
}

/* reader.c keeps itself inside of the message, as its own proof shows: here only what is left
 * counts. */
static size_t left_now;

static bool take(struct reader *reader, size_t count)
{
    PROVE(reader->bytes == NULL && reader->left == left_now, "only reader.c moves a reader");
    reader->failed = reader->failed || nondet_bool() || count > reader->left;
    reader->left = reader->failed ? 0 : reader->left - count;
    left_now = reader->left;
    return !reader->failed;
}

uint32_t reader_u32(struct reader *reader)
{
    return take(reader, 4) ? nondet_u32() : 0;
}

uint64_t reader_u64(struct reader *reader)
{
    return take(reader, 8) ? nondet_size() : 0;
}

struct reader reader_string(struct reader *reader)
{
    take(reader, 4 + (size_t)nondet_u32());
    return (struct reader){.failed = reader->failed};
}

static size_t sent;
static unsigned writes;

/* After the first call any part may be sent. So the second is any round, and the third shows what
 * such a round leaves. */
ssize_t write(int fd, const void *bytes, size_t count)
{
    size_t taken = nondet_size();
    PROVE(fd == STDOUT_FILENO && count > 0, "something is sent");
    PROVE((const uint8_t *)bytes == sftp.answers.bytes + sent, "where the last call has ended");
    PROVE(count == sftp.answers.used - sent, "all that is left");
    ASSUME(++writes < 3);
    error = (int)nondet_unsigned();
    if (nondet_bool()) {
        return -1;
    }
    ASSUME(taken <= count);
    sent += taken;
    return (ssize_t)taken;
}

int poll(struct pollfd *entries, nfds_t count, int timeout_ms)
{
    (void)entries;
    (void)count;
    (void)timeout_ms;
    return 0;
}

void owners_show(uint32_t uid, uint32_t gid)
{
    (void)uid;
    (void)gid;
}

enum { OWN_FD = 7, SIZE = 1, MODE = 2, TIMES = 4, OWNERS = 8 };
static struct found_name found;
static bool of_name, opened;
static unsigned set; /* what was set, in this order */
static int last_error;

static int outcome(void)
{
    bool fails = nondet_bool();
    error = (int)nondet_unsigned();
    ASSUME(error > 0);
    last_error = fails ? error : last_error;
    return fails ? -1 : 0;
}

static int called(unsigned what, bool on_name)
{
    PROVE(on_name == of_name && set < what, "in the order, each once, of what was named");
    set |= what;
    return outcome();
}

int ftruncate(int fd, off_t size)
{
    (void)fd;
    (void)size;
    return called(SIZE, false);
}

int fchmod(int fd, mode_t mode)
{
    (void)fd;
    PROVE(mode <= 07777, "no bits but those of a mode");
    return called(MODE, false);
}

int fchmodat(int directory, const char *name, mode_t mode, int flags)
{
    PROVE(flags == 0 && mode <= 07777, "no bits but those of a mode");
    PROVE(opened ? directory == AT_FDCWD
                 : directory == found.directory && name == found.name && found.flags == 0,
          "a link is followed only if its name says so");
    return called(MODE, true);
}

int openat(int directory, const char *name, int flags, ...)
{
    PROVE(directory == found.directory && name == found.name && (flags & O_NOFOLLOW) != 0,
          "the name itself");
    PROVE(!opened, "one descriptor");
    if (outcome() != 0) {
        set |= MODE;
        return -1;
    }
    opened = true;
    return OWN_FD;
}

int fstat(int fd, struct stat *status)
{
    PROVE(fd == OWN_FD && opened, "what was opened");
    status->st_mode = nondet_unsigned();
    if (outcome() != 0) {
        set |= MODE;
        return -1;
    }
    if (S_ISLNK(status->st_mode)) { /* then its mode can't be set */
        set |= MODE;
        last_error = EOPNOTSUPP;
    }
    return 0;
}

int close(int fd)
{
    PROVE(fd == OWN_FD && opened, "what was opened");
    opened = false;
    error = (int)nondet_unsigned();
    return 0;
}

int snprintf(char *text, size_t size, const char *format, ...)
{
    (void)format;
    PROVE(__CPROVER_w_ok(text, size), "the path has room");
    return 0;
}

int futimens(int fd, const struct timespec times[2])
{
    (void)fd;
    (void)times;
    return called(TIMES, false);
}

int utimensat(int directory, const char *name, const struct timespec times[2], int flags)
{
    (void)times;
    PROVE(directory == found.directory && name == found.name && flags == found.flags, "the name");
    return called(TIMES, true);
}

int fchown(int fd, uid_t uid, gid_t gid)
{
    (void)fd;
    (void)uid;
    (void)gid;
    return called(OWNERS, false);
}

int fchownat(int directory, const char *name, uid_t uid, gid_t gid, int flags)
{
    (void)uid;
    (void)gid;
    PROVE(directory == found.directory && name == found.name && flags == found.flags, "the name");
    return called(OWNERS, true);
}

/* ---- the steps ------------------------------------------------------------------------------- */

/* Room as the requests' loop keeps it. */
static void begin_answers(void)
{
    size_t capacity = nondet_size();
    ASSUME(capacity <= PROOF_BYTES + LIMIT_SFTP_ANSWER_BYTES);
    writer_init(&sftp.answers, malloc(capacity), capacity);
    sftp.answers.used = nondet_size();
    ASSUME(sftp.answers.used <= capacity);
    ASSUME(capacity - sftp.answers.used >= LIMIT_SFTP_ANSWER_BYTES);
    sftp.id = nondet_u32();
}

static void prove_packet(size_t before)
{
    const struct writer *answers = &sftp.answers;
    PROVE(!answers->failed && answers->used - before < LIMIT_SFTP_ANSWER_BYTES, "an answer fits");
    PROVE(answers->used >= before + 9, "it has a length, a type and the request's number");
    PROVE(big_endian_read(answers->bytes + before) == answers->used - before - 4,
          "the length is right");
}

static void prove_status(void)
{
    enum sftp_status status = answer_status_of((int)nondet_unsigned());
    PROVE((unsigned)status < SFTP_STATUSES, "each error has a status");
    unsigned any = nondet_unsigned();
    ASSUME(any < SFTP_STATUSES);
    status = (enum sftp_status)any;
    size_t before = sftp.answers.used;
    answer_status(&sftp, status);
    prove_packet(before);
    PROVE(sftp.counts.refused == (status == SFTP_PERMISSION_DENIED), "refusals are counted");
}

static void prove_name(void)
{
    size_t before = sftp.answers.used;
    int failure = (int)nondet_unsigned();
    enum sftp_status status = answer_name(&sftp, failure, malloc(PATH_BYTES));
    if (failure == 0) {
        PROVE(status == SFTP_ANSWERED, "it is answered");
        prove_packet(before);
    } else {
        PROVE((unsigned)status < SFTP_STATUSES && sftp.answers.used == before,
              "or a status answers it");
    }
}

static void prove_send(void)
{
    size_t used = sftp.answers.used;
    bool done = sftp_send(&sftp);
    PROVE(!done || (sent == used && sftp.answers.used == 0 && !sftp.answers.failed),
          "all is sent, and the buffer is empty");
    PROVE(done || (sftp.ended != NULL && sftp.failed), "or the session ends");
}

static unsigned rounds;
static size_t left_before;

/* The first round is made any one: with any part of the message, and any count of pairs. */
static bool cut(uint32_t *left, struct reader *message)
{
    PROVE(rounds == 0 || message->left + 8 <= left_before, "each round takes two strings");
    ASSUME(++rounds < 2);
    left_now = left_before = nondet_size();
    ASSUME(left_now <= message->left);
    message->left = left_now;
    *left = nondet_u32();
    ASSUME(*left > 0);
    return true;
}

static void prove_read(void)
{
    left_now = nondet_size();
    ASSUME(left_now <= PACKET_BYTES);
    struct reader message = {.left = left_now};
    const struct attributes got = attributes_read(&message);
    PROVE(message.bytes == NULL && message.left == left_now, "only reader.c moves a reader");
    PROVE(got.permissions <= 07777, "no bits but those of a mode");
    PROVE((got.flags & SFTP_ATTR_SIZE) != 0 || got.size == 0, "no size");
    PROVE((got.flags & SFTP_ATTR_OWNERS) != 0 || (got.uid == 0 && got.gid == 0), "no owners");
    PROVE((got.flags & SFTP_ATTR_PERMISSIONS) != 0 || got.permissions == 0, "no mode");
    PROVE((got.flags & SFTP_ATTR_TIMES) != 0 || (got.accessed == 0 && got.modified == 0),
          "no times");
}

static void prove_write(void)
{
    struct stat status;
    size_t before = sftp.answers.used;
    attributes_write(&sftp.answers, &status);
    PROVE(!sftp.answers.failed && sftp.answers.used == before + 32, "size, owners, mode, times");
}

static void prove_set(void)
{
    const struct attributes wanted = {.flags = nondet_u32(),
                                      .permissions = nondet_unsigned() & 07777,
                                      .accessed = nondet_u32(),
                                      .modified = nondet_u32(),
                                      .size = nondet_size()};
    char name[1];
    found.directory = (int)nondet_unsigned();
    found.flags = nondet_bool() ? AT_SYMLINK_NOFOLLOW : 0;
    found.name = name;
    of_name = nondet_bool();
    int result = attributes_set(&wanted, OWN_FD, of_name ? &found : NULL);
    unsigned named = ((wanted.flags & SFTP_ATTR_SIZE) != 0 && !of_name ? SIZE : 0) |
                     ((wanted.flags & SFTP_ATTR_PERMISSIONS) != 0 ? MODE : 0) |
                     ((wanted.flags & SFTP_ATTR_TIMES) != 0 ? TIMES : 0) |
                     ((wanted.flags & SFTP_ATTR_OWNERS) != 0 ? OWNERS : 0);
    PROVE(set == named, "what is named is set, or tried");
    PROVE(result == last_error, "the last error");
    PROVE(!opened, "no descriptor stays");
}

int main(void)
{
    begin_answers();
    switch (STEP) {
    case 0:
        prove_status();
        break;
    case 1:
        prove_name();
        break;
    case 2:
        prove_send();
        break;
    case 3:
        prove_read();
        break;
    case 4:
        prove_write();
        break;
    default:
        prove_set();
        break;
    }
    return 0;
}
