/*
 * OpenSSH's private and public key files, read a second time: the armour is taken off letter by
 * letter, the fields are split by plain reading, and libsodium derives the public key from the
 * seed. Refused files must leave zeros in both keys.
 *
 * Input: a byte. The text of a private key; or the bytes inside the armour, which the target puts
 * into lines of a length of the next byte; or the text of a public key.
 */
#include "hostkey_internal.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "second.h"

#define TEXT_BYTES 32768

static const char begin[] = "-----BEGIN OPENSSH PRIVATE KEY-----";
static const char end[] = "-----END OPENSSH PRIVATE KEY-----";

/* Takes the armour off. Returns the decoded bytes, or SIZE_MAX. */
static size_t take_off(uint8_t *decoded, struct input text)
{
    static uint8_t letters[TEXT_BYTES];
    size_t count = 0;
    if (text.left < strlen(begin) || memcmp(text.at, begin, strlen(begin)) != 0) {
        return SIZE_MAX;
    }
    input_take(&text, strlen(begin));
    bool own_line = text.left > 0 && (text.at[0] == '\n' ||
                                      (text.at[0] == '\r' && text.left > 1 && text.at[1] == '\n'));
    while (text.left > 0 && *text.at != '-') {
        uint8_t letter = input_u8(&text);
        if (letter != '\n' && letter != '\r') {
            letters[count++] = letter;
        }
    }
    while (text.left > 0 && (text.at[text.left - 1] == '\n' || text.at[text.left - 1] == '\r')) {
        text.left--;
    }
    return own_line && second_is(text, end) ? second_base64(decoded, (struct input){letters, count})
                                            : SIZE_MAX;
}

static bool is_padding(struct input rest)
{
    uint8_t next = 1;
    while (rest.left > 0) {
        if (rest.left > 255 || input_u8(&rest) != next++) {
            return false;
        }
    }
    return true;
}

/* The keys of a file that is all right. */
static bool read_inside(uint8_t public_key[static 32], uint8_t secret_key[static 64],
                        struct input file)
{
    struct input cipher, kdf, kdf_options, public_part, private_part, type, key, inner_type,
        inner_key, secret, comment;
    uint64_t keys, check, again;
    if (file.left < 15 || memcmp(file.at, "openssh-key-v1", 15) != 0) {
        return false;
    }
    input_take(&file, 15);
    if (!second_string(&file, &cipher) || !second_string(&file, &kdf) ||
        !second_string(&file, &kdf_options) || !second_number(&file, 4, &keys) ||
        !second_string(&file, &public_part) || !second_string(&file, &private_part) ||
        file.left > 0 || !second_is(cipher, "none") || !second_is(kdf, "none") ||
        kdf_options.left > 0 || keys != 1 || private_part.left % 8 != 0) {
        return false;
    }
    if (!second_string(&public_part, &type) || !second_string(&public_part, &key) ||
        public_part.left > 0 || !second_is(type, "ssh-ed25519") || key.left != 32 ||
        !second_number(&private_part, 4, &check) || !second_number(&private_part, 4, &again) ||
        check != again || !second_string(&private_part, &inner_type) ||
        !second_is(inner_type, "ssh-ed25519") || !second_string(&private_part, &inner_key) ||
        !second_string(&private_part, &secret) || !second_string(&private_part, &comment) ||
        secret.left != 64 || !is_padding(private_part)) {
        return false;
    }
    crypto_sign_seed_keypair(public_key, secret_key, secret.at);
    const struct input derived = {public_key, 32};
    return second_same(derived, key) && second_same(derived, inner_key) &&
           memcmp(secret_key, secret.at, 64) == 0;
}

static void check_text(struct input text)
{
    static uint8_t decoded[TEXT_BYTES];
    struct hostkey_pair pair;
    uint8_t second_public[32], second_secret[64];
    static const uint8_t zeros[64];
    enum hostkey_fault fault = openssh_key_parse(&pair, (const char *)text.at, text.left);
    size_t count = take_off(decoded, text);
    bool good = count != SIZE_MAX &&
                read_inside(second_public, second_secret, (struct input){decoded, count});
    FUZZ_CHECK((fault == FAULT_NONE) == good);
    FUZZ_CHECK(memcmp(pair.public_key, good ? second_public : zeros, 32) == 0);
    FUZZ_CHECK(memcmp(pair.secret_key, good ? second_secret : zeros, 64) == 0);
    FUZZ_CHECK(good || hostkey_words(fault)[0] != '\0');
}

static void check_inside(struct input inside)
{
    static char encoded[TEXT_BYTES];
    static uint8_t text[2 * TEXT_BYTES];
    struct fields out = FIELDS_IN(text);
    size_t columns = 1 + input_u8(&inside);
    /* A file has at most OPENSSH_KEY_FILE_BYTES. */
    inside.left = inside.left < 5600 ? inside.left : 5600;
    sodium_bin2base64(encoded, sizeof(encoded), inside.at, inside.left,
                      sodium_base64_VARIANT_ORIGINAL);
    fields_bytes(&out, begin, strlen(begin));
    for (size_t at = 0, count = strlen(encoded); at < count; at += columns) {
        fields_bytes(&out, "\n", 1);
        fields_bytes(&out, encoded + at, count - at < columns ? count - at : columns);
    }
    fields_bytes(&out, "\n", 1);
    fields_bytes(&out, end, strlen(end));
    if (out.used > OPENSSH_KEY_FILE_BYTES) {
        return;
    }
    uint8_t *copy = input_copy((struct input){text, out.used});
    check_text((struct input){copy, out.used});
    free(copy);
}

/* The key's text must begin as the text that is made of the key does. */
static void check_public(struct input text)
{
    uint8_t public_key[32], blob[51];
    char expected[128] = "ssh-ed25519 ";
    struct fields out = FIELDS_IN(blob);
    uint8_t decoded[128];
    enum hostkey_fault fault =
        openssh_key_parse_public(public_key, (const char *)text.at, text.left);
    bool good = text.left >= 12 + 68;
    if (good) {
        second_base64(decoded, (struct input){text.at + 12, 68});
        fields_text(&out, "ssh-ed25519");
        fields_string(&out, decoded + 51 - 32, 32);
        sodium_bin2base64(expected + 12, sizeof(expected) - 12, blob, out.used,
                          sodium_base64_VARIANT_ORIGINAL);
        good = memcmp(expected, text.at, 12 + 68) == 0;
    }
    FUZZ_CHECK((fault == FAULT_NONE) == good);
    FUZZ_CHECK(good ? memcmp(public_key, decoded + 51 - 32, 32) == 0
                    : sodium_is_zero(public_key, sizeof(public_key)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    uint8_t kind = input_u8(&input);
    if (kind == 'i') {
        check_inside(input);
        return 0;
    }
    input.left = input.left < OPENSSH_KEY_FILE_BYTES ? input.left : OPENSSH_KEY_FILE_BYTES;
    uint8_t *copy = input_copy(input);
    if (kind == 'p') {
        check_public((struct input){copy, input.left});
    } else {
        check_text((struct input){copy, input.left});
    }
    free(copy);
    return 0;
}
