#include "sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptors.h"
#include "entropy.h"
#include "ipc.h"
#include "limit.h"
#include "passwd.h"
#include "sandbox_layers.h"
#include "seccomp.h"
#include "seccomp_abi.h"

/* Where there is no passwd file at all, as in an initramfs: the kernel's own overflow id. */
#define FALLBACK_ID 65534

/* Descriptors of all channels, the connection, stderr, the monitor's, random bytes, and some in
 * flight. */
#define DESCRIPTORS_MAX (LIMIT_CHANNELS * IPC_REPLY_DESCRIPTORS + 8)

struct identity {
    uid_t uid;
    gid_t gid;
};

/* Looked up before the root goes, and not by name services: what they bring into a process would
 * stay in this one for life. An entry that says root is no choice. */
static struct identity find_identity(void)
{
    static const char *const names[] = {"wrensshd", "nobody"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct user user;
        if (passwd_find(&user, names[i]) > 0 && user.uid != 0 && user.gid != 0) {
            return (struct identity){.uid = user.uid, .gid = user.gid};
        }
    }
    return (struct identity){.uid = FALLBACK_ID, .gid = FALLBACK_ID};
}

/* Makes a directory below `parent`, enters it as the root, and takes its name away: nothing can be
 * put into it any more, by anybody. */
static bool enter_nameless_root(const char *parent)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/.wrensshd-XXXXXX", parent);
    if (mkdtemp(path) == NULL) {
        return false;
    }
    int outside = open(parent[0] != '\0' ? parent : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool inside = outside >= 0 && chdir(path) == 0 && chroot(".") == 0;
    bool removed =
        inside ? unlinkat(outside, strrchr(path, '/') + 1, AT_REMOVEDIR) == 0 : rmdir(path) == 0;
    if (outside >= 0) {
        close(outside);
    }
    return inside && removed;
}

static bool enter_root(void)
{
    static const char *const parents[] = {"/run", "/dev/shm", "/tmp", "/var/tmp", ""};
    for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
        if (enter_nameless_root(parents[i])) {
            return true;
        }
    }
    return false;
}

static bool drop_uid(const struct identity *identity)
{
    uid_t real, effective, saved;
    gid_t real_group, effective_group, saved_group;
    return setresgid(identity->gid, identity->gid, identity->gid) == 0 &&
           setresuid(identity->uid, identity->uid, identity->uid) == 0 &&
           getresgid(&real_group, &effective_group, &saved_group) == 0 &&
           getresuid(&real, &effective, &saved) == 0 && real == identity->uid &&
           effective == identity->uid && saved == identity->uid && real_group == identity->gid &&
           effective_group == identity->gid && saved_group == identity->gid && setuid(0) != 0;
}

/* The change of uid takes root's capabilities away; this takes those that a launcher may have
 * handed on. */
static void drop_capabilities(void)
{
    const struct capability_header header = {.version = CAPABILITY_VERSION_3};
    const struct capability_data none[2] = {{0}};
    syscall(SYS_capset, &header, none);
}

/* A launcher's lower limit can't be raised, and needn't be. */
static bool lower_limit(int resource, rlim_t most)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0) {
        return false;
    }
    if (limit.rlim_max > most) {
        limit.rlim_cur = limit.rlim_max = most;
    }
    return setrlimit(resource, &limit) == 0;
}

static bool set_limits(void)
{
    return lower_limit(RLIMIT_FSIZE, 0) && lower_limit(RLIMIT_NPROC, 0) &&
           lower_limit(RLIMIT_CORE, 0) && lower_limit(RLIMIT_NOFILE, DESCRIPTORS_MAX) &&
           lower_limit(RLIMIT_STACK, LIMIT_STACK_BYTES);
}

/* A rule set that handles every kind of access and allows none. */
static bool enter_landlock(void)
{
    const struct landlock_attributes attributes = {.handled_access_fs = LANDLOCK_ACCESS_FS_ALL};
    long rules = syscall(LANDLOCK_CREATE_RULESET, &attributes, sizeof(attributes), 0);
    if (rules < 0) {
        return false;
    }
    bool entered = syscall(LANDLOCK_RESTRICT_SELF, rules, 0) == 0;
    close((int)rules);
    return entered;
}

static uint32_t enter_as_root(void)
{
    uint32_t layers = 0;
    const struct identity identity = find_identity();
    if (enter_root()) {
        layers |= SANDBOX_ROOT;
    }
    if (setgroups(0, NULL) == 0) {
        layers |= SANDBOX_GROUPS;
    }
    if (drop_uid(&identity)) {
        layers |= SANDBOX_UID;
    }
    return layers;
}

uint32_t sandbox_enter(void)
{
    uint32_t layers = geteuid() == 0 ? enter_as_root() : 0;
    /* There should be none. */
    descriptors_close_from(entropy_is_descriptor() ? ENTROPY_DESCRIPTOR + 1 : NULL_DESCRIPTOR + 1);
    drop_capabilities();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
        layers |= SANDBOX_NO_NEW_PRIVS;
    }
    /* After the change of uid, which sets the flag anew. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0) {
        layers |= SANDBOX_NOT_DUMPABLE;
    }
    if (set_limits()) {
        layers |= SANDBOX_RLIMITS;
    }
    if (enter_landlock()) {
        layers |= SANDBOX_LANDLOCK;
    }
    if (seccomp_enter()) {
        layers |= SANDBOX_SECCOMP;
    }
    return layers;
}
