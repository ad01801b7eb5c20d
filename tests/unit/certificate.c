/* Covers certificate.c and revoked.c, from the blob to the verdict. The certificates are made here,
 * so that each field can be wrong, and one is ssh-keygen's. */
#include "authkeys_internal.h"

#include <sodium.h>
#include <stdlib.h>
#include <time.h>

#include "ipc.h"
#include "monitor_internal.h"
#include "scratch.h"
#include "search.h"
#include "ssh_client.h"
#include "unit.h"
#include "wire.h"

#define BLOB_BYTES 4096

static char scratch[SCRATCH_BYTES];
static struct account account;
static uint8_t user_public[32], user_secret[64], ca_public[32], ca_secret[64];

/* What goes into a certificate; the tests change a field of good_terms. */
struct terms {
    bool sk, sk_authority;
    uint32_t type;
    uint64_t serial, after, before;
    const char *id, *principals[3];
    const char *critical[3][2]; /* names and values */
    const char *extensions[4][2];
    bool raw_options;           /* values without the string around them */
    const char *authority_type; /* of a key that is not ed25519, or NULL */
    size_t signed_less;         /* bytes that the signature leaves out */
    uint8_t flipped;            /* into the signature */
};

static const struct terms good_terms = {
    .type = 1,
    .serial = 17,
    .after = 0,
    .before = UINT64_MAX,
    .id = "alice's laptop",
    .principals = {"bob", "alice"},
    .extensions = {{"permit-pty", ""}, {"permit-X11-forwarding", ""}, {"of-tomorrow@x", "y"}},
};

static void put_key(struct fields *fields, bool sk, const uint8_t *public_key)
{
    fields_put(fields, sk ? "sds" : "sd", sk ? SSH_SK_ED25519 : SSH_ED25519, public_key, (size_t)32,
               "ssh:");
}

static size_t write_key(uint8_t *out, bool sk, const uint8_t *public_key)
{
    struct fields fields = {out, 0, BLOB_BYTES, false};
    put_key(&fields, sk, public_key);
    return fields.used;
}

static void put_options(struct fields *fields, const char *const (*options)[2], size_t count,
                        bool raw)
{
    size_t list = fields_begin(fields);
    for (size_t i = 0; i < count && options[i][0] != NULL; i++) {
        const char *value = options[i][1];
        fields_put(fields, raw || value[0] == '\0' ? "s(r)" : "s(d)", options[i][0], value,
                   strlen(value));
    }
    fields_end(fields, list);
}

static void put_signature(struct fields *fields, const struct terms *terms, size_t count)
{
    uint8_t signature[64], data[32 + 1 + 4 + 32];
    const uint8_t behind[5] = {1, 0, 0, 0, 9};
    if (terms->sk_authority) {
        crypto_hash_sha256(data, (const uint8_t *)"ssh:", 4);
        memcpy(data + 32, behind, 5);
        crypto_hash_sha256(data + 37, fields->bytes, count);
        crypto_sign_detached(signature, NULL, data, sizeof(data), ca_secret);
    } else {
        crypto_sign_detached(signature, NULL, fields->bytes, count, ca_secret);
    }
    signature[0] ^= terms->flipped;
    fields_put(fields, "(sdr)", terms->sk_authority ? SSH_SK_ED25519 : SSH_ED25519, signature,
               sizeof(signature), behind, terms->sk_authority ? sizeof(behind) : 0);
}

static size_t write_certificate(uint8_t *out, const struct terms *terms)
{
    struct fields fields = {out, 0, BLOB_BYTES, false};
    fields_put(&fields, terms->sk ? "ssds" : "ssd",
               terms->sk ? SSH_SK_ED25519_CERT : SSH_ED25519_CERT, "nonce", user_public, (size_t)32,
               "ssh:");
    fields_number(&fields, 8, terms->serial);
    fields_put(&fields, "us", terms->type, terms->id);
    size_t mark = fields_begin(&fields);
    for (size_t i = 0; i < 3 && terms->principals[i] != NULL; i++) {
        fields_text(&fields, terms->principals[i]);
    }
    fields_end(&fields, mark);
    fields_number(&fields, 8, terms->after);
    fields_number(&fields, 8, terms->before);
    put_options(&fields, terms->critical, 3, terms->raw_options);
    put_options(&fields, terms->extensions, 4, terms->raw_options);
    fields_text(&fields, "");
    mark = fields_begin(&fields);
    if (terms->authority_type != NULL) {
        fields_put(&fields, "sss", terms->authority_type, "nistp256", "a point");
    } else {
        put_key(&fields, terms->sk_authority, ca_public);
    }
    fields_end(&fields, mark);
    put_signature(&fields, terms, fields.used - terms->signed_less);
    ck_assert(!fields.full);
    return fields.used;
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *key_line(bool sk, const uint8_t *public_key)
{
    static char line[4][512];
    static unsigned turn;
    uint8_t blob[BLOB_BYTES];
    char base64[400];
    size_t count = write_key(blob, sk, public_key);
    sodium_bin2base64(base64, sizeof(base64), blob, count, sodium_base64_VARIANT_ORIGINAL);
    turn = (turn + 1) % 4;
    snprintf(line[turn], sizeof(line[turn]), "%s %s", sk ? SSH_SK_ED25519 : SSH_ED25519, base64);
    return line[turn];
}

static void write_keys(const char *options, bool sk)
{
    char text[2048];
    int count = snprintf(text, sizeof(text), "%s %s\n", options, key_line(sk, ca_public));
    scratch_write(scratch, "keys", text, (size_t)count, 0600);
}

static void write_admins(const char *name, const char *text)
{
    scratch_write(scratch, name, text, strlen(text), 0600);
}

static struct authkeys_verdict verdict;
static const char *address = "192.0.2.1";
static bool with_authorities, with_revoked;
static int64_t now;

static enum authkeys_reason judge_blob(uint32_t key_type, const uint8_t *blob, size_t count)
{
    char authorities[2 * SCRATCH_BYTES], revoked[2 * SCRATCH_BYTES];
    static char pattern[] = "keys";
    /* A copy of its exact size, so that a sanitizer sees a read past it. */
    uint8_t *exact = malloc(count > 0 ? count : 1);
    memcpy(exact, blob, count);
    snprintf(authorities, sizeof(authorities), "%s/authorities", scratch);
    snprintf(revoked, sizeof(revoked), "%s/revoked", scratch);
    const struct authkeys_query query = {.patterns = {pattern},
                                         .address = address,
                                         .ca_path = with_authorities ? authorities : NULL,
                                         .revoked_path = with_revoked ? revoked : NULL,
                                         .now = now,
                                         .key_type = key_type,
                                         .blob = exact,
                                         .blob_bytes = count};
    search_files(&verdict, &query, &account);
    free(exact);
    return (enum authkeys_reason)verdict.reason;
}

static enum authkeys_reason judge(const struct terms *terms)
{
    uint8_t blob[BLOB_BYTES];
    size_t count = write_certificate(blob, terms);
    return judge_blob(terms->sk ? IPC_KEY_SK_ED25519_CERT : IPC_KEY_ED25519_CERT, blob, count);
}

static enum authkeys_reason judge_plain(void)
{
    uint8_t blob[BLOB_BYTES];
    return judge_blob(IPC_KEY_ED25519, blob, write_key(blob, false, user_public));
}

static void begin(void)
{
    ck_assert_int_ge(sodium_init(), 0);
    now = time(NULL);
    scratch_make(scratch);
    crypto_sign_keypair(user_public, user_secret);
    crypto_sign_keypair(ca_public, ca_secret);
    memset(&account, 0, sizeof(account));
    snprintf(account.user, sizeof(account.user), "alice");
    snprintf(account.home, sizeof(account.home), "%s", scratch);
    snprintf(account.shell, sizeof(account.shell), "/bin/sh");
    account.uid = geteuid();
    account.gid = getegid();
    write_keys("cert-authority", false);
}

UNIT_FIXTURE(begin, NULL);
UNIT_TIMEOUT(100);

/* ---- certificates ---------------------------------------------------------------------------- */

TEST_EACH(a_good_one, 8)
{
    struct terms terms = good_terms;
    terms.sk = (_i & 1) != 0;
    terms.sk_authority = (_i & 2) != 0;
    write_keys("cert-authority", terms.sk_authority);
    with_authorities = (_i & 4) != 0;
    if (with_authorities) {
        write_admins("authorities", key_line(terms.sk_authority, ca_public));
        write_admins("keys", "");
    }
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_GOOD);
    assert_contains(verdict.path, with_authorities ? "/authorities" : "/keys");
    ck_assert_uint_eq(verdict.line, 1);
    ck_assert_uint_eq(verdict.grant.flags, GRANT_PTY | GRANT_CERTIFICATE);
    ck_assert_uint_eq(verdict.grant.serial, 17);
    ck_assert_str_eq(verdict.grant.key_id, "alice's laptop");
    ck_assert_mem_eq(verdict.grant.key.public_key, user_public, 32);
    ck_assert_uint_eq(verdict.grant.key.sk, terms.sk);
}

/* A key id that is cut off says so. */
TEST(long_key_ids)
{
    char id[LIMIT_KEY_ID_BYTES + 100];
    struct terms terms = good_terms;
    for (size_t bytes = LIMIT_KEY_ID_BYTES - 2; bytes < sizeof(id); bytes++) {
        memset(id, 'i', bytes);
        id[bytes] = '\0';
        terms.id = id;
        ck_assert_uint_eq(judge(&terms), AUTHKEYS_GOOD);
        if (bytes >= LIMIT_KEY_ID_BYTES) {
            memcpy(id + LIMIT_KEY_ID_BYTES - sizeof("..."), "...", sizeof("..."));
        }
        ck_assert_str_eq(verdict.grant.key_id, id);
    }
}

/* A line that refuses leaves nothing in the verdict but what describes the certificate. */
TEST_EACH(a_refused_one_grants_nothing, 4)
{
    static const struct {
        enum authkeys_reason reason;
        const char *options;
    } lines[] = {
        {AUTHKEYS_PRINCIPAL, "cert-authority,command=\"id\",principals=\"carol\""},
        {AUTHKEYS_ELSEWHERE, "cert-authority,command=\"id\",from=\"10.0.0.1\""},
        {AUTHKEYS_NO_AUTHORITY, "command=\"id\",no-touch-required"},
        {AUTHKEYS_PRINCIPAL, "pty"}, /* by -c's file */
    };
    struct terms terms = good_terms;
    struct grant wanted = {.serial = 17, .key_id = "alice's laptop"};
    char text[2048];
    uint8_t blob[BLOB_BYTES];
    with_authorities = _i == 3;
    if (with_authorities) {
        terms.principals[1] = NULL;
        write_admins("authorities", key_line(false, ca_public));
    }
    /* The first line is there so that the certificate is read. */
    snprintf(text, sizeof(text), "cert-authority %s\n%s %s\n", key_line(false, user_public),
             lines[_i].options, key_line(false, ca_public));
    write_admins("keys", text);
    ck_assert_uint_eq(judge(&terms), lines[_i].reason);
    memcpy(wanted.key.public_key, user_public, sizeof(user_public));
    crypto_hash_sha256(wanted.fingerprint, blob, write_key(blob, false, user_public));
    crypto_hash_sha256(wanted.authority, blob, write_key(blob, false, ca_public));
    ck_assert_mem_eq(&verdict.grant, &wanted, sizeof(wanted));
}

/* A certificate is valid from its first second until before its last one, as with OpenSSH. */
static const struct {
    int64_t now;
    uint64_t after, before;
    enum authkeys_reason reason;
} times[] = {
    {999, 1000, 2000, AUTHKEYS_CERT_NOT_YET},  {1000, 1000, 2000, AUTHKEYS_GOOD},
    {1999, 1000, 2000, AUTHKEYS_GOOD},         {2000, 1000, 2000, AUTHKEYS_CERT_EXPIRED},
    {1000, 1000, 1000, AUTHKEYS_CERT_EXPIRED}, {0, 0, 0, AUTHKEYS_CERT_EXPIRED},
    {0, 0, UINT64_MAX, AUTHKEYS_GOOD},         {-1, 0, UINT64_MAX, AUTHKEYS_CERT_NOT_YET},
};

TEST_EACH(seconds_of_validity, COUNT_OF(times))
{
    struct terms terms = good_terms;
    now = times[_i].now;
    terms.after = times[_i].after;
    terms.before = times[_i].before;
    ck_assert_uint_eq(judge(&terms), times[_i].reason);
}

TEST(types)
{
    struct terms terms = good_terms;
    for (uint32_t type = 0; type < 4; type++) {
        terms.type = type;
        ck_assert_uint_eq(judge(&terms), type == 1 ? AUTHKEYS_GOOD : AUTHKEYS_CERT_TYPE);
    }
}

TEST(principals)
{
    struct terms terms = good_terms;
    terms.principals[1] = "alice2";
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_PRINCIPAL);
    write_keys("cert-authority,principals=\"carol,alice2\"", false);
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_GOOD);
    /* Only what the line names counts, not the user's name. */
    terms.principals[1] = "alice";
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_PRINCIPAL);
    write_keys("cert-authority,principals=\"\"", false);
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_PRINCIPAL);
    /* A certificate without principals, or with an empty one, lets nobody in. */
    write_keys("cert-authority", false);
    terms.principals[0] = NULL;
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_PRINCIPAL);
    account.user[0] = '\0';
    terms.principals[0] = "";
    terms.principals[1] = NULL;
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_PRINCIPAL);
}

/* A comma separates names in the line. In a certificate it is a part of the name. */
TEST(comma_in_a_principal)
{
    struct terms terms = good_terms;
    terms.principals[1] = NULL;
    write_keys("cert-authority,principals=\"carol,alice\"", false);
    static const char *const names[] = {"carol,alice", "carol,root", "bob,carol", ",carol",
                                        "carol,"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        terms.principals[0] = names[i];
        ck_assert_msg(judge(&terms) == AUTHKEYS_PRINCIPAL, "%s", names[i]);
    }
    terms.principals[0] = "carol";
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_GOOD);
    /* Without the option the name is the user's. */
    write_keys("cert-authority", false);
    terms.principals[0] = "bob,alice";
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_PRINCIPAL);
}

TEST_EACH(signatures, 2)
{
    struct terms terms = good_terms;
    terms.sk_authority = _i == 1;
    write_keys("cert-authority", terms.sk_authority);
    terms.flipped = 1;
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_CERT_SIGNATURE);
    terms.flipped = 0;
    terms.signed_less = 1;
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_CERT_SIGNATURE);
    /* Signed by another authority than the certificate names. */
    terms.signed_less = 0;
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_GOOD);
    crypto_sign_keypair(user_public, ca_secret);
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_CERT_SIGNATURE);
}

/* The authority's line follows that of another one, for which the certificate is parsed, too. */
static void write_behind_an_authority(const char *options)
{
    static const uint8_t another[32] = {9};
    char text[2048];
    int count = snprintf(text, sizeof(text), "cert-authority %s\n%s %s\n", key_line(false, another),
                         options, key_line(false, ca_public));
    scratch_write(scratch, "keys", text, (size_t)count, 0600);
}

/* A certificate's authority that signs with something else than ed25519 is named by its type. */
TEST(authoritys_type_in_the_certificate)
{
    static const struct {
        const char *type;
        enum authkeys_reason reason;
    } rows[] = {
        {"ecdsa-sha2-nistp256", AUTHKEYS_AUTHORITY_TYPE},
        {"sk-ecdsa-sha2-nistp256@openssh.com", AUTHKEYS_AUTHORITY_TYPE},
        {"ssh-rsa", AUTHKEYS_AUTHORITY_TYPE},
        {"ssh-ed25519", AUTHKEYS_BAD_KEY},
        {"ssh-rsb", AUTHKEYS_BAD_KEY},
        {"", AUTHKEYS_BAD_KEY},
    };
    struct terms terms = good_terms;
    write_keys("cert-authority", false);
    write_admins("authorities", "");
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        with_authorities = i % 2 == 1;
        terms.authority_type = rows[i / 2].type;
        ck_assert_uint_eq(judge(&terms), rows[i / 2].reason);
        ck_assert_str_eq(verdict.option,
                         rows[i / 2].reason == AUTHKEYS_AUTHORITY_TYPE ? terms.authority_type : "");
        ck_assert_uint_eq(verdict.line, 0);
    }
}

#define ECDSA "ecdsa-sha2-nistp256 AAAA"

/* Files in which %C is the certificate's authority and %U another ed25519 key. */
static const struct {
    const char *authorities, *keys;
    enum authkeys_reason reason;
    const char *path; /* and the line, of AUTHKEYS_AUTHORITY_TYPE */
    uint32_t line;
} typed_lines[] = {
    {ECDSA, "", AUTHKEYS_AUTHORITY_TYPE, "/authorities", 1},
    {"# x\n" ECDSA "\nssh-rsa AAAA\n", "%U", AUTHKEYS_AUTHORITY_TYPE, "/authorities", 2},
    {"nonsense\n" ECDSA, "", AUTHKEYS_AUTHORITY_TYPE, "/authorities", 2},
    {"", "\ncert-authority " ECDSA, AUTHKEYS_AUTHORITY_TYPE, "/keys", 2},
    {NULL, "cert-authority " ECDSA, AUTHKEYS_AUTHORITY_TYPE, "/keys", 1},
    {ECDSA, "cert-authority ssh-rsa AAAA", AUTHKEYS_AUTHORITY_TYPE, "/authorities", 1},
    {NULL, ECDSA, AUTHKEYS_NO_AUTHORITY, NULL, 0},
    {"", ECDSA, AUTHKEYS_NOT_LISTED, NULL, 0},
    {ECDSA "\n%U", "", AUTHKEYS_NOT_LISTED, NULL, 0},
    {"%U\n" ECDSA, "", AUTHKEYS_NOT_LISTED, NULL, 0},
    {ECDSA, "cert-authority %U", AUTHKEYS_NOT_LISTED, NULL, 0},
    {ECDSA, "cert-authority,from=\"10.0.0.1\" %C", AUTHKEYS_ELSEWHERE, NULL, 0},
    {NULL, "cert-authority,from=\"10.0.0.1\" %C\ncert-authority " ECDSA, AUTHKEYS_ELSEWHERE, NULL,
     0},
    {ECDSA "\n%C", "", AUTHKEYS_GOOD, NULL, 0},
    {ECDSA, "cert-authority %C", AUTHKEYS_GOOD, NULL, 0},
};

static const char *expand(const char *pattern);

/* Files with authorities of other types only say so, as long as nothing else is known. */
TEST_EACH(authoritys_type_in_the_files, COUNT_OF(typed_lines))
{
    struct terms terms = good_terms;
    with_authorities = typed_lines[_i].authorities != NULL;
    if (with_authorities) {
        write_admins("authorities", expand(typed_lines[_i].authorities));
    }
    write_admins("keys", expand(typed_lines[_i].keys));
    ck_assert_uint_eq(judge(&terms), typed_lines[_i].reason);
    if (typed_lines[_i].reason == AUTHKEYS_AUTHORITY_TYPE) {
        ck_assert_str_eq(verdict.option, "ecdsa-sha2-nistp256");
        ck_assert_uint_eq(verdict.line, typed_lines[_i].line);
        assert_contains(verdict.path, typed_lines[_i].path);
    } else {
        bool elsewhere = typed_lines[_i].reason == AUTHKEYS_ELSEWHERE;
        ck_assert_str_eq(verdict.option, elsewhere ? "from" : "");
    }
}

TEST(the_authoritys_line)
{
    struct terms terms = good_terms;
    write_behind_an_authority("");
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_NO_AUTHORITY);
    ck_assert_uint_eq(verdict.line, 2);
    write_keys("cert-authority,nonsense", false);
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_UNKNOWN_OPTION);
    write_behind_an_authority("principals=\"alice\"");
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_BROKEN_OPTION);
    write_keys("cert-authority,no-pty,no-touch-required", false);
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_GOOD);
    ck_assert_uint_eq(verdict.grant.flags, GRANT_CERTIFICATE);
    write_keys("cert-authority,verify-required", false);
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_GOOD);
    ck_assert_uint_eq(verdict.grant.flags, GRANT_CERTIFICATE | GRANT_PTY | GRANT_VERIFY);
    /* The user's own key in the file is no authority, and lets no certificate in. */
    write_admins("keys", key_line(false, user_public));
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_NO_AUTHORITY);
    ck_assert_uint_eq(judge_plain(), AUTHKEYS_GOOD);
    static const uint8_t another[32] = {9};
    char both[1200];
    snprintf(both, sizeof(both), "cert-authority %s\n%s\n", key_line(false, another),
             key_line(false, user_public));
    write_admins("keys", both);
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_NOT_LISTED);
    ck_assert_uint_eq(judge_plain(), AUTHKEYS_GOOD);
    /* Nor is an authority a user. */
    memcpy(user_public, ca_public, 32);
    write_keys("cert-authority", false);
    ck_assert_uint_eq(judge_plain(), AUTHKEYS_FOR_AUTHORITY);
    /* The lines of -c's file take no options. */
    write_admins("keys", "");
    char line[600];
    snprintf(line, sizeof(line), "no-pty %s\n", key_line(false, ca_public));
    write_admins("authorities", line);
    with_authorities = true;
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_BROKEN_OPTION);
}

/* Where no authority could let a certificate in, it is not parsed. */
TEST(parsed_only_for_an_authority)
{
    static const char *const none[] = {
        "",
        "# cert-authority %s",
        "%s",
        "from=\"cert-authority\" %s",
        "restrict,no-pty %s",
        "cert-authority=\"x\" %s",
        "from=\"1.2.3.4,cert-authority %s",
        "xcert-authority %s",
    };
    static const char *const some[] = {
        "cert-authority %s",
        "CERT-Authority %s",
        "restrict,cert-authority %s",
        "command=\"a \\\"b\",cert-authority,nonsense %s",
        "# nothing\n\n\tcert-authority ssh-ed25519 AAAA\n%s",
    };
    static const uint8_t garbage[] = "no certificate";
    char text[1200];
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        snprintf(text, sizeof(text), none[i], key_line(false, ca_public));
        write_admins("keys", text);
        ck_assert_uint_eq(judge_blob(IPC_KEY_ED25519_CERT, garbage, sizeof(garbage)),
                          AUTHKEYS_NO_AUTHORITY);
        ck_assert(sodium_is_zero(verdict.grant.fingerprint, 32) &&
                  sodium_is_zero(verdict.grant.authority, 32));
        assert_contains(verdict.path, "/keys");
        assert_contains(authkeys_words(&verdict), "no line has cert-authority");
        ck_assert_uint_eq(judge(&good_terms), AUTHKEYS_NO_AUTHORITY);
    }
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        snprintf(text, sizeof(text), some[i], key_line(false, ca_public));
        write_admins("keys", text);
        ck_assert_uint_eq(judge_blob(IPC_KEY_ED25519_CERT, garbage, sizeof(garbage)),
                          AUTHKEYS_BAD_KEY);
    }
    write_admins("keys", "");
    write_admins("authorities", "");
    with_authorities = true;
    ck_assert_uint_eq(judge_blob(IPC_KEY_ED25519_CERT, garbage, sizeof(garbage)), AUTHKEYS_BAD_KEY);
}

static const struct {
    const char *line, *name, *value;
    enum authkeys_reason reason;
    uint32_t flags;
    const char *command;
} critical[] = {
    {"", "force-command", "date", AUTHKEYS_GOOD, GRANT_FORCED | GRANT_PTY, "date"},
    {"", "force-command", " ", AUTHKEYS_GOOD, GRANT_FORCED | GRANT_PTY, " "},
    {",command=\"date\"", "force-command", "date", AUTHKEYS_GOOD, GRANT_FORCED | GRANT_PTY, "date"},
    {",command=\"dat\"", "force-command", "date", AUTHKEYS_COMMANDS_DIFFER, 0, ""},
    {",command=\"date \"", "force-command", "date", AUTHKEYS_COMMANDS_DIFFER, 0, ""},
    {",command=\"\"", "force-command", "date", AUTHKEYS_COMMANDS_DIFFER, 0, ""},
    {",command=\"date\"", "verify-required", "", AUTHKEYS_GOOD,
     GRANT_FORCED | GRANT_PTY | GRANT_VERIFY, "date"},
    {"", "verify-required", "x", AUTHKEYS_BROKEN_OPTION, 0, ""},
    {"", "source-address", "10.0.0.0/8,192.0.2.0/24", AUTHKEYS_GOOD, GRANT_PTY, ""},
    {"", "source-address", "10.0.0.0/8", AUTHKEYS_ELSEWHERE, 0, ""},
    {"", "source-address", "192.0.2.*", AUTHKEYS_BROKEN_OPTION, 0, ""},
    {"", "source-address", "", AUTHKEYS_BROKEN_OPTION, 0, ""},
    {"", "Force-Command", "date", AUTHKEYS_UNKNOWN_OPTION, 0, ""},
    {"", "of-tomorrow@x", "", AUTHKEYS_UNKNOWN_OPTION, 0, ""},
    {"", "permit-pty", "", AUTHKEYS_UNKNOWN_OPTION, 0, ""},
    {"", "", "", AUTHKEYS_UNKNOWN_OPTION, 0, ""},
};

TEST_EACH(critical_options, COUNT_OF(critical))
{
    struct terms terms = good_terms;
    char options[200];
    snprintf(options, sizeof(options), "cert-authority%s", critical[_i].line);
    write_keys(options, false);
    terms.critical[0][0] = critical[_i].name;
    terms.critical[0][1] = critical[_i].value;
    enum authkeys_reason reason = judge(&terms);
    ck_assert_msg(reason == critical[_i].reason, "%d: %d", _i, (int)reason);
    if (reason != AUTHKEYS_GOOD) {
        ck_assert(reason == AUTHKEYS_COMMANDS_DIFFER ||
                  strcmp(verdict.option, critical[_i].name) == 0);
        return;
    }
    ck_assert_uint_eq(verdict.grant.flags, critical[_i].flags | GRANT_CERTIFICATE);
    ck_assert_str_eq(critical[_i].command[0] ? verdict.grant.command : "", critical[_i].command);
    /* Twice is once too often. */
    if (critical[_i].value[0] != '\0') {
        memcpy(terms.critical[1], terms.critical[0], sizeof(terms.critical[0]));
        ck_assert_uint_eq(judge(&terms), AUTHKEYS_BROKEN_OPTION);
        terms.critical[1][0] = NULL;
        terms.raw_options = true;
        ck_assert_uint_eq(judge(&terms), AUTHKEYS_BROKEN_OPTION);
    }
}

#define SFTP "internal-sftp -R"

static const struct {
    bool of_admins; /* the authority is -c's, and the line does not count */
    const char *line, *command;
    enum authkeys_reason reason;
} without_shell[] = {
    {false, "", NULL, AUTHKEYS_NO_SHELL},
    {false, "", SFTP, AUTHKEYS_GOOD},
    {false, "", "internal-sftp2", AUTHKEYS_NO_SHELL},
    {false, ",command=\"" SFTP "\"", NULL, AUTHKEYS_GOOD},
    {false, ",command=\"" SFTP "\"", SFTP, AUTHKEYS_GOOD},
    {false, ",command=\"internal-sftp\"", SFTP, AUTHKEYS_COMMANDS_DIFFER},
    {false, ",command=\"date\"", "date", AUTHKEYS_NO_SHELL},
    {true, "", NULL, AUTHKEYS_NO_SHELL},
    {true, "", "date", AUTHKEYS_NO_SHELL},
    {true, "", SFTP, AUTHKEYS_GOOD},
};

/* An account without a shell gets in where the certificate or its authority's line forces our SFTP
 * server. */
TEST_EACH(no_shell, COUNT_OF(without_shell))
{
    struct terms terms = good_terms;
    char options[200];
    account.shell[0] = '\0';
    snprintf(options, sizeof(options), "cert-authority%s", without_shell[_i].line);
    write_keys(without_shell[_i].of_admins ? "" : options, false);
    with_authorities = without_shell[_i].of_admins;
    write_admins("authorities", key_line(false, ca_public));
    terms.critical[0][0] = without_shell[_i].command != NULL ? "force-command" : NULL;
    terms.critical[0][1] = without_shell[_i].command;
    ck_assert_int_eq(judge(&terms), without_shell[_i].reason);
    bool listed = without_shell[_i].reason == AUTHKEYS_GOOD;
    ck_assert_uint_eq(verdict.grant.flags & GRANT_FORCED, listed ? GRANT_FORCED : 0);
}

TEST(extensions)
{
    struct terms terms = good_terms;
    memset(terms.extensions, 0, sizeof(terms.extensions));
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_GOOD);
    ck_assert_uint_eq(verdict.grant.flags, GRANT_CERTIFICATE);
    terms.extensions[0][0] = "permit-user-rc";
    terms.extensions[0][1] = "";
    terms.extensions[1][0] = "no-touch-required";
    terms.extensions[1][1] = "";
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_GOOD);
    ck_assert_uint_eq(verdict.grant.flags, GRANT_CERTIFICATE | GRANT_USER_RC);
    write_keys("cert-authority,no-touch-required", false);
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_GOOD);
    ck_assert_uint_eq(verdict.grant.flags, GRANT_CERTIFICATE | GRANT_USER_RC | GRANT_UNTOUCHED);
    terms.extensions[0][1] = "x";
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_BROKEN_OPTION);
    ck_assert_str_eq(verdict.option, "permit-user-rc");
}

/* Where a verification is slow one bit of each byte, by turns; elsewhere all. */
TEST_EACH(every_byte_counts, 2)
{
    const unsigned step = unit_is_slow() ? 8 : 1;
    uint8_t blob[BLOB_BYTES];
    struct terms terms = good_terms;
    terms.sk = _i == 1;
    uint32_t type = terms.sk ? IPC_KEY_SK_ED25519_CERT : IPC_KEY_ED25519_CERT;
    size_t count = write_certificate(blob, &terms);
    ck_assert_uint_eq(judge_blob(type, blob, count), AUTHKEYS_GOOD);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(judge_blob(type, blob, i), AUTHKEYS_BAD_KEY);
        for (unsigned bit = (unsigned)i % step; bit < 8; bit += step) {
            blob[i] ^= (uint8_t)(1U << bit);
            ck_assert_uint_ne(judge_blob(type, blob, count), AUTHKEYS_GOOD);
            blob[i] ^= (uint8_t)(1U << bit);
        }
    }
    blob[count] = 0;
    ck_assert_uint_eq(judge_blob(type, blob, count + 1), AUTHKEYS_BAD_KEY);
    for (uint32_t other = 0; other < 8; other++) {
        bool good = judge_blob(other, blob, count) == AUTHKEYS_GOOD;
        ck_assert_int_eq(good, other == type);
    }
}

TEST(one_of_ssh_keygen)
{
    char command[2048], base64[2048], path[2 * SCRATCH_BYTES];
    uint8_t blob[BLOB_BYTES];
    size_t count = 0;
    snprintf(command, sizeof(command),
             "cd %s && ssh-keygen -qt ed25519 -N '' -f ca && ssh-keygen -qt ed25519 -N '' -f id && "
             "ssh-keygen -qs ca -I 'an id' -n alice -V +1h -z 99 -O no-pty "
             "-O force-command='echo hi' -O source-address=192.0.2.0/24 id.pub && "
             "sed s/^/cert-authority\\ / ca.pub >keys && chmod 600 keys",
             scratch);
    if (system("command -v ssh-keygen >/dev/null") != 0) {
        return;
    }
    ck_assert_int_eq(system(command), 0);
    snprintf(path, sizeof(path), "%s/id-cert.pub", scratch);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%*s %2047s", base64), 1);
    fclose(file);
    ck_assert_int_eq(sodium_base642bin(blob, sizeof(blob), base64, strlen(base64), NULL, &count,
                                       NULL, sodium_base64_VARIANT_ORIGINAL),
                     0);
    ck_assert_uint_eq(judge_blob(IPC_KEY_ED25519_CERT, blob, count), AUTHKEYS_GOOD);
    ck_assert_str_eq(verdict.grant.command, "echo hi");
    ck_assert_str_eq(verdict.grant.key_id, "an id");
    ck_assert_uint_eq(verdict.grant.serial, 99);
    ck_assert_uint_eq(verdict.grant.flags, GRANT_FORCED | GRANT_USER_RC | GRANT_CERTIFICATE);
    address = "10.0.0.1";
    ck_assert_uint_eq(judge_blob(IPC_KEY_ED25519_CERT, blob, count), AUTHKEYS_ELSEWHERE);
    ck_assert_str_eq(verdict.option, "source-address");
}

/* ---- what is revoked ------------------------------------------------------------------------- */

static const char *fingerprint_of(const uint8_t *public_key)
{
    static char text[2][64];
    static unsigned turn;
    uint8_t blob[BLOB_BYTES], hash[32];
    crypto_hash_sha256(hash, blob, write_key(blob, false, public_key));
    turn = !turn;
    memcpy(text[turn], "SHA256:", 7);
    sodium_bin2base64(text[turn] + 7, 57, hash, 32, sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    return text[turn];
}

/* %U and %C: the user's and the authority's key; %u and %c: their fingerprints. */
static const char *expand(const char *pattern)
{
    static char text[4096];
    size_t used = 0;
    for (; *pattern != '\0'; pattern++) {
        const char *what = NULL;
        if (*pattern == '%') {
            pattern++;
            const uint8_t *key = *pattern == 'U' || *pattern == 'u' ? user_public : ca_public;
            what = *pattern < 'a' ? key_line(false, key) : fingerprint_of(key);
        }
        used += what != NULL ? (size_t)snprintf(text + used, sizeof(text) - used, "%s", what) : 1;
        if (what == NULL) {
            text[used - 1] = *pattern;
        }
    }
    text[used] = '\0';
    return text;
}

static const struct {
    const char *file;
    enum revoked certificate, plain;
} revocations[] = {
    {"", REVOKED_EMPTY, REVOKED_EMPTY},
    {"# nothing\n\n  \t\r\n#%U", REVOKED_EMPTY, REVOKED_EMPTY},
    {"# nothing\nca: *\n", REVOKED_NOT, REVOKED_NOT},
    {"%U", REVOKED, REVOKED},
    {"# x\r\n%U a comment\r\n", REVOKED, REVOKED},
    {"  %u # x", REVOKED, REVOKED},
    {"\xef\xbb\xbf%U", REVOKED, REVOKED},
    {"\n\xef\xbb\xbf%U", REVOKED_BROKEN, REVOKED_BROKEN},
    {"%C", REVOKED, REVOKED_NOT},
    {"%c\n", REVOKED, REVOKED_NOT},
    {"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQA= x\n", REVOKED_NOT, REVOKED_NOT},
    {"serial: 17", REVOKED, REVOKED_NOT},
    {"serial:17 # x", REVOKED, REVOKED_NOT},
    {"serial: 16\nserial: 18-99\nserial: 0-16", REVOKED_NOT, REVOKED_NOT},
    {"serial: 17-17", REVOKED, REVOKED_NOT},
    {"serial: 0-18446744073709551615", REVOKED, REVOKED_NOT},
    {"id: alice's laptop", REVOKED, REVOKED_NOT},
    {"id: alice's", REVOKED_NOT, REVOKED_NOT},
    {"ca: %C\nserial: 17", REVOKED, REVOKED_NOT},
    {"ca: %c\nid: alice's laptop", REVOKED, REVOKED_NOT},
    {"ca: %U\nserial: 17\nid: alice's laptop", REVOKED_NOT, REVOKED_NOT},
    {"ca: %u\nserial: 17\nca: *\nserial: 1\n", REVOKED_NOT, REVOKED_NOT},
    {"ca: %u\nserial: 17\nca: *\nserial: 17\n", REVOKED, REVOKED_NOT},
    {"ca: %u\n%U", REVOKED, REVOKED},
    /* Nothing is passed over. */
    {"nonsense", REVOKED_BROKEN, REVOKED_BROKEN},
    {"serial:", REVOKED_BROKEN, REVOKED_BROKEN},
    {"serial: x", REVOKED_BROKEN, REVOKED_BROKEN},
    {"serial: 17 18", REVOKED_BROKEN, REVOKED_BROKEN},
    {"serial: 18-17", REVOKED_BROKEN, REVOKED_BROKEN},
    {"serial: 17-", REVOKED_BROKEN, REVOKED_BROKEN},
    {"serial: -17", REVOKED_BROKEN, REVOKED_BROKEN},
    {"serial: 18446744073709551616", REVOKED_BROKEN, REVOKED_BROKEN},
    {"id:", REVOKED_BROKEN, REVOKED_BROKEN},
    {"ca:", REVOKED_BROKEN, REVOKED_BROKEN},
    {"SHA256:abc", REVOKED_BROKEN, REVOKED_BROKEN},
    {"%uA", REVOKED_BROKEN, REVOKED_BROKEN},
    {"%u x", REVOKED_BROKEN, REVOKED_BROKEN},
    {"ssh-ed25519", REVOKED_BROKEN, REVOKED_BROKEN},
    {"ssh-ed25519 AAAA", REVOKED_BROKEN, REVOKED_BROKEN},
    {"restrict %U", REVOKED_BROKEN, REVOKED_BROKEN},
    /* No byte from 0x80 on is a letter of base64. */
    {"ssh-rsa AAAAB3NzaC1yc2EAAAADAQ\x80"
     "BAAAAAQA= x\n",
     REVOKED_BROKEN, REVOKED_BROKEN},
    {"SHA256:\xff"
     "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
     REVOKED_BROKEN, REVOKED_BROKEN},
    {"SSHKRL\n", REVOKED_BROKEN, REVOKED_BROKEN},
    /* Only one carriage return at the end of a line is part of its end. */
    {"# x\r%U\r", REVOKED_RETURN, REVOKED_RETURN},
    {"# x\r\n# y\rserial: 17", REVOKED_RETURN, REVOKED_RETURN},
    {"serial: 1\r\r\n", REVOKED_RETURN, REVOKED_RETURN},
    {"id: a\rb", REVOKED_RETURN, REVOKED_RETURN},
    {"\r\r", REVOKED_RETURN, REVOKED_RETURN},
    {"# x\r", REVOKED_EMPTY, REVOKED_EMPTY},
};

static enum revoked as_revoked(enum authkeys_reason reason)
{
    return reason == AUTHKEYS_GOOD      ? verdict.revoked_empty == 1 ? REVOKED_EMPTY : REVOKED_NOT
           : reason == AUTHKEYS_REVOKED ? REVOKED
           : reason == AUTHKEYS_REVOKED_BROKEN ? REVOKED_BROKEN
           : reason == AUTHKEYS_REVOKED_RETURN ? REVOKED_RETURN
                                               : REVOKED_UNREADABLE;
}

TEST_EACH(revoked_keys, COUNT_OF(revocations))
{
    char both[2048];
    struct terms terms = good_terms;
    snprintf(both, sizeof(both), "cert-authority %s\n%s\n", key_line(false, ca_public),
             key_line(false, user_public));
    write_admins("keys", both);
    write_admins("authorities", key_line(false, ca_public));
    write_admins("revoked", expand(revocations[_i].file));
    with_revoked = true;
    for (int i = 0; i < 2; i++) {
        with_authorities = i == 1;
        ck_assert_int_eq(as_revoked(judge(&terms)), revocations[_i].certificate);
        ck_assert_int_eq(as_revoked(judge_plain()), revocations[_i].plain);
    }
    if (revocations[_i].plain == REVOKED_NOT || revocations[_i].plain == REVOKED_EMPTY) {
        ck_assert_uint_eq(verdict.revoked_empty, revocations[_i].plain == REVOKED_EMPTY);
    } else {
        ck_assert_uint_ge(verdict.line, 1);
        assert_contains(verdict.path, "/revoked");
    }
}

/* The file of -R may be long. It is read only for a key that would get in: so the time of a refusal
 * does not tell what a user's file has. */
TEST_EACH(revoked_keys_are_read_last, 2)
{
    struct terms terms = good_terms;
    uint8_t stranger[32], blob[BLOB_BYTES];
    with_revoked = true;
    write_admins("revoked", "nonsense");
    with_authorities = _i == 1;
    write_admins("authorities", key_line(false, ca_public));
    write_keys("from=\"10.0.0.1\",cert-authority", false);
    memset(stranger, 7, sizeof(stranger));
    ck_assert_uint_eq(judge_plain(), AUTHKEYS_NOT_LISTED);
    ck_assert_uint_eq(judge_blob(IPC_KEY_ED25519, blob, write_key(blob, false, stranger)),
                      AUTHKEYS_NOT_LISTED);
    if (!with_authorities) {
        ck_assert_uint_eq(judge(&terms), AUTHKEYS_ELSEWHERE);
        write_keys("cert-authority", false);
    }
    terms.type = 2;
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_CERT_TYPE);
    terms = good_terms;
    terms.before = 1;
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_CERT_EXPIRED);
    terms = good_terms;
    terms.signed_less = 1; /* by whom knows the authority's public key alone */
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_CERT_SIGNATURE);
    terms = good_terms;
    terms.principals[1] = NULL;
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_PRINCIPAL);
    terms = good_terms;
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_REVOKED_BROKEN);
    ck_assert_str_eq(verdict.option, "");
    ck_assert_uint_eq(verdict.grant.flags, 0);
}

/* Nothing of an earlier line's refusal is left, and no later line counts. */
TEST(revoked_after_a_refusal)
{
    char text[2048];
    snprintf(text, sizeof(text), "from=\"10.0.0.1\" %s\n%s\n%s\n", key_line(false, user_public),
             key_line(false, user_public), key_line(false, user_public));
    write_admins("keys", text);
    write_admins("revoked", key_line(false, user_public));
    with_revoked = true;
    ck_assert_uint_eq(judge_plain(), AUTHKEYS_REVOKED);
    ck_assert_str_eq(verdict.option, "");
    ck_assert_uint_eq(verdict.line, 1);
    assert_contains(verdict.path, "/revoked");
    ck_assert_uint_eq(verdict.grant.flags, 0);
}

TEST(admins_files_that_can_not_be_used)
{
    static char line[LIMIT_AUTHKEYS_LINE_BYTES + 100];
    char path[2 * SCRATCH_BYTES];
    struct terms terms = good_terms;
    write_admins("keys", key_line(false, user_public));
    snprintf(path, sizeof(path), "%s/revoked", scratch);
    with_revoked = true;
    ck_assert_uint_eq(judge_plain(), AUTHKEYS_UNREADABLE);
    ck_assert_uint_eq(verdict.error, 2 /* ENOENT */);
    ck_assert_str_eq(verdict.path, path);
    memset(line, '#', sizeof(line) - 1);
    write_admins("revoked", line);
    ck_assert_uint_eq(judge_plain(), AUTHKEYS_REVOKED_BROKEN);
    write_admins("revoked", "");
    ck_assert_uint_eq(judge_plain(), AUTHKEYS_GOOD);
    ck_assert_int_eq(chmod(path, 0620), 0);
    ck_assert_uint_eq(judge_plain(), AUTHKEYS_UNSAFE_MODE);
    ck_assert_uint_eq(verdict.mode, 0620);
    ck_assert_uint_eq(verdict.owner, geteuid());
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_uint_eq(judge_plain(), AUTHKEYS_NOT_REGULAR);
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_uint_eq(judge_plain(), AUTHKEYS_NOT_REGULAR);
    /* Without authorities certificates can't come in; plain keys can. */
    with_revoked = false;
    with_authorities = true;
    ck_assert_uint_eq(judge_plain(), AUTHKEYS_GOOD);
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_UNREADABLE);
    assert_contains(verdict.path, "/authorities");
    write_keys("cert-authority", false);
    ck_assert_uint_eq(judge(&terms), AUTHKEYS_GOOD);
}
