/* In place of common/seccomp_filter.c in sanitizer builds: their runtime makes system calls at
 * will. The filters are missing then, and the daemon serves only with -B. */
#include "seccomp_filter.h"

bool seccomp_install(const struct seccomp_rule *rules, size_t count)
{
    (void)rules;
    (void)count;
    return false;
}

bool seccomp_strict(void)
{
    return false;
}
