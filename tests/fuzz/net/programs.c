/* The programs' pipes and terminals, as the kernel keeps them, and who holds which descriptor. */
#include "world.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

/* ---- data ------------------------------------------------------------------------------------ */

#define PERIOD 65536

const uint8_t *stream_bytes(int stream, size_t position)
{
    static uint8_t bytes[PERIOD + (1 << 18)];
    if (bytes[0] == 0) {
        uint32_t state = 1;
        for (size_t i = 0; i < PERIOD; i++) {
            state = state * 1664525 + 1013904223;
            bytes[i] = (uint8_t)(state >> 24 | 1);
        }
        for (size_t i = PERIOD; i < sizeof(bytes); i++) {
            bytes[i] = bytes[i - PERIOD];
        }
    }
    return bytes + (position + 1000 * (size_t)stream) % PERIOD;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

int program_new(uint32_t slot, bool pty)
{
    struct program *program = &world.programs[world.program_count];
    *program = (struct program){.slot = slot, .pty = pty, .room = UNLIMITED, .channel = -1};
    for (int i = 0; i < STREAMS; i++) {
        program->fds[i] = -1;
    }
    program->channel = world.slot_channel[slot];
    return world.program_count++;
}

void program_give(int index, enum stream stream)
{
    struct program *program = &world.programs[index];
    int fd = world.next_fd++;
    FUZZ_CHECK(fd < LAST_FD);
    world.open_fds[fd] = true;
    world.fd_program[fd] = (uint8_t)index;
    program->fds[stream] = fd;
    if (program->pty && stream == STREAM_STDOUT) {
        program->fds[STREAM_STDIN] = fd;
    }
}

/* The product may use no descriptor but these, and none after it has closed it. */
struct program *program_of(int fd)
{
    FUZZ_CHECK(fd >= FIRST_FD && fd < world.next_fd);
    FUZZ_CHECK(world.open_fds[fd]);
    return &world.programs[world.fd_program[fd]];
}

/* A terminal's master counts as stdout. */
int stream_of(int fd)
{
    const struct program *program = program_of(fd);
    for (int i = STREAMS - 1; i >= 0; i--) {
        if (program->fds[i] == fd) {
            return i;
        }
    }
    fuzz_fail("the descriptor is one of its program's", __FILE__, __LINE__);
}

/* True if an open channel of the product has this descriptor. */
bool product_holds(int fd)
{
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        const struct channel *channel = &world.connection->channels[i];
        if (channel_is_open(channel) &&
            (channel->child_stdin == fd || channel->child_stdout == fd ||
             channel->child_stderr == fd || channel->child_exit == fd)) {
            return true;
        }
    }
    return false;
}

/* ---- what poll() finds ----------------------------------------------------------------------- */

static short input_events(const struct program *program)
{
    if (program->input_closed && !program->unnoticed) {
        return POLLERR | POLLOUT;
    }
    return program->room > 0 ? POLLOUT : 0;
}

static short output_events(const struct program *program, int stream)
{
    int i = stream - STREAM_STDOUT;
    return (short)((program->waiting[i] > 0 ? POLLIN : 0) |
                   (program->output_closed[i] ? POLLHUP : 0));
}

short program_events(int fd, short wanted)
{
    const struct program *program = program_of(fd);
    int stream = stream_of(fd);
    short found = 0;
    if (stream == STREAM_STDIN) {
        found = input_events(program);
    } else if (stream == STREAM_EXIT) {
        found = program->exited ? POLLIN | POLLHUP : 0;
    } else {
        found = output_events(program, stream);
        found |= program->pty && program->room > 0 ? POLLOUT : 0;
    }
    return (short)(found & (wanted | POLLERR | POLLHUP));
}
