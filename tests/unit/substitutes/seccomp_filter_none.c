/* Replaces process/seccomp_filter.c in sanitizer builds: the sanitizer's runtime needs system calls
 * that our filters forbid. The daemon then runs without filters, and only with -B. */
#include "seccomp.h"

bool seccomp_install(const struct seccomp_rule *rules, size_t count)
{
    (void)rules;
    (void)count;
    return false;
}

/* wrensshd-sftp starts without the environment that the tests give to the daemon, and can't be
 * traced, which the search for leaks needs. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0:exitcode=86";
}

bool seccomp_strict(void)
{
    return false;
}
