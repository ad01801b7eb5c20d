/* Terminals are in channel_requests_pty.c. */
#include "channels.h"
#include "net.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "requests_rig.h"

/* ---- starting a program ---------------------------------------------------------------------- */

static const struct {
    const char *type, *command;
    uint32_t kind;
} starts[] = {
    {"shell", "", IPC_SESSION_SHELL},
    {"exec", "ls -l; true", IPC_SESSION_EXEC},
    {"exec", "", IPC_SESSION_EXEC},
    {"subsystem", "sftp", IPC_SESSION_SUBSYSTEM},
};

UNIT_FIXTURE(start, finish);

TEST_EACH(starts_a_program, COUNT_OF(starts))
{
    rig.connection->socket.quickack = true;
    rig.connection->now_ms = 55;
    lay_out_pipes();
    say_start(starts[_i].type, starts[_i].command, 1);
    expect_answer(true);
    expect_spawn(starts[_i].kind, starts[_i].command);
    ck_assert_uint_eq(spawned.spawn.environment_bytes, 0);
    ck_assert_str_eq(spawned.spawn.term, "");
    ck_assert_int_eq(channel()->output, OUTPUT_OPEN);
    ck_assert(!rig.connection->socket.quickack);
    ck_assert_uint_eq(rig.connection->times.used_ms, 55);
    ck_assert_uint_eq(rig.connection->pages.begun_ms, 55);
    /* Each channel starts one program. */
    for (size_t i = 0; i < 4; i++) {
        say_start(starts[i].type, starts[i].command, 1);
        expect_answer(false);
    }
    rig_expect_no_request(&rig);
}

TEST(a_failed_start_can_be_tried_again)
{
    rig_reply_done(&rig, IPC_SPAWN, 0);
    say_start("exec", "one", 1);
    expect_answer(false);
    ck_assert_int_eq(channel()->output, OUTPUT_WAITING);
    expect_spawn(IPC_SESSION_EXEC, "one");
    lay_out_pipes();
    say_start("exec", "two", 0);
    rig_expect_silence(&rig);
    expect_spawn(IPC_SESSION_EXEC, "two");
    ck_assert_int_eq(channel()->output, OUTPUT_OPEN);
}

TEST(nothing_follows_a_wrong_reply)
{
    rig_reply_done(&rig, IPC_SPAWN, 1); /* done, but without descriptors */
    say_start("shell", "", 1);
    rig_expect_failed(&rig, "the session process gave a wrong reply");
}

TEST(commands_with_nul_or_too_long)
{
    static char command[LIMIT_COMMAND_BYTES + 2];
    rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "usbd", number, "exec", 1, "ls\0-l", (size_t)5);
    expect_answer(false);
    rig_expect_no_request(&rig);
    memset(command, 'c', LIMIT_COMMAND_BYTES + 1);
    rig_reply_done(&rig, IPC_NOTE, 1);
    say_start("exec", command, 1);
    expect_answer(false);
    rig_expect_note(&rig, LOG_EVENT, "refused a command of 131001 bytes: it may have 131000");
    rig_reply_done(&rig, IPC_NOTE, 0); /* too many notes: this one is dropped */
    say_start("subsystem", command, 1);
    expect_answer(false);
    rig_expect_note(&rig, LOG_EVENT, "refused a command of 131001 bytes: it may have 131000");
    rig_expect_no_request(&rig);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    command[LIMIT_COMMAND_BYTES] = '\0';
    lay_out_pipes();
    say_start("exec", command, 1);
    expect_answer(true);
    expect_spawn(IPC_SESSION_EXEC, command);
}

/* ---- environment ----------------------------------------------------------------------------- */

static void say_env(const char *name, const char *value, bool taken)
{
    rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "usbss", number, "env", 1, name, value);
    expect_answer(taken);
}

TEST(environment)
{
    static const char kept[] = "LANG=de_DE.UTF-8\0LC_ALL=\0COLORTERM=truecolor\0NO_COLOR=1\0"
                               "GIT_PROTOCOL=version=2";
    say_env("LANG", "de_DE.UTF-8", true);
    say_env("LC_ALL", "", true);
    say_env("LD_PRELOAD", "x", false);
    say_env("PATH", "x", false);
    say_env("LANG", "../../x", false);
    say_env("COLORTERM", "truecolor", true);
    say_env("NO_COLOR", "1", true);
    say_env("GIT_PROTOCOL", "version=2", true);
    say_env("", "", false);
    rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "usbsd", number, "env", 1, "LANG", "C\0x", (size_t)3);
    expect_answer(false);
    rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "usbds", number, "env", 1, "LC_\0A", (size_t)5, "C");
    expect_answer(false);
    lay_out_pipes();
    say_start("exec", "env", 1);
    expect_answer(true);
    expect_spawn(IPC_SESSION_EXEC, "env");
    ck_assert_uint_eq(spawned.spawn.environment_bytes, sizeof(kept));
    ck_assert_mem_eq(spawned.tail, kept, sizeof(kept));
    say_env("LANG", "C", false);
}

TEST(no_environment_under_a_forced_command)
{
    rig.options.forced = true;
    say_env("LANG", "C", false);
    ck_assert_uint_eq(channel()->environment_bytes, 0);
}

TEST(the_environments_room)
{
    char value[256] = {0};
    memset(value, 'v', 250);
    for (int i = 0; i < 8; i++) { /* 256 bytes each with "LANG=" and the NUL */
        say_env("LANG", value, true);
    }
    ck_assert_uint_eq(channel()->environment_bytes, LIMIT_ENVIRONMENT_BYTES);
    say_env("LANG", "", false);
    ck_assert_uint_eq(channel()->environment_bytes, LIMIT_ENVIRONMENT_BYTES);
    lay_out_pipes();
    say_start("shell", "", 1);
    expect_answer(true);
    expect_spawn(IPC_SESSION_SHELL, "");
    ck_assert_uint_eq(spawned.spawn.environment_bytes, LIMIT_ENVIRONMENT_BYTES);
}

TEST_EACH(the_environments_last_bytes, 8)
{
    channel()->environment_bytes = LIMIT_ENVIRONMENT_BYTES - (size_t)_i;
    say_env("LANG", "", _i >= 6);
    ck_assert_uint_eq(channel()->environment_bytes,
                      LIMIT_ENVIRONMENT_BYTES - (size_t)(_i >= 6 ? _i - 6 : _i));
}

/* ---- signals --------------------------------------------------------------------------------- */

static void say_signal(const char *name, bool success)
{
    rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "usbs", number, "signal", 1, name);
    expect_answer(success);
}

TEST(signals)
{
    struct ipc_signal request;
    say_signal("TERM", false);
    program_start(&rig, &program, number, REMOTE);
    rig_reply_done(&rig, IPC_SIGNAL, 1);
    say_signal("TERM", true);
    rig_request(&rig, IPC_SIGNAL, &request, sizeof(request));
    ck_assert_uint_eq(request.channel, number);
    ck_assert_uint_eq(request.number, SIGTERM);
    rig_reply_done(&rig, IPC_SIGNAL, 0);
    say_signal("KILL", false);
    rig_request(&rig, IPC_SIGNAL, &request, sizeof(request));
    say_signal("STOP", false);
    say_signal("sig@example.com", false);
    say_signal("", false);
    program_exit(&program, 0, 0, 0);
    program_turn(&rig, 0);
    program_drop_output(&rig);
    say_signal("TERM", false);
    rig_expect_no_request(&rig);
}

/* ---- all requests ---------------------------------------------------------------------------- */

TEST(unknown_requests_fail)
{
    static const char *const types[] = {"keepalive@openssh.com",
                                        "x11-req",
                                        "xon-xoff",
                                        "",
                                        "auth-agent-req@openssh.com",
                                        "exec2",
                                        "exe",
                                        "exit-status",
                                        "eow@openssh.com"};
    rig_reply_done(&rig, IPC_NOTE, 1);
    rig_reply_done(&rig, IPC_NOTE, 1);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "usbs", number, types[i], 1, "anything");
        expect_answer(false);
        rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "usb", number, types[i], 0);
        rig_expect_silence(&rig);
    }
    rig_expect_note(&rig, LOG_EVENT, "no X11 forwarding (ssh -X)");
    rig_expect_note(&rig, LOG_EVENT, "no agent forwarding (ssh -A)");
    rig_expect_no_request(&rig);
}

/* Bodies after `boolean want_reply`. */
static const struct {
    const char *type, *body;
    size_t count;
} bodies[] = {
    {"pty-req", "\0\0\0\2vt\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0", 27},
    {"env", "\0\0\0\1A\0\0\0\1B", 10},
    {"shell", "", 0},
    {"exec", "\0\0\0\2ls", 6},
    {"subsystem", "\0\0\0\4sftp", 8},
    {"window-change", "\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1", 16},
    {"signal", "\0\0\0\3INT", 7},
    {"break", "\0\0\0\1", 4},
};

TEST_EACH(truncated_or_longer_is_malformed, COUNT_OF(bodies))
{
    uint8_t body[32] = {0};
    memcpy(body, bodies[_i].body, bodies[_i].count);
    for (size_t cut = 0; cut <= bodies[_i].count + 1; cut++) {
        if (cut == bodies[_i].count) {
            continue;
        }
        rig_reset(&rig, SSH_PHASE_OPEN);
        program_channel(&rig, REMOTE, 1, 100);
        rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "usbr", 0, bodies[_i].type, 1, body, cut);
        rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "malformed CHANNEL_REQUEST");
        rig_expect_no_request(&rig);
    }
}

TEST(truncated_in_front)
{
    static const uint8_t body[] = "\0\0\0\0\0\0\0\5shell";
    for (size_t cut = 0; cut < sizeof(body); cut++) {
        rig_reset(&rig, SSH_PHASE_OPEN);
        program_channel(&rig, REMOTE, 1, 100);
        rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "r", body, cut < 13 ? cut : 13);
        rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "");
        rig_expect_no_request(&rig);
    }
    rig_reset(&rig, SSH_PHASE_OPEN);
    rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "usb", 0, "shell", 1);
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "a channel that is not open");
}
