/* The one main() of all unit tests: each is a program of its own, made of this and one suite. */
#include <check.h>
#include <stdlib.h>

#include "unit.h"

bool unit_is_emulated(void)
{
    return getenv("MESON_EXE_WRAPPER") != NULL;
}

int main(void)
{
    SRunner *runner = srunner_create(unit_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
