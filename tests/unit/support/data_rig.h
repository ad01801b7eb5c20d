/* One program on the only channel, and bytes of which no two places look alike: what the tests of
 * channel_stdout.c and channel_exit.c share. */
#ifndef WREN_UNIT_DATA_RIG_H
#define WREN_UNIT_DATA_RIG_H

#include <signal.h>

#include "program.h"
#include "unit.h"

#define REMOTE 42

static struct rig rig;
static struct program program;
static uint8_t bytes[500000], back[500000];

static void start(void)
{
    signal(SIGPIPE, SIG_IGN);
    rig_open(&rig, SSH_PHASE_OPEN);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(i * 7 + i / 251);
    }
}

static void finish(void)
{
    program_close_all(&program);
}

static struct channel *channel(void)
{
    return &rig.connection->channels[program.channel];
}

static void turns(int count)
{
    for (int i = 0; i < count; i++) {
        program_turn(&rig, 0);
    }
}

static void say_data(size_t from, size_t count)
{
    rig_say(&rig, SSH_MSG_CHANNEL_DATA, "ud", program.channel, bytes + from, count);
    program_check_windows(&rig);
}

/* The next data of this stream must be the bytes from `from` on; returns how many they were. */
static size_t hear_data(size_t from, size_t most)
{
    struct reader message = rig_hear(&rig, SSH_MSG_CHANNEL_DATA);
    ck_assert_uint_eq(reader_u32(&message), REMOTE);
    struct reader data = reader_string(&message);
    ck_assert(reader_end(&message));
    ck_assert(data.left > 0 && data.left <= most);
    ck_assert_mem_eq(data.bytes, bytes + from, data.left);
    return data.left;
}

static bool is_silent(void)
{
    return rig.connection->output_start == rig.connection->output_end;
}

#endif
