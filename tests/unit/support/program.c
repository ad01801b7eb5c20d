#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

/* A pipe with our end, which is handed over, and the program's; neither blocks. */
static int make_pipe(bool program_reads, int *program_end)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    *program_end = ends[program_reads ? 0 : 1];
    return ends[program_reads ? 1 : 0];
}

uint32_t program_channel(struct rig *rig, uint32_t remote, uint32_t window, uint32_t packet)
{
    rig_say(rig, SSH_MSG_CHANNEL_OPEN, "suuu", "session", remote, window, packet);
    struct reader answer = rig_hear(rig, SSH_MSG_CHANNEL_OPEN_CONFIRMATION);
    ck_assert_uint_eq(reader_u32(&answer), remote);
    uint32_t channel = reader_u32(&answer);
    ck_assert_uint_eq(reader_u32(&answer), LIMIT_WINDOW_BYTES);
    ck_assert_uint_eq(reader_u32(&answer), LIMIT_CHANNEL_PACKET_BYTES);
    ck_assert(reader_end(&answer));
    return channel;
}

static void spawn(struct rig *rig, const struct program *program, const int *fds, size_t count)
{
    static uint8_t request[IPC_SESSION_REQUEST_BYTES];
    const struct ipc_done done = {.type = IPC_SPAWN, .done = 1};
    rig_reply_descriptors(rig, &done, sizeof(done), fds, count);
    for (size_t i = 0; i < count; i++) {
        close(fds[i]);
    }
    rig_say(rig, SSH_MSG_CHANNEL_REQUEST, "usbs", program->channel, "exec", 1, "a program");
    rig_request(rig, IPC_SPAWN, request, sizeof(request));
    rig_expect(rig, SSH_MSG_CHANNEL_SUCCESS, "u", program->remote);
}

void program_start(struct rig *rig, struct program *program, uint32_t channel, uint32_t remote)
{
    int ours[4];
    *program = (struct program){.channel = channel, .remote = remote, .slave = -1};
    ours[0] = make_pipe(true, &program->in);
    ours[1] = make_pipe(false, &program->out);
    ours[2] = make_pipe(false, &program->err);
    ours[3] = make_pipe(false, &program->exit);
    spawn(rig, program, ours, 4);
}

void program_start_on_terminal(struct rig *rig, struct program *program, uint32_t channel,
                               uint32_t remote)
{
    struct ipc_pty request;
    int master, exit_pipe;
    *program =
        (struct program){.channel = channel, .remote = remote, .in = -1, .out = -1, .err = -1};
    ck_assert_int_eq(openpty(&master, &program->slave, NULL, NULL, NULL), 0);
    ck_assert_int_eq(fcntl(master, F_SETFL, O_NONBLOCK), 0);
    ck_assert_int_eq(fcntl(program->slave, F_SETFL, O_NONBLOCK | O_RDWR), 0);
    struct termios raw;
    tcgetattr(program->slave, &raw);
    cfmakeraw(&raw);
    tcsetattr(program->slave, TCSANOW, &raw);
    const struct ipc_done done = {.type = IPC_PTY, .done = 1};
    rig_reply_descriptors(rig, &done, sizeof(done), &master, 1);
    close(master);
    rig_say(rig, SSH_MSG_CHANNEL_REQUEST, "usbsuuuus", channel, "pty-req", 0, "vt100", 80, 24, 0, 0,
            "");
    rig_request(rig, IPC_PTY, &request, sizeof(request));
    exit_pipe = make_pipe(false, &program->exit);
    spawn(rig, program, &exit_pipe, 1);
}

void program_run(struct rig *rig, struct program *program, uint32_t remote)
{
    uint32_t channel = program_channel(rig, remote, 1U << 30, 32768);
    program_start(rig, program, channel, remote);
}

void program_write(int fd, const void *bytes, size_t count)
{
    ck_assert_int_eq(write(fd, bytes, count), (ssize_t)count);
}

size_t program_read(int fd, void *bytes, size_t room)
{
    size_t count = 0;
    while (count < room) {
        ssize_t more = read(fd, (char *)bytes + count, room - count);
        if (more <= 0) {
            ck_assert(more == 0 || errno == EAGAIN);
            break;
        }
        count += (size_t)more;
    }
    return count;
}

void program_close(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

void program_exit(struct program *program, uint32_t signaled, uint32_t status, uint32_t core)
{
    const struct ipc_exit result = {.signaled = signaled, .status = status, .core_dumped = core};
    program_write(program->exit, &result, sizeof(result));
    program_close(&program->exit);
}

void program_close_all(struct program *program)
{
    program_close(&program->in);
    program_close(&program->out);
    program_close(&program->err);
    program_close(&program->exit);
    program_close(&program->slave);
}

struct channel_plan program_plan(const struct rig *rig)
{
    struct pollfd entries[LIMIT_CHANNELS * CHANNEL_POLL_ENTRIES];
    return channel_poll_plan(rig->connection, entries);
}

int program_turn(struct rig *rig, int timeout_ms)
{
    struct pollfd entries[LIMIT_CHANNELS * CHANNEL_POLL_ENTRIES];
    struct channel_plan plan = channel_poll_plan(rig->connection, entries);
    ck_assert_uint_le(plan.entries, sizeof(entries) / sizeof(entries[0]));
    /* Here the socket always has room. */
    int found = poll(entries, plan.entries, plan.awaits_room ? 0 : timeout_ms);
    ck_assert_int_ge(found, 0);
    found += plan.awaits_room;
    channel_poll_note(rig->connection, entries, plan.awaits_room);
    channel_poll_turn(rig->connection);
    program_check_windows(rig);
    return found;
}

void program_expect_idle(struct rig *rig)
{
    /* A terminal's buffers still move for a moment after the last write. */
    for (int i = 0; i < 50; i++) {
        if (program_turn(rig, 20) == 0) {
            return;
        }
        usleep(1000);
    }
    ck_abort_msg("poll() returns at once, again and again");
}

void program_check_windows(const struct rig *rig)
{
    size_t limits = 0, pending = 0;
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        const struct channel *channel = &rig->connection->channels[i];
        if (channel_is_open(channel)) {
            ck_assert_uint_ge(channel->limit, LIMIT_WINDOW_BYTES);
            ck_assert_uint_le(channel->limit, LIMIT_LARGEST_WINDOW_BYTES);
            ck_assert_uint_eq(channel->window + channel_waiting_bytes(rig->connection, channel) +
                                  channel->consumed,
                              channel->limit);
            limits += channel->limit;
            pending += channel->pending.bytes;
        } else {
            ck_assert_uint_eq(channel->pending.bytes, 0);
            limits += LIMIT_WINDOW_BYTES; /* which it will have */
        }
    }
    ck_assert_uint_le(limits, LIMIT_WINDOWS_BYTES);
    ck_assert_uint_le(rig->connection->pool.in_use, QUEUE_CHUNKS);
    ck_assert(pending > 0 || rig->connection->pool.in_use == 0);
}

void program_fill_output(struct rig *rig)
{
    static const uint8_t zeros[8000];
    while (output_room(rig->connection) >= LIMIT_REPLY_BYTES) {
        rig_say(rig, SSH_MSG_PING, "d", zeros, sizeof(zeros));
    }
}

void program_drop_output(struct rig *rig)
{
    rig->connection->output_start = rig->connection->output_end = 0;
    rig->down.sequence = rig->connection->out.sequence;
}
