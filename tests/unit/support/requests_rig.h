/*
 * A channel of a logged-in connection that takes requests (RFC 4254 section 6): what the tests of
 * channel_requests.c share. It is not the first channel, so that its two numbers differ.
 */
#ifndef WREN_UNIT_REQUESTS_RIG_H
#define WREN_UNIT_REQUESTS_RIG_H

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "program.h"
#include "unit.h"

#define REMOTE 42

static struct rig rig;
static struct program program;
static uint32_t number;

static struct {
    struct ipc_spawn spawn;
    uint8_t tail[IPC_SPAWN_TAIL_BYTES];
} spawned;

static void start(void)
{
    rig_open(&rig, SSH_PHASE_OPEN);
    program = (struct program){.in = -1, .out = -1, .err = -1, .exit = -1, .slave = -1};
    number = program_channel(&rig, 1, 100, 100);
    number = program_channel(&rig, REMOTE, 100000, 32768);
}

static void finish(void)
{
    program_close_all(&program);
}

static struct channel *channel(void)
{
    return &rig.connection->channels[number];
}

static void expect_answer(bool success)
{
    rig_expect(&rig, success ? SSH_MSG_CHANNEL_SUCCESS : SSH_MSG_CHANNEL_FAILURE, "u", REMOTE);
    rig_expect_silence(&rig);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
}

static void lay_out_pipes(void)
{
    int fds[4];
    const struct ipc_done done = {.type = IPC_SPAWN, .done = 1};
    for (int i = 0; i < 4; i++) {
        fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
    }
    rig_reply_descriptors(&rig, &done, sizeof(done), fds, 4);
    for (int i = 0; i < 4; i++) {
        close(fds[i]);
    }
}

static void expect_spawn(uint32_t kind, const char *command)
{
    size_t count = rig_request(&rig, IPC_SPAWN, &spawned, sizeof(spawned));
    ck_assert_uint_eq(spawned.spawn.channel, number);
    ck_assert_uint_eq(spawned.spawn.kind, kind);
    ck_assert_uint_eq(spawned.spawn.command_bytes, strlen(command));
    ck_assert_uint_eq(count, sizeof(spawned.spawn) + spawned.spawn.environment_bytes +
                                 spawned.spawn.command_bytes);
    ck_assert_mem_eq(spawned.tail + spawned.spawn.environment_bytes, command, strlen(command));
}

static void say_start(const char *type, const char *command, int want_reply)
{
    rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, strcmp(type, "shell") == 0 ? "usb" : "usbs", number,
            type, want_reply, command);
}

#endif
