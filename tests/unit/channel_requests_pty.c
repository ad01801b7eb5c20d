/* For channel_requests.c: requests for a terminal: pty-req, window-change and break. */
#include "channels.h"
#include "net.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "requests_rig.h"

/* ---- terminals ------------------------------------------------------------------------------- */

static void say_pty(const char *term, uint32_t columns, uint32_t rows)
{
    uint8_t modes[WIRE_ROOM];
    size_t count = wire_pack(modes, "bub", 53, 0, 0);
    rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "usbsuuuud", number, "pty-req", 1, term, columns, rows,
            640, 70000, modes, count);
}

UNIT_FIXTURE(start, finish);

TEST(a_terminal_is_requested)
{
    struct ipc_pty request;
    int master = open("/dev/null", O_RDWR | O_CLOEXEC);
    const struct ipc_done done = {.type = IPC_PTY, .done = 1};
    rig_reply_descriptors(&rig, &done, sizeof(done), &master, 1);
    say_pty("xterm-256color", 132, 50);
    expect_answer(true);
    rig_request(&rig, IPC_PTY, &request, sizeof(request));
    ck_assert_uint_eq(request.channel, number);
    ck_assert_uint_eq(request.size.ws_col, 132);
    ck_assert_uint_eq(request.size.ws_row, 50);
    ck_assert_uint_eq(request.size.ws_xpixel, 640);
    ck_assert_uint_eq(request.size.ws_ypixel, 0xffff);
    ck_assert_uint_eq(request.modes.c_lflag & (ECHO | ICANON), ICANON);
    ck_assert(channel()->has_pty && channel()->output == OUTPUT_WAITING);
    say_pty("vt100", 80, 24);
    expect_answer(false);
    rig_expect_no_request(&rig);
    rig_reply_descriptors(&rig, &(struct ipc_done){IPC_SPAWN, 1}, sizeof(done), &master, 1);
    say_start("shell", "", 1);
    expect_answer(true);
    expect_spawn(IPC_SESSION_SHELL, "");
    ck_assert_str_eq(spawned.spawn.term, "xterm-256color");
    close(master);
}

TEST(a_terminal_that_is_not_granted)
{
    char term[LIMIT_TERM_BYTES + 1] = {0};
    memset(term, 't', LIMIT_TERM_BYTES);
    say_pty(term, 80, 24);
    expect_answer(false);
    rig_expect_no_request(&rig);
    rig_reply_done(&rig, IPC_PTY, 0);
    say_pty("vt100", 80, 24);
    expect_answer(false);
    ck_assert(!channel()->has_pty);
    ck_assert_int_eq(channel()->child_stdout, -1);
    lay_out_pipes();
    say_start("shell", "", 0);
    say_pty("vt100", 80, 24);
    expect_answer(false);
}

TEST(terminal_modes_that_are_cut_off)
{
    rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "usbsuuuud", number, "pty-req", 1, "vt100", 80, 24, 0, 0,
            "\65\0\0\0", (size_t)4);
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "malformed CHANNEL_REQUEST");
    rig_expect_no_request(&rig);
}

TEST(window_change)
{
    struct winsize size;
    rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "usbuuuu", number, "window-change", 1, 80, 24, 0, 0);
    expect_answer(false);
    program_start_on_terminal(&rig, &program, number, REMOTE);
    rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "usbuuuu", number, "window-change", 1, 90, 70000, 3, 4);
    expect_answer(true);
    ck_assert_int_eq(ioctl(program.slave, TIOCGWINSZ, &size), 0);
    ck_assert_uint_eq(size.ws_col, 90);
    ck_assert_uint_eq(size.ws_row, 0xffff);
    ck_assert_uint_eq(size.ws_xpixel, 3);
    ck_assert_uint_eq(size.ws_ypixel, 4);
    rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "usbuuuu", number, "window-change", 0, 10, 10, 0, 0);
    rig_expect_silence(&rig);
}

static void say_break(bool success)
{
    rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "usbu", number, "break", 1, 500);
    expect_answer(success);
}

/* termios(3): IGNBRK ignores it, BRKINT makes it SIGINT, else a NUL is read. */
TEST(breaks)
{
    struct termios modes;
    uint8_t byte = 1;
    if (unit_is_emulated()) {
        return; /* TIOCSIG */
    }
    say_break(false);
    program_start_on_terminal(&rig, &program, number, REMOTE);
    say_break(true);
    ck_assert_int_eq(read(program.slave, &byte, 1), 1);
    ck_assert_uint_eq(byte, 0);
    tcgetattr(program.slave, &modes);
    modes.c_iflag |= BRKINT;
    tcsetattr(program.slave, TCSANOW, &modes);
    say_break(true);
    ck_assert_int_eq(read(program.slave, &byte, 1), -1);
    modes.c_iflag = (modes.c_iflag & ~(tcflag_t)BRKINT) | IGNBRK;
    tcsetattr(program.slave, TCSANOW, &modes);
    say_break(true);
    ck_assert_int_eq(read(program.slave, &byte, 1), -1);
}
