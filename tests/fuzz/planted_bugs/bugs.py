"""One bug of each kind: where it goes, and what may find it.

`means` names the commands that may find the bug, with arguments that limit each to what has to do with the file. The
others are not run: a proof of packets says nothing about a jail.
"""


class Bug:
    def __init__(self, kind, path, before, after, **means):
        self.kind, self.path, self.before, self.after, self.means = kind, path, before, after, means


CHANNELS = "src/net/channels/"

BUGS = {
    "length": Bug(
        "off by one in a length", "src/wire/reader.c",
        "reader->failed || count > reader->left)", "reader->failed || count > reader->left + 1)",
        system="system_framing system_channels", fuzz="reader wire_bytes", proofs="reader"),
    "check": Bug(
        "a lost check", CHANNELS + "channel_window.c",
        "count > channel->window)", "count > channel->window && count == 0)",
        system="system_windows system_channels", fuzz="connection", learn="channel", proofs="window"),
    "phase": Bug(
        "a message in the wrong phase", "src/net/dispatch.c",
        "{SSH_MSG_CHANNEL_OPEN, IN(SSH_PHASE_OPEN),",
        "{SSH_MSG_CHANNEL_OPEN, IN(SSH_PHASE_OPEN) | IN(SSH_PHASE_AUTH),",
        system="system_login system_framing system_channels", fuzz="connection", learn="transport"),
    "descriptor": Bug(
        "a leaked descriptor", "src/session/sessions.c",
        "        streams_close(streams.ours);\n        streams_close(streams.theirs);\n        return NULL;",
        "        streams_close(streams.theirs);\n        return NULL;",
        system="system_session_process system_three_processes", fuzz="session_process", faults="terminal login"),
    "branch": Bug(
        "a branch that depends on a secret", "crypto/sntrup761.c",
        "    return (int16_t)(value - (Q & (int16_t)(room >> 15)));",
        "    if (room < 0) {\n        __asm__ volatile(\"\");\n        return (int16_t)(value - Q);\n    }\n"
        "    return value;",
        system="system_key_exchange", fuzz="sntrup761", constant_time="memcheck x86_64"),
    "comparison": Bug(
        "a secret compared byte by byte", "crypto/chachapoly.c",
        "crypto_verify_16(tag, body + body_bytes) == 0",
        "memcmp(tag, body + body_bytes, sizeof(tag)) == 0",
        system="system_framing", fuzz="crypto", constant_time="memcheck x86_64"),
    "ignored": Bug(
        "an error that is ignored", "src/session/account_become.c",
        "!confine_inheritable() || confine_set_groups((size_t)groups->count, groups->ids) != 0)",
        "!confine_inheritable() || confine_set_groups((size_t)groups->count, groups->ids) > 0)",
        system="system_account system_three_processes", fuzz="session_process", faults="login"),
    "interrupted": Bug(
        "a call that is not repeated after EINTR", "src/base/base.h",
        "written < 0 && errno == EINTR", "written < 0 && errno == EAGAIN",
        system="system_tools system_host_keys", faults="makekey makekey-empty"),
    "overflow": Bug(
        "an overflow", CHANNELS + "channel_stdout.c",
        "    if (more > UINT32_MAX - channel->remote_window) {", "    if (channel->remote_window > UINT32_MAX - 1) {",
        system="system_windows system_channels", fuzz="connection", learn="channel"),
    "jail": Bug(
        "a way out of a jail", "src/sftp/paths.c",
        "RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS}", "RESOLVE_NO_MAGICLINKS}",
        system="system_sftp_jail", fuzz="sftp_server", faults="sftp"),
    "wipe": Bug(
        "a secret that is not wiped", "src/net/transport/kex.c",
        "    sodium_memzero(&kex->key, sizeof(kex->key));", "    (void)kex->key;",
        system="system_memory system_key_exchange", fuzz="connection"),
    "rule": Bug(
        "a rule of access read wrongly", "src/authkeys/match.c",
        "return found && !denied ? AUTHKEYS_GOOD : AUTHKEYS_ELSEWHERE;",
        "return found || !denied ? AUTHKEYS_GOOD : AUTHKEYS_ELSEWHERE;",
        system="system_key_options_1 system_key_options_2", fuzz="match"),
    "terminal": Bug(
        "a descriptor that leaks after two failures", "src/session/streams.c",
        "        *slave = open_slave(master, own_name);\n",
        "        *slave = open_slave(master, own_name);\n        if (*slave < 0) {\n            return -1;\n        }\n",
        system="system_terminal_requests", pairs="terminal"),
    "rename": Bug(
        "a second name that stays after two failures", "src/sftp/names.c",
        "        unlinkat(to->directory, to->name, 0);\n", "        errno = error;\n",
        system="system_old_kernels_1 system_old_kernels_2", pairs="sftp"),
    "start": Bug(
        "a child that is awaited before it must end", "src/session/session_process.c",
        "    close(ends[0]); /* ends the child where a filter forbids kill(2) */\n    if (pid > 0) {\n"
        "        kill(pid, SIGKILL);\n        waitpid(pid, NULL, 0);\n    }\n",
        "    if (pid > 0) {\n        kill(pid, SIGKILL);\n        waitpid(pid, NULL, 0);\n    }\n    close(ends[0]);\n",
        system="system_session_process", pairs="login"),
    "limit": Bug(
        "a limit that lets one more in", "src/admission/logins.c",
        "    if (held > most) {\n        empty_record", "    if (held > most + 1) {\n        empty_record",
        system="system_slots"),
    "reserve": Bug(
        "a reserve for keys that may do little", "src/monitor/login.c",
        "        !forced && (found->groups.has_reserve != 0", "        (!forced || true) && (found->groups.has_reserve != 0",
        system="system_slots", fuzz="monitor"),
    "silence": Bug(
        "a deadline for those who have answered", "src/monitor/monitor_ipc.c",
        "    admission_note_exchange(monitor->setup->admission);\n    monitor->silence_ms = INT64_MAX;\n",
        "    admission_note_exchange(monitor->setup->admission);\n",
        system="system_slots", fuzz="monitor"),
    # What strangers met, and no test had imagined.
    "expiry": Bug(
        "an account that is open on its expiry day", "src/monitor/account_find.c",
        "days.expires <= today", "days.expires < today", setups="each_value"),
    "probes": Bug(
        "other keys of an agent that lock their owner out", "src/base/limit.h",
        "#define LIMIT_REFUSED_PROBES 20", "#define LIMIT_REFUSED_PROBES 5", setups="each_value"),
    "shell": Bug(
        "no SFTP for a shell that is not known", "src/session/task.c",
        "bool closed = shell < CLOSED_SHELLS;", "bool closed = shell < CLOSED_SHELLS || shell == KNOWN_SHELLS;", setups="each_value"),
    "handles": Bug(
        "too few SFTP handles", "src/base/limit.h",
        "#define LIMIT_SFTP_HANDLES     1000", "#define LIMIT_SFTP_HANDLES     100", setups="each_value"),
    "keyring": Bug(
        "a session without the user's keyring", "src/process/confine.c",
        "    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0) {\n        syscall(",
        "    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0) {\n        syscall(", setups="each_value"),
    "lease": Bug(
        "a leased file of keys that is not waited for", "src/base/lease.c",
        "error != EWOULDBLOCK ||", "error == EWOULDBLOCK ||", setups="each_value"),
}
