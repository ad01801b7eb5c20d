/*
 * What the monitor must answer, by a second reading of ipc.h: which requests are allowed when, how
 * often, of which size, and the exact bytes of each reply and of all that the host key signs.
 */
#ifndef WREN_MONITOR_MODEL_H
#define WREN_MONITOR_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hostkey.h"
#include "ipc.h"
#include "monitor_internal.h"
#include "options.h"
#include "wire.h"

enum model_phase { MODEL_START, MODEL_BEFORE_LOGIN, MODEL_AFTER_LOGIN, MODEL_OVER };

struct model_answer {
    uint64_t bytes;  /* that the monitor has read */
    uint32_t unused; /* so that the verdict follows the account, as in the pipe */
    struct authkeys_account account;
    struct authkeys_verdict verdict;
};

_Static_assert(offsetof(struct model_answer, verdict) ==
                   offsetof(struct model_answer, account) + sizeof(struct authkeys_account),
               "no padding between the two");

struct model {
    const struct options *options;
    bool as_root;
    struct hostkey key;
    enum model_phase phase;
    bool broken; /* a rule is broken: no more replies, exit code 111 */
    bool ended;  /* END has come, with this exit code */
    int end_status;
    bool confined;     /* set by the target: every right is given up */
    unsigned sessions; /* session processes that were started */
    bool full;         /* too many connections are logged in */
    bool left;         /* the slot before the login is given up */
    bool failed;       /* the end without a login is counted */
    int64_t began_ms;
    bool silent;     /* no key exchange yet, and the time for it is over */
    int64_t look_ms; /* by then the monitor must look for that; 0 before START */

    uint8_t cookie[SSH_COOKIE_BYTES];
    unsigned signatures, proofs[2], requests, refused_signatures, refused_probes;
    size_t session_id_bytes;
    uint8_t session_id[64];
    bool bound;

    /* The host key may sign this next. */
    bool may_sign;
    bool sign_second;
    size_t signed_bytes;
    uint8_t signed_data[1024];

    /* The reply that must come next. */
    bool reply_due;
    size_t reply_bytes;
    uint8_t reply[sizeof(struct ipc_start_reply)];

    /* The login request that is being decided. */
    bool deciding;
    int64_t received_ms;
    struct ipc_auth auth;
    size_t blob_bytes;
    uint8_t blob[LIMIT_KEY_BLOB_BYTES];
    bool asks; /* it needs a child, and `asked` says that there was one */
    bool asked;
    struct model_answer answer;
    bool probed; /* the last request was an accepted probe */
    int64_t probed_ms;
    struct ipc_auth probe;
    size_t probe_blob_bytes;
    uint8_t probe_blob[LIMIT_KEY_BLOB_BYTES];
    struct model_answer probe_answer;
};

/* In the place of ed25519: nobody makes one without the model's knowledge. */
void model_signature(uint8_t out[static 64], const uint8_t *data, size_t bytes,
                     const uint8_t public_key[static 32]);

/* The signature of `auth`, whose other fields are set, by the key of its blob. */
void model_sign_login(const struct model *model, struct ipc_auth *auth, const uint8_t *blob);

/* The key that a well-behaved child finds in a blob. */
void model_key(struct signature_key *key, const struct ipc_auth *auth, const uint8_t *blob);

/* The monitor has received a request. `cut`: longer than its room, or with descriptors. */
void model_request(struct model *model, const uint8_t *bytes, size_t count, bool cut);

/* Whose account the request is about: with -N the flag's. */
const char *model_user(const struct model *model);

/* The monitor decides an AUTH: true if it must accept it now. */
bool model_accepts(const struct model *model);

/* What the session is then allowed. */
struct grant model_grant(const struct model *model);

/* Must be true whenever the monitor replies. */
bool model_is_reply(struct model *model, const void *bytes, size_t count);

#endif
