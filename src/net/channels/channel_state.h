/*
 * The states of a channel: one for each half (RFC 4254 sections 5.1 to 5.3), and one for the flow
 * of the program's output. The tables below are all that changes them; "-" leaves the state as it
 * is.
 *
 * The input half takes the client's data to the program's stdin.
 *
 *     state       | START    | EOF         | BREAK  | REPORTED   | SHUT
 *     ------------+----------+-------------+--------+------------+-----------
 *     WAITING     | OPEN     | WAITING_EOF | -      | -          | DISCARDING
 *     OPEN        | -        | DRAINING    | BROKEN | -          | DISCARDING
 *     BROKEN      | -        | CLOSED      | -      | DISCARDING | DISCARDING
 *     DISCARDING  | -        | CLOSED      | -      | -          | -
 *     WAITING_EOF | DRAINING | -           | -      | -          | CLOSED
 *     DRAINING    | -        | -           | CLOSED | -          | CLOSED
 *     CLOSED      | -        | -           | -      | -          | -
 *
 * The output half takes the program's output to the client, then EOF, the exit status and CLOSE.
 * EOF leaves at END, the exit status at EXIT, our CLOSE on the way to CLOSED, or to FREE from any
 * other state than CLOSED.
 *
 *     state       | START    | END         | EXIT   | CLOSE
 *     ------------+----------+-------------+--------+-------------
 *     WAITING     | OPEN     | -           | -      | FREE
 *     OPEN        | -        | EOF_SENT    | EXITED | FREE
 *     EXITED      | -        | CLOSED      | -      | FREE
 *     EOF_SENT    | -        | -           | CLOSED | LAST_STATUS
 *     LAST_STATUS | -        | -           | FREE   | -
 *     CLOSED      | -        | -           | -      | FREE
 *
 * No event changes FREE: channel_open() does, for both halves at once.
 *
 * The flow says how the loop waits for more output. Each turn of the channel ends with one event.
 *
 *     state      | NOTHING | LITTLE | MUCH | ALL        | FULL
 *     -----------+---------+--------+------+------------+---------
 *     QUIET      | -       | -      | BULK | COALESCING | FLOODING
 *     BULK       | -       | QUIET  | -    | COALESCING | FLOODING
 *     COALESCING | BULK    | QUIET  | BULK | -          | FLOODING
 *     FLOODING   | -       | QUIET  | BULK | COALESCING | -
 */
#ifndef WREN_CHANNEL_STATE_H
#define WREN_CHANNEL_STATE_H

#include <stdbool.h>

enum channel_input {
    INPUT_FREE,       /* no channel has this number */
    INPUT_WAITING,    /* no program runs yet: data is queued */
    INPUT_OPEN,       /* data goes to the program */
    INPUT_BROKEN,     /* the program has closed its stdin: eow@openssh.com is due */
    INPUT_DISCARDING, /* stdin is closed: data is dropped and its window returned */
    /* After the client's EOF: */
    INPUT_WAITING_EOF, /* no program runs yet */
    INPUT_DRAINING,    /* when the queue is empty a pipe is closed; a terminal stays */
    INPUT_CLOSED,      /* stdin is closed */
    INPUT_STATES
};

enum channel_input_event {
    INPUT_START,    /* a program runs */
    INPUT_EOF,      /* the client's EOF */
    INPUT_BREAK,    /* the program has closed the reading end of its stdin */
    INPUT_REPORTED, /* eow@openssh.com has left, or is not needed */
    INPUT_SHUT,     /* we have closed stdin */
    INPUT_EVENTS
};

enum channel_output {
    OUTPUT_FREE,        /* no channel has this number */
    OUTPUT_WAITING,     /* no program runs yet */
    OUTPUT_OPEN,        /* the program runs */
    OUTPUT_EXITED,      /* its exit status is sent; there may be output left */
    OUTPUT_EOF_SENT,    /* its output has ended; it still runs */
    OUTPUT_LAST_STATUS, /* the same, and the client has sent CLOSE: it still gets the status */
    OUTPUT_CLOSED,      /* our CLOSE is sent, the client's is due */
    OUTPUT_STATES
};

enum channel_output_event {
    OUTPUT_START, /* a program runs */
    OUTPUT_END,   /* all of its output is with the client */
    OUTPUT_EXIT,  /* the program has exited */
    OUTPUT_CLOSE, /* the client's CLOSE */
    OUTPUT_EVENTS
};

enum channel_flow {
    FLOW_QUIET, /* a dialogue: served before the other channels */
    FLOW_BULK,  /* much output in the last turn */
    /* A bulk transfer of small writes. Waking up for each of them would cost both sides more than
     * the bytes do: poll() is not asked about stdout, and LIMIT_COALESCE_US later one read returns
     * many of them. */
    FLOW_COALESCING,
    /* The program writes faster than we read. poll() is not asked about stdout but whether the
     * socket has room: the kernel then takes a whole turn's packets, and none of the output waits
     * in our memory for a client that has stopped reading. */
    FLOW_FLOODING,
    FLOW_STATES
};

enum channel_flow_event {
    FLOW_NOTHING, /* nothing could be read */
    FLOW_LITTLE,  /* no more was read than in a dialogue */
    FLOW_MUCH,    /* more was read */
    FLOW_ALL,     /* the same: all that was in a wide pipe; more may leave */
    FLOW_FULL,    /* the same: all that a turn may read of stdout */
    FLOW_EVENTS
};

/* The state that follows `state` after `event`. */
enum channel_input channel_input_after(enum channel_input state, enum channel_input_event event);
enum channel_output channel_output_after(enum channel_output state,
                                         enum channel_output_event event);
enum channel_flow channel_flow_after(enum channel_flow state, enum channel_flow_event event);

/* True after the client's EOF. */
bool channel_input_has_eof(enum channel_input state);

#endif
