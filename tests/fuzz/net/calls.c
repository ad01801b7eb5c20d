/*
 * The system calls of the network process: the linker puts these in place of libc's. Outside of a
 * run they are libc's own, which the fuzzer's runtime needs.
 */
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

void moved(void)
{
    world.steps++;
}

/* ---- time and memory ------------------------------------------------------------------------- */

SIMULATED(int, clock_gettime, clockid_t clock, struct timespec *now)
{
    if (!world.running) {
        return __real_clock_gettime(clock, now);
    }
    FUZZ_CHECK(clock == CLOCK_MONOTONIC);
    *now = (struct timespec){.tv_sec = (time_t)(world.now_ms / 1000),
                             .tv_nsec = (long)(world.now_ms % 1000) * 1000000};
    return 0;
}

SIMULATED(void, randombytes_buf, void *bytes, size_t count)
{
    memset(bytes, 0x5a, count);
}

static void zero_up_to(uint8_t *start, size_t bytes, uint8_t *buffer, size_t touched)
{
    uint8_t *from = start > buffer ? start : buffer;
    uint8_t *end = start + bytes < buffer + touched ? start + bytes : buffer + touched;
    if (from < end) {
        memset(from, 0, (size_t)(end - from));
    }
}

/* The kernel gives zeros in the place of what was given back. */
SIMULATED(void, memory_give_back, void *start, size_t bytes)
{
    struct buffers *buffers = &world.connection->buffers;
    struct pool *pool = &world.connection->pool;
    goal_reached(GOAL_TRIMMED);
    zero_up_to(start, bytes, (uint8_t *)&buffers->kex, sizeof(buffers->kex));
    zero_up_to(start, bytes, buffers->input, world.high_input);
    zero_up_to(start, bytes, buffers->output, world.high_output);
    zero_up_to(start, bytes, pool->chunks[0], pool->touched * sizeof(pool->chunks[0]));
}

SIMULATED(void, memory_give_back_stack, void)
{
}

/* ---- reading --------------------------------------------------------------------------------- */

static void note_high(void)
{
    const struct connection *connection = world.connection;
    size_t output = connection->pages.output_touched > connection->output_end
                        ? connection->pages.output_touched
                        : connection->output_end;
    world.high_output = output > world.high_output ? output : world.high_output;
}

static ssize_t read_client(uint8_t *bytes, size_t count)
{
    struct client *client = &world.client;
    const uint8_t *input = world.connection->buffers.input;
    FUZZ_CHECK(count > 0 && bytes >= input && bytes + count <= input + LIMIT_INPUT_BYTES);
    size_t left = client->arriving_end - client->arriving_start;
    if (left == 0 && client->closed) {
        moved();
        errno = client->read_error;
        return client->read_error != 0 ? -1 : 0;
    }
    size_t part = left < count ? left : count;
    part = part < world.chunk ? part : world.chunk;
    if (world.parts != 0) {
        world.parts = world.parts * 1664525 + 1013904223;
        size_t most = 1 + (world.parts >> 20) % ((world.parts & 0x8000) != 0 ? 9 : 500);
        part = part < most ? part : most;
    }
    if (part == 0) {
        errno = EAGAIN;
        return -1;
    }
    moved();
    memcpy(bytes, client->arriving + client->arriving_start, part);
    client->arriving_start += part;
    size_t end = (size_t)(bytes - input) + part;
    world.high_input = end > world.high_input ? end : world.high_input;
    return (ssize_t)part;
}

/* What a program writes: each byte depends on its place. */
static ssize_t read_program(int fd, uint8_t *bytes, size_t count)
{
    struct program *program = program_of(fd);
    int stream = stream_of(fd);
    if (stream == STREAM_EXIT) {
        FUZZ_CHECK(program->exited || world.spurious != -1);
        if (!program->exited) {
            errno = EAGAIN;
            return -1;
        }
        moved();
        FUZZ_CHECK(count == sizeof(program->result));
        memcpy(bytes, &program->result, program->result_bytes);
        return (ssize_t)program->result_bytes;
    }
    const uint8_t *output = world.connection->buffers.output;
    FUZZ_CHECK(stream != STREAM_STDIN && count > 0);
    FUZZ_CHECK(bytes > output && bytes + count <= output + LIMIT_OUTPUT_BYTES);
    int i = stream - STREAM_STDOUT;
    size_t part = program->waiting[i] < count ? program->waiting[i] : count;
    if (part == 0 && !program->output_closed[i]) {
        errno = EAGAIN;
        return -1;
    }
    moved();
    if (part == 0) {
        errno = EIO;
        return program->pty ? -1 : 0;
    }
    FUZZ_CHECK(part <= 131072);
    memcpy(bytes, stream_bytes(stream, program->sent[i]), part);
    program->waiting[i] -= part;
    program->sent[i] += part;
    return (ssize_t)part;
}

SIMULATED(ssize_t, read, int fd, void *bytes, size_t count)
{
    if (!world.running) {
        return __real_read(fd, bytes, count);
    }
    note_high();
    return fd == CLIENT_FD ? read_client(bytes, count) : read_program(fd, bytes, count);
}

/* ---- writing --------------------------------------------------------------------------------- */

static ssize_t write_client(const uint8_t *bytes, size_t count)
{
    note_high();
    invariants_hold();
    FUZZ_CHECK(count > 0 && !world.output_shut);
    if (world.write_error != 0) {
        moved();
        errno = world.write_error;
        world.write_error = errno == EINTR || errno == EAGAIN ? 0 : errno;
        return -1;
    }
    if (world.socket_room == 0) {
        errno = EAGAIN;
        return -1;
    }
    size_t part = count < world.socket_room ? count : world.socket_room;
    if (part < count) {
        goal_reached(GOAL_SHORT_WRITE);
    }
    moved();
    world.socket_room -= world.socket_room == UNLIMITED ? 0 : part;
    wire_written(bytes, part);
    return (ssize_t)part;
}

SIMULATED(ssize_t, write, int fd, const void *bytes, size_t count)
{
    if (!world.running) {
        return __real_write(fd, bytes, count);
    }
    if (fd == OUTPUT_FD) {
        return write_client(bytes, count);
    }
    /* A break on a terminal. */
    FUZZ_CHECK(program_of(fd)->pty && count == 1);
    goal_reached(GOAL_BREAK);
    moved();
    errno = EAGAIN;
    return world.refuses_ioctl ? -1 : 1;
}

/* The program gets just what the client has sent, in its order. */
static void take(struct program *program, const uint8_t *bytes, size_t count)
{
    if (program->channel >= 0 && !world.ambiguous) {
        const struct peer_channel *channel = &world.channels[program->channel];
        FUZZ_CHECK(program->taken + count <= channel->data_bytes);
        FUZZ_CHECK(memcmp(bytes, channel->data + program->taken, count) == 0);
    }
    program->taken += count;
    program->room -= program->room == UNLIMITED ? 0 : count;
    goal_reached(GOAL_TAKEN);
}

SIMULATED(ssize_t, writev, int fd, const struct iovec *parts, int count)
{
    if (!world.running) {
        return __real_writev(fd, parts, count);
    }
    struct program *program = program_of(fd);
    FUZZ_CHECK(stream_of(fd) == STREAM_STDIN || program->pty);
    if (program->input_closed || (program->pty && program->output_closed[0])) {
        moved();
        program->unnoticed = false;
        errno = program->pty ? EIO : EPIPE;
        return -1;
    }
    ssize_t written = 0;
    for (int i = 0; i < count && program->room > 0; i++) {
        size_t part = parts[i].iov_len < program->room ? parts[i].iov_len : program->room;
        if (part > 0) {
            take(program, parts[i].iov_base, part);
        }
        written += (ssize_t)part;
    }
    if (written == 0 && program->room == 0) {
        errno = EAGAIN;
        return -1;
    }
    moved();
    return written;
}

/* ---- the others ------------------------------------------------------------------------------ */

SIMULATED(int, close, int fd)
{
    if (!world.running) {
        return __real_close(fd);
    }
    struct program *program = program_of(fd);
    moved();
    if (program->pty && program->exited && fd == program->fds[STREAM_STDOUT] &&
        !program->output_closed[0]) {
        goal_reached(GOAL_LINGERED);
    }
    world.open_fds[fd] = false;
    for (int i = 0; i < STREAMS; i++) {
        program->fds[i] = program->fds[i] == fd ? -1 : program->fds[i];
    }
    return 0;
}

static int pipe_size(int fd, int command)
{
    program_of(fd);
    FUZZ_CHECK(command == F_GETPIPE_SZ || command == F_SETPIPE_SZ);
    goal_reached(GOAL_WIDENED);
    if (world.refuses_wide_pipes && command == F_SETPIPE_SZ) {
        errno = EPERM;
        return -1;
    }
    return command == F_GETPIPE_SZ ? 65536 : LIMIT_PIPE_BYTES;
}

SIMULATED(int, fcntl, int fd, int command, long argument)
{
    return world.running ? pipe_size(fd, command) : __real_fcntl(fd, command, argument);
}

SIMULATED_64(int, fcntl, int fd, int command, long argument);

SIMULATED(int, ioctl, int fd, unsigned long request, void *argument)
{
    if (!world.running) {
        return __real_ioctl(fd, request, argument);
    }
    FUZZ_CHECK(program_of(fd)->pty && (request == TIOCSWINSZ || request == TIOCSIG));
    moved();
    errno = EIO;
    return world.refuses_ioctl ? -1 : 0;
}

SIMULATED(int, tcgetattr, int fd, struct termios *modes)
{
    if (!world.running) {
        return __real_tcgetattr(fd, modes);
    }
    FUZZ_CHECK(program_of(fd)->pty);
    *modes =
        (struct termios){.c_iflag = (world.breaks ? BRKINT : 0) | (world.ignores ? IGNBRK : 0)};
    return 0;
}

SIMULATED(int, setsockopt, int fd, int level, int option, const void *value, socklen_t bytes)
{
    if (!world.running) {
        return __real_setsockopt(fd, level, option, value, bytes);
    }
    FUZZ_CHECK((fd == CLIENT_FD || fd == OUTPUT_FD) && world.connection->socket.tcp);
    return 0;
}

SIMULATED(int, shutdown, int fd, int how)
{
    if (!world.running) {
        return __real_shutdown(fd, how);
    }
    FUZZ_CHECK(fd == OUTPUT_FD && how == SHUT_WR);
    world.output_shut = true;
    errno = ENOTSOCK;
    return (world.config[0] & 0x80) != 0 ? -1 : 0;
}
