/*
 * The primitives that are timed, ours and other libraries'. Those are opened at run time, where
 * they are installed: nothing of the build depends on them.
 */
#ifndef WREN_BENCH_RIVALS_H
#define WREN_BENCH_RIVALS_H

#include <stddef.h>
#include <stdint.h>

#define LARGEST_BYTES 32768

/* One thing to do over and over, on `bytes` of data where it works on data. */
struct task {
    const char *row; /* seal, open, both, chacha20, poly1305, encapsulate, x25519, sign, verify */
    void (*run)(size_t bytes);
};

/* One library's tasks, up to one without a row. `open` makes what they need; its tasks are left out
 * if it returns false, and those it can't do it removes by setting `run` to NULL. */
struct rival {
    const char *name;
    int (*open)(void);
    struct task *tasks;
};

extern struct rival ours, openssl, libsodium, libntruprime, lib25519;

/* Opens the first of these libraries that there is, and puts the functions of these names into
 * `members`, a struct of as many pointers. False if anything is missing. Both lists end with NULL.
 */
int load_library(const char *const *names, const char *const *symbols, void *members);

/* Data to work on, with room in front and behind for what sealing adds; the bytes are of no
 * account. */
extern uint8_t data[LARGEST_BYTES + 64];

#endif
