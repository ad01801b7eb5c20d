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
    {SYS_fcntl, 1, {{1, F_GETPIPE_SZ}}},
    {SYS_fcntl, 1, {{1, F_SETPIPE_SZ}}},
#ifdef SYS_fcntl64 /* the C library's call on 32-bit machines */
    {SYS_fcntl64, 1, {{1, F_GETPIPE_SZ}}},
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

/* When a filter is installed the kernel asks it about each of some hundred system calls, most of
 * which are none of these: the rules are in the order of their numbers, and those above a group are
 * not compared with each of it. */
#define GROUP 5

#define GROUPS ((RULES + GROUP - 1) / GROUP)

/* For each rule at most: its number, its arguments, the verdict, the number loaded again. */
#define RULE_MAX (1 + 2 * RULE_ARGUMENTS + 2)

/* The architecture check, the number, the final kill, and what is between them. */
#define PROGRAM_MAX (5 + GROUPS + RULES * RULE_MAX)

struct builder {
    size_t count;
    struct bpf_instruction instructions[PROGRAM_MAX];
};

static void add(struct builder *builder, uint16_t code, uint32_t k, size_t jump_true,
                size_t jump_false)
{
    builder->instructions[builder->count++] = (struct bpf_instruction){
        .code = code, .jump_true = (uint8_t)jump_true, .jump_false = (uint8_t)jump_false, .k = k};
}

static size_t rule_length(const struct rule *rule)
{
    return 2 + (rule->argument_count > 0 ? 2 * rule->argument_count + 1 : 0);
}

/* The number is loaded before, and behind. */
static void add_rule(struct builder *builder, const struct rule *rule)
{
    add(builder, BPF_JUMP_EQUAL, rule->number, 0, rule_length(rule) - 1);
    /* Each failed comparison jumps behind the verdict. */
    size_t left = 2 * rule->argument_count + 1;
    for (uint32_t i = 0; i < rule->argument_count; i++) {
        add(builder, BPF_LOAD_WORD, SECCOMP_DATA_ARGUMENT(rule->arguments[i].index), 0, 0);
        add(builder, BPF_JUMP_EQUAL, rule->arguments[i].value, 0, left -= 2);
    }
    add(builder, BPF_RETURN, SECCOMP_RET_ALLOW, 0, 0);
    if (rule->argument_count > 0) {
        add(builder, BPF_LOAD_WORD, SECCOMP_DATA_NUMBER, 0, 0);
    }
}

static void add_group(struct builder *builder, const struct rule *const *group, size_t count)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        length += rule_length(group[i]);
    }
    add(builder, BPF_JUMP_GREATER, group[count - 1]->number, length, 0);
    for (size_t i = 0; i < count; i++) {
        add_rule(builder, group[i]);
    }
}

static void sort_rules(const struct rule *sorted[static RULES])
{
    for (size_t i = 0; i < RULES; i++) {
        size_t place = i;
        for (; place > 0 && sorted[place - 1]->number > rules[i].number; place--) {
            sorted[place] = sorted[place - 1];
        }
        sorted[place] = &rules[i];
    }
}

static bool install(void)
{
    struct builder builder = {0};
    const struct rule *sorted[RULES];
    sort_rules(sorted);
    add(&builder, BPF_LOAD_WORD, SECCOMP_DATA_ARCH, 0, 0);
    add(&builder, BPF_JUMP_EQUAL, SECCOMP_ARCH, 1, 0);
    add(&builder, BPF_RETURN, SECCOMP_RET_KILL_PROCESS, 0, 0);
    add(&builder, BPF_LOAD_WORD, SECCOMP_DATA_NUMBER, 0, 0);
    for (size_t i = 0; i < RULES; i += GROUP) {
        add_group(&builder, sorted + i, RULES - i < GROUP ? RULES - i : GROUP);
    }
    add(&builder, BPF_RETURN, SECCOMP_RET_KILL_PROCESS, 0, 0);
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
