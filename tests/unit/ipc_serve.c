/* ipc_serve() with a table of this test: sizes, phases, tails, descriptors, replies. */
#include "ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "descriptor.h"
#include "unit.h"

enum { EARLY = 1 << 0, LATE = 1 << 1 };

/* The made-up requests; IPC_TYPES - 1 is one, so that the table's end is seen. */
enum {
    PLAIN = 1,
    TAILED = 2,
    GIVER = 3,   /* answers with as many descriptors as the request's value says */
    BREAKER = 4, /* has a descriptor ready, and ends the connection */
    MUTE = IPC_TYPES - 1,
};

struct plain {
    uint32_t type;
    uint32_t value;
};

static struct {
    unsigned calls;
    uint32_t value;
    char tail[16];
} heard;

static int pair[2]; /* [0] the server's */

static const char *on_plain(void *process, const void *request, struct reply *reply)
{
    struct plain plain;
    ck_assert_ptr_eq(process, &heard);
    memcpy(&plain, request, sizeof(plain));
    heard.calls++;
    heard.value = plain.value;
    reply->body.type = PLAIN;
    ck_assert_uint_eq(reply->body.done.done, 0);
    reply->body.done.done = plain.value;
    return NULL;
}

static size_t tail_of(const void *request)
{
    struct plain plain;
    memcpy(&plain, request, sizeof(plain));
    return plain.value < sizeof(heard.tail) ? plain.value : REQUEST_TAIL_TOO_LONG;
}

static const char *on_tailed(void *process, const void *request, struct reply *reply)
{
    const char *why = on_plain(process, request, reply);
    memcpy(heard.tail, (const char *)request + sizeof(struct plain), heard.value);
    return why;
}

static const char *on_giver(void *process, const void *request, struct reply *reply)
{
    const char *why = on_plain(process, request, reply);
    for (uint32_t i = 0; i < heard.value; i++) {
        reply->passed.descriptors[reply->passed.count++] =
            fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 20);
    }
    return why;
}

static const char *on_breaker(void *process, const void *request, struct reply *reply)
{
    on_giver(process, request, reply);
    return "broken";
}

static const char *on_mute(void *process, const void *request, struct reply *reply)
{
    on_plain(process, request, reply);
    return NULL;
}

static const struct request_row table[IPC_TYPES] = {
    [PLAIN] = {sizeof(struct plain), sizeof(struct ipc_done), EARLY | LATE, NULL, on_plain},
    [TAILED] = {sizeof(struct plain), sizeof(struct ipc_done), LATE, tail_of, on_tailed},
    [GIVER] = {sizeof(struct plain), sizeof(struct ipc_done), LATE, NULL, on_giver},
    [BREAKER] = {sizeof(struct plain), sizeof(struct ipc_done), LATE, NULL, on_breaker},
    [MUTE] = {sizeof(struct plain), 0, LATE, NULL, on_mute},
};

static void begin(void)
{
    memset(&heard, 0, sizeof(heard));
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

static void finish(void)
{
    close(pair[0]);
    close(pair[1]);
}

UNIT_CASE("requests");
UNIT_FIXTURE(begin, finish);
UNIT_TIMEOUT(30);

#define ROOM 64

static union {
    uint32_t type;
    uint64_t strictest;
    uint8_t bytes[ROOM];
} room;

static const char *wrong;

static enum request_outcome serve(unsigned phase)
{
    wrong = "not set";
    return ipc_serve(pair[0], table, phase, &heard, &room, sizeof(room), &wrong);
}

static void say(uint32_t type, uint32_t value, const char *tail, size_t bytes)
{
    uint8_t request[2 * ROOM] = {0};
    const struct plain plain = {type, value};
    memcpy(request, &plain, sizeof(plain));
    memcpy(request + sizeof(plain), tail, strlen(tail));
    ck_assert_int_eq(send(pair[1], request, bytes, 0), (ssize_t)bytes);
}

static void expect_done(uint32_t type, uint32_t done)
{
    struct ipc_done reply;
    ck_assert_int_eq(recv(pair[1], &reply, sizeof(reply), MSG_DONTWAIT | MSG_TRUNC), sizeof(reply));
    ck_assert_uint_eq(reply.type, type);
    ck_assert_uint_eq(reply.done, done);
}

static void expect_wrong(unsigned phase, const char *reason)
{
    uint8_t byte;
    ck_assert_int_eq(serve(phase), REQUEST_SERVED);
    ck_assert_ptr_nonnull(wrong);
    ck_assert_str_eq(wrong, reason);
    ck_assert_int_lt(recv(pair[1], &byte, 1, MSG_DONTWAIT), 0);
}

/* ---- good ones ------------------------------------------------------------------------------- */

TEST(nothing_to_receive)
{
    ck_assert_int_eq(serve(LATE), REQUEST_NONE);
    ck_assert_ptr_null(wrong);
}

TEST(each_is_answered_once)
{
    for (uint32_t i = 1; i <= 3; i++) {
        say(PLAIN, i, "", 8);
    }
    for (uint32_t i = 1; i <= 3; i++) {
        ck_assert_int_eq(serve(i == 1 ? EARLY : LATE), REQUEST_SERVED);
        ck_assert_ptr_null(wrong);
        ck_assert_uint_eq(heard.calls, i);
        expect_done(PLAIN, i);
    }
    ck_assert_int_eq(serve(LATE), REQUEST_NONE);
}

TEST(tails_have_the_length_that_is_named)
{
    say(TAILED, 5, "hello", 8 + 5);
    ck_assert_int_eq(serve(LATE), REQUEST_SERVED);
    ck_assert_ptr_null(wrong);
    ck_assert_str_eq(heard.tail, "hello");
    expect_done(PLAIN, 5);
    say(TAILED, 0, "", 8);
    ck_assert_int_eq(serve(LATE), REQUEST_SERVED);
    ck_assert_ptr_null(wrong);
}

TEST(one_without_a_reply)
{
    uint8_t byte;
    say(MUTE, 1, "", 8);
    ck_assert_int_eq(serve(LATE), REQUEST_SERVED);
    ck_assert_ptr_null(wrong);
    ck_assert_int_lt(recv(pair[1], &byte, 1, MSG_DONTWAIT), 0);
}

/* It may have held the secret of a key exchange. */
TEST(requests_are_wiped)
{
    static const uint8_t zeros[ROOM];
    memset(&room, 0, sizeof(room));
    say(TAILED, 5, "hello", 8 + 5);
    serve(LATE);
    ck_assert_mem_eq(room.bytes, zeros, sizeof(room));
    say(TAILED, 15, "wrong size", 8 + 10);
    serve(LATE);
    ck_assert_mem_eq(room.bytes, zeros, sizeof(room));
}

/* ---- ones that break a rule ------------------------------------------------------------------ */

static const struct {
    uint32_t type, value;
    size_t bytes;
    unsigned phase;
    const char *reason;
} bad[] = {
    {PLAIN, 0, 7, LATE, "request of a wrong size"},
    {PLAIN, 0, 9, LATE, "request of a wrong size"},
    {PLAIN, 0, 4, LATE, "request of a wrong size"},
    {PLAIN, 0, ROOM, LATE, "request of a wrong size"},
    {PLAIN, 0, ROOM + 1, LATE, "request of a wrong size"},
    {PLAIN, 0, 3, LATE, "request of an unknown type"},
    {TAILED, 5, 8 + 4, LATE, "request of a wrong size"},
    {TAILED, 5, 8 + 6, LATE, "request of a wrong size"},
    {TAILED, 16, 8 + 16, LATE, "request of a wrong size"},
    {TAILED, 0xffffffff, 7, LATE, "request of a wrong size"},
    {TAILED, 0xffffffff, 8 + 1, LATE, "request of a wrong size"},
    {TAILED, 5, 8 + 5, EARLY, "request at the wrong time"},
    {TAILED, 5, 4, EARLY, "request at the wrong time"},
    {0, 0, 8, LATE, "request of an unknown type"},
    {MUTE - 1, 0, 8, LATE, "request of an unknown type"},
    {IPC_TYPES, 0, 8, LATE, "request of an unknown type"},
    {IPC_TYPES, 0, 8, EARLY, "request of an unknown type"},
    {0x7fffffff, 0, 8, LATE, "request of an unknown type"},
    {0xffffffff, 0, 8, LATE, "request of an unknown type"},
};

TEST_EACH(requests_that_break_a_rule, COUNT_OF(bad))
{
    say(bad[_i].type, bad[_i].value, "", bad[_i].bytes);
    expect_wrong(bad[_i].phase, bad[_i].reason);
    ck_assert_uint_eq(heard.calls, 0);
}

TEST(a_handler_that_ends_the_connection)
{
    int before = dup(STDERR_FILENO);
    close(before);
    say(BREAKER, 2, "", 8);
    expect_wrong(LATE, "broken");
    ck_assert_int_lt(fcntl(20, F_GETFD), 0); /* what it would have passed is closed */
    int after = dup(STDERR_FILENO);
    close(after);
    ck_assert_int_eq(before, after);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * 8)];
};

TEST(descriptors_go_out)
{
    for (uint32_t given = 0; given <= IPC_REPLY_DESCRIPTORS; given++) {
        struct ipc_done reply;
        union control control = {0};
        struct iovec part = {&reply, sizeof(reply)};
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof(control)};
        say(GIVER, given, "", 8);
        ck_assert_int_eq(serve(LATE), REQUEST_SERVED);
        ck_assert_ptr_null(wrong);
        ck_assert_int_lt(fcntl(20, F_GETFD), 0); /* ours are closed, theirs are in flight */
        ck_assert_int_eq(recvmsg(pair[1], &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT),
                         sizeof(reply));
        ck_assert_int_eq(message.msg_flags & MSG_CTRUNC, 0);
        if (given == 0) {
            ck_assert_uint_eq(message.msg_controllen, 0);
            continue;
        }
        ck_assert_uint_eq(control.header.cmsg_len, CMSG_LEN(sizeof(int) * given));
        for (uint32_t i = 0; i < given; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(&control.header) + i * sizeof(fd), sizeof(fd));
            ck_assert_int_ge(fcntl(fd, F_GETFD), 0);
            close(fd);
        }
    }
}

TEST(descriptors_that_come_in_end_the_connection)
{
    struct plain plain = {PLAIN, 1};
    int before = dup(STDERR_FILENO);
    close(before);
    send_with_descriptor(pair[1], &plain, sizeof(plain));
    expect_wrong(LATE, "request of a wrong size");
    ck_assert_uint_eq(heard.calls, 0);
    int after = dup(STDERR_FILENO);
    close(after);
    ck_assert_int_eq(before, after);
}

/* ---- the other end --------------------------------------------------------------------------- */

TEST(replies_that_nobody_reads)
{
    unsigned served = 0;
    do {
        say(PLAIN, 1, "", 8);
        ck_assert_int_eq(serve(LATE), REQUEST_SERVED);
        served++;
    } while (wrong == NULL && served < 1000000);
    ck_assert_ptr_nonnull(wrong);
    ck_assert_str_eq(wrong, "network process does not read its replies");
}

TEST(an_end_that_is_closed)
{
    say(PLAIN, 1, "", 8);
    close(pair[1]);
    ck_assert_int_eq(serve(LATE), REQUEST_SERVED); /* what it asked before is still there */
    ck_assert_ptr_null(wrong);                     /* that it reads no answer does not matter */
    ck_assert_uint_eq(heard.calls, 1);
    ck_assert_int_eq(serve(LATE), REQUEST_CLOSED);
    ck_assert_ptr_null(wrong);
}

/* A reply that was left unread resets the socket: what was sent before it was closed counts. */
TEST(an_end_that_is_reset)
{
    say(PLAIN, 1, "", 8);
    ck_assert_int_eq(serve(LATE), REQUEST_SERVED);
    say(PLAIN, 2, "", 8);
    close(pair[1]);
    enum request_outcome outcome = REQUEST_SERVED;
    for (int turn = 0; outcome == REQUEST_SERVED && turn < 5; turn++) {
        outcome = serve(LATE);
        ck_assert_ptr_null(wrong);
    }
    ck_assert_int_eq(outcome, REQUEST_CLOSED);
    ck_assert_uint_eq(heard.calls, 2);
}
