/*
 * wren-lean: an SSH client that measures servers. options_help.c says what it takes and what it
 * tells.
 */
#include <sodium.h>
#include <stddef.h>

#include "fail.h"
#include "modes.h"

static const struct mode modes[] = {
    {"login", mode_login},    {"download", mode_transfer}, {"upload", mode_transfer},
    {"rekey", mode_transfer}, {"sessions", mode_sessions}, {"echo", mode_echo},
    {"idle", mode_idle},      {"stall", mode_stall},       {NULL, NULL},
};

int main(int argc, char **argv)
{
    struct options options;
    if (sodium_init() < 0) {
        fail("start", "libsodium does not work");
    }
    options_parse(&options, argc, argv, modes);
    options.mode->run(&options);
    return 0;
}
