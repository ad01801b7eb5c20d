/*
 * What the files of this room share. The monitor answers the network process's requests: it
 * decides about logins, signs for the host, and ends the connection.
 */
#ifndef WREN_MONITOR_INTERNAL_H
#define WREN_MONITOR_INTERNAL_H

#include "authkeys.h"
#include "grant.h"
#include "hostkey.h"
#include "ipc.h"
#include "log.h"
#include "monitor.h"
#include "session.h"
#include "wire.h"

/* ---- the account, account_find.c ------------------------------------------------------------- */

/* Looks users up, and decides which accounts may log in. Only the short-lived child that reads keys
 * does this: the code of a name service, and what it has read of /etc/shadow, end with that child.
 */

/*
 * Why an account may not log in: its words in the log, and what -T says about how to remedy it. The
 * user follows a remedy that ends with a blank.
 */
#define ACCOUNT_EACH_REASON(REASON)                                                                \
    REASON(WRONG_NAME, "name is too long or holds characters that are not allowed",                \
           "choose a plain name")                                                                  \
    REASON(UNKNOWN, "unknown user", "check the name, or: useradd -m -s /bin/sh ")                  \
    REASON(NO_LOOKUP, "account could not be looked up", "repair /etc/shadow or the name service")  \
    REASON(OTHER_NAME, "a name service has another name for this user", "getent passwd ")          \
    REASON(MANY_GROUPS, "user is in too many groups", "see LIMITS in wrensshd(8)")                 \
    REASON(LONG_PATH, "home directory or shell has too long a path",                               \
           "shorten them: usermod -d, -s")                                                         \
    REASON(OTHER_USER, "not the user this server runs as", "run it as root")                       \
    REASON(NO_SHELL, WORDS_NO_SHELL, "usermod -s /bin/sh ")                                        \
    REASON(EXPIRED, "account has expired", "usermod -e '' ")                                       \
    REASON(INACTIVE, "password has expired, and its inactive days are over", "chage -I -1 ")       \
    REASON(ROOT, "root may not log in here", "leave out -r")                                       \
    REASON(OURS, "account is the server's own", "log in as another user")                          \
    REASON(RUN_NOLOGIN, "/run/nologin exists", "remove it")                                        \
    REASON(ETC_NOLOGIN, "/etc/nologin exists", "remove it")                                        \
    REASON(NO_MEMBER, "not a member of a group that -g names", "usermod -aG GROUP ")               \
    /* Of the child that looks it up. */                                                           \
    REASON(NO_ANSWER, WORDS_NO_ANSWER, "find out which file system or name service hangs")

#define ACCOUNT_ENUMERATOR(name, words, remedy) ACCOUNT_##name,

enum account_reason { ACCOUNT_GOOD, ACCOUNT_EACH_REASON(ACCOUNT_ENUMERATOR) ACCOUNT_REASONS };

/*
 * Looks `user` up and decides whether the account may log in. Its name must consist of printable
 * ASCII without '/', must not begin with '-', and must not be "." or "..". The system must know it;
 * it must not have expired; /etc/nologin and /run/nologin must be missing, unless it is root; it
 * must fulfil -g and -r. If we run as root, its uid must not be `own_uid`, that of our unprivileged
 * processes; else it must be the user we run as. A locked password does not matter: this server has
 * no passwords.
 *
 * Its shell must be executable ("" in the record means /bin/sh), unless -e runs our SFTP server,
 * which needs none. Without -e the key may force that server, and the key is judged later: then
 * the path of a shell that is not executable becomes "".
 *
 * With any reason but ACCOUNT_GOOD *account and *groups are account_nobody()'s, but with -A for a
 * known account, whose files are looked at, too.
 */
enum account_reason account_find(struct account *account, struct account_groups *groups,
                                 const char *user, const struct options *options, uid_t own_uid);

/* A dummy account without rights, whose home does not exist. It replaces users who do not exist or
 * may not log in: the server does the same work for it, so that timing reveals nothing. */
void account_nobody(struct account *account, struct account_groups *groups);

/* ---- the child that reads keys, authkeys_ask.c and authkeys_child.c -------------------------- */

/* Whether a user may log in with a key, and with which restrictions. A short-lived child decides
 * that. It looks the account up and opens the files with the user's rights. Then it gives up every
 * right, and only then it parses a key, a certificate or a file (authkeys.h). The monitor receives
 * the account and the verdict as structs of fixed size. */

/* The child sends this first, before it has parsed anything that the client or a user wrote. So an
 * error in a parser can't change the account. */
struct authkeys_account {
    uint32_t reason; /* enum account_reason */
    struct account account;
    struct account_groups groups;
};

struct authkeys_request {
    struct authkeys_query query;
    /* What parses: authkeys_search(). Only -T has another. */
    authkeys_judge *search;
    /* With -N it asks for the account alone, and there is no verdict. Once `ipc` hangs up, no
     * answer is needed. A child that starts as root takes on `identity`. */
    const struct monitor_setup *setup;
    struct hostkey *hostkey; /* memory of secret_new(), which the child abandons */
    pid_t monitor;           /* the caller; the child ends with it */
    int64_t deadline_ms;     /* clock_now_ms() at which the child is killed */
};

/*
 * Forks the child, receives the account and the verdict, and checks them like any other input. If
 * the child fails, the verdict is AUTHKEYS_NO_CHILD. Returns true if the key is listed: the login
 * also needs a signature and an account without a reason. The caller must reap the child.
 */
bool authkeys_ask(struct authkeys_account *account, struct authkeys_verdict *verdict,
                  const struct authkeys_request *request);

/* The reasons in an administrator's words; not of ACCOUNT_GOOD. After those of
 * AUTHKEYS_AUTHORITY_TYPE the caller appends the name of the type. */
const char *authkeys_words(const struct authkeys_verdict *verdict);
const char *account_words(uint32_t reason);

/* Gives root's process the account's rights to files, in the child and for -T. Changes only the
 * effective ids. The real and saved ones stay root's: so the user's processes can't signal this
 * one, and it can become root again. Returns false with errno. */
bool account_take_rights(const struct authkeys_account *found);

/* The child from fork to exit; `reply` is the writing end of its pipe to the monitor. */
__attribute__((noreturn)) void authkeys_child(const struct authkeys_request *request, int reply);

/* ---- the login, login.c ---------------------------------------------------------------------- */

/* Decides login requests: has a child look up the user and the key, rebuilds the signed data with
 * the monitor's own session identifier, verifies the signature, counts and logs. */

#define LOGIN_REASON_BYTES 160

/* The result of one request. */
struct login_outcome {
    struct authkeys_account account; /* but for -A account_nobody()'s if refused */
    bool refused_before_keys;        /* for the account, or the type of the key */
    bool accepted;
    char reason[LOGIN_REASON_BYTES]; /* of a refusal; of a login without a key, with -N */
    uint8_t blob_hash[32];           /* SHA-256 of the key blob */
    struct authkeys_verdict keys;
};

/* Begins the request's `event=login` line. */
void login_describe(struct log_line *line, const struct ipc_auth *request,
                    const struct login_outcome *outcome);

/* The last request, if it was an accepted probe. A signed request for the same user and key that
 * comes before the end of LIMIT_PROBED_MS reuses its outcome, which is still stored. */
struct login_probe {
    int64_t until_ms; /* 0: there is none */
    uint32_t key_type;
    char user[LIMIT_USER_BYTES];
    uint8_t blob_hash[32];
};

/* Used only before the login; later the monitor gives the memory back. */
struct login_scratch {
    struct login_outcome outcome; /* of the last request */
    struct login_probe probe;
};

struct login {
    const struct monitor_setup *setup; /* -T has neither `admission` nor `network` */
    struct hostkey *hostkey;
    int64_t deadline_ms; /* of the whole login */
    struct login_scratch *scratch;

    struct monitor *monitor; /* whose login it is; -T has none */

    size_t session_id_bytes; /* 0 until the first exchange hash has been signed */
    uint8_t session_id[64];
    unsigned requests;
    unsigned refused_probes;
    unsigned refused_signatures;
    bool hybrid; /* the first key exchange was sntrup761x25519-sha512 */
    char client[LIMIT_VERSION_LINE_BYTES + 1]; /* V_C, as far as the log shows it */
    char user[LIMIT_USER_BYTES];               /* who has logged in; "" before */
    bool forced;                               /* the login's key has a forced command */
};

/*
 * Answers one request and sets *verdict. If a signed request is accepted, drop_privileges() has
 * been called and login->user is set. The time that a refusal takes does not depend on whether the
 * user exists. `blob` has the request's blob_bytes. Returns NULL, or why the connection must end: a
 * value out of range, a text without a NUL, no session identifier yet, a request after the last
 * attempt or above LIMIT_AUTH_REQUESTS, a failure of drop_privileges().
 */
const char *login_answer(struct login *login, const struct ipc_auth *request, const uint8_t *blob,
                         uint32_t *verdict);

/* Judges a request and fills in the outcome; of a refusal, the reason. `accepted` must be false. */
void login_decide(struct login *login, const struct ipc_auth *request, const uint8_t *blob,
                  struct login_outcome *outcome);

/* Two parts of it, also for -T. The first asks the child. The second sets the outcome: accepted, or
 * refused for the account or, if that is good, for the key. wrong_key is NULL for a good key. */
bool login_ask(const struct login *login, const struct ipc_auth *request, const uint8_t *blob,
               struct login_outcome *outcome, authkeys_judge *search);
void login_conclude(struct login_outcome *outcome, const struct ipc_auth *request,
                    const char *wrong_key);

/* ---- signatures of the host, sign.c ---------------------------------------------------------- */

/* Everything that the host key signs, the exchange hash H (RFC 5656 section 4) and proofs of host
 * keys, and what a client signs to log in. H is built from the network process's fields and, as
 * that process may lie, from our own identification line and our own host key. */

/* For the table of requests: the length of a struct ipc_sign's tail, or REQUEST_TAIL_TOO_LONG if
 * one of its lengths is out of range. */
size_t sign_tail_bytes(const void *sign);

/* True if I_S, our KEXINIT, has this cookie after its message number (RFC 4253 section 7.1). `tail`
 * has sign_tail_bytes(). */
bool sign_has_cookie(const struct ipc_sign *request, const uint8_t *tail,
                     const uint8_t cookie[static SSH_COOKIE_BYTES]);

/* Writes H and returns its length, 32 or 64 bytes. `tail` has sign_tail_bytes(). If the request is
 * `certified`, the host key must have a certificate. */
size_t sign_exchange_hash(uint8_t h[static HASH_MAX_BYTES], const struct ipc_sign *request,
                          const uint8_t *tail, const struct hostkey *hostkey);

/* Fills in the public parts of the host keys, for the network process. */
void sign_list_keys(struct ipc_start_reply *reply, const struct hostkey *hostkey);

/*
 * Signs string "hostkeys-prove-00@openssh.com", string session identifier, string key blob
 * (OpenSSH's PROTOCOL, section 2.5) with the first or the second host key.
 */
void sign_proof(uint8_t signature[static 64], const struct hostkey *hostkey, bool second,
                const uint8_t *session_id, size_t session_id_bytes);

/* Builds the data that a client signs (RFC 4252 section 7) in `out`. Returns its length, or 0 if it
 * does not fit. */
#define SIGN_LOGIN_BYTES (1024 + LIMIT_KEY_BLOB_BYTES + LIMIT_HOST_CERTIFICATE_BYTES)
size_t sign_login_data(uint8_t out[static SIGN_LOGIN_BYTES], const struct login *login,
                       const struct ipc_auth *request, const uint8_t *blob);

/* Verifies the request's signature with the key that the child found in the blob; without one the
 * signature is bad. Returns NULL, or what is wrong with it or missing in it. */
const char *sign_judge_login(const struct login *login, const struct ipc_auth *request,
                             const uint8_t *blob, const struct grant *grant);

/* ---- the state ------------------------------------------------------------------------------- */

/* The monitor's state, and the parts of the monitor that share it: its requests, the login's end of
 * root, and how a connection ends. */

/* Room for any request, and its alignment. */
union monitor_request {
    uint32_t type;
    struct ipc_sign sign;
    struct ipc_end end;                           /* has the strictest alignment */
    uint8_t bytes[IPC_MONITOR_REQUEST_BYTES + 1]; /* ipc_serve() adds a NUL */
};

/* Used before the login and while a request is served: an idle monitor gives the memory back. */
struct monitor_buffers {
    struct login_scratch login;
    union monitor_request request;
};

/* How the connection ends. */
struct ending {
    bool decided;
    bool logged;  /* the reason is in the log already: no `event=end` line */
    bool counted; /* bytes_in and bytes_out are known */
    int status;   /* exit code */
    uint64_t bytes_in;
    uint64_t bytes_out;
    char reason[LIMIT_NOTE_BYTES + 1];
    char asked[LIMIT_USER_BYTES]; /* as in struct ipc_end */
    char offer[LIMIT_NOTE_BYTES + 1];
};

struct monitor {
    const struct monitor_setup *setup;
    bool connection_gone; /* the client has closed its end: the deadline is within LIMIT_GONE_MS */
    int signals;          /* signals_watch() */
    bool network_gone;    /* reaped, with network_status as its wait status */
    int network_status;
    struct session_handle session; /* pid is 0 before the login and after its reaping */
    bool as_root;                  /* started as root */
    enum monitor_phase phase;
    bool idle;           /* the last poll(2) timed out */
    bool just_logged_in; /* no turn since the login */
    int64_t started_ms;
    int64_t greeted_ms;  /* our greeting was not sent earlier */
    int64_t silence_ms;  /* when a client without a key exchange is judged, or INT64_MAX */
    int64_t deadline_ms; /* of the login; then of the longest life, or INT64_MAX */
    unsigned signatures;
    unsigned proofs[2]; /* for the first and the second host key */
    unsigned notes;
    struct ending ending;
    struct hostkey *hostkey; /* memory of secret_new() */
    struct monitor_buffers *buffers;
    struct login login;
};

/* All of the monitor's memory, on pages of its own. The session process gives its copy back. */
struct monitor_memory {
    struct monitor monitor;
    struct monitor_buffers buffers;
};

_Static_assert(offsetof(struct monitor_memory, monitor) == 0,
               "drop_privileges() finds the memory by the monitor's address");

/* ---- requests, monitor_ipc.c ----------------------------------------------------------------- */

/*
 * Receives one request into `request` and answers it. A request that breaks a rule ends the
 * connection, with the reason in the log; so does a reply that the network process does not read.
 * An end of file ends the connection without a reason: the network process's exit gives it.
 * Never waits; returns false if there was no request.
 */
bool monitor_ipc_serve(struct monitor *monitor, union monitor_request *request);

/* ---- the end of root, drop_privileges.c ------------------------------------------------------ */

/*
 * After an accepted login: starts the session process with the account and the grant, then gives up
 * every right that the monitor no longer needs: its uid, all capabilities, and the system calls
 * that are not on its list. `monitor` is in a struct monitor_memory. Returns NULL, or why the
 * connection must end.
 */
const char *drop_privileges(struct monitor *monitor, const struct authkeys_account *account,
                            const struct grant *grant);

/* ---- how a connection ends, ending.c --------------------------------------------------------- */

/* Sets the exit code and the reason, unless an earlier call has. */
void ending_decide(struct ending *ending, int status, const char *reason);

/* Ends the connection: decides, and serves no more requests. The network process has LIMIT_EXIT_MS
 * to exit. */
void ending_begin(struct monitor *monitor, int status, const char *reason);

/* Ends the connection with exit code 111 and kills the network process at once. */
void ending_fail(struct monitor *monitor, const char *reason);

/* Kills the network process unless it has been reaped. */
void ending_kill_network(const struct monitor *monitor);

/* Decides by the reaped network process's wait status, for one that has sent no END. */
void ending_decide_by_exit(struct monitor *monitor);

/* Counts the connection's bytes. The kernel's count takes precedence over the one in END. */
void ending_count_bytes(struct monitor *monitor);

/* Writes the `event=end` line. */
void ending_log(const struct monitor *monitor);

/* ---- the bytes of a connection, tcp_bytes.c -------------------------------------------------- */

/*
 * The bytes of a TCP connection as the kernel counts them: a process that only reads and writes the
 * connection cannot falsify the count.
 */

/* Sets *received to the bytes that have arrived, read or not, and *sent to those sent, without
 * retransmissions. The end of a direction may count as one byte. Returns false if `fd` is not a TCP
 * socket, and on kernels before Linux 4.1. */
bool tcp_bytes(uint64_t *received, uint64_t *sent, int fd);

/* Whether the TCP connection has bytes that the client has not acknowledged, sent or not. */
bool tcp_waits(int fd);

#endif
