#include "sftp.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "process.h"
#include "seccomp.h"

/* ---- Landlock -------------------------------------------------------------------------------- */

/* Rights that newer versions of Landlock know. */
static uint64_t rights_of(long version)
{
    static const unsigned counts[] = {0, 13, 14, 15, 15, 16}; /* of rights, by version */
    long last = (long)(sizeof(counts) / sizeof(counts[0])) - 1;
    return (1ULL << counts[version < last ? version : last]) - 1;
}

static bool enter_landlock(int jail, bool read_only)
{
    long version = syscall(CALL_LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < (read_only ? 1 : 2)) {
        return false;
    }
    uint64_t handled = rights_of(version);
    uint64_t rights =
        handled & (read_only ? LANDLOCK_READ_FILE | LANDLOCK_READ_DIR
                             : ~(uint64_t)(LANDLOCK_EXECUTE | LANDLOCK_MAKE_CHAR |
                                           LANDLOCK_MAKE_BLOCK | LANDLOCK_IOCTL_DEVICE));
    int rules = landlock_rules(handled, 0);
    int directory = jail >= 0 ? jail : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool allowed = landlock_allow_beneath(rules, directory, rights);
    if (jail < 0) {
        close(directory);
    }
    return landlock_enter(rules) && allowed;
}

/* ---- seccomp --------------------------------------------------------------------------------- */

/* A C library may choose among several calls for one purpose. The list has each call that it may
 * choose for the functions that the server uses. */
static const struct seccomp_rule rules[] = {
    /* Open files. */
    {.number = SYS_read},
    {.number = SYS_write},
    {.number = SYS_pread64},
    {.number = SYS_pwrite64},
    {.number = SYS_close},
    {.number = SYS_lseek},
    {.number = SYS_fsync},
    {.number = SYS_fchmod},
    {.number = SYS_fchown},
    {.number = SYS_ftruncate},
    {.number = SYS_getdents64},
    /* Names. */
    {.number = SYS_openat},
    {.number = CALL_OPENAT2},
    {.number = SYS_unlinkat},
    {.number = SYS_mkdirat},
    {.number = SYS_linkat},
    {.number = SYS_symlinkat},
    {.number = SYS_readlinkat},
    {.number = SYS_renameat2},
    {.number = SYS_fchmodat},
    {.number = SYS_fchownat},
    {.number = SYS_utimensat},
    {.number = SYS_statx},
    {.number = SYS_fstatfs},
#ifdef SYS_renameat
    {.number = SYS_renameat},
#endif
#ifdef SYS_newfstatat
    {.number = SYS_newfstatat},
    {.number = SYS_fstat},
#endif
#ifdef SYS_lstat
    {.number = SYS_stat},
    {.number = SYS_lstat},
#endif
#ifdef SYS_fstatat64 /* 32-bit machines, from here on */
    {.number = SYS_fstatat64},
    {.number = SYS_fstat64},
    {.number = SYS_stat64},
    {.number = SYS_lstat64},
    {.number = SYS_fstatfs64},
    {.number = SYS_ftruncate64},
    {.number = SYS__llseek},
#endif
#ifdef SYS_fchown32
    {.number = SYS_fchown32},
#endif
#ifdef SYS_utimensat_time64
    {.number = SYS_utimensat_time64},
#endif
    /* Log lines, memory that is given back, waiting. */
    {.number = SYS_sendto},
    {SYS_madvise, 1, {{2, MADV_DONTNEED}}},
    SECCOMP_CALLS_WAITING,
    {.number = SYS_exit_group},
};

_Static_assert(sizeof(rules) / sizeof(rules[0]) <= SECCOMP_RULES_MAX, "the list is installed");

uint32_t sftp_sandbox_enter(int jail, bool read_only)
{
    uint32_t layers = confine_new_privileges() ? SANDBOX_NO_NEW_PRIVS : 0;
    layers |= confine_not_dumpable() ? SANDBOX_NOT_DUMPABLE : 0;
    bool limited = confine_limit(RLIMIT_NPROC, 0) && confine_limit(RLIMIT_CORE, 0);
    layers |= limited ? SANDBOX_RLIMITS : 0;
    layers |= enter_landlock(jail, read_only) ? SANDBOX_LANDLOCK : 0;
    layers |= seccomp_install(rules, sizeof(rules) / sizeof(rules[0])) ? SANDBOX_SECCOMP : 0;
    return layers;
}
