/*
 * Whether a user may log in with a key, and with which restrictions. A short-lived child decides
 * that. It looks the account up and opens the files with the user's rights. Then it gives up every
 * right, and only then it parses a key, a certificate or a file (authkeys.h). The monitor receives
 * the account and the verdict as structs of fixed size.
 */
#ifndef WREN_AUTHKEYS_ASK_H
#define WREN_AUTHKEYS_ASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "account_find.h"
#include "authkeys.h"
#include "hostkey.h"
#include "identity.h"

/* Why an account may not log in, with its NUL. */
#define AUTHKEYS_ACCOUNT_REASON_BYTES 80

/* The child sends this first, before it has parsed anything that the client or a user wrote. So an
 * error in a parser can't change the account. */
struct authkeys_account {
    /* "" if the user may log in; else `account` is account_nobody()'s. */
    char reason[AUTHKEYS_ACCOUNT_REASON_BYTES];
    struct account account;
    struct account_groups groups;
};

struct authkeys_request {
    struct authkeys_query query;
    /* What parses: authkeys_search(). Only -T has another. */
    authkeys_judge *search;
    struct account_rules rules;
    bool keyless;                    /* -N: asks for the account alone; there is no verdict */
    bool best_effort;                /* -B: go on without a seccomp filter */
    const struct identity *identity; /* which a child that starts as root takes on */
    struct hostkey *hostkey;         /* memory of secret_new(), which the child abandons */
    pid_t monitor;                   /* the caller; the child ends with it */
    int watched;                     /* a socket: the answer is not needed once it hangs up */
    int64_t deadline_ms;             /* clock_now_ms() at which the child is killed */
};

/*
 * Forks the child, receives the account and the verdict, and checks them like any other input. If
 * the child fails, the verdict is AUTHKEYS_NO_CHILD. Returns true if the key is listed: the login
 * also needs a signature and an account without a reason. The caller must reap the child.
 */
bool authkeys_ask(struct authkeys_account *account, struct authkeys_verdict *verdict,
                  const struct authkeys_request *request);

/* The reason in an administrator's words. After that of AUTHKEYS_AUTHORITY_TYPE the caller appends
 * the name of the type. */
const char *authkeys_words(const struct authkeys_verdict *verdict);

/* The child from fork to exit; `reply` is the writing end of its pipe to the monitor. */
__attribute__((noreturn)) void authkeys_child(const struct authkeys_request *request, int reply);

#endif
