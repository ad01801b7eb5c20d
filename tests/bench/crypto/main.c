/* Times the primitives of all libraries that there are, in rounds, so that what slows the machine
 * down slows all.
 *
 *     crypto_bench ROUNDS                     a line for each: row, bytes, library, nanoseconds
 *     crypto_bench ROW LIBRARY BYTES COUNT    does one thing that often, for a counter of
 *                                             instructions
 *
 * --level baseline, avx2 or avx512, first: as on a processor that has no more than this. OpenSSL
 * and we obey, the others don't know how. Nothing is printed if this processor doesn't reach it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cpu_masked.h"
#include "rivals.h"

#define BATCH_NS 8000000LL /* long against the clock's steps, short against the machine's moods */

uint8_t data[LARGEST_BYTES + 64];

static struct rival *const rivals[] = {&ours, &openssl, &libsodium, &libntruprime, &lib25519};
#define RIVALS (sizeof(rivals) / sizeof(rivals[0]))

/* Rows that work on data, and on how much; the others have one size, 0. */
static const struct {
    const char *row;
    size_t sizes[6];
} rows[] = {
    {"seal", {64, 256, 1024, 8192, LARGEST_BYTES}},
    {"open", {64, 256, 1024, 8192, LARGEST_BYTES}},
    {"both", {64, 1024, LARGEST_BYTES}},
    {"chacha20", {64, 1024, LARGEST_BYTES}},
    {"poly1305", {64, 1024, LARGEST_BYTES}},
    {"encapsulate", {0}},
    {"x25519", {0}},
    {"sign", {0}},
    {"verify", {0}},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

int load_library(const char *const *names, const char *const *symbols, void *members)
{
    void *library = NULL, **member = members;

    for (; *names != NULL && library == NULL; names++) {
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    }
    for (; library != NULL && *symbols != NULL; symbols++) {
        *member = dlsym(library, *symbols);
        if (*member++ == NULL) {
            return 0;
        }
    }
    return library != NULL;
}

static const struct task *find(const struct rival *rival, const char *row)
{
    const struct task *task = rival->tasks;

    while (task->row != NULL && strcmp(task->row, row) != 0) {
        task++;
    }
    return task->row != NULL ? task : NULL;
}

/* Processor time: what others take of the machine in between does not count. */
static long long now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long run_ns(const struct task *task, size_t bytes, long long count)
{
    long long begin_ns = now_ns();

    for (long long i = 0; i < count; i++) {
        task->run(bytes);
    }
    return now_ns() - begin_ns;
}

/* Nanoseconds for one, over as many as fill a batch. */
static double measure_ns(const struct task *task, size_t bytes)
{
    long long count = 1, taken_ns = run_ns(task, bytes, 1);

    while (taken_ns < BATCH_NS / 4) {
        count *= 4;
        taken_ns = run_ns(task, bytes, count);
    }
    count = count * BATCH_NS / taken_ns + 1;
    return (double)run_ns(task, bytes, count) / (double)count;
}

static void one_round(const int *opened, size_t row, size_t bytes)
{
    for (size_t i = 0; i < RIVALS; i++) {
        const struct task *task = opened[i] ? find(rivals[i], rows[row].row) : NULL;

        if (task != NULL) {
            printf("%s %zu %s %.2f\n", rows[row].row, bytes, rivals[i]->name,
                   measure_ns(task, bytes));
        }
    }
}

static void all_rounds(int rounds)
{
    int opened[RIVALS];

    for (size_t i = 0; i < RIVALS; i++) {
        opened[i] = rivals[i]->open();
    }
    for (int round = 0; round < rounds; round++) {
        for (size_t row = 0; row < ROWS; row++) {
            const size_t *size = rows[row].sizes;

            do {
                one_round(opened, row, *size);
            } while (*size++ != 0 && *size != 0);
        }
        fflush(stdout);
    }
}

static int one_task(char **words)
{
    for (size_t i = 0; i < RIVALS; i++) {
        if (strcmp(rivals[i]->name, words[1]) == 0 && rivals[i]->open()) {
            const struct task *task = find(rivals[i], words[0]);

            if (task != NULL) {
                run_ns(task, (size_t)atoll(words[2]), atoll(words[3]));
                return 0;
            }
        }
    }
    fprintf(stderr, "crypto_bench: no %s by %s here\n", words[0], words[1]);
    return 111;
}

/* What OpenSSL is to forget of what the processor can do. On x86 (OPENSSL_ia32cap(3)) that are bits
 * of CPUID's leaf 1, EDX and above it ECX, and of leaf 7, EBX. */
#ifdef __arm__
#define OPENSSL_VARIABLE "OPENSSL_armcap"
#define OPENSSL_BASELINE "0"
#else
#define OPENSSL_VARIABLE "OPENSSL_ia32cap"
#define OPENSSL_BASELINE "~0x1000020000000000:~0xd0230020" /* nor SSSE3, AVX, AVX2 */
#endif
#define OPENSSL_AVX2   ":~0xd0230000"
#define OPENSSL_AVX512 ":~0x200000" /* no IFMA */

static const struct level {
    const char *name;
    enum cpu_level level;
    const char *openssl;
} levels[] = {
    {"baseline", CPU_BASELINE, OPENSSL_BASELINE},
    {"avx2", CPU_AVX2, OPENSSL_AVX2},
    {"avx512", CPU_AVX512, OPENSSL_AVX512},
};

static const struct level *find_level(const char *name)
{
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (strcmp(levels[i].name, name) == 0) {
            return &levels[i];
        }
    }
    return NULL;
}

/* Before any library is opened: OpenSSL looks when it is loaded. */
static int set_level(const struct level *level)
{
    cpu_limit(level->level);
    return setenv(OPENSSL_VARIABLE, level->openssl, 1) == 0 && cpu_level() == level->level;
}

int main(int count, char **arguments)
{
    if (count > 2 && strcmp(arguments[1], "--level") == 0 && find_level(arguments[2]) != NULL) {
        if (!set_level(find_level(arguments[2]))) {
            return 0;
        }
        count -= 2;
        arguments += 2;
    }
    if (count == 5 && atoll(arguments[3]) <= LARGEST_BYTES) {
        return one_task(arguments + 1);
    }
    if (count != 2 || atoi(arguments[1]) <= 0) {
        fputs("usage: crypto_bench [--level LEVEL] ROUNDS | ROW LIBRARY BYTES COUNT\n", stderr);
        return 100;
    }
    all_rounds(atoi(arguments[1]));
    return 0;
}
