/*
 * What the files of the listener target share.
 */
#ifndef WREN_LISTENER_TARGET_H
#define WREN_LISTENER_TARGET_H

#include "listener_model.h"

enum { FD_SOCKET = 1, FD_SIGNALS, FD_CONNECTION, FD_PIPE, FD_PIPE_CHILD, FD_RANDOM };

#define FIRST_PID      1000
#define MESSAGE        40
#define LISTENER_PIPES 2048

extern struct listener_state {
    bool waiting; /* a connection */
    struct sockaddr_in6 from;
    bool child_signal;
    int signal; /* or 0 */
    bool hangup_ignored, over;
    unsigned accept_error, fork_error, pipe_error;
    pid_t next_pid;
    int next_pipe;
    uint32_t random;
    bool no_getrandom, no_random;
    bool decided; /* the model has judged the connection that was accepted, as: */
    bool admitted;
    struct listener_source source;
    bool reading; /* in clients_read_status(): what it has read so far */
    bool over_read;
    unsigned flood, flood_step, flooded;
    struct listener_client *newest; /* or NULL */
} state;

/* What a child has written, by its pipe's number. */
extern struct listener_pipe {
    size_t bytes, read;
    bool closed;
    char data[MESSAGE];
} pipes[LISTENER_PIPES];

#endif
