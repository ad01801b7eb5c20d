#include "hostkey_internal.h"

#include <sodium.h>

#include "keygen.h"
#include "unit.h"
#include "wire.h"

static char scratch[SCRATCH_BYTES];
static char text[OPENSSH_KEY_FILE_BYTES];
static uint8_t public_key[32], secret_key[64];

static void start(void)
{
    ck_assert_int_ge(sodium_init(), 0);
    scratch_make(scratch);
}

UNIT_FIXTURE(start, NULL);
UNIT_TIMEOUT(60);

static const char *parse(size_t count)
{
    char *exact = malloc(count);
    memcpy(exact, text, count);
    struct hostkey_pair pair;
    memset(&pair, 0x5a, sizeof(pair));
    enum hostkey_fault fault = openssh_key_parse(&pair, exact, count);
    const char *reason = fault != FAULT_NONE ? hostkey_words(fault) : NULL;
    memcpy(public_key, pair.public_key, sizeof(public_key));
    memcpy(secret_key, pair.secret_key, sizeof(secret_key));
    free(exact);
    if (reason != NULL) {
        ck_assert(sodium_is_zero(public_key, 32) && sodium_is_zero(secret_key, 64));
    }
    return reason;
}

static void assert_refused(size_t count, const char *words)
{
    const char *reason = parse(count);
    ck_assert_ptr_nonnull(reason);
    assert_contains(reason, words);
}

/* ---- of ssh-keygen --------------------------------------------------------------------------- */

TEST_EACH(as_ssh_keygen_makes_it, 6)
{
    static const char *const comments[] = {
        "",        "a",
        "ab",      "root@host.example",
        "seven77", "a comment with spaces that is long enough for lines"};
    char line[1024];
    uint8_t beside[32];
    keygen_run(scratch, "ssh-keygen -q -t ed25519 -N '' -C '%s' -f key", comments[_i]);
    size_t count = keygen_read(scratch, "key", text, sizeof(text));
    ck_assert_ptr_null(parse(count));
    size_t line_bytes = keygen_read(scratch, "key.pub", line, sizeof(line));
    ck_assert_int_eq(openssh_key_parse_public(beside, line, line_bytes), FAULT_NONE);
    ck_assert_mem_eq(beside, public_key, 32);
    ck_assert_mem_eq(secret_key + 32, public_key, 32);
}

static const struct {
    const char *command, *words;
} others[] = {
    {"ssh-keygen -q -t ed25519 -N secret -f key", "protected by a passphrase"},
    {"ssh-keygen -q -t rsa -b 1024 -N secret -f key", "protected by a passphrase"},
    {"ssh-keygen -q -t rsa -b 1024 -N '' -f key", "is an RSA key"},
    {"ssh-keygen -q -t ecdsa -N '' -f key", "is an ECDSA key"},
    {"ssh-keygen -q -t rsa -b 1024 -m PEM -N '' -f key", "old PEM key"},
    {"ssh-keygen -q -t ecdsa -m PKCS8 -N '' -f key", "old PEM key"},
    {"ssh-keygen -q -t ed25519 -N '' -f k; mv k.pub key", "is a public key"},
    {"echo PuTTY-User-Key-File-3: ssh-ed25519 > key", "key of PuTTY"},
    {"echo hello > key", "is not an OpenSSH private key"},
    {": > key", "is not an OpenSSH private key"},
};

TEST_EACH(other_keys_say_what_they_are, COUNT_OF(others))
{
    keygen_run(scratch, "%s", others[_i].command);
    assert_refused(keygen_read(scratch, "key", text, sizeof(text)), others[_i].words);
}

/* ---- made here, so that each field can be wrong ---------------------------------------------- */

struct recipe {
    const char *magic, *cipher, *kdf, *kdf_options, *outer_type, *inner_type, *comment;
    uint32_t keys, check_differs;
    size_t outer_bytes, inner_bytes, secret_bytes;
    bool outer_wrong, inner_wrong, half_wrong, seed_wrong, no_padding, bad_padding, trailing;
};

static const struct recipe good = {
    .magic = "openssh-key-v1",
    .cipher = "none",
    .kdf = "none",
    .kdf_options = "",
    .outer_type = "ssh-ed25519",
    .inner_type = "ssh-ed25519",
    .comment = "c",
    .keys = 1,
    .outer_bytes = 32,
    .inner_bytes = 32,
    .secret_bytes = 64,
};

static void write_private(struct writer *out, const struct recipe *recipe)
{
    uint8_t bent[64];
    size_t mark = writer_string_begin(out);
    size_t start_of_part = out->used;
    writer_u32(out, 7);
    writer_u32(out, 7 + recipe->check_differs);
    writer_text(out, recipe->inner_type);
    memcpy(bent, public_key, 32);
    bent[3] ^= recipe->inner_wrong ? 1 : 0;
    writer_string(out, bent, recipe->inner_bytes);
    memcpy(bent, secret_key, 64);
    bent[40] ^= recipe->half_wrong ? 1 : 0;
    bent[4] ^= recipe->seed_wrong ? 1 : 0;
    writer_string(out, bent, recipe->secret_bytes);
    writer_text(out, recipe->comment);
    for (uint8_t i = 1; (out->used - start_of_part) % 8 != 0 && !recipe->no_padding; i++) {
        writer_u8(out, recipe->bad_padding ? 9 : i);
    }
    writer_string_end(out, mark);
}

/* Returns the text's length. */
static size_t make(const struct recipe *recipe)
{
    static uint8_t bytes[4096];
    char base64[6000];
    uint8_t bent[32];
    struct writer out;
    crypto_sign_keypair(public_key, secret_key);
    writer_init(&out, bytes, sizeof(bytes));
    writer_bytes(&out, recipe->magic, strlen(recipe->magic) + 1);
    writer_text(&out, recipe->cipher);
    writer_text(&out, recipe->kdf);
    writer_text(&out, recipe->kdf_options);
    writer_u32(&out, recipe->keys);
    size_t mark = writer_string_begin(&out);
    writer_text(&out, recipe->outer_type);
    memcpy(bent, public_key, 32);
    bent[31] ^= recipe->outer_wrong ? 1 : 0;
    writer_string(&out, bent, recipe->outer_bytes);
    writer_string_end(&out, mark);
    write_private(&out, recipe);
    writer_bytes(&out, "x", recipe->trailing ? 1 : 0);
    sodium_bin2base64(base64, sizeof(base64), bytes, out.used, sodium_base64_VARIANT_ORIGINAL);
    return (size_t)snprintf(text, sizeof(text),
                            "-----BEGIN OPENSSH PRIVATE KEY-----\n%s\n"
                            "-----END OPENSSH PRIVATE KEY-----\n",
                            base64);
}

TEST(every_field_is_checked)
{
    struct recipe recipes[] = {good, good, good, good, good, good, good, good, good, good, good,
                               good, good, good, good, good, good, good, good, good, good};
    static const char match[] = "do not match", damaged[] = "damaged";
    const char *words[] = {
        NULL,          damaged,       "passphrase",    damaged,        damaged,
        "exactly one", "exactly one", "is a FIDO key", "is a DSA key", "of another type",
        damaged,       damaged,       damaged,         damaged,        damaged,
        match,         match,         match,           match,          damaged,
        damaged};
    recipes[1].magic = "openssh-key-v2";
    recipes[2].cipher = "aes256-ctr";
    recipes[3].kdf = "bcrypt";
    recipes[4].kdf_options = "x";
    recipes[5].keys = 0;
    recipes[6].keys = 2;
    recipes[7].outer_type = "sk-ssh-ed25519@openssh.com";
    recipes[8].outer_type = "ssh-dss";
    recipes[9].outer_type = "ssh-ed448";
    recipes[10].outer_bytes = 31;
    recipes[11].inner_bytes = 31;
    recipes[12].secret_bytes = 32;
    recipes[13].check_differs = 1;
    recipes[14].inner_type = "ssh-rsa";
    recipes[15].outer_wrong = true;
    recipes[16].inner_wrong = true;
    recipes[17].half_wrong = true;
    recipes[18].seed_wrong = true;
    recipes[19].bad_padding = true;
    recipes[20].trailing = true;
    for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
        size_t count = make(&recipes[i]);
        if (words[i] == NULL) {
            ck_assert_ptr_null(parse(count));
        } else {
            assert_refused(count, words[i]);
        }
    }
    struct recipe unpadded = good;
    unpadded.no_padding = true;
    unpadded.comment = "ab";
    assert_refused(make(&unpadded), damaged);
}

TEST(every_truncation)
{
    size_t count = make(&good);
    ck_assert_ptr_null(parse(count));
    ck_assert_ptr_null(parse(count - 1)); /* the last line's end */
    for (size_t i = 0; i < count - 1; i++) {
        ck_assert_ptr_nonnull(parse(i));
    }
}

static void insert(size_t at, const char *what)
{
    memmove(text + at + strlen(what), text + at, strlen(text + at) + 1);
    memcpy(text + at, what, strlen(what));
}

TEST(armour_is_strict)
{
    static const char begin[] = "-----BEGIN OPENSSH PRIVATE KEY-----";
    static const char *const strangers[] = {" ", "\t", "=", "*", "_", "\n \n", "Proc-Type: 4\n"};
    size_t count = make(&good);
    for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
        make(&good);
        insert(sizeof(begin) + 40, strangers[i]);
        assert_refused(strlen(text), "damaged");
    }
    make(&good);
    insert(sizeof(begin) + 40, "\r\n");
    ck_assert_ptr_null(parse(strlen(text)));
    text[sizeof(begin) + 40] = '\0';
    assert_refused(count + 2, "damaged");
    text[sizeof(begin) + 40] = '\r';
    insert(count, "text");
    assert_refused(strlen(text), "damaged");
    make(&good);
    insert(0, "\n");
    assert_refused(strlen(text), "is not an OpenSSH private key");
    make(&good);
    insert(strlen(begin), "AAAA");
    assert_refused(strlen(text), "damaged");
}

TEST(any_flipped_bit)
{
    size_t count = make(&good);
    for (size_t bit = 0; bit < (count - 1) * 8; bit++) {
        text[bit / 8] ^= (char)(1 << (bit % 8));
        const char *reason = parse(count);
        text[bit / 8] ^= (char)(1 << (bit % 8));
        /* What is not covered by a check: the check number's and the comment's bits. */
        if (reason == NULL) {
            ck_assert(crypto_sign_ed25519_sk_to_pk(secret_key, secret_key) == 0);
            crypto_sign_seed_keypair(public_key, secret_key, secret_key);
        }
    }
    ck_assert_ptr_null(parse(count));
}

TEST(public_files)
{
    uint8_t key[32];
    static const char *const lines[] = {
        "",
        "ssh-rsa AAAA",
        "ssh-ed25519",
        "ssh-ed25519 ",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE4AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIP\xff/////////////////////////////////////////"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        memset(key, 1, sizeof(key));
        ck_assert_int_ne(openssh_key_parse_public(key, lines[i], strlen(lines[i])), FAULT_NONE);
        ck_assert(sodium_is_zero(key, sizeof(key)));
    }
}
