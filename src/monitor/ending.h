/*
 * How a connection ends: the first reason, who must still exit, and the log's `event=end` line.
 */
#ifndef WREN_ENDING_H
#define WREN_ENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "limit.h"

struct monitor;

struct ending {
    bool decided;
    bool logged;  /* the reason is in the log already: no `event=end` line */
    bool counted; /* bytes_in and bytes_out are known */
    int status;   /* exit code */
    uint64_t bytes_in;
    uint64_t bytes_out;
    char reason[LIMIT_NOTE_BYTES + 1];
};

/* Sets the exit code and the reason, unless an earlier call has. */
void ending_decide(struct ending *ending, int status, const char *reason);

/* Ends the connection: decides, and serves no more requests. The network process has LIMIT_EXIT_MS
 * to exit. */
void ending_begin(struct monitor *monitor, int status, const char *reason);

/* Ends the connection with exit code 111 and kills the network process at once. */
void ending_fail(struct monitor *monitor, const char *reason);

/* Kills the network process unless it has been reaped. */
void ending_kill_network(const struct monitor *monitor);

/* Decides by the reaped network process's wait status, for one that has sent no END. */
void ending_decide_by_exit(struct monitor *monitor);

/* Counts the connection's bytes. The kernel's count takes precedence over the one in END. */
void ending_count_bytes(struct monitor *monitor);

/* Writes the `event=end` line. */
void ending_log(const struct monitor *monitor);

#endif
