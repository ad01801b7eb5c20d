#include "sandbox.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "ipc.h"
#include "process.h"
#include "seccomp.h"

/* The descriptors of all channels, and 9 more: the connection, stderr, the sockets to the other
 * processes, random bytes, and some that a reply is just bringing. */
#define DESCRIPTORS_MAX (LIMIT_CHANNELS * IPC_REPLY_DESCRIPTORS + 9)

/* Makes a directory in `parent`, enters it, removes it, and makes it the root directory: nobody can
 * create a file in a removed directory. */
static bool enter_nameless_root(const char *parent)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/.wrensshd-XXXXXX", parent);
    if (mkdtemp(path) == NULL) {
        return false;
    }
    bool inside = chdir(path) == 0;
    bool removed = rmdir(path) == 0;
    return inside && removed && chroot(".") == 0;
}

static bool enter_root(void)
{
    /* Always in memory; /run of a container is on its disk, where this takes much longer. */
    static const char parents[][sizeof("/dev/shm")] = {"/dev/shm", "/run", "/tmp", "/var/tmp", ""};
    for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
        if (enter_nameless_root(parents[i])) {
            return true;
        }
    }
    return false;
}

static bool set_limits(void)
{
    return confine_limit(RLIMIT_FSIZE, 0) && confine_limit(RLIMIT_NPROC, 0) &&
           confine_limit(RLIMIT_CORE, 0) && confine_limit(RLIMIT_NOFILE, DESCRIPTORS_MAX) &&
           confine_limit(RLIMIT_STACK, LIMIT_STACK_BYTES);
}

/* The layer, if it could be entered. */
static uint32_t layer_if(bool entered, uint32_t layer)
{
    return entered ? layer : 0;
}

/* The monitor has ended: closes the connection and ends, as no other process would do it. */
static void on_orphaned(int number)
{
    (void)number;
    shutdown(STDOUT_FILENO, SHUT_RDWR);
    _exit(EXIT_TROUBLE);
}

/* Has the kernel send SIGTERM when the monitor ends for any reason. A change of uid resets this, so
 * it comes after that. If the monitor has already ended, its socket shows it. */
static void end_with_monitor(void)
{
    signal(SIGTERM, on_orphaned);
    prctl(PR_SET_PDEATHSIG, (unsigned long)SIGTERM, 0L, 0L, 0L);
}

uint32_t sandbox_enter(const struct identity *identity)
{
    uint32_t layers = 0;
    if (identity != NULL) {
        layers |= layer_if(enter_root(), SANDBOX_ROOT);
        layers |= layer_if(confine_set_groups(0, NULL) == 0, SANDBOX_GROUPS);
        layers |= layer_if(confine_identity(identity), SANDBOX_UID);
    }
    end_with_monitor();
    /* The change of uid has removed root's capabilities. This removes those that a launcher may
     * have given to another user. */
    confine_capabilities();
    layers |= layer_if(confine_new_privileges(), SANDBOX_NO_NEW_PRIVS);
    layers |= layer_if(confine_not_dumpable(), SANDBOX_NOT_DUMPABLE);
    layers |= layer_if(set_limits(), SANDBOX_RLIMITS);
    layers |= layer_if(landlock_enter(landlock_rules(LANDLOCK_ACCESS_FS_ALL, 0)), SANDBOX_LANDLOCK);
    descriptors_close_from(entropy_is_descriptor() ? ENTROPY_DESCRIPTOR + 1 : NULL_DESCRIPTOR + 1);
    layers |= layer_if(seccomp_enter(), SANDBOX_SECCOMP);
    return layers;
}
