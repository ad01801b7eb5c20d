/*
 * For the tests of the lists of system calls: makes each call in a process of its own, under the
 * list of one of our processes. A call that is not on the list kills the process.
 */
#ifndef WREN_UNIT_CALLS_H
#define WREN_UNIT_CALLS_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "unit.h"

/* Exit status where there are no filters: in an emulator, or a kernel built without them. */
#define CALLS_NO_FILTER 77

struct call {
    const char *name;
    long number;
    long arguments[4];
};

static inline void call_make(const struct call *call)
{
    syscall(call->number, call->arguments[0], call->arguments[1], call->arguments[2],
            call->arguments[3], 0L, 0L);
}

/* Exits with 1 if a step did not work. _exit() may not be on the list. */
static inline void call_need(bool worked)
{
    if (!worked) {
        syscall(SYS_exit, 1);
    }
}

/* Runs `action` in a child and returns its wait status. */
static inline int call_end_of(void (*action)(void))
{
    const struct rlimit none = {0, 0};
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &none);
        action();
        syscall(SYS_exit_group, 0);
    }
    return waitpid(child, &status, 0) == child ? status : -1;
}

/* A filter kills with SIGSYS, strict mode with SIGKILL. */
static inline void call_expect_kill(int status, int number, const char *name)
{
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == number, "%s: wait status %#x", name,
                  (unsigned)status);
}

/* Calls that none of our processes may make after giving up its rights. If one were allowed, it
 * would do no harm here. */
static const struct call calls_of_nobody[] = {
    {"openat", SYS_openat, {AT_FDCWD}},
    {"openat2", CALL_NUMBER(437), {AT_FDCWD}},
    {"socket", SYS_socket, {AF_INET, SOCK_STREAM}},
    {"socketpair", SYS_socketpair, {AF_UNIX, SOCK_STREAM}},
    {"accept4", SYS_accept4, {0}},
    {"clone", SYS_clone, {SIGCHLD}},
    {"clone3", CALL_NUMBER(435), {0}},
    {"execve", SYS_execve, {0}},
    {"execveat", SYS_execveat, {-1}},
#ifdef SYS_mmap
    {"mmap", SYS_mmap, {0, 4096, 0, 0}},
#else
    {"mmap2", SYS_mmap2, {0, 4096, 0, 0}},
#endif
    {"mprotect", SYS_mprotect, {0}},
    {"memfd_create", SYS_memfd_create, {0}},
    {"kill", SYS_kill, {0, 0}},
    {"tgkill", SYS_tgkill, {0}},
    {"ptrace", SYS_ptrace, {0}},
    {"process_vm_readv", SYS_process_vm_readv, {0}},
    {"pidfd_open", CALL_NUMBER(434), {0}},
    {"pidfd_getfd", CALL_NUMBER(438), {0}},
    {"io_uring_setup", CALL_NUMBER(425), {0}},
    {"bpf", SYS_bpf, {0}},
    {"prctl", SYS_prctl, {PR_GET_DUMPABLE}},
    {"seccomp", SYS_seccomp, {0}},
    {"setuid", SYS_setuid, {0}},
    {"setresuid", SYS_setresuid, {-1, -1, -1}},
    {"capset", SYS_capset, {0}},
    {"chroot", SYS_chroot, {0}},
    {"chdir", SYS_chdir, {0}},
    {"unshare", SYS_unshare, {0}},
    {"setns", SYS_setns, {-1}},
    {"mount", SYS_mount, {0}},
    {"fcntl F_SETFL", SYS_fcntl, {0, F_SETFL, O_ASYNC}},
    {"fcntl F_SETOWN", SYS_fcntl, {0, F_SETOWN, 1}},
    {"madvise MADV_DONTFORK", SYS_madvise, {0, 0, MADV_DONTFORK}},
    {"rt_sigaction", SYS_rt_sigaction, {0}},
    {"setpriority", SYS_setpriority, {0}},
    {"ioctl 0", SYS_ioctl, {0, 0}},
    {"setsockopt SO_DEBUG", SYS_setsockopt, {0, SOL_SOCKET, SO_DEBUG}},
    {"a number too large", 0x7fffffff, {0}},
    {"-1", -1, {0}},
};

#define CALLS_OF_NOBODY ((int)(sizeof(calls_of_nobody) / sizeof(calls_of_nobody[0])))

#endif
