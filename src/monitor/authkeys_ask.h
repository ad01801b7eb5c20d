/*
 * May this user log in, does a file of keys or an authority let this key in, and with what
 * restrictions? A short-lived child answers. It looks the account up and opens the files, as the
 * user; then it gives up every right; only then it parses a key, a certificate or one of the files
 * (authkeys.h). The monitor gets an answer and a verdict of fixed size.
 */
#ifndef WREN_AUTHKEYS_ASK_H
#define WREN_AUTHKEYS_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "account_find.h"
#include "authkeys.h"
#include "hostkey.h"
#include "identity.h"

/* Why an account may not log in, with its NUL. */
#define AUTHKEYS_ACCOUNT_REASON_BYTES 80

/* What the child says first, before it has parsed anything that the client or a user wrote: no
 * mistake of a parser can change whose account it is. */
struct authkeys_account {
    /* "": it may log in; else the account is nobody's. */
    char reason[AUTHKEYS_ACCOUNT_REASON_BYTES];
    struct account account;
    struct account_groups groups;
};

struct authkeys_request {
    struct authkeys_query query;
    struct account_rules rules;
    bool best_effort;                /* -B: go on without a seccomp filter */
    const struct identity *identity; /* what a child that starts as root ends as */
    struct hostkey *hostkey;         /* memory of secret_new(), which the child takes off its own */
    int watched;                     /* no need to go on once this one hangs up */
    int64_t deadline_ms;             /* clock_now_ms() at which the child is killed */
};

/*
 * Forks the child, waits for its answer about the account and its verdict about the key, and fills
 * in both, with AUTHKEYS_NO_CHILD where there is none. Returns true if the key may log in, should
 * it sign and the account's reason be empty. The child is left to the caller's reaping.
 */
bool authkeys_ask(struct authkeys_account *account, struct authkeys_verdict *verdict,
                  const struct authkeys_request *request);

/* The reason in an administrator's words. */
const char *authkeys_words(const struct authkeys_verdict *verdict);

/* The child from fork to exit; `reply` is the writing end of its pipe to the monitor. */
__attribute__((noreturn)) void authkeys_child(const struct authkeys_request *request, int reply);

#endif
