/* The one main() of all unit tests: each is a program of its own, made of this and one suite. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>

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

int main(void)
{
    stop_ignoring_signals();
    /* Four seconds a test are too few under emulation on a busy machine. */
    setenv("CK_TIMEOUT_MULTIPLIER", "15", 0);
    SRunner *runner = srunner_create(unit_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
