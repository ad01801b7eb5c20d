/*
 * What the files of the listener target share.
 */
#ifndef WREN_LISTENER_TARGET_H
#define WREN_LISTENER_TARGET_H

#include "listener_model.h"

enum { FD_SOCKET = 1, FD_SIGNALS, FD_CONNECTION };

#define FIRST_PID 1000

extern struct listener_state {
    bool waiting; /* a connection */
    struct sockaddr_in6 from;
    bool child_signal;
    pid_t child;       /* that it names */
    bool others_ended; /* perhaps, before it was read: they are reaped when their places are needed
                        */
    int signal;        /* or 0 */
    bool hangup_ignored, over;
    unsigned accept_error, fork_error;
    pid_t next_pid;
    bool decided; /* the model has judged the connection that was accepted, as: */
    bool admitted;
    struct listener_source source;
    /* What systemd passes: LISTEN_FDS, and whether LISTEN_PID is ours. */
    unsigned passed;
    bool foreign;
} state;

#endif
