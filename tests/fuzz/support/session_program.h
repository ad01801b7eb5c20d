/*
 * The session target's input as a program: settings, then operations.
 */
#ifndef WREN_SESSION_PROGRAM_H
#define WREN_SESSION_PROGRAM_H

#include "fuzz.h"
#include "grant.h"
#include "ipc.h"
#include "users.h"

enum failure {
    FAIL_CHILD = 1,
    FAIL_EXEC = 2,
    FAIL_PIPE = 4,
    FAIL_TERMINAL = 8,
    FAIL_PEER = 16,
    FAIL_OPEN = 32,
    FAIL_MODES = 64,
    FAIL_KILL = 128,
    FAIL_SOCKET = 256,
    FAIL_START = 512
};

struct session_message {
    size_t bytes; /* 0: there is none */
    bool descriptors;
    uint8_t data[IPC_SESSION_REQUEST_BYTES + 64];
};

extern struct session_program {
    struct input input;
    struct session_message request;
    unsigned fails, spared; /* `spared` calls still work */
    int send_error;
    bool closed, lifeline_closed, report;
} session_program;

void session_program_begin(struct input input, struct session_options *options, struct grant *grant,
                           struct account *account, bool *has_address);

/* True if this call fails. */
bool program_fails(enum failure which);

enum session_event {
    SESSION_REQUEST,
    SESSION_TIME,
    SESSION_SIGNAL,
    SESSION_REPORT,
    SESSION_INTERRUPT,
    SESSION_OVER
};
enum session_event session_program_event(void);

/* One report waits after each SESSION_REPORT. */
bool program_has_report(void);
bool program_takes_report(void);

/* What an SFTP server reports next; returns its length, 0 for the end, or -1 for nothing. */
int session_program_report(void *out, size_t room);

#endif
