/* The least that a server could do for a transfer: moves bytes between a connection and a program,
 * with the system calls and the buffers of wrensshd, and without encryption.
 *
 *     relay
 *
 * The connection is on descriptors 0 and 1, as from inetd. Its first line is a command for the
 * shell; the rest goes to that program, whose output goes back. Ends when the output has ended. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "limit.h"

#define COMMAND_BYTES 256
#define READS_A_TURN  3 /* PACKETS_A_TURN in src/net/channels/channel_stdout.c */

/* One direction. Of what is read from `from`, `start` to `end` is not written to `to` yet. */
struct way {
    int from, to;
    size_t read_bytes; /* at most, with one call */
    int reads;         /* in one turn */
    bool ended, widened, short_of_data;
    size_t start, end, room;
    uint8_t *bytes;
};

static uint8_t upward[LIMIT_READ_BYTES], downward[LIMIT_OUTPUT_BYTES];

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(111);
}

/* ---- start ----------------------------------------------------------------------------------- */

static void read_command(char command[static COMMAND_BYTES])
{
    size_t count = 0;

    while (count < COMMAND_BYTES - 1 && read(STDIN_FILENO, command + count, 1) == 1 &&
           command[count] != '\n') {
        count++;
    }
    command[count] = '\0';
}

/* Only our ends are non-blocking, as in src/session/streams.c. */
static void open_pipe(int ends[static 2], int ours)
{
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[ours], F_SETFL, O_NONBLOCK) != 0) {
        fail("pipe");
    }
}

static void start(const char *command, int *to_program, int *from_program)
{
    int input[2], output[2];

    open_pipe(input, 1);
    open_pipe(output, 0);
    switch (fork()) {
    case -1:
        fail("fork");
    case 0:
        dup2(input[0], STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    default:
        close(input[0]);
        close(output[1]);
        *to_program = input[1];
        *from_program = output[0];
    }
}

static void prepare_socket(void)
{
    const int on = 1, unsent_bytes = LIMIT_UNSENT_BYTES;

    if (fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK) != 0) {
        fail("fcntl");
    }
    /* They fail on a socket that is not TCP's, which needs neither. */
    setsockopt(STDOUT_FILENO, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(STDOUT_FILENO, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_bytes, sizeof(unsent_bytes));
}

/* ---- moving ---------------------------------------------------------------------------------- */

static bool has_room(const struct way *way)
{
    return !way->ended && way->room - way->end >= way->read_bytes;
}

/* True if the call moved as much as it could. */
static bool read_once(struct way *way)
{
    ssize_t count = read(way->from, way->bytes + way->end, way->read_bytes);

    if (count > 0) {
        way->end += (size_t)count;
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        way->ended = true;
    }
    return count == (ssize_t)way->read_bytes;
}

static void widen(struct way *way, int pipe_end)
{
    if (!way->widened) {
        way->widened = true;
        fcntl(pipe_end, F_SETPIPE_SZ, LIMIT_PIPE_BYTES);
    }
}

static void take_in(struct way *way)
{
    int full = 0;

    while (full < way->reads && has_room(way) && read_once(way)) {
        full++;
    }
    way->short_of_data = full < way->reads;
}

static void hand_out(struct way *way)
{
    ssize_t count = 0;

    if (way->start < way->end) {
        count = write(way->to, way->bytes + way->start, way->end - way->start);
    }
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
        exit(0); /* the reader is gone */
    }
    way->start += count > 0 ? (size_t)count : 0;
    if (way->start == way->end) {
        way->start = way->end = 0;
    }
}

static void pass_up(struct way *up)
{
    if (up->start == up->end && !up->ended) {
        take_in(up);
    }
    hand_out(up);
    if (up->end > 0 && !up->widened) {
        widen(up, up->to);
        hand_out(up);
    }
    if (up->ended && up->end == 0 && up->to >= 0) {
        close(up->to);
        up->to = -1;
    }
}

static void pass_down(struct way *down)
{
    take_in(down);
    if (down->end > down->read_bytes) {
        widen(down, down->from);
    }
    hand_out(down);
}

/* Waits until something can move. Output that comes in small pieces is read only once in
 * LIMIT_COALESCE_US, as in src/net/loop.c. */
static void wait_for_work(const struct way *up, const struct way *down, short ready[static 4])
{
    bool coalesces = down->widened && down->short_of_data && has_room(down);
    bool idle = up->end == 0;
    const struct timespec pause = {.tv_nsec = LIMIT_COALESCE_US * 1000};
    struct pollfd entries[4] = {
        {.fd = idle && !up->ended ? up->from : -1, .events = POLLIN},
        {.fd = idle ? -1 : up->to, .events = POLLOUT},
        {.fd = has_room(down) && !coalesces ? down->from : -1, .events = POLLIN},
        {.fd = down->end > 0 ? down->to : -1, .events = POLLOUT},
    };

    if (ppoll(entries, 4, coalesces ? &pause : NULL, NULL) < 0 && errno != EINTR) {
        fail("poll");
    }
    for (int i = 0; i < 4; i++) {
        ready[i] = entries[i].revents;
    }
    ready[2] |= coalesces ? POLLIN : 0;
}

int main(void)
{
    char command[COMMAND_BYTES];
    struct way up = {.from = STDIN_FILENO,
                     .read_bytes = LIMIT_READ_BYTES,
                     .reads = 1,
                     .room = sizeof(upward),
                     .bytes = upward};
    struct way down = {.to = STDOUT_FILENO,
                       .read_bytes = LIMIT_CHANNEL_PACKET_BYTES,
                       .reads = READS_A_TURN,
                       .room = sizeof(downward),
                       .bytes = downward};

    read_command(command);
    start(command, &up.to, &down.from);
    prepare_socket();
    while (!down.ended || down.end > 0) {
        short ready[4];

        wait_for_work(&up, &down, ready);
        if ((ready[0] | ready[1]) != 0) {
            pass_up(&up);
        }
        if ((ready[2] | ready[3]) != 0) {
            pass_down(&down);
        }
    }
    while (wait(NULL) > 0 || errno == EINTR) {
    }
    return 0;
}
