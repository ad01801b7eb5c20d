/*
 * The conversions that stand in the source tree's literals, each tried with src/static/printf.c: a
 * static build must not find at run time that it lacks one. The compiler checks that they fit
 * their arguments, and tests/unit/walls.sh that nothing calls libc's other printing functions.
 */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "small_printf.h"
#include "unit.h"

/* Literals with a percent sign, then the conversions in them. `%h` and a `%` at the end of a
 * literal are no conversions but words of the patterns of -a, a `%` before a word or punctuation is
 * none either; PRIu64 and its kin would hide one. */
#define LITERALS                                                                                   \
    "cd '" SOURCE_ROOT "' && grep -rhoE --include='*.[ch]' --exclude-dir=static "                  \
    "'\"[^\"]*%[^\"]*(\"|\" *PRI)' src crypto"
#define CONVERSIONS                                                                                \
    "grep -oE '%( [0-9.]*[a-zA-Z]\\b|[^%\" ,a-zA-Z]*[hljztLqw]*([a-gi-zA-Z%]|\" *PRI))' | sort -u"

ssize_t small_write(int fd, const void *bytes, size_t count)
{
    return write(fd, bytes, count);
}

static int try_conversion(const char *conversion)
{
    uintptr_t value = conversion[strlen(conversion) - 1] == 's' ? (uintptr_t) "text" : 1;
    return strchr(conversion, '*') == NULL ? small_snprintf(NULL, 0, conversion, value)
                                           : small_snprintf(NULL, 0, conversion, 1, value);
}

UNIT_CASE("formats");
UNIT_TIMEOUT(60);

TEST(all_are_supported)
{
    char conversion[64];
    unsigned seen = 0;
    FILE *found = popen(LITERALS " | " CONVERSIONS, "r");
    ck_assert_ptr_nonnull(found);
    for (; fgets(conversion, sizeof(conversion), found) != NULL; seen++) {
        conversion[strcspn(conversion, "\n")] = '\0';
        ck_assert_msg(try_conversion(conversion) >= 0, "not supported: %s", conversion);
    }
    ck_assert_int_eq(pclose(found), 0);
    ck_assert_uint_ge(seen, 6);
}

TEST(others_are_refused)
{
    static const char *const others[] = {"%f",  "%5.1Lg", "%ls", "%m",  "%i",
                                         "%p",  "%lu",    "%hd", "%5d", "%-5s",
                                         "%+d", "% d",    "%#x", "%*d", "%\" PRI"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        ck_assert_msg(try_conversion(others[i]) < 0, "supported: %s", others[i]);
    }
}
