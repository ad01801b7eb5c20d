/* The one main() of all unit tests: each is a program of its own, made of this and one file. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "scratch.h"
#include "unit.h"

bool unit_is_emulated(void)
{
    return getenv("MESON_EXE_WRAPPER") != NULL;
}

bool unit_is_slow(void)
{
    return unit_is_emulated() || getenv("UNIT_IS_SLOW") != NULL;
}

void unit_no_mark(void)
{
}

/* nohup and a shell's "&" have us ignore signals, and the programs that the tests start would
 * inherit that. Handlers stay: they are a sanitizer's. */
static void stop_ignoring_signals(void)
{
    struct sigaction action;
    for (int number = 1; number < NSIG; number++) {
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN) {
            signal(number, SIG_DFL);
        }
    }
}

static struct unit_step *steps;
static Suite *suite;
static TCase *test_case;
static bool left_out;

/* A compiler may put constructors in any order. */
void unit_register(struct unit_step *step)
{
    struct unit_step **at = &steps;
    while (*at != NULL && (*at)->line < step->line) {
        at = &(*at)->next;
    }
    step->next = *at;
    *at = step;
}

/* The suite has the name of its file, without folder and ".c". */
static const char *suite_name(void)
{
    static char name[64];
    const char *file = steps != NULL ? steps->file : "empty.c";
    const char *slash = strrchr(file, '/');
    snprintf(name, sizeof(name), "%s", slash != NULL ? slash + 1 : file);
    name[strcspn(name, ".")] = '\0';
    return name;
}

void unit_begin_case(const char *name)
{
    test_case = tcase_create(name);
    suite_add_tcase(suite, test_case);
    tcase_add_checked_fixture(test_case, NULL, scratch_remove);
}

TCase *unit_case(void)
{
    if (test_case == NULL) {
        unit_begin_case(suite_name());
    }
    return test_case;
}

void unit_need(bool condition, const char *otherwise)
{
    if (!condition) {
        fprintf(stderr, "%s: %s\n", suite_name(), otherwise);
        left_out = true;
    }
}

bool unit_in_a_fork(bool (*action)(void))
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        _exit(action() ? 0 : 1);
    }
    return waitpid(child, &status, 0) == child && status == 0;
}

static void make_suite(void)
{
    suite = suite_create(suite_name());
    for (struct unit_step *step = steps; step != NULL && !left_out; step = step->next) {
        step->take();
    }
}

int main(void)
{
    stop_ignoring_signals();
    /* Four seconds a test are too few under emulation on a busy machine. */
    setenv("CK_TIMEOUT_MULTIPLIER", "15", 0);
    make_suite();
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    bool empty = srunner_ntests_run(runner) == 0 && !left_out;
    if (empty) {
        fprintf(stderr, "%s: there is no test\n", suite_name());
    }
    srunner_free(runner);
    return failed == 0 && !empty ? EXIT_SUCCESS : EXIT_FAILURE;
}
