/*
 * The monitor target's input as a program: settings, then operations.
 */
#ifndef WREN_MONITOR_PROGRAM_H
#define WREN_MONITOR_PROGRAM_H

#include <sys/types.h>

#include "fuzz.h"
#include "monitor_model.h"

struct request {
    size_t bytes;
    bool descriptors; /* some travel with it */
    uint8_t data[2 * IPC_MONITOR_REQUEST_BYTES];
};

enum event_kind {
    EVENT_REQUEST,
    EVENT_CLOSE,   /* the network process closes its end */
    EVENT_TIME,    /* value: milliseconds */
    EVENT_NETWORK, /* the process ends; value: its wait status */
    EVENT_SESSION,
    EVENT_TERM,
    EVENT_EVICT, /* a new connection needs the slot */
    EVENT_GONE,  /* the client closes the connection */
    EVENT_ERROR, /* poll() fails; value: errno */
    EVENT_OVER,  /* the input is used up */
};

struct event {
    enum event_kind what;
    int value;
};

#define ANSWER_BYTES (sizeof(struct authkeys_account) + sizeof(struct authkeys_verdict))

extern struct program {
    struct input input;
    bool closed;   /* the network process has closed its end */
    bool stubborn; /* not even SIGKILL ends it */
    unsigned queued;
    int send_error; /* of each reply from now on */
    bool session_reports, no_session;
    unsigned confine_fails;
    int keys; /* 1: a second host key, 2: a certificate, 4: no key at all */

    /* What the next child that reads keys answers, and how. */
    bool no_pipe, no_fork, hangs, hangs_up, terminates;
    bool full;    /* too many connections are logged in */
    bool crowded; /* many others are silent */
    bool begun;   /* the client has sent something */
    size_t answer_part, answer_bytes;
    uint8_t answer[ANSWER_BYTES];
} program;

void program_begin(struct input input, struct options *options, bool *as_root);

/* `serving`: requests are read, too. */
struct event program_event(const struct model *model, bool serving);

/* The first request in the queue. */
struct request *program_take(void);

/* Decides what the next child answers to the request that the model has. */
void program_answer(const struct model *model);

#endif
