#include "net.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rig.h"
#include "unit.h"

#define SERVICE   "ssh-connection"
#define PUBLICKEY "publickey"
#define HOSTBOUND "publickey-hostbound-v00@openssh.com"
#define ED25519   "ssh-ed25519"

static struct rig rig;
static uint8_t blob[WIRE_ROOM], signature[WIRE_ROOM], host_blob[WIRE_ROOM];
static size_t blob_bytes, signature_bytes, host_blob_bytes;
static uint8_t key[40], raw_signature[80], host_key[32];

static void set_blobs(const char *key_type, size_t key_bytes, const char *signature_type,
                      size_t raw_bytes)
{
    blob_bytes = wire_pack(blob, "sd", key_type, key, key_bytes);
    signature_bytes = wire_pack(signature, "sd", signature_type, raw_signature, raw_bytes);
    host_blob_bytes = wire_pack(host_blob, "sd", ED25519, host_key, sizeof(host_key));
}

static void start(void)
{
    rig_open(&rig, SSH_PHASE_AUTH);
    memset(key, 0x11, sizeof(key));
    memset(raw_signature, 0x22, sizeof(raw_signature));
    memset(host_key, 0x33, sizeof(host_key));
    memcpy(rig.connection->host_keys.public_keys[0], host_key, sizeof(host_key));
    set_blobs(ED25519, 32, ED25519, 64);
}

UNIT_FIXTURE(start, NULL);
UNIT_TIMEOUT(60);

static void expect_failure(void)
{
    rig_expect(&rig, SSH_MSG_USERAUTH_FAILURE, "sb", "publickey", 0);
    rig_expect_silence(&rig);
    rig_expect_alive(&rig, SSH_PHASE_AUTH);
}

static void reply(uint32_t verdict)
{
    struct ipc_auth_reply answer = {.type = IPC_AUTH, .verdict = verdict};
    rig_reply(&rig, &answer, sizeof(answer));
}

static struct ipc_auth asked(void)
{
    static uint8_t request[sizeof(struct ipc_auth) + WIRE_ROOM];
    struct ipc_auth ask;
    size_t count = rig_request(&rig, IPC_AUTH, request, sizeof(request));
    memcpy(&ask, request, sizeof(ask));
    ck_assert_uint_eq(count, sizeof(ask) + ask.blob_bytes);
    if (ask.blob_bytes > 0) {
        ck_assert_uint_eq(ask.blob_bytes, blob_bytes);
        ck_assert_mem_eq(request + sizeof(ask), blob, blob_bytes);
    }
    return ask;
}

static void probe(const char *user, const char *algorithm)
{
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "sssbsd", user, SERVICE, PUBLICKEY, 0, algorithm, blob,
            blob_bytes);
}

static void log_in(const char *user, const char *algorithm, bool hostbound)
{
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, hostbound ? "sssbsddd" : "sssbsdd", user, SERVICE,
            hostbound ? HOSTBOUND : PUBLICKEY, 1, algorithm, blob, blob_bytes,
            hostbound ? host_blob : signature, hostbound ? host_blob_bytes : signature_bytes,
            signature, signature_bytes);
}

/* ---- answers --------------------------------------------------------------------------------- */

TEST(other_methods_fail_alike)
{
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "sss", "bob", SERVICE, "none");
    expect_failure();
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "sssbs", "bob", SERVICE, "password", 0, "secret");
    expect_failure();
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "sssss", "", SERVICE, "keyboard-interactive", "", "");
    expect_failure();
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "sss", "bob", SERVICE, "publickey2");
    expect_failure();
    rig_expect_no_request(&rig);
}

/* ---- the banner ------------------------------------------------------------------------------ */

static struct banner banner = {.bytes = 8, .text = "hello\r\n!"};

/* RFC 4252 section 5.4: before the login succeeds. */
TEST(the_banner_comes_once_and_first)
{
    rig.options.banner = &banner;
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "sss", "bob", SERVICE, "none");
    rig_expect(&rig, SSH_MSG_USERAUTH_BANNER, "ss", "hello\r\n!", "");
    expect_failure();
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "sss", "bob", SERVICE, "none");
    expect_failure();
}

TEST(the_banner_before_a_first_request_that_succeeds)
{
    rig.options.banner = &banner;
    reply(IPC_VERDICT_ACCEPTED);
    log_in("bob", ED25519, false);
    rig_expect(&rig, SSH_MSG_USERAUTH_BANNER, "ss", "hello\r\n!", "");
    rig_expect(&rig, SSH_MSG_USERAUTH_SUCCESS, "");
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
}

TEST(no_banner_after_the_login)
{
    rig.options.banner = &banner;
    rig.connection->phase = SSH_PHASE_OPEN;
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "sss", "bob", SERVICE, "none");
    rig_expect_silence(&rig);
}

TEST(an_empty_banner_is_not_sent)
{
    static struct banner empty;
    rig.options.banner = &empty;
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "sss", "bob", SERVICE, "none");
    expect_failure();
}

/* ---- with -N --------------------------------------------------------------------------------- */

TEST_EACH(anybody_without_a_key, 2)
{
    rig.options.anybody = true;
    reply(_i == 0 ? IPC_VERDICT_ACCEPTED : IPC_VERDICT_REFUSED);
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "sss", "bob", SERVICE, "none");
    if (_i == 0) {
        rig_expect(&rig, SSH_MSG_USERAUTH_SUCCESS, "");
        rig_expect_alive(&rig, SSH_PHASE_OPEN);
    } else {
        rig_expect(&rig, SSH_MSG_USERAUTH_FAILURE, "sb", "", 0);
        rig_expect_alive(&rig, SSH_PHASE_AUTH);
    }
    struct ipc_auth request = asked();
    ck_assert_uint_eq(request.stage, IPC_AUTH_SIGNED);
    ck_assert_uint_eq(request.key_type, IPC_KEY_UNSUPPORTED);
    ck_assert_uint_eq(request.blob_bytes, 0);
    ck_assert_str_eq(request.user, "bob");
    ck_assert_str_eq(request.algorithm, "none");
}

TEST_EACH(anybody_by_no_other_method, 2)
{
    rig.options.anybody = true;
    log_in("bob", ED25519, _i == 1);
    rig_expect(&rig, SSH_MSG_USERAUTH_FAILURE, "sb", "", 0);
    probe("bob", ED25519);
    rig_expect(&rig, SSH_MSG_USERAUTH_FAILURE, "sb", "", 0);
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "sssbs", "bob", SERVICE, "password", 0, "secret");
    rig_expect(&rig, SSH_MSG_USERAUTH_FAILURE, "sb", "", 0);
    rig_expect_no_request(&rig);
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "sssb", "bob", SERVICE, "none", 0);
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "malformed login request");
    rig_expect_no_request(&rig);
}

/* ---- keys ------------------------------------------------------------------------------------ */

TEST(a_probe_of_a_good_key)
{
    static const uint8_t zero[64];
    reply(IPC_VERDICT_ACCEPTED);
    probe("bob", ED25519);
    rig_expect(&rig, SSH_MSG_USERAUTH_PK_OK, "sd", ED25519, blob, blob_bytes);
    rig_expect_silence(&rig);
    rig_expect_alive(&rig, SSH_PHASE_AUTH);
    struct ipc_auth request = asked();
    ck_assert_uint_eq(request.stage, IPC_AUTH_PROBE);
    ck_assert_uint_eq(request.key_type, IPC_KEY_ED25519);
    ck_assert_uint_eq(request.hostbound, 0);
    ck_assert_str_eq(request.user, "bob");
    ck_assert_str_eq(request.algorithm, ED25519);
    ck_assert_uint_eq(request.blob_bytes, blob_bytes);
    ck_assert_mem_eq(request.signature, zero, sizeof(zero));
}

TEST(a_probe_of_a_bad_key)
{
    reply(IPC_VERDICT_REFUSED);
    probe("bob", ED25519);
    expect_failure();
}

TEST_EACH(a_login, 2)
{
    rig.connection->now_ms = 4711;
    reply(IPC_VERDICT_ACCEPTED);
    log_in("bob", ED25519, _i == 1);
    rig_expect(&rig, SSH_MSG_USERAUTH_SUCCESS, "");
    rig_expect_silence(&rig);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    ck_assert_uint_eq(rig.connection->times.used_ms, 4711);
    struct ipc_auth request = asked();
    ck_assert_uint_eq(request.stage, IPC_AUTH_SIGNED);
    ck_assert_uint_eq(request.key_type, IPC_KEY_ED25519);
    ck_assert_uint_eq(request.hostbound, (uint32_t)_i);
    ck_assert_uint_eq(request.blob_bytes, blob_bytes);
    ck_assert_mem_eq(request.signature, raw_signature, 64);
}

TEST_EACH(a_refused_login, 2)
{
    reply(IPC_VERDICT_REFUSED);
    log_in("bob", ED25519, _i == 1);
    expect_failure();
}

TEST_EACH(the_last_attempt, 2)
{
    reply(IPC_VERDICT_LAST);
    if (_i == 0) {
        probe("bob", ED25519);
    } else {
        log_in("bob", ED25519, false);
    }
    rig_expect_refusal(&rig, SSH_DISCONNECT_NO_MORE_AUTH_METHODS, "too many authentication");
}

TEST(a_verdict_that_is_none_is_no_login)
{
    reply(77);
    log_in("bob", ED25519, false);
    ck_assert_int_ne(rig.connection->phase, SSH_PHASE_OPEN);
}

TEST(the_monitor_is_gone)
{
    close(rig.monitor);
    rig.monitor = -1;
    log_in("bob", ED25519, false);
    rig_expect_failed(&rig, "the monitor is gone");
    ck_assert_int_eq(rig.connection->phase, SSH_PHASE_ENDED);
}

TEST(ignored_after_login)
{
    rig.connection->phase = SSH_PHASE_OPEN;
    log_in("root", ED25519, false);
    probe("root", ED25519);
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "r", "\xff", (size_t)1);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    rig_expect_silence(&rig);
    rig_expect_no_request(&rig);
}

/* ---- requests that can't succeed are sent to the monitor, too -------------------------------- */

static const struct unsupported {
    const char *algorithm, *key_type, *signature_type;
    size_t key_bytes, signature_bytes;
} unsupported[] = {
    {ED25519, "ssh-rsa", ED25519, 32, 64},
    {"rsa-sha2-256", ED25519, ED25519, 32, 64},
    {"", ED25519, ED25519, 32, 64},
    {"ssh-ed25519-cert-v01@openssh.com", ED25519, ED25519, 32, 64},
    {ED25519, ED25519, ED25519, 32, 63},
    {ED25519, ED25519, ED25519, 32, 65},
    {ED25519, ED25519, ED25519, 32, 0},
    {ED25519, ED25519, "ssh-rsa", 32, 64},
};

TEST_EACH(unsupported_keys, COUNT_OF(unsupported))
{
    static const uint8_t zero[64];
    const struct unsupported *row = &unsupported[_i];
    set_blobs(row->key_type, row->key_bytes, row->signature_type, row->signature_bytes);
    reply(IPC_VERDICT_REFUSED);
    log_in("bob", row->algorithm, false);
    expect_failure();
    struct ipc_auth request = asked();
    ck_assert_uint_eq(request.stage, IPC_AUTH_SIGNED);
    ck_assert_uint_eq(request.key_type, IPC_KEY_UNSUPPORTED);
    ck_assert_str_eq(request.algorithm, row->algorithm);
    ck_assert_uint_eq(request.blob_bytes, 0);
    ck_assert_mem_eq(request.signature, zero, 64);
}

/* The network process checks the type's name alone; the child judges the rest of the blob. */
TEST(blobs_cut_off_in_the_name)
{
    for (size_t cut = 0; cut < 4 + 11; cut++) {
        blob_bytes = cut;
        reply(IPC_VERDICT_REFUSED);
        probe("bob", ED25519);
        expect_failure();
        ck_assert_uint_eq(asked().key_type, IPC_KEY_UNSUPPORTED);
    }
}

static const struct supported {
    const char *algorithm, *signature_type;
    uint32_t key_type;
    bool sk;
} supported[] = {
    {ED25519, ED25519, IPC_KEY_ED25519, false},
    {"sk-ssh-ed25519@openssh.com", "sk-ssh-ed25519@openssh.com", IPC_KEY_SK_ED25519, true},
    {"ssh-ed25519-cert-v01@openssh.com", ED25519, IPC_KEY_ED25519_CERT, false},
    {"sk-ssh-ed25519-cert-v01@openssh.com", "sk-ssh-ed25519@openssh.com", IPC_KEY_SK_ED25519_CERT,
     true},
};

#define SUPPORTED (int)(sizeof(supported) / sizeof(supported[0]))

/* Logs in with the row's blobs; `bytes` of flags, counter and more follow the signature. */
static struct ipc_auth ask_with(const struct supported *row, size_t bytes, size_t key_bytes)
{
    static uint8_t behind[16] = {0x05, 0x01, 0x02, 0x03, 0x04};
    static uint8_t long_key[LIMIT_KEY_BLOB_BYTES];
    blob_bytes = wire_pack(blob, "sr", row->algorithm, long_key, key_bytes);
    signature_bytes =
        wire_pack(signature, "sdr", row->signature_type, raw_signature, (size_t)64, behind, bytes);
    reply(IPC_VERDICT_REFUSED);
    log_in("bob", row->algorithm, false);
    expect_failure();
    return asked();
}

TEST_EACH(keys_of_each_type, SUPPORTED)
{
    const struct supported *row = &supported[_i];
    size_t tail = row->sk ? 5 : 0;
    struct ipc_auth request = ask_with(row, tail, 40);
    ck_assert_uint_eq(request.key_type, row->key_type);
    ck_assert_mem_eq(request.signature, raw_signature, 64);
    ck_assert_uint_eq(request.sk_flags, row->sk ? 5 : 0);
    ck_assert_uint_eq(request.sk_counter, row->sk ? 0x01020304 : 0);
    for (size_t bytes = 0; bytes < 16; bytes++) {
        request = ask_with(row, bytes, 40);
        ck_assert_uint_eq(request.key_type, bytes == tail ? row->key_type : IPC_KEY_UNSUPPORTED);
    }
    /* The other kind's signature. */
    struct supported crossed = *row;
    crossed.signature_type = row->sk ? ED25519 : "sk-ssh-ed25519@openssh.com";
    ck_assert_uint_eq(ask_with(&crossed, tail, 40).key_type, IPC_KEY_UNSUPPORTED);
    /* The longest blob and one byte more. */
    size_t most = LIMIT_KEY_BLOB_BYTES - 4 - strlen(row->algorithm);
    ck_assert_uint_eq(ask_with(row, tail, most).key_type, row->key_type);
    ck_assert_uint_eq(ask_with(row, tail, most + 1).key_type, IPC_KEY_UNSUPPORTED);
}

TEST_EACH(a_forced_command_is_told, 2)
{
    struct ipc_auth_reply answer = {
        .type = IPC_AUTH, .verdict = IPC_VERDICT_ACCEPTED, .forced = (uint32_t)_i};
    rig_reply(&rig, &answer, sizeof(answer));
    log_in("bob", ED25519, false);
    rig_expect(&rig, SSH_MSG_USERAUTH_SUCCESS, "");
    ck_assert_int_eq(rig.connection->client.forced, _i == 1);
}

static void expect_user(const void *user, size_t count, const char *told)
{
    reply(IPC_VERDICT_REFUSED);
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "dssbsd", user, count, SERVICE, PUBLICKEY, 0, ED25519,
            blob, blob_bytes);
    expect_failure();
    struct ipc_auth request = asked();
    char padded[LIMIT_USER_BYTES] = {0};
    memcpy(padded, told, strlen(told));
    ck_assert_mem_eq(request.user, padded, sizeof(padded));
}

TEST(user_names)
{
    char longest[LIMIT_USER_BYTES + 2] = {0};
    memset(longest, 'u', LIMIT_USER_BYTES - 1);
    expect_user("bob", 3, "bob");
    expect_user("", 0, "");
    expect_user("ro\0ot", 5, "");
    expect_user("root\0", 5, "");
    expect_user(longest, LIMIT_USER_BYTES - 1, longest);
    memset(longest, 'u', LIMIT_USER_BYTES + 1);
    expect_user(longest, LIMIT_USER_BYTES, "");
    expect_user(longest, LIMIT_USER_BYTES + 1, "");
}

TEST(a_long_algorithm_is_cut_off)
{
    char algorithm[300] = {0};
    memset(algorithm, 'a', sizeof(algorithm) - 1);
    reply(IPC_VERDICT_REFUSED);
    probe("bob", algorithm);
    expect_failure();
    struct ipc_auth request = asked();
    ck_assert_uint_eq(strlen(request.algorithm), IPC_ALGORITHM_BYTES - 1);
    ck_assert_uint_eq(request.key_type, IPC_KEY_UNSUPPORTED);
}

/* ---- given up -------------------------------------------------------------------------------- */

static void offer(const char *algorithm)
{
    reply(IPC_VERDICT_REFUSED);
    probe("bob", algorithm);
    expect_failure();
    asked();
}

/* The reason is exactly this one. */
static void leave(const char *reason)
{
    connection_leave(rig.connection, "gone");
    rig_expect_left(&rig, reason);
    ck_assert_str_eq(rig.connection->end.reason, reason);
}

/* The end of a client that has wanted to log in names the types of its keys, but for ours. */
TEST_EACH(given_up, 4)
{
    static const struct {
        const char *offers[3];
        const char *reason;
    } clients[] = {
        {{NULL}, "no usable key offered (none); gone"},
        {{"ssh-rsa"}, "no usable key offered (ssh-rsa); gone"},
        {{"ssh-rsa", "ssh-dss", "ssh-rsa"}, "no usable key offered (ssh-rsa,ssh-dss); gone"},
        {{"ssh-rsa", ED25519}, "gone"},
    };
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "sss", "bob", SERVICE, "none");
    expect_failure();
    for (size_t i = 0; i < 3 && clients[_i].offers[i] != NULL; i++) {
        offer(clients[_i].offers[i]);
    }
    leave(clients[_i].reason);
}

TEST(many_types_are_cut_off)
{
    char type[IPC_ALGORITHM_BYTES] = {0}, other[IPC_ALGORITHM_BYTES] = {0}, reason[300];
    memset(type, 'a', sizeof(type) - 1);
    memset(other, 'b', sizeof(other) - 1);
    offer(type);
    offer("c");
    offer(other);
    offer("d");
    snprintf(reason, sizeof(reason), "no usable key offered (%s,c,%.*s); gone", type,
             (int)(sizeof(rig.connection->end.types_offered) - sizeof(type) - sizeof("c,")), other);
    leave(reason);
}

/* The last name, cut off where there is no more room; one with a NUL is none. */
TEST(the_user_is_noted)
{
    char name[LIMIT_USER_BYTES + 1] = {0};
    memset(name, '"', sizeof(name) - 1);
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "sss", name, SERVICE, "none");
    expect_failure();
    name[LIMIT_USER_BYTES - 1] = '\0';
    ck_assert_str_eq(rig.connection->asked, name);
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "sss", "\n", SERVICE, "password");
    expect_failure();
    ck_assert_str_eq(rig.connection->asked, "\n");
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "dss", "bob\0x", (size_t)5, SERVICE, "none");
    expect_failure();
    ck_assert_str_eq(rig.connection->asked, "");
}

TEST(left_without_a_request)
{
    leave("gone");
}

/* ---- refused --------------------------------------------------------------------------------- */

TEST(another_service)
{
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "sss", "bob", "ssh-userauth", "none");
    rig_expect_refusal(&rig, SSH_DISCONNECT_SERVICE_NOT_AVAILABLE, "unsupported service");
}

TEST_EACH(hostbound_to_another_host, 3)
{
    if (_i == 0) {
        host_key[31] ^= 1;
    }
    host_blob_bytes = wire_pack(host_blob, "sd", _i == 1 ? "ssh-rsa" : ED25519, host_key,
                                (size_t)(_i == 2 ? 31 : 32));
    log_in("bob", ED25519, true);
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "");
    rig_expect_no_request(&rig);
}

static void cut_everywhere(bool hostbound, bool is_signed)
{
    static uint8_t body[WIRE_ROOM];
    size_t count = wire_pack(body, "sssbsd", "bob", SERVICE, hostbound ? HOSTBOUND : PUBLICKEY,
                             is_signed, ED25519, blob, blob_bytes);
    if (hostbound) {
        static uint8_t more[WIRE_ROOM];
        size_t added = wire_pack(more, "d", host_blob, host_blob_bytes);
        memcpy(body + count, more, added);
        count += added;
    }
    if (is_signed) {
        static uint8_t more[WIRE_ROOM];
        size_t added = wire_pack(more, "d", signature, signature_bytes);
        memcpy(body + count, more, added);
        count += added;
    }
    body[count] = 0;
    for (size_t cut = 0; cut <= count + 1; cut++) {
        if (cut != count) {
            rig_reset(&rig, SSH_PHASE_AUTH);
            memcpy(rig.connection->host_keys.public_keys[0], host_key, sizeof(host_key));
            rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "r", body, cut);
            rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "malformed ");
        }
    }
    rig_expect_no_request(&rig);
}

TEST_EACH(truncated_or_longer_is_malformed, 4)
{
    cut_everywhere((_i & 1) != 0, (_i & 2) != 0);
}

TEST(requests_are_counted)
{
    for (int i = 0; i < LIMIT_AUTH_REQUESTS; i++) {
        rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "sss", "bob", SERVICE, "none");
        expect_failure();
    }
    rig_say(&rig, SSH_MSG_USERAUTH_REQUEST, "sss", "bob", SERVICE, "none");
    rig_expect_refusal(&rig, SSH_DISCONNECT_NO_MORE_AUTH_METHODS, "too many authentication req");
}
