/*
 * Runs a command under ptrace, writes down each system call of its processes, and lets one or two
 * of them fail: see usage() below. x86-64, root.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"
#include "process.h"

/* linux/ptrace.h and sys/ptrace.h can't both be included. */
struct call_info {
    uint8_t op;
    uint8_t pad[3];
    uint32_t arch;
    uint64_t instruction, stack;
    union {
        uint64_t number; /* at an entry */
        int64_t result;  /* at an exit */
    };
    uint64_t arguments[6];
};
#define OP_ENTRY      1
#define OP_EXIT       2
#define SYSCALL_STOP  (SIGTRAP | 0x80)
#define MOST_COUNTERS 8192
#define MOST_FAULTS   2

enum kind { FAULT_ERROR, FAULT_SHORT, FAULT_KILL };

/* What shall fail: the k-th call with this key. */
static struct fault {
    const char *key;
    unsigned long occurrence;
    enum kind kind;
    int error;
    bool done;
} faults[MOST_FAULTS];

static size_t fault_count;

static struct {
    char *key;
    unsigned long count;
} counters[MOST_COUNTERS];

static FILE *record;
static volatile sig_atomic_t phase;

__attribute__((noreturn)) static void give_up(const char *what)
{
    fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
    exit(125);
}

__attribute__((noreturn)) static void usage(void)
{
    fputs("usage: inject RECORD [KEY OCCURRENCE error:N|short|kill]... -- COMMAND...\n"
          "Runs the command, and writes what its processes do into the file RECORD.\n"
          "KEY is ROLE/PHASE/CALL/SITE, as in the record. Each SIGUSR1 begins a phase.\n",
          stderr);
    exit(125);
}

static void on_phase(int number)
{
    (void)number;
    phase = phase + 1;
}

/* How many calls with that key there have been, with this one. */
static unsigned long count_call(const char *key)
{
    uint32_t hash = 2166136261U;
    for (const char *at = key; *at != '\0'; at++) {
        hash = (hash ^ (uint8_t)*at) * 16777619U;
    }
    for (size_t tries = 0; tries < MOST_COUNTERS; tries++) {
        size_t place = (hash + tries) % MOST_COUNTERS;
        if (counters[place].key == NULL) {
            counters[place].key = strdup(key);
        }
        if (counters[place].key != NULL && strcmp(counters[place].key, key) == 0) {
            return ++counters[place].count;
        }
    }
    give_up("too many different calls");
}

/* ---- the fault ------------------------------------------------------------------------------- */

/* Half of what the call would move, but at least one byte. */
static void cut_short(struct user_regs_struct *registers)
{
    unsigned long long *length =
        registers->orig_rax == SYS_getrandom ? &registers->rsi : &registers->rdx;
    *length = *length > 1 ? *length / 2 : *length;
}

/* Half of the first part, and no other parts. The parts' list is put back at the exit. */
static void cut_parts(struct process *process, struct user_regs_struct *registers)
{
    struct iovec cut;
    struct iovec there = {.iov_base = (void *)(uintptr_t)registers->rsi, .iov_len = sizeof(cut)};
    struct iovec here = {.iov_base = &cut, .iov_len = sizeof(cut)};
    if (process_vm_readv(process->pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof(cut)) {
        return;
    }
    process->part = cut;
    cut.iov_len = cut.iov_len > 1 ? cut.iov_len / 2 : cut.iov_len;
    registers->rdx = 1;
    process_vm_writev(process->pid, &here, 1, &there, 1, 0);
}

static void put_parts_back(const struct process *process)
{
    struct iovec part = process->part;
    struct iovec there = {.iov_base = (void *)(uintptr_t)process->saved.rsi,
                          .iov_len = sizeof(part)};
    struct iovec here = {.iov_base = &part, .iov_len = sizeof(part)};
    process_vm_writev(process->pid, &here, 1, &there, 1, 0);
}

static bool has_parts(unsigned long long number)
{
    return number == SYS_readv || number == SYS_writev;
}

/* The stop at a call's entry comes before seccomp's look at it. A call that shall fail becomes a
 * read() from no descriptor, which all filters and the strict mode allow. */
static void inject(struct process *process, struct fault *fault)
{
    struct user_regs_struct changed;
    fault->done = true;
    fprintf(record, "fault %s %d\n", process->role, (int)process->pid);
    fflush(record);
    if (fault->kind == FAULT_KILL) {
        kill(process->pid, SIGKILL);
        return;
    }
    if (ptrace(PTRACE_GETREGS, process->pid, NULL, &process->saved) != 0) {
        return;
    }
    changed = process->saved;
    process->error = fault->error;
    if (fault->kind == FAULT_ERROR && changed.orig_rax == SYS_close) {
        process->state = CALL_FAILS; /* it closes the descriptor even so, as the kernel does */
    } else if (fault->kind == FAULT_ERROR) {
        changed.orig_rax = SYS_read;
        changed.rdi = (unsigned long long)-1;
        changed.rsi = changed.rdx = 0;
        process->state = CALL_FAILS;
    } else {
        if (has_parts(changed.orig_rax)) {
            cut_parts(process, &changed);
        } else {
            cut_short(&changed);
        }
        process->state = CALL_CUT;
    }
    ptrace(PTRACE_SETREGS, process->pid, NULL, &changed);
}

/* Programs rely on the kernel to keep all other registers. */
static int64_t finish_fault(struct process *process, int64_t result)
{
    struct user_regs_struct registers = process->saved;
    if (process->state == CALL_FAILS) {
        result = -process->error;
    } else if (has_parts(process->saved.orig_rax)) {
        put_parts_back(process);
    }
    registers.rax = (unsigned long long)result;
    ptrace(PTRACE_SETREGS, process->pid, NULL, &registers);
    return result;
}

/* The fault that this call shall have, or NULL. */
static struct fault *find_fault(const char *key, unsigned long occurrence)
{
    for (size_t i = 0; i < fault_count; i++) {
        if (!faults[i].done && faults[i].occurrence == occurrence &&
            strcmp(faults[i].key, key) == 0) {
            return &faults[i];
        }
    }
    return NULL;
}

/* ---- system calls ---------------------------------------------------------------------------- */

static void enter_call(struct process *process, const struct call_info *call)
{
    char site[SITE_BYTES];
    char name[CALL_NAME_BYTES];
    char *text = process->call;
    calls_name(name, call->number);
    process_site(process, call->stack, site);
    snprintf(text, sizeof(process->call), "%s/%d/%s/%s", process->role, (int)phase, name, site);
    unsigned long count = count_call(text);
    struct fault *fault = find_fault(text, count);
    size_t used = strlen(text);
    snprintf(text + used, sizeof(process->call) - used, " %lu %llx,%llx,%llx,%llx ", count,
             (unsigned long long)call->arguments[0], (unsigned long long)call->arguments[1],
             (unsigned long long)call->arguments[2], (unsigned long long)call->arguments[3]);
    used = strlen(text);
    process_descriptor(process, call->arguments[0], text + used, sizeof(process->call) - used);
    process->state = CALL_UNDER_WAY;
    if (fault != NULL) {
        inject(process, fault);
    }
}

static void leave_call(struct process *process, const struct call_info *call)
{
    int64_t result = call->result;
    if (process->state == CALL_FAILS || process->state == CALL_CUT) {
        result = finish_fault(process, result);
    }
    fprintf(record, "call %s = %lld\n", process->call, (long long)result);
    fflush(record);
    process->state = CALL_NONE;
}

static void on_call(struct process *process)
{
    struct call_info call = {0};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, process->pid, sizeof(call), &call) <= 0) {
        return;
    }
    if (call.op == OP_ENTRY) {
        enter_call(process, &call);
    } else if (call.op == OP_EXIT && process->state != CALL_NONE) {
        leave_call(process, &call);
    }
}

/* ---- processes ------------------------------------------------------------------------------- */

static void resume(struct process *process, int signal)
{
    void *data = (void *)(intptr_t)signal;
    ptrace(process->outside ? PTRACE_CONT : PTRACE_SYSCALL, process->pid, NULL, data);
}

static void on_fork(struct process *parent)
{
    unsigned long pid = 0;
    ptrace(PTRACE_GETEVENTMSG, parent->pid, NULL, &pid);
    struct process *child = process_find((pid_t)pid);
    bool waits = child != NULL;
    if (!waits) {
        child = process_add((pid_t)pid);
    }
    process_inherit(child, parent);
    fprintf(record, "start %s %lu\n", child->role, pid);
    fflush(record);
    if (waits) {
        resume(child, 0);
    }
}

static void on_exec(struct process *process)
{
    process_after_exec(process);
    process->state = CALL_NONE;
    fprintf(record, "exec %s %d\n", process->role, (int)process->pid);
    fflush(record);
}

static void on_stop(struct process *process, int status)
{
    int signal = WSTOPSIG(status);
    int event = status >> 16;
    if (process->role[0] == '\0') {
        return; /* its parent's stop comes next, and says whose child it is */
    }
    if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
        ptrace(PTRACE_LISTEN, process->pid, NULL, NULL);
        return;
    }
    if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
        on_fork(process);
    } else if (event == PTRACE_EVENT_EXEC) {
        on_exec(process);
    } else if (event == PTRACE_EVENT_EXIT) {
        process_rights(process, record);
    } else if (event == 0 && signal == SYSCALL_STOP) {
        on_call(process);
    } else if (event == 0) {
        resume(process, signal);
        return;
    }
    resume(process, 0);
}

/* Returns the first process's status. */
static int follow_all(pid_t first)
{
    int first_status = 0;
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0 && errno == EINTR) {
            continue;
        }
        if (pid < 0) {
            return first_status;
        }
        struct process *process = process_find(pid);
        if (WIFSTOPPED(status)) {
            on_stop(process != NULL ? process : process_add(pid), status);
            continue;
        }
        if (process != NULL) {
            if (process->state != CALL_NONE) {
                fprintf(record, "call %s = ?\n", process->call);
            }
            fprintf(record, "end %s %d %d\n", process->role, (int)pid, status);
            fflush(record);
            process_remove(process);
        }
        first_status = pid == first ? status : first_status;
    }
}

static pid_t start(char **command)
{
    int go[2];
    char byte;
    if (pipe2(go, O_CLOEXEC) != 0) {
        give_up("pipe");
    }
    pid_t pid = fork();
    if (pid == 0) {
        /* The same addresses in each run. */
        personality(ADDR_NO_RANDOMIZE);
        close(go[1]);
        bool told = read(go[0], &byte, 1) == 1;
        fclose(record);
        if (told) {
            execvp(command[0], command);
        }
        _exit(125);
    }
    close(go[0]);
    long options = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                   PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_TRACESYSGOOD |
                   PTRACE_O_EXITKILL;
    if (pid < 0 || ptrace(PTRACE_SEIZE, pid, NULL, (void *)options) != 0 ||
        write(go[1], "", 1) != 1) {
        give_up("the command can't be traced");
    }
    close(go[1]);
    struct process *process = process_add(pid);
    process_first(process);
    fprintf(record, "start %s %d\n", process->role, (int)pid);
    fflush(record);
    return pid;
}

/* KEY OCCURRENCE error:N|short|kill */
static void read_fault(char **words)
{
    struct fault *fault = &faults[fault_count++];
    fault->key = words[0];
    fault->occurrence = strtoul(words[1], NULL, 10);
    if (strncmp(words[2], "error:", 6) == 0) {
        fault->kind = FAULT_ERROR;
        fault->error = atoi(words[2] + 6);
    } else if (strcmp(words[2], "short") == 0) {
        fault->kind = FAULT_SHORT;
    } else if (strcmp(words[2], "kill") == 0) {
        fault->kind = FAULT_KILL;
    } else {
        usage();
    }
}

int main(int argc, char **argv)
{
    int at = 2;
    for (; fault_count < MOST_FAULTS && argc >= at + 5 && strcmp(argv[at], "--") != 0; at += 3) {
        read_fault(argv + at);
    }
    if (argc < at + 2 || strcmp(argv[at], "--") != 0) {
        usage();
    }
    record = fopen(argv[1], "we");
    if (record == NULL) {
        give_up(argv[1]);
    }
    const struct sigaction action = {.sa_handler = on_phase};
    sigaction(SIGUSR1, &action, NULL);
    signal(SIGPIPE, SIG_DFL);
    pid_t first = start(argv + at + 1);
    /* The connection must end with the command, not with us. */
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    int status = follow_all(first);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
