/* A separate file, so that tests can mask the processor's features:
 * tests/unit/substitutes/cpu_masked.c. */
#include "cpu.h"

enum cpu_level cpu_level(void)
{
    return cpu_found();
}
