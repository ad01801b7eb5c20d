/*
 * What the files of the session target share.
 */
#ifndef WREN_SESSION_TARGET_H
#define WREN_SESSION_TARGET_H

#include <setjmp.h>
#include <stdbool.h>

extern jmp_buf session_end; /* the session process exits */
extern bool in_child;       /* what runs is a program's child */
extern struct target_state {
    int exit_status;
    bool started, reported, child_signal, hung_up;
    bool new_session, signals_reset, has_terminal;
} state;

/* Opens a descriptor of the process, close-on-exec. */
int session_open(int kind, int object, bool nonblocking);

#endif
