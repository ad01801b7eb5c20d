#include "options.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "authkeys_internal.h"
#include "monitor.h"
#include "process.h"
#include "remedy.h"
#include "sandbox.h"

/* The start of 2026, before the first release of this program. */
#define CLOCK_MIN 1767225600

_Static_assert(SANDBOX_SECCOMP == 0x80, "a set of layers fits an exit status");

/* ---- the check ------------------------------------------------------------------------------- */

static bool check_hostkey(struct log_line *line, struct hostkey *key, const struct options *options)
{
    char fingerprint[FINGERPRINT_BYTES];
    int ignored;
    if (key == NULL || monitor_load_hostkey(key, options, &ignored) != 0) {
        return false; /* the reason is logged, unless memory was short */
    }
    hostkey_fingerprint(fingerprint, key->first.public_key);
    log_text(line, "key", fingerprint);
    return true;
}

/* In a child, so that this process stays outside the sandbox. */
static bool check_sandbox(const struct options *options, const struct identity *identity)
{
    char reason[LIMIT_NOTE_BYTES + 1];
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        _exit((int)sandbox_enter(geteuid() == 0 ? identity : NULL));
    }
    if (child < 0) {
        log_advised("fork", NULL, strerror(errno), LOG_FREE_MEMORY);
        return false;
    }
    waitpid(child, &status, 0);
    bool as_root = geteuid() == 0;
    uint32_t layers = WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : 0;
    bool good = monitor_judge_layers(reason, options, as_root, layers, true);
    if (!good) {
        log_advised(reason, NULL, NULL,
                    as_root && (layers & SANDBOX_UID) == 0
                        ? "let it become another user, or start it as an ordinary user"
                        : "use a kernel or container that has them, or -B");
    }
    return good;
}

/* In memory that the child shares. */
static struct authkeys_report *report;

/* In the child, instead of authkeys_search(). */
static void explain(struct authkeys_verdict *verdict, const struct authkeys_query *query,
                    const struct account *account, const struct authkeys_files *files)
{
    authkeys_explain(verdict, report, query, account, files);
}

/* Returns whether a login could work. */
static bool write_outcome(struct ipc_auth *request, const struct login_outcome *outcome)
{
    const struct grant *grant = &outcome->keys.grant;
    struct log_line line;
    /* Then the log has the fingerprint that the child has found. */
    request->key_type = sodium_is_zero(grant->fingerprint, sizeof(grant->fingerprint))
                            ? IPC_KEY_UNSUPPORTED
                            : IPC_KEY_ED25519_CERT;
    login_describe(&line, request, outcome);
    if (!outcome->accepted) {
        remedy_of_login(&line, request->user, outcome);
    }
    log_end(&line, LOG_EVENT);
    return outcome->accepted;
}

static bool log_outcome(struct ipc_auth *request, struct login_outcome *outcome)
{
    const struct authkeys_verdict *keys = &outcome->keys;
    outcome->accepted = false;
    outcome->reason[0] = '\0';
    request->key_type = IPC_KEY_ED25519;
    login_conclude(outcome, request, authkeys_may_work(keys->reason) ? NULL : authkeys_words(keys));
    return write_outcome(request, outcome);
}

/* The child has ended, and its results are checked like any other input. */
static bool log_finding(struct ipc_auth *request, struct login_outcome *outcome, uint32_t number)
{
    struct authkeys_verdict *keys = &outcome->keys;
    const struct authkeys_finding *finding = &report->findings[number];
    uint32_t revoked_empty = keys->revoked_empty;
    memcpy(keys, finding, sizeof(*finding));
    if (keys->reason >= AUTHKEYS_REASONS) {
        return false;
    }
    keys->option[sizeof(keys->option) - 1] = '\0';
    keys->revoked_empty = revoked_empty;
    uint32_t file = finding->file;
    if (file <= LIMIT_KEY_FILES) {
        snprintf(keys->path, sizeof(keys->path), "%.*s", LIMIT_PATH_BYTES - 1, report->paths[file]);
    }
    return log_outcome(request, outcome);
}

/* The number may have any value. */
static bool has_finding(uint32_t number)
{
    return number < LIMIT_EXPLAINED_LINES && number < report->count;
}

static bool map_report(void)
{
    void *shared =
        mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        log_advised("memory", NULL, strerror(errno), LOG_FREE_MEMORY);
        return false;
    }
    report = shared;
    return true;
}

/* One child reads all lines. If it has not answered, we do not wait for its end: it may hang for
 * ever. Returns whether the account is good and the child has answered. */
static bool ask(const struct login *login, const struct ipc_auth *request)
{
    struct login_outcome *outcome = &login->scratch->outcome;
    login_ask(login, request, NULL, outcome, explain);
    if (outcome->keys.reason != AUTHKEYS_NO_CHILD) {
        waitpid(0, NULL, 0); /* not for list_users()'s child */
    }
    return outcome->account.reason == ACCOUNT_GOOD && outcome->keys.reason != AUTHKEYS_NO_CHILD;
}

static bool check_lines(const struct login *login, struct ipc_auth *request)
{
    struct login_outcome *outcome = &login->scratch->outcome;
    bool found = false;
    bool explained = ask(login, request);
    if (!explained || outcome->keys.reason != AUTHKEYS_NOT_LISTED || report->count == 0) {
        log_outcome(request, outcome);
    }
    for (uint32_t i = 0; explained && has_finding(i); i++) {
        found |= log_finding(request, outcome, i);
    }
    if (found) {
        remedy_of_jails(&outcome->account);
    }
    return found;
}

static struct ipc_auth *begin_request(const char *user)
{
    static struct ipc_auth request; /* not initialized, which would take space in the file */
    request.stage = IPC_AUTH_PROBE;
    request.algorithm[0] = '-';
    request.key_type = IPC_KEY_ED25519;
    snprintf(request.user, sizeof(request.user), "%s", user);
    return &request;
}

static bool check_user(struct login *login, const char *user)
{
    struct ipc_auth *request = begin_request(user);
    struct login_outcome *outcome = &login->scratch->outcome;
    if (login->setup->options->anybody == NULL) {
        return check_lines(login, request);
    }
    login_decide(login, request, NULL, outcome);
    remedy_of_jails(&outcome->account);
    return write_outcome(request, outcome);
}

/* ---- all accounts (-A) ----------------------------------------------------------------------- */

/* A home that hangs leaves time for the other accounts. */
#define SHARES_OF_TIME 20

struct accounts {
    unsigned seen; /* those with keys, or that could not be looked at */
    unsigned good;
};

static int names;

/* Each name has the same number of bytes, which a pipe takes and gives as a whole. */
static void write_name(const char *name)
{
    char text[LIMIT_USER_BYTES];
    strncpy(text, name, sizeof(text));
    text[sizeof(text) - 1] = '\0';
    /* An empty line of /etc/passwd has no name. */
    if (name[0] != '\0' && write(names, text, sizeof(text)) != (ssize_t)sizeof(text)) {
        _exit(1);
    }
}

/* A line of /etc/passwd can't hold it. */
#define END_OF_NAMES "\n"

/* Sets *from to where a child writes the names, as a name service may hang. Then comes
 * END_OF_NAMES. In a process group of its own it is not taken for a child that reads keys. */
static pid_t list_users(int *from)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        close(ends[0]); /* so that our death ends it */
        names = ends[1];
        if (users_each(write_name) == 0) {
            write_name(END_OF_NAMES);
        }
        _exit(0);
    }
    close(ends[1]);
    *from = ends[0];
    return child;
}

static bool next_name(char name[static LIMIT_USER_BYTES], int from, int64_t end_ms)
{
    struct pollfd waiting = {.fd = from, .events = POLLIN};
    return poll(&waiting, 1, clock_timeout_ms(end_ms)) > 0 &&
           read(from, name, LIMIT_USER_BYTES) == LIMIT_USER_BYTES;
}

/* Without keys nobody can miss a login. A server of one user has no other accounts. */
static bool is_without_keys(const struct ipc_auth *request, const struct login_outcome *outcome)
{
    uint32_t account = outcome->account.reason;
    uint32_t keys = outcome->keys.reason;
    bool none = keys == AUTHKEYS_MISSING || (keys == AUTHKEYS_NOT_LISTED && report->count == 0);
    return account == ACCOUNT_UNKNOWN || account == ACCOUNT_OTHER_USER ||
           (none && strcmp(outcome->account.account.user, request->user) == 0);
}

/* Writes one line: about the first key that could log in, or else about the first one. */
static void check_account(struct accounts *accounts, const struct login *login,
                          struct ipc_auth *request)
{
    struct login_outcome *outcome = &login->scratch->outcome;
    uint32_t best = 0;
    memset(report, 0, sizeof(*report));
    bool explained = ask(login, request) && outcome->keys.reason == AUTHKEYS_NOT_LISTED;
    if (is_without_keys(request, outcome)) {
        return;
    }
    while (has_finding(best) && !authkeys_may_work(report->findings[best].reason)) {
        best++;
    }
    accounts->seen++;
    accounts->good += explained ? log_finding(request, outcome, has_finding(best) ? best : 0)
                                : log_outcome(request, outcome);
}

/* Returns whether every account was looked at. */
static bool check_accounts(struct accounts *accounts, struct login *login)
{
    char name[LIMIT_USER_BYTES];
    int64_t end_ms = login->deadline_ms;
    int from = -1;
    bool listed, timely = true;
    pid_t child = list_users(&from);
    while ((listed = child > 0 && next_name(name, from, end_ms)) && name[0] != END_OF_NAMES[0]) {
        login->deadline_ms = clock_now_ms() + (int64_t)login->setup->options->login_seconds *
                                                  (1000 / SHARES_OF_TIME);
        timely = login->deadline_ms <= end_ms;
        if (!timely) {
            log_advised("not looked at from this account on", NULL, name, "raise -t");
            break;
        }
        check_account(accounts, login, begin_request(name));
    }
    if (child < 0) {
        log_advised("fork", NULL, strerror(errno), LOG_FREE_MEMORY);
    } else if (!listed) {
        log_advised("list of users", NULL, "is cut", "repair the name service");
    }
    if (child > 0) {
        kill(child, SIGKILL);
    }
    return listed && timely;
}

int check_run(const struct options *options)
{
    static struct login_scratch scratch;
    static struct peer peer;
    static struct login login;
    static struct identity identity;
    static struct banner banner;
    identity = identity_find();
    const struct monitor_setup setup = {
        .options = options, .peer = &peer, .identity = &identity, .ipc = -1};
    login.setup = &setup;
    login.hostkey = secret_new(sizeof(struct hostkey));
    login.deadline_ms = clock_now_ms() + (int64_t)options->login_seconds * 1000;
    login.scratch = &scratch;
    struct accounts accounts = {0};
    bool whole = true;
    struct log_line line;
    dup2(STDOUT_FILENO, STDERR_FILENO);
    log_open(false, LOG_DETAIL);
    remedy_options = options;
    log_advise(remedy_of_trouble);
    if (!map_report()) {
        return EXIT_TROUBLE;
    }
    log_begin(&line, "check"); /* for the end */
    bool good = check_hostkey(&line, login.hostkey, options);
    good = check_sandbox(options, &identity) && good;
    bool shown = options_banner(&banner, options);
    if (geteuid() == 0 && identity.shared) {
        log_advised("user wrensshd", NULL, "is missing: the user nobody takes its place",
                    "useradd -rUMd /nonexistent -s /bin/false wrensshd");
    }
    if (time(NULL) < CLOCK_MIN) {
        log_advised("clock", NULL, "is behind: certificates may not be valid yet", "date -s");
    }
    good = (options->check_user == NULL || check_user(&login, options->check_user)) && good;
    if (options->check_all) {
        whole = check_accounts(&accounts, &login);
        good = good && accounts.good > 0;
        log_number(&line, "accounts", accounts.seen);
        log_number(&line, "acceptable", accounts.good);
    }
    bool some = good && (accounts.good < accounts.seen || !whole);
    log_text(&line, "result",
             some     ? "some accounts could not log in"
             : !good  ? "no login could work"
             : !shown ? "a login could work, without the banner"
                      : "a login could work");
    if (options->check_user != NULL && report->more > 0) {
        log_number(&line, "more-lines", report->more);
    }
    log_end(&line, LOG_EVENT);
    return some ? EXIT_SOME : good && shown ? 0 : EXIT_USAGE;
}
