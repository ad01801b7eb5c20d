/* The traced processes: who they are, where they are in the program, and what they may do. */
#ifndef WREN_FAULTS_PROCESS_H
#define WREN_FAULTS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>

#define ROLE_BYTES 64
#define SITE_BYTES 64
#define CALL_BYTES 512

enum call_state { CALL_NONE, CALL_UNDER_WAY, CALL_FAILS, CALL_CUT };

struct process {
    pid_t pid; /* 0: a free place */
    /* "0" is the first process, "0.2" its second child, "0.2x" that child after it has started the
     * same program again. Empty: not known yet. */
    char role[ROLE_BYTES];
    unsigned children;
    bool outside; /* it runs another program, whose calls don't matter */
    bool ran;     /* it has started the program */
    enum call_state state;
    char call[CALL_BYTES];         /* what the record says about the call that is under way */
    int error;                     /* of the fault, in CALL_FAILS */
    struct user_regs_struct saved; /* before a fault changed them */
    struct iovec part;             /* likewise */
};

struct process *process_find(pid_t pid);
struct process *process_add(pid_t pid);
void process_remove(struct process *process);

/* The process that runs the command. */
void process_first(struct process *process);

void process_inherit(struct process *child, struct process *parent);

/* Finds out whether the process still runs the program of the first one. */
void process_after_exec(struct process *process);

/* Return addresses into the program that stand on the stack: a name for the place of a call. "-" if
 * there are none, as before main(). */
void process_site(const struct process *process, uint64_t stack, char site[static SITE_BYTES]);

/* What a descriptor leads to, or "-". */
void process_descriptor(const struct process *process, uint64_t number, char *out, size_t room);

/* Writes user, groups, capabilities and seccomp's mode into the record. */
void process_rights(const struct process *process, FILE *record);

#endif
