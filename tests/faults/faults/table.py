"""Which system calls fail in which ways."""

import fcntl
import os
from errno import (E2BIG, EACCES, EAGAIN, EBUSY, ECONNABORTED, ECONNRESET, EEXIST, EINTR, EINVAL, EIO, ELOOP, EMFILE,
                   ENFILE, ENOBUFS, ENOENT, ENOLCK, ENOMEM, ENOSPC, ENOSYS, ENOTCONN, ENOTEMPTY, EOPNOTSUPP, EPERM,
                   EPIPE, EROFS, ETIMEDOUT)
from socket import MSG_DONTWAIT

# The errors that each call may report here. That the other end is gone is true on the client's connection alone: what
# the processes do when another one of them ends is seen by killing it. A call without a row stops the suite: somebody
# must decide.
ERRORS = {
    "accept": (EMFILE, ENFILE, ECONNABORTED), "accept4": (EMFILE, ENFILE, ENOMEM, ECONNABORTED, EPERM, EAGAIN),
    "access": (EACCES, ENOENT, EIO), "bind": (EACCES, EINVAL, ENOMEM), "capget": (EPERM,), "capset": (EPERM,),
    "chdir": (EACCES, ENOENT, EIO, ENOMEM), "chmod": (EPERM, EROFS, EIO), "chroot": (EPERM, ENOENT, ENOMEM),
    "clone": (EAGAIN, ENOMEM), "clone3": (EAGAIN, ENOMEM), "close": (EIO, ENOSPC), "close_range": (),
    "connect": (EACCES, ECONNRESET, ENOENT), "dup": (EMFILE,), "dup2": (EMFILE,), "dup3": (EMFILE,),
    "execve": (EACCES, ENOENT, ENOMEM, E2BIG, EIO), "execveat": (EACCES, ENOENT, ENOMEM, E2BIG, ENOSYS),
    "faccessat2": (EACCES, ENOENT, EIO), "fchdir": (EACCES, EIO), "fchmod": (EPERM, EIO, EROFS),
    "fchmodat": (EPERM, EIO, EROFS), "fchown": (EPERM, EIO), "fchownat": (EPERM, EIO), "fcntl": (EMFILE, EPERM),
    "flock": (ENOLCK, EOPNOTSUPP, EIO), "fork": (EAGAIN, ENOMEM), "fstat": (EIO, ENOMEM), "fstatfs": (EIO, ENOSYS),
    "fsync": (EIO, ENOSPC, EROFS), "ftruncate": (EIO, EPERM, ENOSPC), "getcwd": (ENOENT, ENOMEM),
    "getdents64": (EIO, ENOENT), "getpeername": (ENOTCONN, ENOBUFS), "getrandom": (ENOSYS, EAGAIN),
    "getresgid": (EPERM,), "getresuid": (EPERM,), "getsockname": (ENOBUFS,), "getsockopt": (ENOBUFS, EOPNOTSUPP),
    "ioctl": (EIO, EPERM, ENOMEM), "keyctl": (ENOMEM, EACCES, EPERM, ENOSYS), "kill": (EPERM,),
    "landlock_add_rule": (ENOMEM, EINVAL), "landlock_create_ruleset": (ENOSYS, EOPNOTSUPP, ENOMEM),
    "landlock_restrict_self": (EPERM, E2BIG), "link": (EPERM, ENOSPC, EIO), "linkat": (EPERM, ENOSPC, EIO),
    "listen": (EOPNOTSUPP, ENOMEM),
    "lseek": (EIO,), "lstat": (EACCES, EIO, ENOENT), "madvise": (EINVAL, ENOMEM, EAGAIN),
    "mkdir": (EACCES, EEXIST, ENOSPC, EROFS, EIO), "mkdirat": (EACCES, ENOSPC, EIO), "mlock": (ENOMEM, EPERM),
    "mlock2": (ENOMEM, EPERM), "mmap": (ENOMEM, EAGAIN), "mprotect": (ENOMEM, EACCES), "mremap": (ENOMEM,),
    "munmap": (EINVAL, ENOMEM), "newfstatat": (EACCES, EIO, ENOENT, ENOMEM),
    "open": (EMFILE, ENFILE, EACCES, ENOENT, EIO), "openat": (EMFILE, ENFILE, EACCES, ENOENT, EIO, ENOMEM, ELOOP),
    "openat2": (EMFILE, ENFILE, EACCES, EIO, EAGAIN), "pipe": (EMFILE, ENFILE), "pipe2": (EMFILE, ENFILE),
    "poll": (ENOMEM, EINVAL), "ppoll": (ENOMEM, EINVAL), "prctl": (EINVAL, EPERM, EACCES), "pread64": (EIO,),
    "prlimit64": (EPERM, EINVAL), "pwrite64": (ENOSPC, EIO), "read": (EIO, ECONNRESET, ETIMEDOUT),
    "readlink": (EACCES, EIO), "readlinkat": (EACCES, EIO, ENOENT), "readv": (EIO, ECONNRESET),
    "recvfrom": (ENOMEM,), "recvmsg": (ENOMEM, EIO), "rename": (EIO, ENOSPC, EACCES),
    "renameat": (EIO, ENOSPC, EACCES, EROFS), "renameat2": (EIO, ENOSPC, EACCES, ENOSYS, EINVAL),
    "rmdir": (EBUSY, EACCES, ENOTEMPTY), "rt_sigtimedwait": (EAGAIN,), "sendfile": (EIO, ENOMEM),
    "sendmmsg": (ENOBUFS, ENOMEM), "sendmsg": (ENOBUFS, ENOMEM), "sendto": (ENOBUFS, ENOMEM),
    "setgroups": (EPERM, ENOMEM, EINVAL), "setitimer": (EINVAL,), "setresgid": (EPERM, EAGAIN, EINVAL),
    "setresuid": (EPERM, EAGAIN, EINVAL), "setsid": (EPERM,), "setsockopt": (EPERM, ENOMEM, EINVAL),
    "shutdown": (ENOTCONN,), "sigaltstack": (ENOMEM,), "signalfd4": (EMFILE, ENFILE, ENOMEM),
    "socket": (EMFILE, ENFILE, EACCES, ENOBUFS), "socketpair": (EMFILE, ENFILE, ENOMEM),
    "stat": (EACCES, EIO, ENOENT), "statfs": (EIO,), "statx": (EACCES, EIO, ENOENT),
    "symlinkat": (EACCES, ENOSPC, EIO), "sysinfo": (EPERM,), "uname": (EPERM,), "unlink": (EACCES, EBUSY, EIO),
    "unlinkat": (EACCES, EBUSY, EIO, EROFS), "unshare": (EPERM, ENOMEM), "utimensat": (EPERM, EIO),
    "vfork": (EAGAIN, ENOMEM), "wait4": (), "waitid": (), "write": (ENOSPC, EPIPE, EIO, ECONNRESET),
    "writev": (EPIPE, EIO, ECONNRESET),
}

# These do not fail, if their arguments are right.
NEVER_FAIL = {"rt_sigaction", "rt_sigpending", "rt_sigprocmask", "brk", "exit", "exit_group", "getegid", "geteuid",
              "getgid", "getgroups", "getpid", "getppid", "gettid", "getuid", "restart_syscall", "rt_sigreturn",
              "umask", "futex", "clock_gettime", "set_robust_list", "set_tid_address", "arch_prctl", "alarm",
              "nanosleep", "clock_nanosleep"}

FREE_DESCRIPTOR_MIN = 10
AT_EMPTY_PATH = 0x1000
CLIENT_HAS_LEFT = {ECONNRESET, EPIPE, ETIMEDOUT, ENOTCONN}

# Without close_range() the daemon closes up to 65,536 numbers one by one, which takes the injector many seconds.
# test_old_kernels.py has such a kernel.

# What a signal can interrupt, or a stop and SIGCONT (signal(7)). The program must go on as if nothing had happened.
INTERRUPTIBLE = {"accept", "accept4", "getrandom", "poll", "ppoll", "read", "readv", "recvfrom", "recvmsg",
                 "sendmsg", "sendto", "wait4", "waitid", "write", "writev"}

# These are interrupted only where a signal has a handler, or the file is on a network. An orderly failure will do.
SELDOM_INTERRUPTED = {"connect", "flock", "fsync", "ftruncate", "open", "openat", "openat2", "close", "pread64",
                      "pwrite64"}

# These may move less than they were asked for. recv() and send() are for packets, which come whole or not at all.
CUTTABLE = {"read", "readv", "pread64", "pwrite64", "write", "writev", "getrandom"}


def faults_of(call, target, arguments):
    """The faults of one recorded call, as the injector wants them."""
    found = ["kill"]
    if call in NEVER_FAIL or is_of_sanitizer(call):
        return found
    if call not in ERRORS:
        raise LookupError(f"table.py has no row for {call}")
    found += [f"error:{number}" for number in ERRORS[call] if is_plausible(number, call, target, arguments)]
    if call in INTERRUPTIBLE | SELDOM_INTERRUPTED and not is_without_waiting(call, arguments):
        found.append(f"error:{EINTR}")
    if call in CUTTABLE and "signalfd" not in target and is_long(call, arguments):
        found.append("short")
    return found


def is_of_sanitizer(call):
    """The sanitizers' runtime makes these calls everywhere, and gives up if one fails."""
    return bool(os.environ.get("WREN_NO_SANDBOX")) and call in ("mmap", "munmap", "mprotect", "madvise",
                                                              "sigaltstack")


def is_plausible(number, call, target, arguments):
    """Only a file's disk fails or is full. Only the client's connection breaks. The limit of open files is met by new
    numbers: below FREE_DESCRIPTOR_MIN other calls would have met it before."""
    if call in ("read", "write", "readv", "writev"):
        is_file = target.startswith("/") and not target.startswith("/dev/")
        return "socket" in target if number in CLIENT_HAS_LEFT else is_file
    if call == "newfstatat" and arguments[3] & AT_EMPTY_PATH:
        return number not in (EACCES, ENOENT)  # as fstat()
    if call in ("dup2", "dup3"):
        return arguments[1] >= FREE_DESCRIPTOR_MIN
    if call == "fcntl":
        return (number == EMFILE) == (arguments[1] in (fcntl.F_DUPFD, fcntl.F_DUPFD_CLOEXEC))
    return True


def is_mild(strike):
    """Whether nothing may change for anybody."""
    return strike.fault == "short" or (strike.fault == f"error:{EINTR}" and strike.name in INTERRUPTIBLE)


def is_without_waiting(call, arguments):
    """What does not wait is not interrupted."""
    flags = {"recvmsg": (2, MSG_DONTWAIT), "sendmsg": (2, MSG_DONTWAIT), "recvfrom": (3, MSG_DONTWAIT),
             "sendto": (3, MSG_DONTWAIT), "wait4": (2, os.WNOHANG)}
    place, flag = flags.get(call, (0, 0))
    return arguments[place] & flag != 0


def is_long(call, arguments):
    length = arguments[1] if call == "getrandom" else arguments[2]
    return call in ("readv", "writev") or length > 1

