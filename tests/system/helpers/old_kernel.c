/*
 * Starts a program as an older or smaller kernel would run it: the system calls that are named
 * are answered with ENOSYS, the options of prctl() with EINVAL, and the families of socket() with
 * EAFNOSUPPORT.
 *
 *     old_kernel close_range,getrandom,prctl=22 wrensshd ...
 *
 * With a '!' behind it a call is answered with EPERM, as containers' filters do.
 *
 * "locks" is a kernel without CONFIG_FILE_LOCKING, whose fcntl() has other errors.
 *
 * "early" is a kernel that has no random numbers yet: getrandom() waits, or says EAGAIN.
 *
 * The filter holds for all that the program starts.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#define MOST_INSTRUCTIONS 256

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"socketpair", SYS_socketpair},
    {"setgroups", SYS_setgroups},
    {"setresuid", SYS_setresuid},
    {"setresgid", SYS_setresgid},
    {"capset", SYS_capset},
    {"keyctl", SYS_keyctl},
    {"flock", SYS_flock},
    {"madvise", SYS_madvise},
    {"setitimer", SYS_setitimer},
    {"sysinfo", SYS_sysinfo},
    {"timer_create", SYS_timer_create},
    {"signalfd4", SYS_signalfd4},
#ifdef SYS_signalfd
    {"signalfd", SYS_signalfd},
#endif
    {"prlimit64", SYS_prlimit64},
    {"seccomp", SYS_seccomp},
    {"getrandom", SYS_getrandom},
    {"renameat2", SYS_renameat2},
    {"memfd_create", SYS_memfd_create},
    {"execveat", SYS_execveat},
    {"membarrier", SYS_membarrier},
    {"copy_file_range", SYS_copy_file_range},
    {"statx", SYS_statx},
    {"rseq", 334 /* before the numbers became the same everywhere */},
    {"pidfd_send_signal", 424},
    {"pidfd_open", 434},
    {"clone3", 435},
    {"close_range", 436},
    {"openat2", 437},
    {"pidfd_getfd", 438},
    {"faccessat2", 439},
    {"landlock_create_ruleset", 444},
    {"landlock_add_rule", 445},
    {"landlock_restrict_self", 446},
    {"fchmodat2", 452},
};

static struct sock_filter program[MOST_INSTRUCTIONS];
static unsigned short used;
static bool early;

static void die(const char *what, const char *name)
{
    fprintf(stderr, "old_kernel: %s: %s\n", name, what);
    exit(99);
}

static void add(unsigned code, unsigned k, unsigned unlike)
{
    if (used == MOST_INSTRUCTIONS) {
        die("too much to leave out", "filter");
    }
    program[used++] =
        (struct sock_filter){.code = (unsigned short)code, .jf = (unsigned char)unlike, .k = k};
}

static void load(size_t offset)
{
    add(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset, 0);
}

static void answer(unsigned error)
{
    add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error, 0);
}

static void leave_out_call(const char *name)
{
    size_t length = strcspn(name, "!");
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (strlen(calls[i].name) == length && memcmp(calls[i].name, name, length) == 0) {
            load(offsetof(struct seccomp_data, nr));
            add(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 1);
            answer(name[length] == '!' ? EPERM : ENOSYS);
            return;
        }
    }
    die("is not a call that I know", name);
}

/* The low half of an argument; all that run this are little-endian. */
static void leave_out_option(unsigned call, size_t argument, unsigned number, unsigned error)
{
    load(offsetof(struct seccomp_data, nr));
    add(BPF_JMP | BPF_JEQ | BPF_K, call, 3);
    load(offsetof(struct seccomp_data, args[0]) + argument * sizeof(uint64_t));
    add(BPF_JMP | BPF_JEQ | BPF_K, number, 1);
    answer(error);
}

static void let_random_numbers_wait(void)
{
    load(offsetof(struct seccomp_data, nr));
    add(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 4);
    load(offsetof(struct seccomp_data, args[2]));
    add(BPF_JMP | BPF_JEQ | BPF_K, 1 /* GRND_NONBLOCK */, 1);
    answer(EAGAIN);
    add(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF, 0);
    early = true;
}

/* A child holds what could answer the waiting calls, and never does; it ends with the program. */
static void hold(int listener)
{
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            pause();
        }
    }
    close(listener);
}

static bool install(void)
{
    struct sock_fprog filter = {.len = used, .filter = program};
    if (!early) {
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
    }
    long listener =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
    if (listener >= 0) {
        hold((int)listener);
    }
    return listener >= 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        die("what to leave out, and the program", "usage");
    }
    for (char *name = strtok(argv[1], ","); name != NULL; name = strtok(NULL, ",")) {
        if (strcmp(name, "early") == 0) {
            let_random_numbers_wait();
        } else if (strncmp(name, "prctl=", 6) == 0) {
            leave_out_option(SYS_prctl, 0, (unsigned)atoi(name + 6), EINVAL);
        } else if (strncmp(name, "socket=", 7) == 0) {
            leave_out_option(SYS_socket, 0, (unsigned)atoi(name + 7), EAFNOSUPPORT);
        } else if (strcmp(name, "locks") == 0) {
            leave_out_option(SYS_fcntl, 1, F_SETLK, EACCES);
            leave_out_option(SYS_fcntl, 1, F_GETLK, EINVAL);
            leave_out_call("flock");
        } else {
            leave_out_call(name);
        }
    }
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0);

    /* Root needs no promise, and its programs no restriction; others do. */
    if (!install() && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !install())) {
        die(strerror(errno), "filter");
    }
    execvp(argv[2], argv + 2);
    die(strerror(errno), argv[2]);
}
