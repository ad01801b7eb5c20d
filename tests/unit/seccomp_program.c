/* The filter that process/seccomp_filter.c makes, run as the kernel runs it, on a system call's
 * data in this machine's layout: this also shows the byte order where no kernel can be booted, as
 * on big-endian MIPS. */
#include "seccomp.h"

#include <elf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "unit.h"

#ifdef SECCOMP_ARCH

/* The kernel's struct seccomp_data. */
struct data {
    int32_t number;
    uint32_t arch;
    uint64_t instruction_pointer;
    uint64_t arguments[6];
};

static struct bpf_instruction program[UINT8_MAX];
static size_t length;

/* In the place of libc's: keeps the filter that would be installed. */
int prctl(int option, ...)
{
    va_list arguments;
    va_start(arguments, option);
    int mode = va_arg(arguments, int);
    const struct bpf_program *made = va_arg(arguments, const struct bpf_program *);
    va_end(arguments);
    if (option != PR_SET_SECCOMP || mode != SECCOMP_MODE_FILTER) {
        return -1;
    }
    length = made->length;
    ck_assert_uint_le(length, UINT8_MAX);
    memcpy(program, made->instructions, length * sizeof(program[0]));
    return 0;
}

static uint32_t verdict_on(const struct data *data)
{
    uint32_t word = 0;
    for (size_t at = 0; at < length; at++) {
        const struct bpf_instruction *now = &program[at];
        switch (now->code) {
        case BPF_LOAD_WORD:
            memcpy(&word, (const uint8_t *)data + now->k, sizeof(word));
            break;
        case BPF_JUMP_EQUAL:
            at += word == now->k ? now->jump_true : now->jump_false;
            break;
        case BPF_JUMP_GREATER:
            at += word > now->k ? now->jump_true : now->jump_false;
            break;
        default:
            ck_assert_uint_eq(now->code, BPF_RETURN);
            return now->k;
        }
    }
    ck_abort_msg("the filter has no end");
}

/* Numbers as those of two ABIs of MIPS; the last two calls take certain arguments only. */
static const struct seccomp_rule rules[] = {
    {.number = 4003},     {.number = 4004},
    {.number = 0},        {.number = 63},
    {.number = 5001},     {.number = 4246},
    {.number = 7},        {4183, 1, {{0, 9}}},
    {4183, 1, {{0, 10}}}, {54, 2, {{1, 6}, {2, 0x80000001U}}},
};

static const struct {
    bool allowed;
    struct data data;
} calls[] = {
    {true, {4003, SECCOMP_ARCH, 0, {1, 2, 3, 4, 5, 6}}},
    {true, {4004, SECCOMP_ARCH, 0, {0}}},
    {true, {0, SECCOMP_ARCH, 0, {0}}},
    {true, {5001, SECCOMP_ARCH, 0, {0}}},
    {true, {7, SECCOMP_ARCH, 0, {0}}},
    {false, {4005, SECCOMP_ARCH, 0, {0}}},
    {false, {1, SECCOMP_ARCH, 0, {0}}},
    {false, {5002, SECCOMP_ARCH, 0, {0}}},
    {false, {-1, SECCOMP_ARCH, 0, {0}}},
    {false, {4003, SECCOMP_ARCH ^ 0x40000000U, 0, {0}}},
    {false, {4003, SECCOMP_ARCH ^ 0x80000000U, 0, {0}}},
    {true, {4183, SECCOMP_ARCH, 0, {9}}},
    {true, {4183, SECCOMP_ARCH, 0, {10}}},
    {false, {4183, SECCOMP_ARCH, 0, {11}}},
    {false, {4183, SECCOMP_ARCH, 0, {0, 9, 10}}},
    /* The other half of an argument, in which the kernel puts nothing of an int. */
    {false, {4183, SECCOMP_ARCH, 0, {9ULL << 32}}},
    {true, {54, SECCOMP_ARCH, 0, {3, 6, 0x80000001U}}},
    {true, {54, SECCOMP_ARCH, 0, {3, 6, 0xffffffff80000001ULL}}},
    {false, {54, SECCOMP_ARCH, 0, {3, 6, 1}}},
    {false, {54, SECCOMP_ARCH, 0, {6, 0x80000001U, 6}}},
};

TEST_EACH(calls_are_judged_by_their_low_words, COUNT_OF(calls))
{
    if (!seccomp_install(rules, sizeof(rules) / sizeof(rules[0]))) {
        return; /* a build for sanitizers makes no filter */
    }
    bool allowed = verdict_on(&calls[_i].data) == SECCOMP_RET_ALLOW;
    ck_assert_int_eq(allowed, calls[_i].allowed);
}

/* linux/audit.h: the machine of the ELF file, and flags for its class and byte order. */
TEST(architecture_is_that_of_the_program)
{
    unsigned char head[sizeof(Elf64_Ehdr)];
    uint16_t machine;
    int fd = open("/proc/self/exe", O_RDONLY);
    ck_assert_int_eq(read(fd, head, sizeof(head)), sizeof(head));
    close(fd);
    memcpy(&machine, head + offsetof(Elf64_Ehdr, e_machine), sizeof(machine));
    uint32_t wide = head[EI_CLASS] == ELFCLASS64 ? 0x80000000U : 0;
    uint32_t little = head[EI_DATA] == ELFDATA2LSB ? 0x40000000U : 0;
    ck_assert_uint_eq(SECCOMP_ARCH, machine | wide | little);
}

#else
UNIT_NEEDS(false, "there are no seccomp filters here");
#endif
