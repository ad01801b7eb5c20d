/*
 * For net/sandbox.c: what Landlock alone forbids. The list of system calls would hide it, so this
 * file replaces seccomp_enter(). tests/system/test_sandbox.py tests the other layers. Built only
 * without sanitizers, whose runtimes need files.
 */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "process.h"
#include "scratch.h"
#include "seccomp.h"
#include "unit.h"

static const struct identity unprivileged = {.uid = 65534, .gid = 65534};
static char scratch[SCRATCH_BYTES];
static char file[2 * SCRATCH_BYTES], missing[2 * SCRATCH_BYTES];

bool seccomp_enter(void)
{
    return true;
}

static void begin(void)
{
    scratch_make(scratch);
    ck_assert_int_eq(chmod(scratch, 0777), 0);
    scratch_write(scratch, "file", "text", 4, 0600);
    snprintf(file, sizeof(file), "%s/file", scratch);
    snprintf(missing, sizeof(missing), "%s/missing", scratch);
    ck_assert_int_eq(chmod(file, 0666), 0);
}

/* ---- kinds of access ------------------------------------------------------------------------- */

static int read_file(void)
{
    return open(file, O_RDONLY);
}

static int write_file(void)
{
    return open(file, O_WRONLY);
}

static int read_folder(void)
{
    return open(scratch, O_RDONLY | O_DIRECTORY);
}

static int make_file(void)
{
    return open(missing, O_WRONLY | O_CREAT | O_EXCL, 0600);
}

static int make_folder(void)
{
    return mkdir(missing, 0700);
}

static int make_fifo(void)
{
    return mkfifo(missing, 0600);
}

static int make_link(void)
{
    return symlink("file", missing);
}

static int remove_file(void)
{
    return unlink(file);
}

static int (*const accesses[])(void) = {read_file,   write_file, read_folder, make_file,
                                        make_folder, make_fifo,  make_link,   remove_file};
#define ACCESSES (int)(sizeof(accesses) / sizeof(accesses[0]))

/* ---- with and without the sandbox ------------------------------------------------------------ */

static bool has_landlock(void)
{
    return syscall(CALL_LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 1;
}

/* Returns 0, or the error. Root's sandbox would hide the files, so this is another user. */
static int access_in_a_fork(int (*access_it)(void), bool confined)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 &&
            (confine_set_groups(0, NULL) != 0 || !confine_identity(&unprivileged))) {
            _exit(99);
        }
        if (confined &&
            (sandbox_enter(geteuid() == 0 ? &unprivileged : NULL) & SANDBOX_LANDLOCK) == 0) {
            _exit(98);
        }
        _exit(access_it() >= 0 ? 0 : errno);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

UNIT_NEEDS(has_landlock(), "this kernel has no Landlock");
UNIT_FIXTURE(begin, NULL);

TEST_EACH(landlock_alone_forbids_files, ACCESSES)
{
    ck_assert_int_eq(access_in_a_fork(accesses[_i], true), EACCES);
    ck_assert_int_eq(access_in_a_fork(accesses[_i], false), 0);
}
