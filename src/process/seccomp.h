/*
 * Filters of system calls: the kernel's interfaces to them, and what makes and installs a filter.
 */
#ifndef WREN_SECCOMP_H
#define WREN_SECCOMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

/* ---- the kernel's interfaces ----------------------------------------------------------------- */

/* The parts of the kernel's interfaces to seccomp, BPF, Landlock and capabilities that the
 * sandboxes use. They are defined here because a musl toolchain may lack the kernel's headers
 * (linux/seccomp.h, filter.h, audit.h, landlock.h, capability.h). */

/* Classic BPF: load a word of seccomp_data, compare and jump, return. */
struct bpf_instruction {
    uint16_t code;
    uint8_t jump_true;
    uint8_t jump_false;
    uint32_t k;
};

struct bpf_program {
    unsigned short length;
    const struct bpf_instruction *instructions;
};

_Static_assert(sizeof(struct bpf_instruction) == 8, "the kernel's struct sock_filter");

#define BPF_LOAD_WORD    0x20 /* BPF_LD | BPF_W | BPF_ABS */
#define BPF_JUMP_EQUAL   0x15 /* BPF_JMP | BPF_JEQ | BPF_K */
#define BPF_JUMP_GREATER 0x25 /* BPF_JMP | BPF_JGT | BPF_K */
#define BPF_RETURN       0x06 /* BPF_RET | BPF_K */

/* Offsets in struct seccomp_data: int nr, uint32 arch, uint64 instruction_pointer, uint64 args[6].
 */
#define SECCOMP_DATA_NUMBER 0
#define SECCOMP_DATA_ARCH   4
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SECCOMP_DATA_ARGUMENT(n) (16 + 8 * (n))
#else
#define SECCOMP_DATA_ARGUMENT(n) (16 + 8 * (n) + 4)
#endif

#define SECCOMP_MODE_STRICT 1
#define SECCOMP_MODE_FILTER 2
#define SECCOMP_RET_KILL_PROCESS                                                                   \
    0x80000000U /* a kernel before 4.14 kills only the thread, but we have just one */
#define SECCOMP_RET_ALLOW 0x7fff0000U

/* linux/audit.h: the ELF machine number with the 64-bit and little-endian flags. */
#if defined(__x86_64__)
#define SECCOMP_ARCH 0xc000003eU
#elif defined(__i386__)
#define SECCOMP_ARCH 0x40000003U
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SECCOMP_ARCH 0xc00000b7U
#elif defined(__arm__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SECCOMP_ARCH 0x40000028U
#elif defined(__riscv) && __riscv_xlen == 64
#define SECCOMP_ARCH 0xc00000f3U
#elif defined(__MIPSEL__) && _MIPS_SIM == _ABIO32
#define SECCOMP_ARCH 0x40000008U
#elif defined(__MIPSEB__) && _MIPS_SIM == _ABIO32
#define SECCOMP_ARCH 0x00000008U
#endif

/* TCGETS2 of the kernel's ioctls.h, whose definition there needs its struct termios2. MIPS has one
 * with more characters, and other bits for the direction. */
#ifdef __mips__
#define TERMINAL_GET_MODES2 0x4030542aU
#else
#define TERMINAL_GET_MODES2 0x802c542aU
#endif

#define LANDLOCK_ACCESS_FS_ALL ((1ULL << 13) - 1) /* all rights of its first version */

/* A flag of landlock_create_ruleset(2): return the version. */
#define LANDLOCK_CREATE_RULESET_VERSION 1

#define LANDLOCK_RULE_PATH_BENEATH 1

#define LANDLOCK_EXECUTE      (1ULL << 0)
#define LANDLOCK_READ_FILE    (1ULL << 2)
#define LANDLOCK_READ_DIR     (1ULL << 3)
#define LANDLOCK_MAKE_CHAR    (1ULL << 6)
#define LANDLOCK_MAKE_BLOCK   (1ULL << 11)
#define LANDLOCK_REFER        (1ULL << 13)
#define LANDLOCK_IOCTL_DEVICE (1ULL << 15)

#define LANDLOCK_SCOPE_SIGNAL (1ULL << 1)

struct landlock_attributes {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

_Static_assert(sizeof(struct landlock_attributes) == 24,
               "the kernel's struct landlock_ruleset_attr");

struct landlock_beneath {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

_Static_assert(sizeof(struct landlock_beneath) == 12,
               "the kernel's struct landlock_path_beneath_attr");

#define CAPABILITY_VERSION_3 0x20080522U

struct capability_header {
    uint32_t version;
    int pid;
};

struct capability_data {
    uint32_t effective;
    uint32_t permitted;
    uint32_t inheritable;
};

_Static_assert(sizeof(struct capability_header) == 8, "the kernel's cap_user_header_t");
_Static_assert(sizeof(struct capability_data) == 12, "the kernel's cap_user_data_t");

/* ---- filters, seccomp_filter.c --------------------------------------------------------------- */

/* Seccomp (seccomp(2)): a filter that is made from a list of system calls, where every other call
 * kills the process; and strict mode, in which the kernel has the list. */

/* A rule allows a system call if each of the rule's arguments has the given value. Only the low 32
 * bits are compared, as the arguments are ints. Several rules may be for the same call if each has
 * arguments. */
#define SECCOMP_RULE_ARGUMENTS 2

struct seccomp_rule {
    uint32_t number; /* SYS_... */
    uint32_t argument_count;
    struct {
        uint32_t index;
        uint32_t value;
    } arguments[SECCOMP_RULE_ARGUMENTS];
};

/* The longest list. */
#define SECCOMP_RULES_MAX 46

/*
 * Installs the filter until the process ends. Needs no_new_privs. Returns false if there are more
 * than SECCOMP_RULES_MAX rules, if the kernel has no filters, or if we know no filter for this
 * architecture.
 */
bool seccomp_install(const struct seccomp_rule *rules, size_t count);

/*
 * Enters strict mode: only read(), write(), exit() and the return from a signal handler are
 * allowed. Any other call ends the process with SIGKILL, and the instruction rdtsc ends it with
 * SIGSEGV. Returns false if the kernel has no seccomp, or if a launcher has already installed a
 * filter.
 */
bool seccomp_strict(void);

/* ---- rows that several lists have in common -------------------------------------------------- */

/* A C library chooses among a few calls for one purpose: each macro has all of them that this
 * architecture knows. */

/* The rows with a comma are those that some architectures lack. */

#ifdef SYS_poll
#define SECCOMP_CALL_POLL {.number = SYS_poll},
#else
#define SECCOMP_CALL_POLL
#endif

#ifdef SYS_ppoll_time64
#define SECCOMP_CALL_PPOLL_TIME64 {.number = SYS_ppoll_time64},
#else
#define SECCOMP_CALL_PPOLL_TIME64
#endif

#ifdef SYS_clock_gettime
#define SECCOMP_CALL_CLOCK {.number = SYS_clock_gettime},
#else
#define SECCOMP_CALL_CLOCK
#endif

#ifdef SYS_clock_gettime32 /* musl's name for the former on 32-bit machines, its second choice */
#define SECCOMP_CALL_CLOCK32 {.number = SYS_clock_gettime32},
#else
#define SECCOMP_CALL_CLOCK32
#endif

#ifdef SYS_clock_gettime64
#define SECCOMP_CALL_CLOCK64 {.number = SYS_clock_gettime64},
#else
#define SECCOMP_CALL_CLOCK64
#endif

/* clang-format off */

/* poll(2), its restart after a stop, and the clock for its timeout. */
#define SECCOMP_CALLS_WAITING                                                                      \
    SECCOMP_CALL_POLL                                                                              \
    SECCOMP_CALL_PPOLL_TIME64                                                                      \
    SECCOMP_CALL_CLOCK                                                                             \
    SECCOMP_CALL_CLOCK32                                                                           \
    SECCOMP_CALL_CLOCK64                                                                           \
    {.number = SYS_ppoll},                                                                         \
    {.number = SYS_restart_syscall}

/* fcntl(2) with one command; on 32-bit machines the C library calls fcntl64. */
#ifdef SYS_fcntl64
#define SECCOMP_CALLS_FCNTL(command)                                                               \
    {SYS_fcntl, 1, {{1, (command)}}},                                                              \
    {SYS_fcntl64, 1, {{1, (command)}}}
#else
#define SECCOMP_CALLS_FCNTL(command) {SYS_fcntl, 1, {{1, (command)}}}
#endif

/* clang-format on */

#endif
