#include "authkeys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include "clock.h"
#include "descriptors.h"
#include "log.h"

/* Where the child keeps its end of the pipe: everything above is closed. */
#define REPLY_DESCRIPTOR 3

/* A huge file can't keep a processor until the login deadline, and the child makes nothing. */
static void limit_child(void)
{
    const struct rlimit cpu = {LIMIT_AUTHKEYS_CPU_SECONDS, LIMIT_AUTHKEYS_CPU_SECONDS};
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_FSIZE, &none);
    setrlimit(RLIMIT_NPROC, &none);
    setrlimit(RLIMIT_CORE, &none);
}

__attribute__((noreturn)) static void run_child(const struct authkeys_query *query, int reply)
{
    struct authkeys_verdict verdict;
    memset(&verdict, 0, sizeof(verdict));
    sodium_memzero(query->hostkey, sizeof(*query->hostkey));
    signals_hand_on();
    if (reply != REPLY_DESCRIPTOR && dup2(reply, REPLY_DESCRIPTOR) < 0) {
        _exit(1);
    }
    descriptors_close_from(REPLY_DESCRIPTOR + 1);
    const struct authkeys_file authorities = authkeys_open_admins(query->ca_path);
    const struct authkeys_file revoked = authkeys_open_admins(query->revoked_path);
    if (account_become(query->account, query->groups) != 0) {
        verdict.reason = AUTHKEYS_NO_USER;
        verdict.error = (uint32_t)errno;
    } else {
        limit_child();
        authkeys_search(&verdict, query, &authorities, &revoked);
    }
    ssize_t written = write(REPLY_DESCRIPTOR, &verdict, sizeof(verdict));
    _exit(written == (ssize_t)sizeof(verdict) ? 0 : 1);
}

/* Every variable is NAME=VALUE with its NUL, and they fill the environment's bytes. */
static bool is_environment_whole(const struct grant *grant)
{
    const char *at = grant->environment;
    if (grant->environment_bytes > sizeof(grant->environment)) {
        return false;
    }
    size_t left = grant->environment_bytes;
    while (left > 0) {
        const char *end = memchr(at, '\0', left);
        const char *equals = end != NULL ? memchr(at, '=', (size_t)(end - at)) : NULL;
        if (equals == NULL || equals == at) {
            return false;
        }
        left -= (size_t)(end + 1 - at);
        at = end + 1;
    }
    return true;
}

static bool is_grant_whole(const struct grant *grant)
{
    return grant->command_bytes < sizeof(grant->command) &&
           strnlen(grant->command, sizeof(grant->command)) >= grant->command_bytes &&
           grant->command[grant->command_bytes] == '\0' && grant->key.sk <= 1 &&
           is_environment_whole(grant);
}

/* The child ran as the user: what it says is checked like any other input. */
static bool accept_verdict(struct authkeys_verdict *verdict, const struct authkeys_verdict *said)
{
    if (said->reason < AUTHKEYS_LISTED || said->reason >= AUTHKEYS_NO_CHILD ||
        !is_grant_whole(&said->grant)) {
        return false;
    }
    *verdict = *said;
    verdict->path[sizeof(verdict->path) - 1] = '\0';
    verdict->option[sizeof(verdict->option) - 1] = '\0';
    verdict->grant.key_id[sizeof(verdict->grant.key_id) - 1] = '\0';
    return verdict->reason == AUTHKEYS_LISTED;
}

/* Waits until the verdict is there. False at the deadline, or if nobody waits for the answer. */
static bool await_verdict(const struct authkeys_query *query, int reply)
{
    for (;;) {
        if (clock_now_ms() >= query->deadline_ms) {
            return false;
        }
        struct pollfd waiting[] = {{.fd = reply, .events = POLLIN}, {.fd = query->watched}};
        int ready = poll(waiting, 2, clock_timeout_ms(query->deadline_ms));
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready <= 0 || waiting[1].revents != 0) {
            return false;
        }
        return true;
    }
}

/* The verdict is longer than a pipe must take at once. */
static bool read_verdict(struct authkeys_verdict *said, const struct authkeys_query *query,
                         int reply)
{
    size_t used = 0;
    while (used < sizeof(*said) && await_verdict(query, reply)) {
        ssize_t count = read(reply, (char *)said + used, sizeof(*said) - used);
        if (count == 0 || (count < 0 && errno != EINTR)) {
            break;
        }
        used += count > 0 ? (size_t)count : 0;
    }
    return used == sizeof(*said);
}

bool authkeys_ask(struct authkeys_verdict *verdict, const struct authkeys_query *query)
{
    struct authkeys_verdict said;
    int ends[2];
    bool listed = false;

    memset(verdict, 0, sizeof(*verdict));
    verdict->reason = AUTHKEYS_NO_CHILD;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        log_trouble("pipe", NULL, strerror(errno));
        return false;
    }
    pid_t child = fork();
    if (child == 0) {
        run_child(query, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        log_trouble("fork", NULL, strerror(errno));
    } else if (read_verdict(&said, query, ends[0])) {
        listed = accept_verdict(verdict, &said);
    } else {
        kill(child, SIGKILL);
    }
    close(ends[0]);
    return listed;
}

const char *authkeys_words(const struct authkeys_verdict *verdict)
{
    static const char *const words[AUTHKEYS_REASONS] = {
        [AUTHKEYS_LISTED] = "key is listed",
        [AUTHKEYS_NOT_LISTED] = "key is not listed",
        [AUTHKEYS_BAD_PATTERN] = "pattern of -a has an unknown % or becomes too long",
        [AUTHKEYS_NOT_REGULAR] = "not a regular file",
        [AUTHKEYS_UNSAFE_OWNER] = "unsafe owner",
        [AUTHKEYS_UNSAFE_MODE] = "unsafe mode",
        [AUTHKEYS_BAD_KEY] = "key or certificate is malformed",
        [AUTHKEYS_UNKNOWN_OPTION] = "option is unknown",
        [AUTHKEYS_BROKEN_OPTION] = "option is broken",
        [AUTHKEYS_ELSEWHERE] = "key is not for the client's address",
        [AUTHKEYS_EXPIRED] = "key has expired",
        [AUTHKEYS_FOR_AUTHORITY] = "key's line is for certificates only",
        [AUTHKEYS_NO_AUTHORITY] = "key's line has no cert-authority",
        [AUTHKEYS_PRINCIPAL] = "certificate is not for this user",
        [AUTHKEYS_COMMANDS_DIFFER] = "certificate and key's line force different commands",
        [AUTHKEYS_CERT_SIGNATURE] = "certificate is not signed by its authority",
        [AUTHKEYS_CERT_TYPE] = "certificate is not for users",
        [AUTHKEYS_CERT_NOT_YET] = "certificate is not valid yet",
        [AUTHKEYS_CERT_EXPIRED] = "certificate has expired",
        [AUTHKEYS_REVOKED] = "key is revoked",
        [AUTHKEYS_REVOKED_BROKEN] = "file of revoked keys is broken",
        [AUTHKEYS_NO_USER] = "could not become the user",
        [AUTHKEYS_NO_CHILD] = "no answer about authorized_keys",
    };
    if (verdict->reason == AUTHKEYS_MISSING || verdict->reason == AUTHKEYS_UNREADABLE) {
        return strerror((int)verdict->error);
    }
    return words[verdict->reason];
}
