/*
 * The command line.
 */
#ifndef LEAN_OPTIONS_H
#define LEAN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "hostkey.h"
#include "offer.h"

struct options;

/* One thing to measure. */
struct mode {
    const char *name;
    void (*run)(const struct options *options);
};

struct options {
    const struct mode *mode;
    const char *host, *port; /* --connect, or NULL */
    bool exec;
    char **program; /* what --exec starts */
    const char *user;
    bool has_key;
    struct hostkey_pair key;
    bool has_host_key, any_host_key;
    uint8_t host_key[32];
    struct offer offer;
    bool polite;
    const char *command; /* or NULL */
    const char *busy;    /* or NULL */
    bool pty, hold;
    uint32_t window, rounds, count, repeat;
    uint64_t bytes, rekey_bytes; /* 0: not given */
};

/* Reads argv. Wrong usage ends the program with 100, --help with 0, a key that can't be had with 1.
 */
void options_parse(struct options *options, int argc, char **argv, const struct mode *modes);

/* options_help.c: to standard output. */
void options_help(void);

#endif
