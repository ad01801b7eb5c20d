/*
 * For net/seccomp.c and process/seccomp_filter.c. tests/system/test_sandbox.py and sandbox.c test
 * net/sandbox.c.
 * Each system call is made under the filter, in a process of its own. Built only without
 * sanitizers, whose runtimes the filter would kill.
 */
#include "sandbox.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "calls.h"
#include "ipc.h"
#include "limit.h"
#include "seccomp.h"
#include "unit.h"

/* The descriptors of the network process: 0 and 1 a socket, 2 null, IPC_DESCRIPTOR the monitor's,
 * SESSION_DESCRIPTOR the session process's; and a terminal, a spare socket and a pipe behind them.
 */
enum { TERMINAL = 10, SPARE = 11, PIPE = 12 };

static void *memory; /* a page */

static void place(int fd, int number)
{
    if (dup2(fd, number) != number) {
        _exit(98);
    }
}

static void set_up(void)
{
    int client[2], monitor[2], session[2], spare[2], pipe_ends[2], master, slave;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, client) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET, 0, monitor) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET, 0, session) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET, 0, spare) != 0 ||
        openpty(&master, &slave, NULL, NULL, NULL) != 0 || pipe(pipe_ends) != 0) {
        _exit(99);
    }
    memory = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int parts[] = {client[1], monitor[0],   monitor[1], master,    spare[0],
                   spare[1],  pipe_ends[1], session[0], session[1]};
    for (int i = 0; i < 9; i++) {
        place(parts[i], 40 + i);
    }
    if (write(client[0], "xyz", 3) != 3 || write(42, "xyz", 3) != 3 || write(45, "xyz", 3) != 3 ||
        write(48, "xyz", 3) != 3) {
        _exit(97);
    }
    place(client[0], 49); /* the other end stays open, wherever it was */
    place(40, STDIN_FILENO);
    place(40, STDOUT_FILENO);
    place(41, IPC_DESCRIPTOR);
    place(47, SESSION_DESCRIPTOR);
    place(43, TERMINAL);
    place(44, SPARE);
    place(46, PIPE);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    place(open("/dev/null", O_RDWR), NULL_DESCRIPTOR);
    if (!seccomp_enter()) {
        _exit(CALLS_NO_FILTER);
    }
}

static void (*action_below)(void);

static void act_below(void)
{
    set_up();
    action_below();
}

/* How a process that does `action` under the filter ends: the status of waitpid(). */
static int end_of(void (*action)(void))
{
    action_below = action;
    return call_end_of(act_below);
}

static void nothing(void)
{
}

/* An emulator, or a kernel built without it: the layer is missing, and says so. */
static bool has_filter(void)
{
    int status = end_of(nothing);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == CALLS_NO_FILTER);
}

/* ---- allowed --------------------------------------------------------------------------------- */

static ssize_t pass_message(bool sends, int fd)
{
    char bytes[8] = "message", control[64];
    struct iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = sends ? NULL : control,
                             .msg_controllen = sends ? 0 : sizeof(control)};
    return sends ? sendmsg(fd, &message, MSG_NOSIGNAL) : recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
}

static void bytes_move(void)
{
    char byte;
    call_need(read(STDIN_FILENO, &byte, 1) == 1 && byte == 'x');
    call_need(write(STDOUT_FILENO, &byte, 1) == 1);
    call_need(write(STDERR_FILENO, "nowhere", 7) == 7);
    const struct iovec part = {.iov_base = &byte, .iov_len = 1};
    call_need(writev(STDOUT_FILENO, &part, 1) == 1);
    call_need(close(SPARE) == 0);
}

static void messages_pass(void)
{
    call_need(pass_message(true, IPC_DESCRIPTOR) == 8);
    call_need(pass_message(false, IPC_DESCRIPTOR) == 3);
    call_need(pass_message(true, SESSION_DESCRIPTOR) == 8);
    call_need(pass_message(false, SESSION_DESCRIPTOR) == 3);
}

static void sockets_are_set(void)
{
    /* A local socket knows neither; that the kernel says so is enough. */
    const int on = 1;
    setsockopt(STDOUT_FILENO, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(STDIN_FILENO, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
    setsockopt(STDOUT_FILENO, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &on, sizeof(on));
    int waiting;
    call_need(ioctl(STDOUT_FILENO, TIOCOUTQ, &waiting) == 0);
    call_need(shutdown(STDOUT_FILENO, SHUT_WR) == 0);
}

static void terminals_are_set(void)
{
    struct winsize size = {.ws_col = 80};
    struct termios modes;
    char raw[64];
    call_need(ioctl(TERMINAL, TIOCSWINSZ, &size) == 0);
    call_need(tcgetattr(TERMINAL, &modes) == 0);
    call_need(syscall(SYS_ioctl, TERMINAL, TCGETS, raw) == 0);
    call_need(syscall(SYS_ioctl, TERMINAL, TERMINAL_GET_MODES2, raw) == 0);
    ioctl(TERMINAL, TIOCSIG, SIGINT);
}

static void memory_is_given_back(void)
{
    char *page = memory;
    *page = 'x';
    call_need(madvise(page, (size_t)sysconf(_SC_PAGESIZE), MADV_DONTNEED) == 0 && *page == '\0');
}

static void pipes_are_widened(void)
{
    call_need(fcntl(PIPE, F_GETPIPE_SZ) == LIMIT_FIRST_PIPE_BYTES);
    call_need(fcntl(PIPE, F_SETPIPE_SZ, LIMIT_PIPE_BYTES) == LIMIT_PIPE_BYTES);
}

static void time_passes(void)
{
    struct pollfd entry = {.fd = STDIN_FILENO, .events = POLLIN};
    struct timespec now;
    call_need(poll(&entry, 1, 10) == 1);
    call_need(ppoll(&entry, 1, NULL, NULL) == 1);
#ifdef SYS_clock_gettime
    call_need(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) == 0);
#endif
#ifdef SYS_clock_gettime32
    call_need(syscall(SYS_clock_gettime32, CLOCK_MONOTONIC, &now) == 0);
#endif
    call_need(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
}

static void random_bytes_come(void)
{
    char bytes[16];
    call_need(syscall(SYS_getrandom, bytes, sizeof(bytes), 0) == 16);
}

static void one_thread_exits(void)
{
    syscall(SYS_exit, 0);
}

static void (*const allowed[])(void) = {bytes_move,        messages_pass,     sockets_are_set,
                                        terminals_are_set, time_passes,       random_bytes_come,
                                        one_thread_exits,  pipes_are_widened, memory_is_given_back};

UNIT_NEEDS(has_filter(), "there are no seccomp filters here");
UNIT_TIMEOUT(60);

TEST_EACH(allowed_calls_work, COUNT_OF(allowed))
{
    int status = end_of(allowed[_i]);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %#x",
                  (unsigned)status);
}

/* ---- forbidden ------------------------------------------------------------------------------- */

#define X32 0x40000000L

/* Besides those of calls.h. If the filter allowed them, none of these calls would do harm here. */
static const struct call forbidden[] = {
#ifdef SYS_open
    {"open", SYS_open, {0}},
    {"fork", SYS_fork, {0}},
    {"unlink", SYS_unlink, {0}},
    {"dup2", SYS_dup2, {1, 12}},
#endif
#ifdef SYS_vfork
    {"vfork", SYS_vfork, {0}},
#endif
#ifdef __x86_64__
    {"arch_prctl", SYS_arch_prctl, {0}},
    {"x32 read", X32 | SYS_read, {0}},
    {"x32 write", X32 | SYS_write, {0}},
    {"x32 close", X32 | SYS_close, {0}},
    {"x32 exit_group", X32 | SYS_exit_group, {0}},
    {"x32 poll", X32 | SYS_poll, {0}},
    {"x32 ioctl TIOCSWINSZ", X32 | 514, {TERMINAL, TIOCSWINSZ}},
#endif
    {"connect", SYS_connect, {SPARE}},
    {"sendto", SYS_sendto, {IPC_DESCRIPTOR}},
    {"recvfrom", SYS_recvfrom, {IPC_DESCRIPTOR}},
    {"mremap", SYS_mremap, {0}},
    {"brk", SYS_brk, {0}},
    {"fcntl F_GETFL", SYS_fcntl, {0, F_GETFL}},
    {"fcntl F_DUPFD", SYS_fcntl, {0, F_DUPFD}},
    {"readv", SYS_readv, {0}},
    {"dup", SYS_dup, {0}},
    {"getpid", SYS_getpid, {0}},
    {"nanosleep", SYS_nanosleep, {0}},
    {"ioctl TIOCSTI", SYS_ioctl, {TERMINAL, TIOCSTI}},
    {"ioctl TCSETS", SYS_ioctl, {TERMINAL, TCSETS}},
    {"ioctl TIOCSCTTY", SYS_ioctl, {TERMINAL, TIOCSCTTY}},
    {"ioctl FIONREAD", SYS_ioctl, {STDIN_FILENO, FIONREAD}},
    {"ioctl TIOCOUTQ of others", SYS_ioctl, {TERMINAL, TIOCOUTQ}},
    {"setsockopt SO_REUSEADDR", SYS_setsockopt, {0, SOL_SOCKET, SO_REUSEADDR}},
    {"setsockopt SO_ATTACH_FILTER", SYS_setsockopt, {0, SOL_SOCKET, SO_ATTACH_FILTER}},
    {"setsockopt IP_OPTIONS", SYS_setsockopt, {0, IPPROTO_IP, 4}},
    {"setsockopt TCP_ULP", SYS_setsockopt, {0, IPPROTO_TCP, TCP_ULP}},
    {"setsockopt TCP_MD5SIG", SYS_setsockopt, {0, IPPROTO_TCP, TCP_MD5SIG}},
    {"setsockopt level 0, NODELAY", SYS_setsockopt, {0, 0, TCP_NODELAY}},
    {"setsockopt SOL_SOCKET, QUICKACK", SYS_setsockopt, {0, SOL_SOCKET, TCP_QUICKACK}},
    {"getsockopt", SYS_getsockopt, {0, SOL_SOCKET, SO_TYPE}},
    {"sendmsg on 0", SYS_sendmsg, {STDIN_FILENO}},
    {"sendmsg on 1", SYS_sendmsg, {STDOUT_FILENO}},
    {"sendmsg on another", SYS_sendmsg, {SPARE}},
    {"recvmsg on 0", SYS_recvmsg, {STDIN_FILENO}},
    {"recvmsg on another", SYS_recvmsg, {SPARE}},
    {"sendmmsg", SYS_sendmmsg, {IPC_DESCRIPTOR}},
    {"recvmmsg", SYS_recvmmsg, {IPC_DESCRIPTOR}},
    {"shutdown of 0", SYS_shutdown, {STDIN_FILENO, SHUT_WR}},
    {"shutdown of the monitor", SYS_shutdown, {IPC_DESCRIPTOR, SHUT_WR}},
    {"shutdown of the session process", SYS_shutdown, {SESSION_DESCRIPTOR, SHUT_WR}},
};

static const struct call *call;

static void make_call(void)
{
    call_make(call);
}

TEST_EACH(forbidden_calls_kill, CALLS_OF_NOBODY + COUNT_OF(forbidden))
{
    call = _i < CALLS_OF_NOBODY ? &calls_of_nobody[_i] : &forbidden[_i - CALLS_OF_NOBODY];
    call_expect_kill(end_of(make_call), SIGSYS, call->name);
}

#if defined(__x86_64__)
/* The calls of 32-bit programs have other numbers: 1 is exit here, write there. A kernel without
 * them ends the process by another signal. */
static void call_as_32_bit(void)
{
    __asm__ volatile("int $0x80" : : "a"(1), "b"(0) : "memory");
}

TEST(another_architectures_calls_kill)
{
    int status = end_of(call_as_32_bit);
    ck_assert_msg(WIFSIGNALED(status), "wait status %#x", (unsigned)status);
}
#endif
