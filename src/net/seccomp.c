#include "sandbox.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>

#include "ipc.h"
#include "seccomp.h"

static const struct seccomp_rule rules[] = {
    /* Reading and writing. recvmsg brings the descriptors that the session process sends. */
    {.number = SYS_read},
    {.number = SYS_write},
    {.number = SYS_writev},
    {.number = SYS_close},
    {SYS_recvmsg, 1, {{0, IPC_DESCRIPTOR}}},
    {SYS_sendmsg, 1, {{0, IPC_DESCRIPTOR}}},
    {SYS_recvmsg, 1, {{0, SESSION_DESCRIPTOR}}},
    {SYS_sendmsg, 1, {{0, SESSION_DESCRIPTOR}}},
    {SYS_shutdown, 1, {{0, STDOUT_FILENO}}},
    {SYS_setsockopt, 2, {{1, IPPROTO_TCP}, {2, TCP_NODELAY}}},
    {SYS_setsockopt, 2, {{1, IPPROTO_TCP}, {2, TCP_QUICKACK}}},
    {SYS_setsockopt, 2, {{1, IPPROTO_TCP}, {2, TCP_NOTSENT_LOWAT}}},
    /* Terminals: the window size, the modes, and the signal of a break. */
    {SYS_ioctl, 1, {{1, TIOCSWINSZ}}},
    {SYS_ioctl, 1, {{1, TCGETS}}},
    {SYS_ioctl, 1, {{1, TERMINAL_GET_MODES2}}}, /* tcgetattr() since glibc 2.42 */
    {SYS_ioctl, 1, {{1, TIOCSIG}}},
    /* How much of our output has not arrived yet. */
    {SYS_ioctl, 2, {{0, STDOUT_FILENO}, {1, TIOCOUTQ}}},
    /* Larger pipes for bulk transfers. The kernel limits their memory for each user. */
    SECCOMP_CALLS_FCNTL(F_GETPIPE_SZ),
    SECCOMP_CALLS_FCNTL(F_SETPIPE_SZ),
    /* Returning memory to the kernel: the process then reads zeros from it. */
    {SYS_madvise, 1, {{2, MADV_DONTNEED}}},
    /* Waiting. */
    SECCOMP_CALLS_WAITING,
    {.number = SYS_getrandom},
    {.number = SYS_exit_group},
    {.number = SYS_exit},
};

_Static_assert(sizeof(rules) / sizeof(rules[0]) <= SECCOMP_RULES_MAX, "the list is installed");

bool seccomp_enter(void)
{
    dup2(NULL_DESCRIPTOR, STDERR_FILENO);
    close(NULL_DESCRIPTOR);
    return seccomp_install(rules, sizeof(rules) / sizeof(rules[0]));
}
