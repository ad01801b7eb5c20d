#include "seccomp.h"

#include <sys/prctl.h>

#ifdef SECCOMP_ARCH

/* When a filter is installed, the kernel compiles it and runs it for each of some hundred system
 * calls, most of which are not in the list. This is most of a filter's cost, so the filter is short
 * and takes few steps: the rules are sorted by number, one comparison skips a whole GROUP of them,
 * and all rules share the two verdicts at the end. */
#define GROUP 5

#define GROUPS ((SECCOMP_RULES_MAX + GROUP - 1) / GROUP)

/* The most instructions of a rule: for its number and its arguments. */
#define RULE_MAX (1 + 2 * SECCOMP_RULE_ARGUMENTS)

/* The most instructions of a filter: 3 check the architecture and load the number, 2 are verdicts.
 */
#define PROGRAM_MAX (5 + GROUPS + SECCOMP_RULES_MAX * RULE_MAX)

/* Jumps whose distance is not known yet; resolve() fills it in. */
#define TO_KILL  254
#define TO_ALLOW 255

_Static_assert(PROGRAM_MAX < TO_KILL, "a jump reaches from the first instruction to the last");

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

/* Returns how many of the sorted rules, from the first on, are for the same system call. */
static size_t same_call(const struct seccomp_rule *const *rules, size_t count)
{
    size_t same = 1;
    while (same < count && rules[same]->number == rules[0]->number) {
        same++;
    }
    return same;
}

/* If an argument differs, jumps to the next rule for the same call; after the last one, kills. */
static void add_arguments(struct builder *builder, const struct seccomp_rule *rule, bool last)
{
    for (uint32_t i = 0; i < rule->argument_count; i++) {
        size_t left = rule->argument_count - 1 - i;
        add(builder, BPF_LOAD_WORD, SECCOMP_DATA_ARGUMENT(rule->arguments[i].index), 0, 0);
        add(builder, BPF_JUMP_EQUAL, rule->arguments[i].value, left == 0 ? TO_ALLOW : 0,
            last ? TO_KILL : 2 * left);
    }
}

/* Adds all rules for one system call. */
static void add_call(struct builder *builder, const struct seccomp_rule *const *rules, size_t count)
{
    size_t number = builder->count;
    add(builder, BPF_JUMP_EQUAL, rules[0]->number, rules[0]->argument_count > 0 ? 0 : TO_ALLOW, 0);
    for (size_t i = 0; i < count; i++) {
        add_arguments(builder, rules[i], i + 1 == count);
    }
    builder->instructions[number].jump_false = (uint8_t)(builder->count - number - 1);
}

/* Returns how many rules it has added. Rules for the same call stay together. */
static size_t add_group(struct builder *builder, const struct seccomp_rule *const *rules,
                        size_t count)
{
    size_t start = builder->count;
    size_t done = 0;
    add(builder, BPF_JUMP_GREATER, 0, 0, 0);
    while (done < count && done < GROUP) {
        size_t same = same_call(rules + done, count - done);
        add_call(builder, rules + done, same);
        done += same;
    }
    builder->instructions[start].k = rules[done - 1]->number;
    builder->instructions[start].jump_true = (uint8_t)(builder->count - start - 1);
    return done;
}

static void resolve(uint8_t *jump, size_t place, size_t kill)
{
    if (*jump >= TO_KILL) {
        *jump = (uint8_t)(kill + (*jump == TO_ALLOW) - place - 1);
    }
}

static void add_verdicts(struct builder *builder)
{
    size_t kill = builder->count;
    for (size_t place = 0; place < kill; place++) {
        resolve(&builder->instructions[place].jump_true, place, kill);
        resolve(&builder->instructions[place].jump_false, place, kill);
    }
    add(builder, BPF_RETURN, SECCOMP_RET_KILL_PROCESS, 0, 0);
    add(builder, BPF_RETURN, SECCOMP_RET_ALLOW, 0, 0);
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
    add(&builder, BPF_JUMP_EQUAL, SECCOMP_ARCH, 0, TO_KILL);
    add(&builder, BPF_LOAD_WORD, SECCOMP_DATA_NUMBER, 0, 0);
    for (size_t done = 0; done < count;) {
        done += add_group(&builder, sorted + done, count - done);
    }
    add_verdicts(&builder);
    struct bpf_program program = {.length = (unsigned short)builder.count,
                                  .instructions = builder.instructions};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

#else

/* No filter for this architecture: the layer is missing. */
bool seccomp_install(const struct seccomp_rule *rules, size_t count)
{
    (void)rules;
    (void)count;
    return false;
}

#endif

bool seccomp_strict(void)
{
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0L, 0L, 0L) == 0;
}
