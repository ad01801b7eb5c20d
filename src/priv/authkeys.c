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
    signals_reset();
    if (reply != REPLY_DESCRIPTOR && dup2(reply, REPLY_DESCRIPTOR) < 0) {
        _exit(1);
    }
    descriptors_close_from(REPLY_DESCRIPTOR + 1);
    if (account_become(query->account) != 0) {
        verdict.reason = AUTHKEYS_NO_USER;
        verdict.error = (uint32_t)errno;
    } else {
        limit_child();
        authkeys_search(&verdict, query->pattern, query->account, query->public_key);
    }
    /* Below PIPE_BUF: all of it or nothing. */
    ssize_t written = write(REPLY_DESCRIPTOR, &verdict, sizeof(verdict));
    _exit(written == (ssize_t)sizeof(verdict) ? 0 : 1);
}

/* The child ran as the user: what it says is checked like any other input. */
static bool accept_verdict(struct authkeys_verdict *verdict, const struct authkeys_verdict *said)
{
    if (said->reason < AUTHKEYS_LISTED || said->reason >= AUTHKEYS_NO_CHILD) {
        return false;
    }
    *verdict = *said;
    verdict->path[sizeof(verdict->path) - 1] = '\0';
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
    } else if (await_verdict(query, ends[0]) &&
               read(ends[0], &said, sizeof(said)) == (ssize_t)sizeof(said)) {
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
        [AUTHKEYS_HAS_OPTIONS] = "key's line has options, which are not supported",
        [AUTHKEYS_BAD_PATTERN] = "pattern of -a has an unknown % or becomes too long",
        [AUTHKEYS_NOT_REGULAR] = "not a regular file",
        [AUTHKEYS_UNSAFE_OWNER] = "unsafe owner",
        [AUTHKEYS_UNSAFE_MODE] = "unsafe mode",
        [AUTHKEYS_NO_USER] = "could not become the user",
        [AUTHKEYS_NO_CHILD] = "no answer about authorized_keys",
    };
    if (verdict->reason == AUTHKEYS_MISSING || verdict->reason == AUTHKEYS_UNREADABLE) {
        return strerror((int)verdict->error);
    }
    return words[verdict->reason];
}
