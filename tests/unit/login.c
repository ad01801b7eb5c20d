/* Covers login.c, sign.c and, together with authkeys.c, authkeys_ask.c, with the real child
 * that reads keys. people.h replaces account_find.c. */
#include "monitor_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base.h"
#include "log.h"
#include "people.h"
#include "process.h"
#include "scratch.h"
#include "table.h"
#include "unit.h"

static char home[SCRATCH_BYTES];

static struct options options;
static const struct identity unprivileged = {.uid = 65534, .gid = 65534};
static struct hostkey *hostkey;
static struct login_scratch scratch;
static struct login login;
static struct peer peer = {.address = "192.0.2.1", .has_ip = true};
static int watched[2];
static char said[16384];
static uint8_t public_a[32], secret_a[64], public_b[32], secret_b[64];

/* ---- what login.c calls ---------------------------------------------------------------------- */

static unsigned enter_calls;
static const char *enter_fails; /* the reason it returns, or NULL */
static struct authkeys_account entered;
static struct grant entered_grant;

static struct monitor monitor;

const char *drop_privileges(struct monitor *of_login, const struct authkeys_account *account,
                            const struct grant *grant)
{
    ck_assert_ptr_eq(of_login, &monitor);
    enter_calls++;
    entered = *account;
    entered_grant = *grant;
    return enter_fails;
}

static struct admission admission = {.fd = -1};
static struct monitor_setup setup = {
    .options = &options, .peer = &peer, .identity = &unprivileged, .admission = &admission};

static unsigned sleeps;

/* musl's name on 32-bit machines. */
#ifndef SYS_clock_nanosleep
#define SYS_clock_nanosleep SYS_clock_nanosleep_time64
#endif

/* Replaces libc's, except where a 64-bit time_t gives that another name. */
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left)
{
    sleeps++;
    return syscall(SYS_clock_nanosleep, clock, flags, until, left) == 0 ? 0 : EINTR;
}

#ifndef SYS_clock_gettime
#define SYS_clock_gettime SYS_clock_gettime64
#endif

static int64_t clock_ns; /* 0: the system's clock */
static int64_t woken_ns;

/* While clock_ns is set, time passes in ppoll(), and a little in each look at the clock. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    const int64_t look_ns = 137001;
    if (clock_ns == 0) {
        return (int)syscall(SYS_clock_gettime, clock, now);
    }
    clock_ns += look_ns;
    *now = (struct timespec){.tv_sec = (time_t)(clock_ns / 1000000000),
                             .tv_nsec = (long)(clock_ns % 1000000000)};
    return 0;
}

int ppoll(struct pollfd *waiting, nfds_t count, const struct timespec *timeout,
          const sigset_t *mask)
{
    ck_assert_ptr_null(mask);
    if (clock_ns == 0) {
        return poll(waiting, count, (int)(timeout->tv_sec * 1000 + timeout->tv_nsec / 1000000 + 1));
    }
    woken_ns = clock_ns += timeout->tv_sec * INT64_C(1000000000) + timeout->tv_nsec;
    return 0;
}

/* ---- the fixture ----------------------------------------------------------------------------- */

static void list_keys(bool a, bool b)
{
    char text[512];
    size_t used = 0;
    for (int i = 0; i < 2; i++) {
        uint8_t blob[HOSTKEY_BLOB_BYTES];
        char base64[128];
        if (!(i == 0 ? a : b)) {
            continue;
        }
        hostkey_blob(blob, i == 0 ? public_a : public_b);
        sodium_bin2base64(base64, sizeof(base64), blob, sizeof(blob),
                          sodium_base64_VARIANT_ORIGINAL);
        used += (size_t)snprintf(text + used, sizeof(text) - used, "ssh-ed25519 %s\n", base64);
    }
    scratch_write(home, "keys", text, used, 0600);
}

static void begin(void)
{
    static char pattern[] = "keys";
    ck_assert_int_ge(sodium_init(), 0);
    scratch_make(home);
    crypto_sign_keypair(public_a, secret_a);
    crypto_sign_keypair(public_b, secret_b);
    hostkey = secret_new(sizeof(*hostkey));
    ck_assert_ptr_nonnull(hostkey);
    crypto_sign_keypair(hostkey->first.public_key, hostkey->first.secret_key);
    people_begin(home);
    options.best_effort = !people_have_seccomp();
    options.attempts = 6;
    options.authkeys[0] = pattern;
    ck_assert_int_eq(pipe(watched), 0);
    memset(&login, 0, sizeof(login));
    login.setup = &setup;
    login.hostkey = hostkey;
    login.scratch = &scratch;
    login.monitor = &monitor;
    setup.ipc = watched[0];
    login.deadline_ms = clock_now_ms() + 30000;
    login.session_id_bytes = 64;
    randombytes_buf(login.session_id, sizeof(login.session_id));
    list_keys(true, true);
}

static void finish(void)
{
    while (waitpid(-1, NULL, 0) > 0) {
    }
}

UNIT_FIXTURE(begin, finish);
UNIT_TIMEOUT(60);

/* The key blob of the last request. */
static uint8_t request_blob[HOSTKEY_BLOB_BYTES];

static struct ipc_auth make_request(uint32_t stage, const char *user, const uint8_t *public_key)
{
    struct ipc_auth request;
    memset(&request, 0, sizeof(request));
    request.type = IPC_AUTH;
    request.stage = stage;
    request.key_type = IPC_KEY_ED25519;
    snprintf(request.user, sizeof(request.user), "%s", user);
    snprintf(request.algorithm, sizeof(request.algorithm), "ssh-ed25519");
    hostkey_blob(request_blob, public_key);
    request.blob_bytes = sizeof(request_blob);
    return request;
}

/* ---- an independent copy of the signed data -------------------------------------------------- */

struct bytes {
    size_t used;
    uint8_t at[2048];
};

static void add(struct bytes *bytes, const void *more, size_t count)
{
    memcpy(bytes->at + bytes->used, more, count);
    bytes->used += count;
}

static void add_string(struct bytes *bytes, const void *more, size_t count)
{
    const uint8_t length[4] = {0, 0, (uint8_t)(count >> 8), (uint8_t)count};
    add(bytes, length, 4);
    add(bytes, more, count);
}

static void add_blob(struct bytes *bytes, const uint8_t *public_key)
{
    struct bytes blob = {0};
    add_string(&blob, "ssh-ed25519", 11);
    add_string(&blob, public_key, 32);
    add_string(bytes, blob.at, blob.used);
}

static struct bytes expected_data(const struct ipc_auth *request, size_t session_id_bytes)
{
    struct bytes bytes = {0};
    add_string(&bytes, login.session_id, session_id_bytes);
    add(&bytes, "\x32", 1);
    add_string(&bytes, request->user, strlen(request->user));
    add_string(&bytes, "ssh-connection", 14);
    if (request->hostbound) {
        add_string(&bytes, "publickey-hostbound-v00@openssh.com", 35);
    } else {
        add_string(&bytes, "publickey", 9);
    }
    add(&bytes, "\x01", 1);
    add_string(&bytes, "ssh-ed25519", 11);
    add_string(&bytes, request_blob, sizeof(request_blob));
    if (request->hostbound) {
        add_blob(&bytes, hostkey->first.public_key);
    }
    return bytes;
}

static void sign(struct ipc_auth *request, const uint8_t *secret_key)
{
    struct bytes bytes = expected_data(request, login.session_id_bytes);
    crypto_sign_detached(request->signature, NULL, bytes.at, bytes.used, secret_key);
}

TEST(signed_data_follows_rfc_4252)
{
    uint8_t data[SIGN_LOGIN_BYTES];
    char longest[LIMIT_USER_BYTES];
    memset(longest, 'u', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    const char *const users[] = {"alice", "", longest};
    for (int i = 0; i < 12; i++) {
        struct ipc_auth request = make_request(IPC_AUTH_SIGNED, users[i % 3], public_a);
        request.hostbound = (i / 3) % 2 == 1;
        login.session_id_bytes = i < 6 ? 32 : 64;
        struct bytes expected = expected_data(&request, login.session_id_bytes);
        size_t count = sign_login_data(data, &login, &request, request_blob);
        ck_assert_uint_eq(count, expected.used);
        ck_assert_mem_eq(data, expected.at, count);
    }
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static uint32_t answer(const struct ipc_auth *request)
{
    uint32_t verdict = 99;
    capture_begin();
    const char *fatal = login_answer(&login, request, request_blob, &verdict);
    capture_end(said, sizeof(said));
    ck_assert_msg(fatal == NULL, "%s", fatal);
    return verdict;
}

static uint32_t answer_signed(const char *user, const uint8_t *public_key,
                              const uint8_t *secret_key)
{
    struct ipc_auth request = make_request(IPC_AUTH_SIGNED, user, public_key);
    sign(&request, secret_key);
    return answer(&request);
}

static uint32_t answer_probe(const char *user, const uint8_t *public_key)
{
    struct ipc_auth request = make_request(IPC_AUTH_PROBE, user, public_key);
    return answer(&request);
}

/* Its result counts however slow this machine is. */
static void answer_probe_for_long(const char *user, const uint8_t *public_key)
{
    ck_assert_uint_eq(answer_probe(user, public_key), IPC_VERDICT_ACCEPTED);
    scratch.probe.until_ms = INT64_MAX;
}

static unsigned reap_children(void)
{
    unsigned count = 0;
    while (waitpid(-1, NULL, 0) > 0) {
        count++;
    }
    return count;
}

TEST(login_without_a_probe)
{
    char fingerprint[FINGERPRINT_BYTES];
    snprintf(login.client, sizeof(login.client), "SSH-2.0-\"\n\xff");
    ck_assert_uint_eq(answer_signed("alice", public_a, secret_a), IPC_VERDICT_ACCEPTED);
    ck_assert_uint_eq(enter_calls, 1);
    ck_assert_str_eq(login.user, "alice");
    ck_assert_str_eq(entered.account.user, "alice");
    ck_assert_str_eq(entered.account.home, home);
    ck_assert_uint_eq(entered.reason, ACCOUNT_GOOD);
    ck_assert_uint_eq(entered_grant.flags, GRANT_OF_PLAIN_LINE);
    ck_assert(!login.forced);
    hostkey_fingerprint(fingerprint, public_a);
    assert_contains(said, " user=alice key=");
    assert_contains(said, fingerprint);
    assert_contains(said, " type=ssh-ed25519 verdict=accepted authkeys=");
    assert_contains(said, "/keys line=1 kex=curve25519-sha256 "
                          "client=\"SSH-2.0-\\u0022\\u000a\\u00ff\"\n");
}

/* As userauth.c asks for the method `none`. */
static struct ipc_auth request_without_key(const char *user)
{
    struct ipc_auth request = make_request(IPC_AUTH_SIGNED, user, public_a);
    request.key_type = IPC_KEY_UNSUPPORTED;
    request.blob_bytes = 0;
    snprintf(request.algorithm, sizeof(request.algorithm), "none");
    return request;
}

TEST(no_login_without_a_key)
{
    struct ipc_auth request = request_without_key("alice");
    ck_assert_uint_eq(answer(&request), IPC_VERDICT_REFUSED);
    ck_assert_uint_eq(enter_calls, 0);
    assert_contains(said, " verdict=refused reason=\"key type none is not supported\"");
}

/* With -N the name in the request changes nothing, and no file of keys is opened. */
TEST_EACH(anybody_logs_in_as_one_user, 5)
{
    static const char *const users[] = {"alice", "bob", "root", "", "no such user"};
    options.anybody = "alice";
    list_keys(false, false);
    struct ipc_auth request = request_without_key(users[_i]);
    ck_assert_uint_eq(answer(&request), IPC_VERDICT_ACCEPTED);
    ck_assert_uint_eq(enter_calls, 1);
    ck_assert_str_eq(login.user, "alice");
    ck_assert_str_eq(entered.account.user, "alice");
    ck_assert_uint_eq(entered_grant.flags, GRANT_OF_PLAIN_LINE);
    ck_assert_uint_eq(entered_grant.environment_bytes, 0);
    ck_assert_uint_eq(entered_grant.command_bytes, 0);
    ck_assert(!login.forced);
    assert_contains(said, " key=- type=none verdict=accepted reason=\"anybody may log in: -N\" "
                          "kex=curve25519-sha256 client=\"\"\n");
}

TEST(anybody_is_refused_with_the_account)
{
    options.anybody = "carol";
    struct ipc_auth request = request_without_key("bob");
    ck_assert_uint_eq(answer(&request), IPC_VERDICT_REFUSED);
    ck_assert_uint_eq(enter_calls, 0);
    ck_assert_str_eq(login.user, "");
    assert_contains(said, " verdict=refused reason=");
}

TEST(login_after_a_probe_starts_one_child)
{
    login.hybrid = true;
    snprintf(login.client, sizeof(login.client), "SSH-2.0-x");
    answer_probe_for_long("alice", public_b);
    ck_assert_str_eq(said, ""); /* only at -v */
    ck_assert_uint_eq(enter_calls, 0);
    ck_assert_uint_eq(reap_children(), 1);
    ck_assert_uint_eq(answer_signed("alice", public_b, secret_b), IPC_VERDICT_ACCEPTED);
    ck_assert_uint_eq(reap_children(), 0);
    assert_contains(said, "/keys line=2 kex=sntrup761x25519-sha512 client=SSH-2.0-x\n");
}

TEST(hostbound_login)
{
    struct ipc_auth request = make_request(IPC_AUTH_SIGNED, "alice", public_a);
    sign(&request, secret_a);
    request.hostbound = 1;
    ck_assert_uint_eq(answer(&request), IPC_VERDICT_REFUSED);
    sign(&request, secret_a);
    request.hostbound = 0;
    ck_assert_uint_eq(answer(&request), IPC_VERDICT_REFUSED);
    request.hostbound = 1;
    ck_assert_uint_eq(answer(&request), IPC_VERDICT_ACCEPTED);
}

TEST(probe_a_sign_with_b)
{
    list_keys(true, false);
    ck_assert_uint_eq(answer_probe("alice", public_a), IPC_VERDICT_ACCEPTED);
    /* b's own signature, b's signature under a's name, a's for another user's name. */
    ck_assert_uint_eq(answer_signed("alice", public_b, secret_b), IPC_VERDICT_REFUSED);
    assert_contains(said, "reason=\"key is not listed\"");
    ck_assert_uint_eq(answer_probe("alice", public_a), IPC_VERDICT_ACCEPTED);
    ck_assert_uint_eq(answer_signed("alice", public_a, secret_b), IPC_VERDICT_REFUSED);
    assert_contains(said, "reason=\"bad signature\"");
    ck_assert_uint_eq(answer_probe("alice", public_a), IPC_VERDICT_ACCEPTED);
    ck_assert_uint_eq(answer_signed("carol", public_a, secret_a), IPC_VERDICT_REFUSED);
    assert_contains(said, "reason=\"unknown user\"");
    ck_assert_uint_eq(enter_calls, 0);
}

/* Another probe, or a refusal, discards a probe's result. */
TEST(a_probe_is_forgotten)
{
    ck_assert_uint_eq(answer_probe("alice", public_a), IPC_VERDICT_ACCEPTED);
    ck_assert_uint_eq(answer_probe("alice", public_b), IPC_VERDICT_ACCEPTED);
    list_keys(false, true);
    ck_assert_uint_eq(answer_signed("alice", public_a, secret_a), IPC_VERDICT_REFUSED);
    ck_assert_uint_eq(answer_probe("bob", public_b), IPC_VERDICT_ACCEPTED);
    list_keys(false, false);
    ck_assert_uint_eq(answer_signed("alice", public_b, secret_b), IPC_VERDICT_REFUSED);
    ck_assert_uint_eq(answer_signed("bob", public_b, secret_b), IPC_VERDICT_REFUSED);
}

TEST(signatures_for_something_else)
{
    struct ipc_auth request = make_request(IPC_AUTH_SIGNED, "alice", public_a);
    options.attempts = 1000;
    sign(&request, secret_a);
    for (size_t bit = 0; bit < 64 * 8; bit += 37) {
        request.signature[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        ck_assert_uint_eq(answer(&request), IPC_VERDICT_REFUSED);
        request.signature[bit / 8] ^= (uint8_t)(1U << (bit % 8));
    }
    /* The session identifier of another connection. */
    login.session_id[0] ^= 1;
    ck_assert_uint_eq(answer(&request), IPC_VERDICT_REFUSED);
    login.session_id[0] ^= 1;
    login.session_id_bytes = 32;
    ck_assert_uint_eq(answer(&request), IPC_VERDICT_REFUSED);
    login.session_id_bytes = 64;
    memset(request.signature, 0, sizeof(request.signature));
    ck_assert_uint_eq(answer(&request), IPC_VERDICT_REFUSED);
    ck_assert_uint_eq(enter_calls, 0);
    sign(&request, secret_a);
    ck_assert_uint_eq(answer(&request), IPC_VERDICT_ACCEPTED);
}

/* S + L verifies without the check of RFC 8032 section 5.1.7. */
TEST(s_above_the_group_order)
{
    static const uint8_t order[32] = {0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58,
                                      0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
                                      0,    0,    0,    0,    0,    0,    0,    0,
                                      0,    0,    0,    0,    0,    0,    0,    0x10};
    struct ipc_auth request = make_request(IPC_AUTH_SIGNED, "alice", public_a);
    sign(&request, secret_a);
    unsigned carry = 0;
    for (size_t i = 0; i < 32; i++) {
        carry += (unsigned)request.signature[32 + i] + order[i];
        request.signature[32 + i] = (uint8_t)carry;
        carry >>= 8;
    }
    ck_assert_uint_eq(answer(&request), IPC_VERDICT_REFUSED);
    assert_contains(said, "reason=\"bad signature\"");
}

/* With the neutral element as key, R = S*B verifies for any message. */
TEST(key_of_small_order)
{
    memset(public_b, 0, 32);
    public_b[0] = 1;
    list_keys(true, true);
    struct ipc_auth request = make_request(IPC_AUTH_SIGNED, "alice", public_b);
    request.signature[0] = 1;
    ck_assert_uint_eq(answer(&request), IPC_VERDICT_REFUSED);
    assert_contains(said, "reason=\"bad signature\"");
}

/* Nothing counts after the last attempt, not even a good login. */
static void assert_over(void)
{
    uint32_t verdict = IPC_VERDICT_REFUSED;
    struct ipc_auth request = make_request(IPC_AUTH_SIGNED, "alice", public_a);
    sign(&request, secret_a);
    const char *fatal = login_answer(&login, &request, request_blob, &verdict);
    ck_assert_ptr_nonnull(fatal);
    assert_contains(fatal, "after the last attempt");
    ck_assert_uint_eq(enter_calls, 0);
}

TEST(refused_signatures_are_counted)
{
    options.attempts = 3;
    for (unsigned i = 1; i <= options.attempts; i++) {
        ck_assert_uint_eq(answer_probe("carol", public_a), IPC_VERDICT_REFUSED);
        ck_assert_uint_eq(answer_probe("alice", public_a), IPC_VERDICT_ACCEPTED);
        ck_assert_uint_eq(answer_signed("alice", public_a, secret_b),
                          i < options.attempts ? IPC_VERDICT_REFUSED : IPC_VERDICT_LAST);
    }
    assert_over();
}

/* A key of an agent is probed once as this user and once as that. */
static uint32_t probe_in_vain(unsigned turn)
{
    return answer_probe(turn % 2 == 0 ? "alice" : "carol", turn % 2 == 0 ? public_b : public_a);
}

/* The owner of a full agent gets in with the last key, whatever -m says. */
TEST(refused_probes_are_no_attempts)
{
    options.attempts = 1;
    list_keys(true, false);
    for (unsigned i = 1; i < LIMIT_REFUSED_PROBES; i++) {
        ck_assert_uint_eq(probe_in_vain(i), IPC_VERDICT_REFUSED);
    }
    ck_assert_uint_eq(answer_probe("alice", public_a), IPC_VERDICT_ACCEPTED);
    ck_assert_uint_eq(answer_signed("alice", public_a, secret_a), IPC_VERDICT_ACCEPTED);
    ck_assert_uint_eq(enter_calls, 1);
}

TEST(refused_probes_are_counted)
{
    list_keys(true, false);
    options.attempts = 1000;
    for (unsigned i = 1; i < LIMIT_REFUSED_PROBES; i++) {
        ck_assert_uint_eq(probe_in_vain(i), IPC_VERDICT_REFUSED);
        ck_assert_uint_eq(answer_probe("alice", public_a), IPC_VERDICT_ACCEPTED);
    }
    ck_assert_uint_eq(answer_signed("alice", public_b, secret_b), IPC_VERDICT_REFUSED);
    ck_assert_uint_eq(probe_in_vain(0), IPC_VERDICT_LAST);
    assert_over();
}

/* A key of another type is counted by its stage, as others are. */
TEST_RANGE(keys_of_another_type_are_counted, IPC_AUTH_PROBE, IPC_AUTH_SIGNED + 1)
{
    struct ipc_auth request = make_request((uint32_t)_i, "alice", public_a);
    unsigned most = _i == IPC_AUTH_PROBE ? LIMIT_REFUSED_PROBES : 2;
    options.attempts = 2;
    request.key_type = IPC_KEY_UNSUPPORTED;
    request.blob_bytes = 0;
    for (unsigned i = 1; i < most; i++) {
        ck_assert_uint_eq(answer(&request), IPC_VERDICT_REFUSED);
    }
    ck_assert_uint_eq(answer(&request), IPC_VERDICT_LAST);
    assert_over();
}

TEST(keys_of_another_type)
{
    struct ipc_auth request = make_request(IPC_AUTH_SIGNED, "alice", public_a);
    sign(&request, secret_a);
    request.key_type = IPC_KEY_UNSUPPORTED;
    request.blob_bytes = 0;
    snprintf(request.algorithm, sizeof(request.algorithm), "ssh-rsa");
    ck_assert_uint_eq(answer(&request), IPC_VERDICT_REFUSED);
    ck_assert_uint_eq(reap_children(), 1);
    assert_contains(said, "reason=\"key type ssh-rsa is not supported\"");
    assert_contains(said, " key=- type=ssh-rsa ");
}

TEST(refusals_name_path_and_mode)
{
    char path[2 * SCRATCH_BYTES];
    snprintf(path, sizeof(path), "%s/keys", home);
    ck_assert_int_eq(chmod(path, 0620), 0);
    ck_assert_uint_eq(answer_probe("alice", public_a), IPC_VERDICT_REFUSED);
    assert_contains(said, "reason=\"unsafe mode\" path=");
    assert_contains(said, path);
    assert_contains(said, " mode=0620");
    assert_contains(said, " owner=");
    unlink(path);
    ck_assert_uint_eq(answer_probe("alice", public_a), IPC_VERDICT_REFUSED);
    assert_contains(said, "reason=\"No such file or directory\" path=");
}

TEST(names_can_not_forge_a_line)
{
    ck_assert_uint_eq(answer_probe("x\nwrensshd[1]: event=login verdict=accepted", public_a),
                      IPC_VERDICT_REFUSED);
    ck_assert_ptr_eq(strchr(said, '\n'), said + strlen(said) - 1);
    assert_contains(said, "user=\"x\\u000awrensshd");
}

/* ---- FIDO keys and grants ---------------------------------------------------------------------
 */

static uint8_t sk_blob[128];
static size_t sk_blob_bytes;

/* Makes a FIDO key's blob with key a, and lists it with the options in `front`. */
static void list_sk(const char *front)
{
    struct bytes blob = {0};
    char base64[256], text[512];
    add_string(&blob, "sk-ssh-ed25519@openssh.com", 26);
    add_string(&blob, public_a, 32);
    add_string(&blob, "ssh:", 4);
    memcpy(sk_blob, blob.at, blob.used);
    sk_blob_bytes = blob.used;
    sodium_bin2base64(base64, sizeof(base64), blob.at, blob.used, sodium_base64_VARIANT_ORIGINAL);
    int count = snprintf(text, sizeof(text), "%s sk-ssh-ed25519@openssh.com %s\n", front, base64);
    scratch_write(home, "keys", text, (size_t)count, 0600);
}

/* Signs as an authenticator does (PROTOCOL.u2f). */
static void sign_sk(struct ipc_auth *request)
{
    struct bytes data = {0}, message = {0};
    uint8_t hash[32];
    add_string(&data, login.session_id, login.session_id_bytes);
    add(&data, "\x32", 1);
    add_string(&data, request->user, strlen(request->user));
    add_string(&data, "ssh-connection", 14);
    add_string(&data, "publickey", 9);
    add(&data, "\x01", 1);
    add_string(&data, "sk-ssh-ed25519@openssh.com", 26);
    add_string(&data, sk_blob, sk_blob_bytes);
    crypto_hash_sha256(hash, (const uint8_t *)"ssh:", 4);
    add(&message, hash, 32);
    const uint8_t seen[5] = {(uint8_t)request->sk_flags, (uint8_t)(request->sk_counter >> 24),
                             (uint8_t)(request->sk_counter >> 16),
                             (uint8_t)(request->sk_counter >> 8), (uint8_t)request->sk_counter};
    add(&message, seen, 5);
    crypto_hash_sha256(hash, data.at, data.used);
    add(&message, hash, 32);
    crypto_sign_detached(request->signature, NULL, message.at, message.used, secret_a);
}

static uint32_t answer_sk(const struct ipc_auth *request)
{
    uint32_t verdict = 99;
    capture_begin();
    const char *fatal = login_answer(&login, request, sk_blob, &verdict);
    capture_end(said, sizeof(said));
    ck_assert_msg(fatal == NULL, "%s", fatal);
    return verdict;
}

static struct ipc_auth make_sk(uint32_t flags)
{
    struct ipc_auth request = make_request(IPC_AUTH_SIGNED, "alice", public_a);
    request.key_type = IPC_KEY_SK_ED25519;
    request.blob_bytes = (uint32_t)sk_blob_bytes;
    request.sk_flags = flags;
    request.sk_counter = 0x01020304;
    snprintf(request.algorithm, sizeof(request.algorithm), "sk-ssh-ed25519@openssh.com");
    sign_sk(&request);
    return request;
}

static const struct {
    const char *options;
    uint32_t flags;
    const char *reason; /* NULL: accepted */
} touches[] = {
    {"", 1, NULL},
    {"", 5, NULL},
    {"", 0, "FIDO key was not touched"},
    {"", 4, "FIDO key was not touched"},
    {"no-touch-required", 0, NULL},
    {"no-touch-required", 1, NULL},
    {"verify-required", 1, "FIDO key did not verify its user"},
    {"verify-required", 5, NULL},
    {"verify-required", 4, "FIDO key was not touched"},
    {"verify-required,no-touch-required", 0, "FIDO key did not verify its user"},
    {"verify-required,no-touch-required", 4, NULL},
};

TEST_EACH(touch_and_verification, COUNT_OF(touches))
{
    list_sk(touches[_i].options);
    struct ipc_auth request = make_sk(touches[_i].flags);
    bool good = touches[_i].reason == NULL;
    ck_assert_uint_eq(answer_sk(&request), good ? IPC_VERDICT_ACCEPTED : IPC_VERDICT_REFUSED);
    assert_contains(said, good ? " counter=16909060 kex=" : " counter=16909060\n");
    assert_contains(said, good ? "verdict=accepted" : touches[_i].reason);
    ck_assert_uint_eq(enter_calls, good ? 1 : 0);
}

TEST(signatures_of_an_authenticator)
{
    list_sk("");
    struct ipc_auth good = make_sk(1);
    struct ipc_auth bad = good;
    options.attempts = 1000;
    for (uint32_t flags = 0; flags < 256; flags += 15) {
        bad.sk_flags = flags; /* all values but the signed one */
        ck_assert_uint_eq(answer_sk(&bad), IPC_VERDICT_REFUSED);
    }
    bad = good;
    bad.sk_counter++;
    ck_assert_uint_eq(answer_sk(&bad), IPC_VERDICT_REFUSED);
    bad = good;
    bad.signature[7] ^= 1;
    ck_assert_uint_eq(answer_sk(&bad), IPC_VERDICT_REFUSED);
    assert_contains(said, "reason=\"bad signature\"");
    /* A signature of the data itself, as by a plain key. */
    bad = good;
    sign(&bad, secret_a);
    ck_assert_uint_eq(answer_sk(&bad), IPC_VERDICT_REFUSED);
    /* Another application's key. */
    sk_blob[sk_blob_bytes - 1] ^= 1;
    ck_assert_uint_eq(answer_sk(&good), IPC_VERDICT_REFUSED);
    sk_blob[sk_blob_bytes - 1] ^= 1;
    ck_assert_uint_eq(answer_sk(&good), IPC_VERDICT_ACCEPTED);
}

static void list_with_options(const char *of_a, const char *of_b)
{
    char text[1024];
    size_t used = 0;
    for (int i = 0; i < 2; i++) {
        uint8_t blob[HOSTKEY_BLOB_BYTES];
        char base64[128];
        hostkey_blob(blob, i == 0 ? public_a : public_b);
        sodium_bin2base64(base64, sizeof(base64), blob, sizeof(blob),
                          sodium_base64_VARIANT_ORIGINAL);
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s ssh-ed25519 %s\n",
                                 i == 0 ? of_a : of_b, base64);
    }
    scratch_write(home, "keys", text, used, 0600);
}

/* The grant is that of the key that signed, whatever was probed before. */
TEST_EACH(the_grant_is_the_signers, 2)
{
    list_with_options("command=\"of a\"", "restrict,command=\"of b\"");
    ck_assert_uint_eq(answer_probe("alice", public_a), IPC_VERDICT_ACCEPTED);
    ck_assert_uint_eq(enter_calls, 0);
    if (_i == 1) {
        ck_assert_uint_eq(answer_probe("alice", public_b), IPC_VERDICT_ACCEPTED);
        ck_assert_uint_eq(answer_probe("alice", public_a), IPC_VERDICT_ACCEPTED);
    }
    ck_assert_uint_eq(answer_signed("alice", public_b, secret_b), IPC_VERDICT_ACCEPTED);
    ck_assert_str_eq(entered_grant.command, "of b");
    ck_assert_uint_eq(entered_grant.flags, GRANT_FORCED);
    ck_assert(login.forced);
}

TEST(refusals_name_line_and_option)
{
    list_with_options("no-pyt", "from=\"10.0.0.0/8\"");
    ck_assert_uint_eq(answer_probe("alice", public_a), IPC_VERDICT_REFUSED);
    assert_contains(said, "reason=\"option is unknown\" path=");
    assert_contains(said, "/keys line=1 option=no-pyt\n");
    ck_assert_uint_eq(answer_probe("alice", public_b), IPC_VERDICT_REFUSED);
    assert_contains(said, "/keys line=2 option=from\n");
    /* From an allowed address. */
    snprintf(peer.address, sizeof(peer.address), "10.1.2.3");
    ck_assert_uint_eq(answer_probe("alice", public_b), IPC_VERDICT_ACCEPTED);
    snprintf(peer.address, sizeof(peer.address), "unix");
    scratch.probe.until_ms = 0;
    ck_assert_uint_eq(answer_probe("alice", public_b), IPC_VERDICT_REFUSED);
    ck_assert_uint_eq(enter_calls, 0);
}

/* The child decides who may log in, by the rules in its request. */
TEST_EACH(the_child_gets_the_rules, 2)
{
    options.no_root = _i == 1;
    options.groups[0] = _i == 1 ? "wheel" : NULL;
    options.groups[1] = _i == 1 ? "staff" : NULL;
    options.forced_command = _i == 1 ? "true" : NULL;
    options.reserve_group = _i == 1 ? "admins" : NULL;
    ck_assert_uint_eq(answer_signed("alice", public_a, secret_a), IPC_VERDICT_ACCEPTED);
    ck_assert_uint_eq(people->lookups, 1);
    ck_assert_uint_eq(people->own_uid, unprivileged.uid);
    ck_assert_int_eq(people->options.no_root, _i == 1);
    ck_assert_mem_eq(people->options.groups, options.groups, sizeof(options.groups));
    ck_assert_ptr_eq(people->options.forced_command, options.forced_command);
    ck_assert_ptr_eq(people->options.reserve_group, options.reserve_group);
}

static void rename_to_bob(struct account *account, struct account_groups *groups)
{
    (void)groups;
    memcpy(account->user, "bob", 4);
}

TEST(account_of_another_name)
{
    people->change_account = rename_to_bob;
    ck_assert_uint_eq(answer_signed("alice", public_a, secret_a), IPC_VERDICT_REFUSED);
    assert_contains(said, "reason=\"no answer about authorized_keys\"");
    ck_assert_uint_eq(enter_calls, 0);
}

/* ---- connections of the user ----------------------------------------------------------------- */

/* A table in which another process holds a record of alice's. */
static pid_t fill_table(void)
{
    static struct table_file file;
    int ready[2];
    char byte;
    table_front_make(&file.front, 0);
    file.logins[5] = (uint32_t)geteuid() + 1;
    admission.fd = memfd_create("slots", MFD_CLOEXEC);
    admission.limit = file.front.limit;
    ck_assert_int_eq(write(admission.fd, &file, sizeof(file)), sizeof(file));
    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    pid_t holder = fork();
    if (holder == 0) {
        struct flock lock = {.l_type = F_WRLCK,
                             .l_whence = SEEK_SET,
                             .l_start = offsetof(struct table_file, logins[5]),
                             .l_len = sizeof(file.logins[5])};
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (fcntl(admission.fd, F_SETLK, &lock) == 0 && write(ready[1], "r", 1) == 1) {
            pause();
        }
        _exit(1);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    return holder;
}

static void be_of_the_group(struct account *account, struct account_groups *groups)
{
    (void)account;
    groups->has_reserve = 1;
}

/* Above the limit only an administrator gets in, and not with a key that forces a command. */
TEST_EACH(too_many_connections, 4)
{
    static const struct {
        bool is_server, in_group, forced, accepted;
    } logins[] = {{false, false, false, false},
                  {true, false, false, true},
                  {false, true, false, true},
                  {true, true, true, false}};
    const pid_t holder = fill_table();
    char line[256], keys[SCRATCH_BYTES + 8];
    options.user_connections = 1;
    admission.uid = logins[_i].is_server ? geteuid() : geteuid() + 1;
    people->change_account = logins[_i].in_group ? be_of_the_group : NULL;
    if (logins[_i].forced) {
        snprintf(keys, sizeof(keys), "%s/keys", home);
        int fd = open(keys, O_RDONLY | O_CLOEXEC);
        ssize_t count = read(fd, line, sizeof(line) - 1);
        ck_assert_int_gt(count, 0);
        close(fd);
        line[count] = '\0';
        char forced[320];
        int bytes = snprintf(forced, sizeof(forced), "command=\"true\" %s", line);
        scratch_write(home, "keys", forced, (size_t)bytes, 0600);
    }
    answer_probe_for_long("alice", public_a);
    ck_assert_uint_eq(answer_signed("alice", public_a, secret_a),
                      logins[_i].accepted ? IPC_VERDICT_ACCEPTED : IPC_VERDICT_FULL);
    ck_assert_uint_eq(enter_calls, logins[_i].accepted);
    ck_assert_uint_eq(login.refused_signatures, 0);
    ck_assert_int_eq(login.user[0] != '\0', logins[_i].accepted);
    if (!logins[_i].accepted) {
        assert_contains(said, "verdict=refused reason=\"too many connections of this user\"");
        options.user_connections = 2;
        ck_assert_uint_eq(answer_signed("alice", public_a, secret_a), IPC_VERDICT_ACCEPTED);
        ck_assert_uint_eq(people->lookups, 2); /* the probe does not count any more */
    }
    kill(holder, SIGKILL);
    close(admission.fd);
    admission.fd = -1;
}

/* ---- results of probes ----------------------------------------------------------------------- */

static void find_another_home(struct account *account, struct account_groups *groups)
{
    (void)groups;
    memcpy(account->home, "/elsewhere", 11);
}

TEST(the_login_uses_the_probed_account)
{
    answer_probe_for_long("alice", public_a);
    people->change_account = find_another_home;
    ck_assert_uint_eq(answer_signed("alice", public_a, secret_a), IPC_VERDICT_ACCEPTED);
    ck_assert_uint_eq(people->lookups, 1);
    ck_assert_str_eq(entered.account.home, home);
}

/* Any refusal discards a probe's result, and so does another key type with the same blob. */
TEST_EACH(a_probe_that_does_not_count, 2)
{
    ck_assert_uint_eq(answer_probe("alice", public_a), IPC_VERDICT_ACCEPTED);
    if (_i == 0) {
        ck_assert_uint_eq(answer_probe("carol", public_a), IPC_VERDICT_REFUSED);
    } else {
        struct ipc_auth request = make_request(IPC_AUTH_PROBE, "alice", public_a);
        request.key_type = IPC_KEY_SK_ED25519;
        ck_assert_uint_eq(answer(&request), IPC_VERDICT_REFUSED);
    }
    list_keys(false, false);
    ck_assert_uint_eq(answer_signed("alice", public_a, secret_a), IPC_VERDICT_REFUSED);
    ck_assert_uint_eq(enter_calls, 0);
}

#define START_MS INT64_C(1000000000)

static const int64_t ages_ms[] = {0, LIMIT_PROBED_MS - 1, LIMIT_PROBED_MS, 40000};

/* A probe's result counts for a second. Then the files are read again, as the key may have been
 * removed or revoked. */
TEST_EACH(a_probe_grows_old, COUNT_OF(ages_ms))
{
    bool old = ages_ms[_i] >= LIMIT_PROBED_MS;
    clock_ns = START_MS * 1000000;
    if (clock_now_ms() != START_MS) {
        return; /* libc's clock has a name that this file does not replace */
    }
    login.deadline_ms = START_MS + 60000;
    ck_assert_uint_eq(answer_probe("alice", public_a), IPC_VERDICT_ACCEPTED);
    ck_assert_uint_eq(reap_children(), 1);
    list_keys(false, true);
    clock_ns = (START_MS + ages_ms[_i]) * 1000000;
    ck_assert_uint_eq(answer_signed("alice", public_a, secret_a),
                      old ? IPC_VERDICT_REFUSED : IPC_VERDICT_ACCEPTED);
    ck_assert_uint_eq(reap_children(), old ? 1 : 0);
    ck_assert_uint_eq(enter_calls, old ? 0 : 1);
    clock_ns = 0;
}

TEST(each_probe_asks_anew)
{
    answer_probe_for_long("alice", public_a);
    ck_assert_uint_eq(answer_probe("alice", public_a), IPC_VERDICT_ACCEPTED);
    ck_assert_uint_eq(reap_children(), 2);
    list_keys(false, true);
    scratch.probe.until_ms = INT64_MAX;
    ck_assert_uint_eq(answer_probe("alice", public_a), IPC_VERDICT_REFUSED);
}

/* ---- time ------------------------------------------------------------------------------------ */

static int64_t jitter_ms(const char *user)
{
    uint8_t hash[32], data[128];
    memcpy(data, hostkey->first.secret_key, 64);
    memcpy(data + 64, user, strlen(user));
    crypto_hash_sha256(hash, data, 64 + strlen(user));
    return hash[0] % 16;
}

/* A host key with which this user's jitter is long, and another user's is not. */
static void find_hostkey(const char *user, const char *other)
{
    do {
        crypto_sign_keypair(hostkey->first.public_key, hostkey->first.secret_key);
    } while (jitter_ms(user) != 15 || jitter_ms(other) == 15);
}

TEST_EACH(refusals_take_their_time, 2)
{
    options.attempts = 1000;
    list_keys(true, false);
    find_hostkey(_i == 0 ? "carol" : "alice", _i == 0 ? "alice" : "carol");
    for (int i = 0; i < 8; i++) {
        int64_t before = clock_now_ms();
        answer_probe(_i == 0 ? "carol" : "alice", public_b);
        ck_assert_int_ge(clock_now_ms() - before, LIMIT_REFUSAL_MS + 15);
        ck_assert_uint_eq(reap_children(), 1);
    }
}

static void take_long(struct account *account, struct account_groups *groups)
{
    (void)account;
    (void)groups;
    usleep((LIMIT_REFUSAL_MS + LIMIT_REFUSAL_JITTER_MS + 5) * 1000);
}

/* Work that takes longer than the fixed time does not reveal how long it took. */
TEST(refusals_that_take_longer_take_double)
{
    find_hostkey("alice", "carol");
    list_keys(true, false);
    people->change_account = take_long;
    int64_t before = clock_now_ms();
    ck_assert_uint_eq(answer_probe("alice", public_b), IPC_VERDICT_REFUSED);
    ck_assert_int_ge(clock_now_ms() - before, 2 * (LIMIT_REFUSAL_MS + 15));
}

/* Asks at `start_ns` of the simulated clock. Returns the time of the answer, or -1 if libc's clock
 * has a name that this file does not replace. */
static int64_t time_of_refusal(const char *user, int64_t start_ns)
{
    clock_ns = start_ns;
    woken_ns = -1;
    ck_assert_uint_eq(answer_probe(user, public_b), IPC_VERDICT_REFUSED);
    bool simulated = clock_ns != start_ns;
    clock_ns = 0;
    return simulated ? woken_ns : -1;
}

/* The time that the work takes does not show in parts of a millisecond either. */
TEST_EACH(refusals_come_on_the_millisecond, 8)
{
    login.deadline_ms = START_MS + 30000;
    int64_t answer_ns = time_of_refusal("carol", START_MS * 1000000 + _i * 70000);
    if (answer_ns >= 0) {
        ck_assert_int_eq(answer_ns, (START_MS + LIMIT_REFUSAL_MS + jitter_ms("carol")) * 1000000);
    }
}

/* The account of "carol" does not exist. That of "root" exists, and the rules refuse it. */
static const char *const refused_users[] = {"alice", "bob", "carol", "root"};
#define REFUSED_USERS (int)(sizeof(refused_users) / sizeof(refused_users[0]))

TEST_EACH(refusals_of_all_kinds_take_the_same_time, REFUSED_USERS)
{
    const char *user = refused_users[_i];
    list_keys(true, false);
    options.no_root = true;
    login.deadline_ms = START_MS + 30000;
    int64_t answer_ns = time_of_refusal(user, START_MS * 1000000);
    if (answer_ns >= 0) {
        ck_assert_int_eq(answer_ns, (START_MS + LIMIT_REFUSAL_MS + jitter_ms(user)) * 1000000);
    }
}

TEST_EACH(refusals_do_not_go_beyond_the_deadline, REFUSED_USERS)
{
    list_keys(true, false);
    options.no_root = true;
    login.deadline_ms = START_MS + LIMIT_REFUSAL_MS / 2;
    int64_t answer_ns = time_of_refusal(refused_users[_i], START_MS * 1000000);
    if (answer_ns >= 0) {
        ck_assert_int_eq(answer_ns, login.deadline_ms * 1000000);
    }
}

TEST(acceptances_do_not_wait)
{
    ck_assert_uint_eq(answer_probe("carol", public_a), IPC_VERDICT_REFUSED);
    if (sleeps == 0) {
        return; /* libc's wait has a name that this file does not replace */
    }
    sleeps = 0;
    ck_assert_uint_eq(answer_probe("alice", public_a), IPC_VERDICT_ACCEPTED);
    ck_assert_uint_eq(answer_signed("alice", public_a, secret_a), IPC_VERDICT_ACCEPTED);
    ck_assert_uint_eq(sleeps, 0);
}

/* ---- requests that end the connection -------------------------------------------------------- */

static void assert_fatal(const struct ipc_auth *request, const char *wanted)
{
    uint32_t verdict = IPC_VERDICT_REFUSED;
    const char *fatal = login_answer(&login, request, request_blob, &verdict);
    ck_assert_ptr_nonnull(fatal);
    assert_contains(fatal, wanted);
    ck_assert_uint_ne(verdict, IPC_VERDICT_ACCEPTED);
}

TEST(values_out_of_range)
{
    const struct ipc_auth good = make_request(IPC_AUTH_PROBE, "alice", public_a);
    struct ipc_auth bad = good;
    for (uint32_t value = 0; value < 300; value++) {
        login.requests = 0; /* the count is tested below */
        bad = good;
        bad.stage = value;
        if (value != IPC_AUTH_PROBE && value != IPC_AUTH_SIGNED) {
            assert_fatal(&bad, "stage");
        }
        bad = good;
        bad.key_type = value;
        if (value < IPC_KEY_ED25519 || value > IPC_KEY_UNSUPPORTED) {
            assert_fatal(&bad, "key type");
        }
        bad = good;
        bad.sk_flags = value;
        if (value != 0) {
            assert_fatal(&bad, "authenticator");
        }
        bad.key_type = IPC_KEY_SK_ED25519;
        if (value > 255) {
            assert_fatal(&bad, "authenticator");
        }
        bad = good;
        bad.hostbound = value;
        if (value > 1) {
            assert_fatal(&bad, "method");
        }
    }
    login.requests = 0;
    bad = good;
    memset(bad.user, 'a', sizeof(bad.user));
    assert_fatal(&bad, "without end");
    bad = good;
    memset(bad.algorithm, 'a', sizeof(bad.algorithm));
    assert_fatal(&bad, "without end");
    bad = good;
    bad.blob_bytes = 0;
    assert_fatal(&bad, "key blob");
    bad.blob_bytes = LIMIT_KEY_BLOB_BYTES + 1;
    assert_fatal(&bad, "key blob");
    bad.blob_bytes = 1;
    bad.key_type = IPC_KEY_UNSUPPORTED;
    assert_fatal(&bad, "key blob");
    login.session_id_bytes = 0;
    assert_fatal(&good, "before the first key exchange");
}

TEST(login_that_can_not_be_entered)
{
    struct ipc_auth request = make_request(IPC_AUTH_SIGNED, "alice", public_a);
    sign(&request, secret_a);
    ck_assert_uint_eq(answer_probe("alice", public_a), IPC_VERDICT_ACCEPTED);
    enter_fails = "could not become the user";
    assert_fatal(&request, "become the user");
    ck_assert_uint_eq(enter_calls, 1);
    ck_assert_str_eq(login.user, "");
}

/* Counts accepted probes as well, as each costs a child, and requests that end the connection. */
TEST(requests_are_counted)
{
    options.attempts = 1000;
    for (unsigned i = 0; i < LIMIT_AUTH_REQUESTS; i++) {
        uint32_t wanted = i % 8 == 7 ? IPC_VERDICT_REFUSED : IPC_VERDICT_ACCEPTED;
        ck_assert_uint_eq(
            answer_probe(i % 8 == 7 ? "carol" : "alice", i % 2 == 0 ? public_a : public_b), wanted);
    }
    ck_assert_uint_eq(reap_children(), LIMIT_AUTH_REQUESTS);
    struct ipc_auth request = make_request(IPC_AUTH_SIGNED, "alice", public_a);
    sign(&request, secret_a);
    assert_fatal(&request, "too many login requests");
    ck_assert_uint_eq(reap_children(), 0);
    ck_assert_uint_eq(enter_calls, 0);
}
