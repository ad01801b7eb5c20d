/*
 *     hostile [-B] [--seed N] [--count N] [--only K] [--jobs N] [--slack N]
 *
 * Runs sequences 0 to count - 1, or one of them; reports each failure, and exits with 1 if there
 * was one.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"
#include "process.h"

#define JOBS_MAX     64
#define FAILURES_MAX 8

struct plan {
    uint64_t only;
    bool alone; /* only the one sequence */
    uint64_t count;
    unsigned jobs;
};

static void usage(void)
{
    fprintf(stderr,
            "usage: hostile [-B] [--seed N] [--count N] [--only K] [--jobs N] [--slack N]\n");
    exit(100);
}

static void take_number(struct plan *plan, struct world *world, const char *name, const char *value)
{
    uint64_t number = strtoull(value, NULL, 10);
    if (strcmp(name, "--seed") == 0) {
        world->seed = number;
    } else if (strcmp(name, "--count") == 0) {
        plan->count = number;
    } else if (strcmp(name, "--only") == 0) {
        plan->only = number;
        plan->alone = true;
    } else if (strcmp(name, "--jobs") == 0 && number >= 1 && number <= JOBS_MAX) {
        plan->jobs = (unsigned)number;
    } else if (strcmp(name, "--slack") == 0) {
        world->slack = (double)number;
    } else {
        usage();
    }
}

static void take_arguments(struct plan *plan, struct world *world, char **arguments)
{
    for (char **at = arguments + 1; *at != NULL; at++) {
        if (strcmp(*at, "-B") == 0) {
            world->options.best_effort = true;
        } else if (at[1] == NULL) {
            usage();
        } else {
            take_number(plan, world, at[0], at[1]);
            at++;
        }
    }
}

static void *shared(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    return memory;
}

static void run_one(const struct world *world, uint64_t index, struct record *record,
                    struct tally *tally)
{
    bool good = judge_sequence(world, index, record);
    tally->sequences++;
    tally->failures += good ? 0 : 1;
    tally->logins += record->logged_in ? 1 : 0;
    tally->programs += record->programs;
    tally->refusals += record->refusals;
}

/* As a subreaper it adopts all orphans of its connections, and so finds processes that are left. */
static void work(const struct world *world, const struct plan *plan, unsigned job,
                 struct tally *tally)
{
    struct record *record = shared(sizeof(*record));
    prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
    for (uint64_t index = job; index < plan->count && tally->failures < FAILURES_MAX;
         index += plan->jobs) {
        run_one(world, index, record, tally);
    }
}

static struct tally run(const struct world *world, const struct plan *plan)
{
    struct tally *tallies = shared(JOBS_MAX * sizeof(*tallies));
    struct tally sum = {0};
    int status;
    for (unsigned job = 0; job < plan->jobs; job++) {
        if (fork() == 0) {
            if (plan->alone) {
                prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
                run_one(world, plan->only, shared(sizeof(struct record)), &tallies[job]);
            } else {
                work(world, plan, job, &tallies[job]);
            }
            _exit(0);
        }
    }
    while (wait(&status) > 0) {
        sum.failures += status == 0 ? 0 : 1;
    }
    for (unsigned job = 0; job < plan->jobs; job++) {
        sum.sequences += tallies[job].sequences;
        sum.failures += tallies[job].failures;
        sum.logins += tallies[job].logins;
        sum.programs += tallies[job].programs;
        sum.refusals += tallies[job].refusals;
    }
    return sum;
}

int main(int argc, char **argv)
{
    struct plan plan = {.count = 400, .jobs = 32};
    struct world world = {.seed = 1, .slack = 1};
    (void)argc;
    if (!entropy_start(ENTROPY_ANYWHERE, 0) || sodium_init() < 0) {
        return 2;
    }
    take_arguments(&plan, &world, argv);
    plan.jobs = plan.alone ? 1 : plan.jobs;
    world_make(&world);
    struct tally sum = run(&world, &plan);
    world_remove(&world);
    printf("seed %llu: %u sequences, %u wrong; %u logins, %u programs, %u refusals\n",
           (unsigned long long)world.seed, sum.sequences, sum.failures, sum.logins, sum.programs,
           sum.refusals);
    /* A run without a login, a program and a refusal has tested nothing. */
    bool tried = plan.alone || (sum.logins > 0 && sum.programs > 0 && sum.refusals > 0);
    return sum.failures == 0 && tried ? 0 : 1;
}
