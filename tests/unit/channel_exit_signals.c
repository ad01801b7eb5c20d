/* For channel_exit.c: the names of signals (RFC 4254 section 6.10). */
#include "channels.h"
#include "net.h"

#include <signal.h>
#include <string.h>

#include "unit.h"

/* RFC 4254 section 6.10, in its order. */
static const struct {
    const char *name;
    int number;
} named[] = {
    {"ABRT", SIGABRT}, {"ALRM", SIGALRM}, {"FPE", SIGFPE},   {"HUP", SIGHUP},   {"ILL", SIGILL},
    {"INT", SIGINT},   {"KILL", SIGKILL}, {"PIPE", SIGPIPE}, {"QUIT", SIGQUIT}, {"SEGV", SIGSEGV},
    {"TERM", SIGTERM}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
};

#define NAMED (sizeof(named) / sizeof(named[0]))

static uint32_t number_of(const void *name, size_t count)
{
    struct reader reader = reader_over(name, count);
    return channel_exit_signal_number(&reader);
}

TEST_EACH(both_ways, NAMED)
{
    ck_assert_uint_eq(number_of(named[_i].name, strlen(named[_i].name)),
                      (uint32_t)named[_i].number);
    ck_assert_str_eq(channel_exit_signal_name((uint32_t)named[_i].number), named[_i].name);
}

TEST(no_other_name)
{
    static const char *const others[] = {
        "",     "SIGINT", "int", "IN",   "INTX", "STOP",           "CHLD",
        "CONT", "0",      "9",   "TSTP", "KIL",  "sig@example.com"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        ck_assert_uint_eq(number_of(others[i], strlen(others[i])), 0);
    }
    ck_assert_uint_eq(number_of("INT\0", 4), 0);
    struct reader failed = {.failed = true};
    ck_assert_uint_eq(channel_exit_signal_number(&failed), 0);
}

TEST(no_other_number)
{
    size_t found = 0;
    for (uint32_t number = 0; number < 1000; number++) {
        found += channel_exit_signal_name(number) != NULL ? 1 : 0;
    }
    ck_assert_uint_eq(found, NAMED);
    ck_assert_ptr_null(channel_exit_signal_name(0));
    ck_assert_ptr_null(channel_exit_signal_name(SIGSTOP));
    ck_assert_ptr_null(channel_exit_signal_name(UINT32_MAX));
}
