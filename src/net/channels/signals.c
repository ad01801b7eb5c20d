#include "signals.h"

#include <signal.h>
#include <stddef.h>

static const struct {
    char name[sizeof("SEGV")];
    uint8_t number;
} signals[] = {
    {"ABRT", SIGABRT}, {"ALRM", SIGALRM}, {"FPE", SIGFPE},   {"HUP", SIGHUP},   {"ILL", SIGILL},
    {"INT", SIGINT},   {"KILL", SIGKILL}, {"PIPE", SIGPIPE}, {"QUIT", SIGQUIT}, {"SEGV", SIGSEGV},
    {"TERM", SIGTERM}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
};

#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

uint32_t signals_number(const struct reader *name)
{
    for (size_t i = 0; i < SIGNALS; i++) {
        if (reader_is(name, signals[i].name)) {
            return signals[i].number;
        }
    }
    return 0;
}

const char *signals_name(uint32_t number)
{
    for (size_t i = 0; i < SIGNALS; i++) {
        if (signals[i].number == number) {
            return signals[i].name;
        }
    }
    return NULL;
}
