#include "monitor_internal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

static bool is_grant_valid(const struct grant *grant)
{
    return grant->command_bytes < sizeof(grant->command) &&
           strnlen(grant->command, sizeof(grant->command)) >= grant->command_bytes &&
           grant->command[grant->command_bytes] == '\0' && grant->key.sk <= 1 &&
           grant->environment_bytes <= sizeof(grant->environment) &&
           environment_is_valid(grant->environment, grant->environment_bytes, false);
}

static bool is_text(const char *text, size_t room)
{
    return memchr(text, '\0', room) != NULL;
}

/* An account that may log in must be the requested user's. */
static bool is_account_valid(const struct authkeys_account *account,
                             const struct authkeys_request *request)
{
    const struct account *found = &account->account;
    bool named = account->reason != ACCOUNT_GOOD ||
                 (request->query.key_type == IPC_KEY_UNSUPPORTED &&
                  request->setup->options->anybody == NULL) ||
                 strncmp(found->user, request->query.user, sizeof(found->user)) == 0;
    return named && account->reason < ACCOUNT_REASONS &&
           is_text(found->user, sizeof(found->user)) && is_text(found->home, sizeof(found->home)) &&
           is_text(found->shell, sizeof(found->shell)) && account->groups.count >= -1 &&
           account->groups.count <= LIMIT_USER_GROUPS;
}

/* The child has parsed what strangers wrote, so its verdict is checked like any other input. */
static bool accept_verdict(struct authkeys_verdict *verdict,
                           const struct authkeys_verdict *received)
{
    if (received->reason < AUTHKEYS_GOOD || received->reason >= AUTHKEYS_NO_CHILD ||
        !is_grant_valid(&received->grant)) {
        return false;
    }
    *verdict = *received;
    verdict->path[sizeof(verdict->path) - 1] = '\0';
    verdict->option[sizeof(verdict->option) - 1] = '\0';
    verdict->grant.key_id[sizeof(verdict->grant.key_id) - 1] = '\0';
    return verdict->reason == AUTHKEYS_GOOD;
}

/* What the child writes, and whether it has closed its end: then a read does not wait. */
struct answer {
    int fd;
    short events; /* to wait for, besides the child's end */
    bool ended;
};

/* Waits until more of the answer can be read. Returns false at the deadline, if the network process
 * has hung up, or if a signal has asked us to end. An answer that has arrived is read first: the
 * monitor's loop handles the signal right after it. */
static bool await_answer(const struct authkeys_request *request, struct answer *answer)
{
    while (!answer->ended && clock_now_ms() < request->deadline_ms) {
        struct pollfd waiting[] = {{.fd = answer->fd, .events = answer->events},
                                   {.fd = request->setup->ipc}};
        int left_ms = clock_timeout_ms(request->deadline_ms);
        int most_ms = answer->events == 0 ? LIMIT_FULL_PIPE_MS : LIMIT_SIGNAL_LOOK_MS;
        int ready = poll(waiting, 2, left_ms < most_ms ? left_ms : most_ms);
        if (ready > 0) {
            answer->ended = (waiting[0].revents & POLLHUP) != 0;
            return waiting[1].revents == 0;
        }
        if ((ready < 0 && errno != EINTR) || signals_ending_wait()) {
            break;
        }
        answer->events = POLLIN; /* the pipe may be full, or a name service's process has it */
    }
    return answer->ended;
}

/* In parts: the answer is longer than PIPE_BUF. */
static bool read_whole(void *out, size_t bytes, const struct authkeys_request *request,
                       struct answer *answer)
{
    size_t used = 0;
    while (used < bytes && await_answer(request, answer)) {
        ssize_t count = read(answer->fd, (char *)out + used, bytes - used);
        if (count == 0 || (count < 0 && errno != EINTR)) {
            break;
        }
        used += count > 0 ? (size_t)count : 0;
        if (used < bytes && signals_ending_wait()) {
            break;
        }
    }
    return used == bytes;
}

static void refuse_account(struct authkeys_account *account)
{
    memset(account, 0, sizeof(*account));
    account->reason = ACCOUNT_NO_ANSWER;
}

/* Trick: own frame; the session process would keep a copy of the caller's. */
__attribute__((noinline)) static bool read_answer(struct authkeys_account *account,
                                                  struct authkeys_verdict *verdict,
                                                  const struct authkeys_request *request, int reply)
{
    struct authkeys_verdict received;
    /* Root's pipe has room for both parts, so that one wait suffices. */
    struct answer answer = {.fd = reply, .events = geteuid() == 0 ? 0 : POLLIN};
    if (!read_whole(account, sizeof(*account), request, &answer) ||
        !is_account_valid(account, request)) {
        refuse_account(account);
        return false;
    }
    return read_whole(&received, sizeof(received), request, &answer) &&
           accept_verdict(verdict, &received);
}

bool authkeys_ask(struct authkeys_account *account, struct authkeys_verdict *verdict,
                  const struct authkeys_request *request)
{
    int ends[2];
    bool listed = false;
    bool piped = pipe2(ends, O_CLOEXEC) == 0;
    pid_t child = piped ? fork() : -1;
    if (child == 0) {
        authkeys_child(request, ends[1]);
    }
    /* Trick: untouched until now. Pages that are written before a fork are copied after it. */
    refuse_account(account);
    memset(verdict, 0, sizeof(*verdict));
    verdict->reason = AUTHKEYS_NO_CHILD;
    if (!piped) {
        log_advised("pipe", NULL, strerror(errno), LOG_FREE_MEMORY);
        return false;
    }
    close(ends[1]);
    if (child < 0) {
        log_advised("fork", NULL, strerror(errno), LOG_FREE_MEMORY);
    } else {
        listed = read_answer(account, verdict, request, ends[0]);
    }
    /* It may hang. It has not been reaped, so the number still belongs to it. */
    if (child > 0 && !listed) {
        kill(child, SIGKILL);
    }
    close(ends[0]);
    return listed;
}

#define WORDS(name, words, remedy) words "\0"

const char *authkeys_words(const struct authkeys_verdict *verdict)
{
    static const char all[] = "\0" AUTHKEYS_EACH_REASON(WORDS);
    bool is_error = verdict->reason == AUTHKEYS_MISSING || verdict->reason == AUTHKEYS_UNREADABLE;
    return is_error ? strerror((int)verdict->error) : texts_at(all, verdict->reason);
}

const char *account_words(uint32_t reason)
{
    static const char all[] = "\0" ACCOUNT_EACH_REASON(WORDS);
    return texts_at(all, reason);
}
