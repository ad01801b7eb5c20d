/* Exit status, EOF and CLOSE after the last output; and terminals. */
#include "channels.h"
#include "net.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "data_rig.h"

/* ---- the end of a program -------------------------------------------------------------------- */

static const struct {
    struct ipc_exit result;
    const char *signal;
    uint32_t status;
} ends[] = {
    {{0, 0, 0}, NULL, 0},
    {{0, 255, 0}, NULL, 255},
    {{1, SIGKILL, 0}, "KILL", 0},
    {{1, SIGSEGV, 1}, "SEGV", 0},
    {{1, SIGXCPU, 0}, NULL, 128 + SIGXCPU}, /* the RFC has no name for it */
};

UNIT_FIXTURE(start, finish);
UNIT_TIMEOUT(60);

/* Status, EOF, CLOSE; all output first. */
TEST_EACH(exits, COUNT_OF(ends))
{
    program_run(&rig, &program, REMOTE);
    program_write(program.out, "last", 4);
    program_exit(&program, ends[_i].result.signaled, ends[_i].result.status,
                 ends[_i].result.core_dumped);
    turns(1);
    rig_expect(&rig, SSH_MSG_CHANNEL_DATA, "us", REMOTE, "last");
    if (ends[_i].signal != NULL) {
        rig_expect(&rig, SSH_MSG_CHANNEL_REQUEST, "usbsbss", REMOTE, "exit-signal", 0,
                   ends[_i].signal, ends[_i].result.core_dumped, "", "");
    } else {
        rig_expect(&rig, SSH_MSG_CHANNEL_REQUEST, "usbu", REMOTE, "exit-status", 0,
                   ends[_i].status);
    }
    turns(2);
    rig_expect_silence(&rig);
    program_close_all(&program);
    turns(2);
    rig_expect(&rig, SSH_MSG_CHANNEL_EOF, "u", REMOTE);
    rig_expect(&rig, SSH_MSG_CHANNEL_CLOSE, "u", REMOTE);
    rig_expect_silence(&rig);
    ck_assert_int_eq(channel()->output, OUTPUT_CLOSED);
}

/* The window is too small for the output: after the exit it is still sent. */
TEST(output_outlives_the_program)
{
    program_start(&rig, &program, program_channel(&rig, REMOTE, 1, 32768), REMOTE);
    program_write(program.out, bytes, 50000);
    program_exit(&program, 0, 3, 0);
    program_close_all(&program);
    turns(5);
    size_t heard = hear_data(0, 1);
    rig_expect(&rig, SSH_MSG_CHANNEL_REQUEST, "usbu", REMOTE, "exit-status", 0, 3);
    /* Its stdin is closed too: an OpenSSH client may hear of it. */
    if (!is_silent()) {
        rig_expect(&rig, SSH_MSG_CHANNEL_REQUEST, "usb", REMOTE, "eow@openssh.com", 0);
    }
    rig_expect_silence(&rig);
    rig_say(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uu", program.channel, 100000);
    turns(5);
    while (heard < 50000) {
        heard += hear_data(heard, 32768);
    }
    rig_expect(&rig, SSH_MSG_CHANNEL_EOF, "u", REMOTE);
    rig_expect(&rig, SSH_MSG_CHANNEL_CLOSE, "u", REMOTE);
}

TEST(a_program_without_a_status)
{
    program_run(&rig, &program, REMOTE);
    program_close_all(&program);
    turns(3);
    rig_expect(&rig, SSH_MSG_CHANNEL_EOF, "u", REMOTE);
    rig_expect(&rig, SSH_MSG_CHANNEL_CLOSE, "u", REMOTE);
    rig_expect_silence(&rig);
}

TEST(eof_but_no_close_while_the_program_runs)
{
    program_run(&rig, &program, REMOTE);
    program_close(&program.out);
    turns(2);
    rig_expect_silence(&rig);
    program_close(&program.err);
    turns(2);
    rig_expect(&rig, SSH_MSG_CHANNEL_EOF, "u", REMOTE);
    rig_expect_silence(&rig);
    say_data(0, 5);
    ck_assert_uint_eq(program_read(program.in, back, sizeof(back)), 5);
}

/* After our EOF a client may send CLOSE without waiting: it still gets the status, then our CLOSE,
 * and the channel number is released. */
TEST(the_status_of_a_channel_that_the_client_closes_early)
{
    struct ipc_release release;
    program_run(&rig, &program, REMOTE);
    program_close(&program.out);
    program_close(&program.err);
    turns(1);
    rig_expect(&rig, SSH_MSG_CHANNEL_EOF, "u", REMOTE);
    rig_say(&rig, SSH_MSG_CHANNEL_CLOSE, "u", program.channel);
    program_expect_idle(&rig);
    rig_expect_silence(&rig);
    rig_expect_no_request(&rig);
    uint8_t byte;
    ck_assert_int_eq(read(program.in, &byte, 1), 0);
    rig_reply_done(&rig, IPC_RELEASE, 1);
    program_exit(&program, 0, 9, 0);
    turns(1);
    rig_expect(&rig, SSH_MSG_CHANNEL_REQUEST, "usbu", REMOTE, "exit-status", 0, 9);
    rig_expect(&rig, SSH_MSG_CHANNEL_CLOSE, "u", REMOTE);
    rig_expect_silence(&rig);
    rig_request(&rig, IPC_RELEASE, &release, sizeof(release));
    ck_assert_uint_eq(release.channel, program.channel);
    ck_assert(!channel_is_open(channel()));
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
}

/* ---- terminals ------------------------------------------------------------------------------- */

TEST(a_terminal)
{
    int before = rig_open_descriptors();
    program_start_on_terminal(&rig, &program, program_channel(&rig, REMOTE, 9999, 9999), REMOTE);
    ck_assert_int_eq(channel()->child_stdin, channel()->child_stdout);
    say_data(0, 20);
    ck_assert_uint_eq(program_read(program.slave, back, sizeof(back)), 20);
    ck_assert_mem_eq(back, bytes, 20);
    program_write(program.slave, "prompt", 6);
    turns(1);
    rig_expect(&rig, SSH_MSG_CHANNEL_DATA, "us", REMOTE, "prompt");
    rig_say(&rig, SSH_MSG_CHANNEL_EOF, "u", program.channel);
    turns(2);
    rig_expect_silence(&rig);
    ck_assert_int_ge(channel()->child_stdin, 0);
    program_write(program.slave, "bye", 3);
    program_exit(&program, 0, 1, 0);
    turns(1);
    program_close_all(&program);
    turns(2);
    rig_expect(&rig, SSH_MSG_CHANNEL_DATA, "us", REMOTE, "bye");
    rig_expect(&rig, SSH_MSG_CHANNEL_REQUEST, "usbu", REMOTE, "exit-status", 0, 1);
    rig_expect(&rig, SSH_MSG_CHANNEL_EOF, "u", REMOTE);
    rig_expect(&rig, SSH_MSG_CHANNEL_CLOSE, "u", REMOTE);
    ck_assert_int_eq(rig_open_descriptors(), before);
}

/* A background job keeps the terminal. While nothing could leave, poll() was not asked about
 * output: when it can again, in the middle of a turn, what was written before is still read. */
TEST_EACH(a_lingering_terminal_gives_its_output, 2)
{
    struct connection *connection = rig.connection;
    struct pollfd entries[CHANNEL_POLL_ENTRIES];
    program_start_on_terminal(&rig, &program, program_channel(&rig, REMOTE, 9999, 9999), REMOTE);
    program_exit(&program, 0, 1, 0);
    turns(1);
    rig_expect(&rig, SSH_MSG_CHANNEL_REQUEST, "usbu", REMOTE, "exit-status", 0, 1);
    program_write(program.slave, "last", 4);
    uint32_t window = channel()->remote_window;
    connection->kex.sent = _i == 0;
    channel()->remote_window = _i == 1 ? 0 : window;
    for (int i = 0; i < 2; i++) {
        connection->now_ms += LIMIT_LINGER_MS;
        struct channel_plan plan = channel_poll_plan(connection, entries);
        ck_assert_int_ge(poll(entries, plan.entries, 0), 0);
        channel_poll_note(connection, entries, true);
        if (i == 1) {
            connection->kex.sent = false;
            channel()->remote_window = window;
        }
        channel_poll_turn(connection);
        rig_expect_silence(&rig);
    }
    turns(1);
    rig_expect(&rig, SSH_MSG_CHANNEL_DATA, "us", REMOTE, "last");
    connection->now_ms += LIMIT_LINGER_MS;
    turns(1);
    rig_expect(&rig, SSH_MSG_CHANNEL_EOF, "u", REMOTE);
    rig_expect(&rig, SSH_MSG_CHANNEL_CLOSE, "u", REMOTE);
}

/* While poll() is not asked about output, as the socket has no room or more may follow, the end of
 * the lingering is no deadline: a past one would have the loop run without a pause. */
TEST(a_lingering_terminal_wakes_nobody)
{
    struct connection *connection = rig.connection;
    struct pollfd entries[CHANNEL_POLL_ENTRIES];
    program_start_on_terminal(&rig, &program, program_channel(&rig, REMOTE, 9999, 9999), REMOTE);
    program_exit(&program, 0, 1, 0);
    turns(1);
    uint64_t due_ms = channel()->exited_ms + LIMIT_LINGER_MS;
    for (enum channel_flow flow = FLOW_QUIET; flow < FLOW_STATES; flow++) {
        channel()->flow = flow;
        ck_assert_uint_eq(channel_poll_plan(connection, entries).deadline_ms,
                          flow < FLOW_COALESCING ? due_ms : UINT64_MAX);
    }
}
