#include "seccomp.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "ipc.h"
#include "seccomp_abi.h"

#ifdef SECCOMP_ARCH

/* A rule allows a call if every named argument has the named value (its low 32 bits: the arguments
 * are ints). */
#define RULE_ARGUMENTS 2

struct rule {
    uint32_t number;
    uint32_t argument_count;
    struct {
        uint32_t index;
        uint32_t value;
    } arguments[RULE_ARGUMENTS];
};

static const struct rule rules[] = {
    /* Moving bytes. New descriptors come only from the monitor, by recvmsg. */
    {.number = SYS_read},
    {.number = SYS_write},
    {.number = SYS_writev},
    {.number = SYS_close},
    {SYS_recvmsg, 1, {{0, IPC_DESCRIPTOR}}},
    {SYS_sendmsg, 1, {{0, IPC_DESCRIPTOR}}},
    {SYS_shutdown, 1, {{0, STDOUT_FILENO}}},
    {SYS_setsockopt, 2, {{1, IPPROTO_TCP}, {2, TCP_NODELAY}}},
    {SYS_setsockopt, 2, {{1, IPPROTO_TCP}, {2, TCP_QUICKACK}}},
    {SYS_setsockopt, 2, {{1, IPPROTO_TCP}, {2, TCP_NOTSENT_LOWAT}}},
    /* Terminals: size, a break's meaning. */
    {SYS_ioctl, 1, {{1, TIOCSWINSZ}}},
    {SYS_ioctl, 1, {{1, TCGETS}}},
    {SYS_ioctl, 1, {{1, TERMINAL_GET_MODES2}}}, /* tcgetattr() since glibc 2.42 */
    {SYS_ioctl, 1, {{1, TIOCSIG}}},
    /* Larger pipes for bulk transfers: the kernel bounds them for each user. */
    {SYS_fcntl, 1, {{1, F_SETPIPE_SZ}}},
#ifdef SYS_fcntl64 /* the C library's call on 32-bit machines */
    {SYS_fcntl64, 1, {{1, F_SETPIPE_SZ}}},
#endif
    /* Memory that is not needed for now: the process loses what is in it, and gets zeros. */
    {SYS_madvise, 1, {{2, MADV_DONTNEED}}},
/* Waiting. */
#ifdef SYS_poll
    {.number = SYS_poll},
#endif
    {.number = SYS_ppoll},
#ifdef SYS_ppoll_time64
    {.number = SYS_ppoll_time64},
#endif
    {.number = SYS_restart_syscall},
#ifdef SYS_clock_gettime
    {.number = SYS_clock_gettime},
#endif
#ifdef SYS_clock_gettime32 /* musl's name for the former on 32-bit machines, tried second */
    {.number = SYS_clock_gettime32},
#endif
#ifdef SYS_clock_gettime64
    {.number = SYS_clock_gettime64},
#endif
    {.number = SYS_getrandom},
    {.number = SYS_exit_group},
    {.number = SYS_exit},
};

#define RULES (sizeof(rules) / sizeof(rules[0]))

/* The architecture check, the final kill, and for each rule at most: number, arguments, verdict. */
#define PROGRAM_MAX (4 + RULES * (2 + 2 * RULE_ARGUMENTS + 1))

struct builder {
    size_t count;
    struct bpf_instruction instructions[PROGRAM_MAX];
};

static void add(struct builder *builder, uint16_t code, uint32_t k, size_t jump_false)
{
    builder->instructions[builder->count++] =
        (struct bpf_instruction){.code = code, .jump_false = (uint8_t)jump_false, .k = k};
}

static void add_rule(struct builder *builder, const struct rule *rule)
{
    /* Each failed comparison jumps behind the rule's last instruction. */
    size_t left = 2 + 2 * rule->argument_count + 1;
    add(builder, BPF_LOAD_WORD, SECCOMP_DATA_NUMBER, 0);
    add(builder, BPF_JUMP_EQUAL, rule->number, left -= 2);
    for (uint32_t i = 0; i < rule->argument_count; i++) {
        add(builder, BPF_LOAD_WORD, SECCOMP_DATA_ARGUMENT(rule->arguments[i].index), 0);
        add(builder, BPF_JUMP_EQUAL, rule->arguments[i].value, left -= 2);
    }
    add(builder, BPF_RETURN, SECCOMP_RET_ALLOW, 0);
}

static bool install(void)
{
    struct builder builder = {0};
    add(&builder, BPF_LOAD_WORD, SECCOMP_DATA_ARCH, 0);
    builder.instructions[builder.count++] = (struct bpf_instruction){
        .code = BPF_JUMP_EQUAL, .jump_true = 1, .jump_false = 0, .k = SECCOMP_ARCH};
    add(&builder, BPF_RETURN, SECCOMP_RET_KILL_PROCESS, 0);
    for (size_t i = 0; i < RULES; i++) {
        add_rule(&builder, &rules[i]);
    }
    add(&builder, BPF_RETURN, SECCOMP_RET_KILL_PROCESS, 0);
    struct bpf_program program = {.length = (unsigned short)builder.count,
                                  .instructions = builder.instructions};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

#else

/* No filter is written for this architecture: the layer is missing. */
static bool install(void)
{
    return false;
}

#endif

bool seccomp_enter(void)
{
    dup2(NULL_DESCRIPTOR, STDERR_FILENO);
    close(NULL_DESCRIPTOR);
    return install();
}
