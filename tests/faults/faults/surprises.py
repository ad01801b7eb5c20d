"""Outcomes that look wrong and are right, each with its reason. They are regular expressions."""

import os
import re
from collections import namedtuple

Surprise = namedtuple("Surprise", "scenario role call fault rule words reason")

SURPRISES = [
    Surprise(".*", "0", ".*", "error.*", "rights", r"^0 at \w+: -fd /proc/N/oom_score_adj$",
             "The score for the out-of-memory killer is set where the kernel allows it, and left alone elsewhere."),
    Surprise(".*", "0", "getrandom", "error:38", "rights", r"^[\d.]+ at \w+: \+fd /dev/urandom$",
             "An old kernel has the device in the place of the call."),
    Surprise(".*", "0.2", "prctl", "error.*", "rights", r"answered as .*NoNewPrivs:\t1;Seccomp:\t2",
             "Without seccomp's strict mode the child that reads keys installs a filter, which allows the same calls."),
    Surprise(".*", "0", "prlimit64", "error.*", "rights",
             r"^0 at \w+: (-Max (processes|core)[^;]*; )+(\+Max \w+ [^;]*(; )?)+$",
             "The seccomp filter that follows, without which the monitor refuses, allows no fork either."),
    Surprise(".*", "0.3", "sendto", "error:4", "changed", "Closed",
             "The session process's first report goes into an empty socket, so that it never waits."),
    Surprise(".*", "0.2", "write", "error:4|short", "changed", "awaited message",
             "The child that reads keys has no signal handler: its write to the pipe goes on until all is written."),
    Surprise(".*", "0.2", "read", "error:4", "changed", "awaited message",
             "Likewise: files of keys are read without being interrupted. A key that can't be read is refused."),
    Surprise(".*", "0.1|0.3", "read|write", "short|error:4", "changed",
             r"the client sees: ok, tries 1$|^\[(.*, )?None[,\]]",
             "How a program ended comes through a pipe in one piece, as the kernel promises for so few bytes."),
    Surprise(".*", "0", "poll", "error.*", "left", r"^/(run|dev/shm)/\.wrensshd-\w{6}$",
             "A monitor that can't wait kills the network process, maybe between making and removing that folder."),
    Surprise(".*", "0", ".*", "error.*|short", "rights", r"^(0 at \w+: )?-fd /run/wrensshd\.slots$",
             "Where the table of slots can't be used, a connection is served without it."),
    Surprise(".*", "0", "pread64", "error.*|short", "rights",
             r"^0 at \w+: -fd /run/wrensshd\.slots; \+fd /run/wrensshd\.slots\.\d+ \(deleted\)$",
             "A table that is not read whole counts as damaged, and replaced. The new one's first name is gone."),
    Surprise(".*", "0", ".*", "kill", "left", r"^/run/wrensshd\.slots\.\d+$",
             "Killed while it made the table of slots, which is not yet under its name. A new one is made."),
    Surprise("makekey.*", "0", "flock", "error.*", "promise", r"left \['.lock'\]$",
             "Another makekey may hold the lock, so it is not removed. The next run does it."),
    Surprise(".*", "0.2", "openat|read|newfstatat|lseek|fstat|mmap", "error.*", "rights|changed",
             r"-Groups=60 100 (\d+); \+Groups=\1$|Groups:",
             "The C library's getgrouplist() reports no error. The user gets fewer groups than usual, never more."),
    Surprise("terminal", "0.1", "ioctl", "error.*", "rights", r"hello\\n24 80\\n",
             "The terminal keeps its old size."),
    Surprise("login", "0", "getpeername|getsockname", "error.*", "rights", "the user's program says",
             "Without the client's address there is no SSH_CONNECTION, and keys with from= are refused."),
    Surprise(".*", "0", "fcntl", "error:24", "rights", r"^0 at \w+: -fd socket$",
             "Without its duplicate of the connection the monitor serves, and does not count bytes."),
    Surprise("sftp|jail", r"0\.3\.[12]", "chdir", "error.*", "rights", r"\+cwd=/$",
             "Without a home folder a session begins in /, as with other servers; the client gets a message."),
    Surprise("login|terminal", r"0\.3\.[12]", "chdir", "error.*", "rights", "could not enter home directory",
             "Likewise."),
    Surprise("makekey-repair", "0", "openat", "error:2", "promise", "secret key has not survived",
             "ENOENT is no failure but an answer: there is no secret key. A new pair is what the page promises then."),
    Surprise("makekey.*", "0", "write", "error:4", ".*", ".*",
             "makekey has no signal handler, so its writes to stdout are not interrupted."),
    Surprise("makekey.*", "0", "getrandom", "error.*", "promise", r"left \['.lock'\]$",
             "libsodium's random numbers can't report an error: the process ends. The next makekey removes it."),
    Surprise("makekey", "0", "openat", "error.*", "promise", "the new folder's name may not be on the disk",
             "The caller may not be allowed to read the folder above, and so to sync it."),
    Surprise(".*", "0.1", ".*", "kill", "left", r"^/(run|dev/shm)/\.wrensshd-\w{6}$",
             "Killed between making its nameless root folder and removing it. The folder is empty and root's."),
    Surprise(".*", "0.1", "rmdir", "error.*", "left", r"^/(run|dev/shm)/\.wrensshd-\w{6}$",
             "The folder can't be removed."),
    Surprise(".*", "0", ".*", "kill", "left", r"^/(run|dev/shm)/\.wrensshd-\w{6}$",
             "With the monitor the kernel ends the network process, likewise."),
    Surprise("sftp|jail", r"0\.3\.[12]x", "openat", "error.*", "rights",
             r"^0\.3\.[12]x at \w+: (-fd /etc/(passwd|group)(; )?)+$",
             "Names of users and groups are for listings only; numbers stand there without."),
    Surprise(".*", r"0\.3\.[12]x", "prlimit64", "error.*", "rights",
             r"^0\.3\.[12]x at \w+: -Max open files (\d+) \d+ files; \+Max open files \1 \1 files$",
             "A hard limit that can't be read becomes the soft one, which is all that the SFTP server uses."),
    Surprise(".*", r"0\.3\.[12]x", "prlimit64", "error.*", "rights",
             r"^0\.3\.[12]x at \w+: -Max open files \d+ (\d+) files; \+Max open files \d+ \1 files$",
             "A soft limit that can't be set stays: the SFTP server counts its files itself."),
    Surprise("sftp|jail", r"0\.3\.[12]x", ".*", "kill|error.*", "rights",
             r"^0\.[13] at end: (-fd (pipe|socket)(; )?)+$",
             "The SFTP server has ended before its client, and its pipes are closed."),
    Surprise("sftp|jail", r"0\.3\.[12]x", "[gs]etsockopt", "error.*", "rights", r"^0\.3\.[12]x at \w+: \+fd pipe$",
             "Without its channel to the session process the SFTP server logs to standard error."),
    Surprise("sftp|jail", r"0\.3\.[12]x", "prlimit64|prctl|landlock.*|openat|seccomp", "error.*", "rights",
             r"^0\.3\.[12]x at \w+: .*(Max processes|Max core|NoNewPrivs|Seccomp)",
             "The SFTP server has the user's rights only. It serves without a layer of its sandbox, and logs that."),
]

# Of two faults, one of which is this.
OF_PAIRS = [
    Surprise("makekey.*", "0", "unlinkat", "error.*", "promise", r"it has failed and left \['[.\w]+'\]$",
             "What can't be removed stays after another fault, and the next makekey removes it."),
    Surprise(".*", "0", "unlink", "error.*", "left", r"^/run/wrensshd\.slots\.\d+$",
             "The first name of a new table can't be removed. A later process with this pid does it."),
    Surprise("makekey.*", "0", "newfstatat|fstat", "error.*", "promise", r"it has failed and left \['.lock'\]$",
             "It does not know whether it holds the lock, and then can't open it again. The next makekey removes it."),
    Surprise(".*", "0", "getrandom", "error:4", "changed", "status 111|Closed",
             "Interrupted while the kernel gathers randomness means that the time for that is over."),
    Surprise("login|no-key|refusals|listen", "0", "openat", "error.*", "rights", r"^0(\.3)? at \w+: -fd \S+/wrensshd$",
             "Neither /proc nor the path has given our own program: the login works, and there is no SFTP."),
    Surprise("login|terminal", r"0\.3\.[12]", "chdir", "error.*", "rights", r"\\nPWD=/\\n",
             "The message that a home folder can't be entered may be lost. $PWD tells."),
]

if os.environ.get("WREN_NO_SANDBOX"):  # then the daemon runs with -B
    SURPRISES.append(Surprise(".*", "0.1", "prlimit64|prctl|landlock.*|chroot|mkdir|chdir|rmdir|openat", "error.*",
                              "rights", r"^0.1 at ",
                              "With -B it serves without a layer of its sandbox, and logs that."))


def allowed(scenario, strikes, rule, words):
    """Whether one of the faults explains it."""
    def explains(row, strike):
        texts = (scenario, strike.role, strike.name, strike.fault, rule)
        return all(map(re.fullmatch, row, texts)) and re.search(row.words, words)
    rows = SURPRISES + (OF_PAIRS if len(strikes) > 1 else [])
    return any(explains(row, strike) for row in rows for strike in strikes)
