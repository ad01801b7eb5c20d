#include "check.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exits.h"
#include "log.h"
#include "login.h"
#include "monitor.h"
#include "monitor_requests.h"
#include "sandbox.h"
#include "sandbox_layers.h"
#include "secret.h"

/* The start of 2026, when no version of this program was out yet. */
#define CLOCK_MIN 1767225600

_Static_assert(SANDBOX_SECCOMP == 0x80, "a set of layers fits an exit status");

static bool check_hostkey(struct log_line *line, struct hostkey *key, const struct options *options)
{
    char fingerprint[HOSTKEY_FINGERPRINT_BYTES];
    int ignored;
    if (key == NULL || monitor_load_hostkey(key, options, &ignored) != 0) {
        return false; /* it has logged why, but for a lack of memory */
    }
    hostkey_fingerprint(fingerprint, key->public_key);
    log_text(line, "key", fingerprint);
    return true;
}

/* In a child, so that nothing of the sandbox is left. */
static bool check_sandbox(const struct options *options, const struct identity *identity)
{
    char reason[LIMIT_NOTE_BYTES + 1];
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        _exit((int)sandbox_enter(identity));
    }
    waitpid(child, &status, 0);
    bool good = monitor_judge_layers(reason, options, geteuid() == 0,
                                     WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : 0);
    if (!good) {
        log_trouble(reason, NULL, NULL);
    }
    return good;
}

/* Logs what a login with the key of each line would log. Returns whether one could be let in. */
static bool check_lines(struct login *login, struct ipc_auth *request, uint32_t key_type)
{
    struct login_outcome *outcome = &login->scratch->outcome;
    struct authkeys_verdict *keys = &outcome->keys;
    bool found = false;
    for (login->check_line = 1;; login->check_line = keys->line + 1) {
        request->key_type = key_type;
        outcome->accepted = false;
        outcome->reason[0] = '\0';
        login_decide(login, request, NULL, outcome);
        waitpid(-1, NULL, 0);
        if (keys->reason == AUTHKEYS_NOT_LISTED) {
            return found;
        }
        if (keys->reason == AUTHKEYS_FOR_AUTHORITY) {
            memcpy(keys->option, "cert-authority", sizeof("cert-authority"));
        }
        if (keys->reason == AUTHKEYS_FOR_AUTHORITY || keys->reason == AUTHKEYS_ELSEWHERE) {
            outcome->accepted = true;
            outcome->reason[0] = '\0';
        }
        found |= outcome->accepted;
        /* Then the log has the fingerprint that the child has found. */
        request->key_type = sodium_is_zero(keys->fingerprint, sizeof(keys->fingerprint))
                                ? IPC_KEY_UNSUPPORTED
                                : IPC_KEY_ED25519_CERT;
        login_log(request, outcome);
        /* With a file at fault, or with -N, there is nothing more to say. */
        if (keys->line < login->check_line || keys->reason > AUTHKEYS_REVOKED) {
            return found;
        }
    }
}

static bool check_user(struct login *login, const char *user)
{
    static struct ipc_auth request; /* not initialized, which would take space in the file */
    request.stage = IPC_AUTH_PROBE;
    request.algorithm[0] = '-';
    snprintf(request.user, sizeof(request.user), "%s", user);
    bool found = check_lines(login, &request, IPC_KEY_ED25519);
    if (!login->scratch->outcome.account_refused && login->options->authorities != NULL) {
        found |= check_lines(login, &request, IPC_KEY_ED25519_CERT);
    }
    return found;
}

int check_run(const struct options *options)
{
    static struct login_scratch scratch;
    static struct peer peer;
    static struct login login;
    static struct identity identity;
    identity = identity_find();
    login.options = options;
    login.peer = &peer;
    login.identity = &identity;
    login.hostkey = secret_new(sizeof(struct hostkey));
    login.ipc = -1;
    login.deadline_ms = INT64_MAX;
    login.reserved_uid = geteuid() == 0 ? identity.uid : (uid_t)-1;
    login.scratch = &scratch;
    struct log_line line;
    dup2(STDOUT_FILENO, STDERR_FILENO);
    log_open(false, LOG_DETAIL);
    log_begin(&line, "check"); /* for the end */
    bool good = check_hostkey(&line, login.hostkey, options);
    good = check_sandbox(options, &identity) && good;
    if (time(NULL) < CLOCK_MIN) {
        log_trouble("clock", NULL, "is behind: certificates may not be valid yet");
    }
    good = (options->check_user == NULL || check_user(&login, options->check_user)) && good;
    log_text(&line, "result", good ? "a login could work" : "no login could work");
    log_end(&line, LOG_EVENT);
    return good ? 0 : EXIT_USAGE;
}
