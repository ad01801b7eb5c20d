#include "net.h"
#include "transport.h"

#include <string.h>

#include "client.h"
#include "unit.h"

static struct rig rig;
static struct client client;

static void start(void)
{
    client_know_random();
    rig_open(&rig, SSH_PHASE_KEXINIT);
    client_open(&rig, &client);
}

UNIT_FIXTURE(start, NULL);
UNIT_TIMEOUT(60);

/* ---- ours ------------------------------------------------------------------------------------ */

static bool text_is(struct reader text, const char *expected)
{
    return reader_is(&text, expected);
}

#define CERTIFIED "ssh-ed25519-cert-v01@openssh.com"

static void expect_ours(const char *methods)
{
    bool certified = rig.connection->host_keys.certificate_bytes > 0;
    const char *const lists[] = {certified ? CERTIFIED ",ssh-ed25519" : "ssh-ed25519",
                                 CIPHER,
                                 CIPHER,
                                 "hmac-sha2-256-etm@openssh.com",
                                 "hmac-sha2-256-etm@openssh.com",
                                 "none",
                                 "none",
                                 "",
                                 ""};
    struct reader ours = rig_hear(&rig, SSH_MSG_KEXINIT);
    ck_assert_ptr_nonnull(reader_bytes(&ours, 16));
    struct reader offered = reader_string(&ours);
    ck_assert_msg(text_is(offered, methods), "offered %.*s", (int)offered.left, offered.bytes);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        ck_assert(text_is(reader_string(&ours), lists[i]));
    }
    ck_assert(!reader_bool(&ours));
    ck_assert_uint_eq(reader_u32(&ours), 0);
    ck_assert(reader_end(&ours));
    ck_assert_uint_eq(rig.heard_bytes, rig.connection->kex.server_kexinit_bytes);
    ck_assert_mem_eq(rig.heard, rig.connection->buffers.kex.server_kexinit, rig.heard_bytes);
    rig_expect_silence(&rig);
}

#define STRICT ",kex-strict-s-v00@openssh.com"

TEST(offers_everything)
{
    kexinit_send(rig.connection);
    ck_assert(rig.connection->kex.sent);
    expect_ours(HYBRID "," HYBRID "@openssh.com," CURVE25519 "," CURVE25519 "@libssh.org" STRICT);
}

TEST(a_certificate_is_offered_first)
{
    rig.connection->host_keys.certificate_bytes = 300;
    kexinit_send(rig.connection);
    expect_ours(HYBRID "," HYBRID "@openssh.com," CURVE25519 "," CURVE25519 "@libssh.org" STRICT);
}

/* The client's order decides, and a guess must be right about our first algorithm. */
TEST(the_choice_of_a_host_key)
{
    static const struct {
        const char *host_keys;
        bool has_certificate, refused, certified, drops;
    } rows[] = {
        {"ssh-ed25519," CERTIFIED, true, false, false, true},
        {CERTIFIED ",ssh-ed25519", true, false, true, false},
        {"ssh-rsa," CERTIFIED ",ssh-ed25519", true, false, true, true},
        {"ssh-ed25519", true, false, false, true},
        {CERTIFIED, true, false, true, false},
        {CERTIFIED ",ssh-ed25519", false, false, false, true},
        {"ssh-ed25519," CERTIFIED, false, false, false, false},
        {CERTIFIED, false, true, false, false},
        {"ssh-rsa", true, true, false, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct offer offer = {
            .methods = HYBRID, .host_keys = rows[i].host_keys, .packet_follows = true};
        rig_reset(&rig, SSH_PHASE_KEXINIT);
        rig.connection->host_keys.certificate_bytes = rows[i].has_certificate ? 300 : 0;
        kexinit_send(rig.connection);
        rig_hear(&rig, SSH_MSG_KEXINIT);
        client_say_kexinit(&rig, &client, &offer);
        if (rows[i].refused) {
            rig_expect_refusal(&rig, SSH_DISCONNECT_KEY_EXCHANGE_FAILED,
                               "no common host key algorithm");
            continue;
        }
        rig_expect_alive(&rig, rows[i].drops ? SSH_PHASE_GUESS : SSH_PHASE_ECDH);
        ck_assert_int_eq(rig.connection->kex.certified, rows[i].certified);
    }
}

TEST(capital_p_takes_the_hybrid_out)
{
    rig.options.no_sntrup = true;
    kexinit_send(rig.connection);
    expect_ours(CURVE25519 "," CURVE25519 "@libssh.org" STRICT);
}

TEST(capital_s_takes_curve25519_out)
{
    rig.options.no_curve25519 = true;
    kexinit_send(rig.connection);
    expect_ours(HYBRID "," HYBRID "@openssh.com" STRICT);
}

TEST(a_later_offer_says_nothing_of_strict)
{
    rig.connection->kex.session_id_bytes = 32;
    kexinit_send(rig.connection);
    expect_ours(HYBRID "," HYBRID "@openssh.com," CURVE25519 "," CURVE25519 "@libssh.org");
}

/* The monitor knows the first cookie. The others are new. */
TEST(cookies_differ)
{
    static const uint8_t first[SSH_COOKIE_BYTES] = "monitor's cookie";
    uint8_t second[SSH_COOKIE_BYTES];
    memcpy(rig.connection->kex.cookie, first, sizeof(first));
    kexinit_send(rig.connection);
    rig_hear(&rig, SSH_MSG_KEXINIT);
    ck_assert_mem_eq(first, rig.heard + 1, sizeof(first));
    rig.connection->kex.session_id_bytes = 32;
    kexinit_send(rig.connection);
    rig_hear(&rig, SSH_MSG_KEXINIT);
    memcpy(second, rig.heard + 1, sizeof(second));
    ck_assert_mem_ne(first, second, sizeof(first));
    kexinit_send(rig.connection);
    rig_hear(&rig, SSH_MSG_KEXINIT);
    ck_assert_mem_ne(second, rig.heard + 1, sizeof(second));
}

/* ---- what comes of the two ------------------------------------------------------------------- */

enum { CURVE, SNTRUP, NO_METHOD };

static const struct choice {
    struct offer offer;
    bool no_sntrup, no_curve25519;
    int chosen;
    bool drops;
} choices[] = {
    /* The client's order decides. */
    {.offer = {.methods = HYBRID "," CURVE25519}, .chosen = SNTRUP},
    {.offer = {.methods = CURVE25519 "," HYBRID}, .chosen = CURVE},
    {.offer = {.methods = "x," HYBRID "@openssh.com," CURVE25519}, .chosen = SNTRUP},
    {.offer = {.methods = "ecdh-sha2-nistp256," CURVE25519 "@libssh.org"}, .chosen = CURVE},
    {.offer = {.methods = "curve25519-sha25,curve25519-sha2566"}, .chosen = NO_METHOD},
    {.offer = {.methods = "diffie-hellman-group14-sha256"}, .chosen = NO_METHOD},
    {.offer = {.methods = ""}, .chosen = NO_METHOD},
    {.offer = {.methods = "kex-strict-s-v00@openssh.com"}, .chosen = NO_METHOD},
    /* -P and -S. */
    {.offer = {.methods = HYBRID "," CURVE25519}, .no_sntrup = true, .chosen = CURVE},
    {.offer = {.methods = HYBRID}, .no_sntrup = true, .chosen = NO_METHOD},
    {.offer = {.methods = CURVE25519 "," HYBRID}, .no_curve25519 = true, .chosen = SNTRUP},
    {.offer = {.methods = CURVE25519}, .no_curve25519 = true, .chosen = NO_METHOD},
    /* A guess is right if both first names are ours (RFC 4253 section 7). */
    {.offer = {.methods = HYBRID "," CURVE25519, .packet_follows = true}, .chosen = SNTRUP},
    {.offer = {.methods = CURVE25519, .packet_follows = true}, .chosen = CURVE, .drops = true},
    {.offer = {.methods = "x," HYBRID, .packet_follows = true}, .chosen = SNTRUP, .drops = true},
    {.offer = {.methods = HYBRID "@openssh.com", .packet_follows = true},
     .chosen = SNTRUP,
     .drops = true},
    {.offer = {.methods = HYBRID, .host_keys = "ssh-rsa,ssh-ed25519", .packet_follows = true},
     .chosen = SNTRUP,
     .drops = true},
    {.offer = {.methods = HYBRID, .host_keys = "ssh-ed25519,ssh-rsa", .packet_follows = true},
     .chosen = SNTRUP},
    {.offer = {.methods = CURVE25519 "," HYBRID, .packet_follows = true},
     .no_sntrup = true,
     .chosen = CURVE},
    /* The MAC and the languages need not match. */
    {.offer = {.methods = CURVE25519, .macs_up = "hmac-md5", .macs_down = ""}, .chosen = CURVE},
    {.offer = {.methods = CURVE25519, .language_up = "de", .language_down = "fr"}, .chosen = CURVE},
    {.offer = {.methods = CURVE25519, .reserved = 7}, .chosen = CURVE},
};

TEST_EACH(the_choice, COUNT_OF(choices))
{
    const struct choice *choice = &choices[_i];
    rig.options.no_sntrup = choice->no_sntrup;
    rig.options.no_curve25519 = choice->no_curve25519;
    kexinit_send(rig.connection);
    rig_hear(&rig, SSH_MSG_KEXINIT);
    client_say_kexinit(&rig, &client, &choice->offer);
    if (choice->chosen == NO_METHOD) {
        rig_expect_refusal(&rig, SSH_DISCONNECT_KEY_EXCHANGE_FAILED,
                           "no common key exchange method");
        return;
    }
    rig_expect_silence(&rig);
    rig_expect_alive(&rig, choice->drops ? SSH_PHASE_GUESS : SSH_PHASE_ECDH);
    ck_assert_int_eq(rig.connection->kex.hybrid, choice->chosen == SNTRUP);
    if (choice->drops) {
        rig_send(&rig, 30 + _i % 20, "r", "", (size_t)0);
        rig_expect_alive(&rig, SSH_PHASE_ECDH);
        rig_expect_silence(&rig);
    }
}

/* One packet is dropped, not two. */
TEST(a_second_wrong_guess_counts)
{
    const struct offer offer = {.methods = CURVE25519, .packet_follows = true};
    client_kexinit(&rig, &client, &offer);
    rig_send(&rig, SSH_MSG_KEX_ECDH_INIT, "s", "one");
    rig_send(&rig, SSH_MSG_KEX_ECDH_INIT, "s", "two");
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "malformed KEX_ECDH_INIT");
}

#define SIXTY "zlib@openssh.com,zlib@openssh.org,zlib@openssh.net,zlib@ietf"

static const struct mismatch {
    struct offer offer;
    const char *what;
    const char *noted; /* of the offer, for the log */
} mismatches[] = {
    {{.host_keys = "ssh-rsa,ssh-ed25519-cert-v01@openssh.com"},
     "no common host key algorithm",
     "ssh-rsa,ssh-ed25519-cert-v01@openssh.com"},
    {{.host_keys = ""}, "no common host key algorithm", ""},
    {{.ciphers_up = "aes128-ctr"}, "no common cipher from client to server", "aes128-ctr"},
    {{.ciphers_down = "a\n\"\xff"}, "no common cipher from server to client", "a\n\"\xff"},
    {{.compression_up = "zlib"}, "no common compression from client to server", "zlib"},
    {{.compression_down = SIXTY SIXTY SIXTY SIXTY SIXTY},
     "no common compression from server to client",
     SIXTY SIXTY SIXTY SIXTY "zlib@openssh.co"}, /* 255 bytes */
    {{.ciphers_up = ",," CIPHER}, "no common cipher from client to server", ",," CIPHER},
};

TEST_EACH(a_mismatch_is_named, COUNT_OF(mismatches))
{
    kexinit_send(rig.connection);
    rig_hear(&rig, SSH_MSG_KEXINIT);
    client_say_kexinit(&rig, &client, &mismatches[_i].offer);
    ck_assert_str_eq(rig.connection->end.offer, mismatches[_i].noted);
    rig_expect_refusal(&rig, SSH_DISCONNECT_KEY_EXCHANGE_FAILED, mismatches[_i].what);
}

TEST(answers_with_its_own_if_that_is_not_out)
{
    const struct offer offer = {0};
    client_say_kexinit(&rig, &client, &offer);
    ck_assert(rig.connection->kex.sent);
    rig_hear(&rig, SSH_MSG_KEXINIT);
    rig_expect_silence(&rig);
}

/* ---- strict and ext-info --------------------------------------------------------------------- */

TEST_EACH(strict_and_ext_info_are_settled_by_the_first, 5)
{
    static const char *const methods[] = {CURVE25519, CURVE25519 ",kex-strict-c-v00@openssh.com",
                                          CURVE25519 ",ext-info-c",
                                          "ext-info-c," CURVE25519 ",kex-strict-c-v00@openssh.com",
                                          CURVE25519 ",kex-strict-s-v00@openssh.com,ext-info-s"};
    static const bool strict[] = {false, true, false, true, false};
    static const bool ext_info[] = {false, false, true, true, false};
    const struct offer first = {.methods = methods[_i]};
    client_kexinit(&rig, &client, &first);
    ck_assert_int_eq(rig.connection->kex.strict, strict[_i]);
    ck_assert_int_eq(rig.connection->kex.ext_info, ext_info[_i]);
    for (int i = 0; i < 5; i++) {
        const struct offer later = {.methods = methods[i]};
        rig.connection->phase = SSH_PHASE_OPEN;
        rig.connection->kex.sent = false;
        rig.connection->kex.session_id_bytes = 32;
        client_kexinit(&rig, &client, &later);
        ck_assert_int_eq(rig.connection->kex.strict, strict[_i]);
        ck_assert_int_eq(rig.connection->kex.ext_info, ext_info[_i]);
    }
}

/* ---- malformed ------------------------------------------------------------------------------- */

TEST(every_truncation_and_a_trailing_byte)
{
    static uint8_t whole[WIRE_ROOM];
    const struct offer offer = {0};
    size_t count = offer_pack(whole, &offer);
    for (size_t cut = 1; cut <= count + 1; cut++) {
        if (cut == count) {
            continue;
        }
        rig_reset(&rig, SSH_PHASE_KEXINIT);
        rig_say_bytes(&rig, whole, cut);
        rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "malformed KEXINIT");
        ck_assert(!rig.connection->kex.strict && !rig.connection->kex.ext_info);
    }
}

TEST(key_exchanges_before_login_are_counted)
{
    const struct offer offer = {.methods = CURVE25519};
    client_kexinit(&rig, &client, &offer);
    rig.connection->kex.session_id_bytes = 32;
    for (int i = 2; i <= LIMIT_SIGNATURES_BEFORE_LOGIN; i++) {
        rig.connection->kex.sent = false;
        rig.connection->phase = SSH_PHASE_AUTH;
        client_kexinit(&rig, &client, &offer);
    }
    rig.connection->kex.sent = false;
    rig.connection->phase = SSH_PHASE_OPEN;
    client_kexinit(&rig, &client, &offer);
    rig_expect_alive(&rig, SSH_PHASE_REKEY_ECDH);
    rig.connection->kex.sent = false;
    rig.connection->phase = SSH_PHASE_AUTH;
    client_say_kexinit(&rig, &client, &offer);
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "too many key exchanges");
}

TEST(the_log_is_told_the_method)
{
    const struct offer offer = {0};
    struct {
        struct ipc_note note;
        char text[LIMIT_NOTE_BYTES];
    } request;
    rig.options.verbosity = 1;
    rig_reply_done(&rig, IPC_NOTE, 1);
    client_say_kexinit(&rig, &client, &offer);
    rig_expect_alive(&rig, SSH_PHASE_ECDH);
    size_t count = rig_request(&rig, IPC_NOTE, &request, sizeof(request));
    ck_assert_uint_eq(count, sizeof(request.note) + request.note.text_bytes);
    ck_assert_ptr_nonnull(memmem(request.text, request.note.text_bytes, HYBRID, strlen(HYBRID)));
    ck_assert_ptr_nonnull(memmem(request.text, request.note.text_bytes, CLIENT_VERSION, 17));
}
