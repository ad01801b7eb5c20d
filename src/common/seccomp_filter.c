#include "seccomp_filter.h"

#include <sys/prctl.h>

#include "seccomp_abi.h"

#ifdef SECCOMP_ARCH

/* When a filter is installed the kernel asks it about each of some hundred system calls, most of
 * which are none of these: the rules are in the order of their numbers, and those above a group are
 * not compared with each of it. */
#define GROUP 5

#define GROUPS ((SECCOMP_RULES_MAX + GROUP - 1) / GROUP)

/* For each rule at most: its number, its arguments, the verdict, the number loaded again. */
#define RULE_MAX (1 + 2 * SECCOMP_RULE_ARGUMENTS + 2)

/* The architecture check, the number, the final kill, and what is between them. */
#define PROGRAM_MAX (5 + GROUPS + SECCOMP_RULES_MAX * RULE_MAX)

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

static size_t rule_length(const struct seccomp_rule *rule)
{
    return 2 + (rule->argument_count > 0 ? 2 * rule->argument_count + 1 : 0);
}

/* The number is loaded before, and behind. */
static void add_rule(struct builder *builder, const struct seccomp_rule *rule)
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

static void add_group(struct builder *builder, const struct seccomp_rule *const *group,
                      size_t count)
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

static void sort_rules(const struct seccomp_rule **sorted, const struct seccomp_rule *rules,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t place = i;
        for (; place > 0 && sorted[place - 1]->number > rules[i].number; place--) {
            sorted[place] = sorted[place - 1];
        }
        sorted[place] = &rules[i];
    }
}

bool seccomp_install(const struct seccomp_rule *rules, size_t count)
{
    struct builder builder = {0};
    const struct seccomp_rule *sorted[SECCOMP_RULES_MAX];
    if (count > SECCOMP_RULES_MAX) {
        return false;
    }
    sort_rules(sorted, rules, count);
    add(&builder, BPF_LOAD_WORD, SECCOMP_DATA_ARCH, 0, 0);
    add(&builder, BPF_JUMP_EQUAL, SECCOMP_ARCH, 1, 0);
    add(&builder, BPF_RETURN, SECCOMP_RET_KILL_PROCESS, 0, 0);
    add(&builder, BPF_LOAD_WORD, SECCOMP_DATA_NUMBER, 0, 0);
    for (size_t i = 0; i < count; i += GROUP) {
        add_group(&builder, sorted + i, count - i < GROUP ? count - i : GROUP);
    }
    add(&builder, BPF_RETURN, SECCOMP_RET_KILL_PROCESS, 0, 0);
    struct bpf_program program = {.length = (unsigned short)builder.count,
                                  .instructions = builder.instructions};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

#else

/* No filter is written for this architecture: the layer is missing. */
bool seccomp_install(const struct seccomp_rule *rules, size_t count)
{
    (void)rules;
    (void)count;
    return false;
}

#endif
