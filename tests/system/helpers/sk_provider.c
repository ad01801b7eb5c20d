/*
 * A FIDO authenticator in software, for the tests: a security key provider that ssh and ssh-keygen
 * load by -w and SecurityKeyProvider. It speaks version 10 of their interface and knows Ed25519
 * only.
 *
 * It has no memory: the key handle is the seed of the key pair, so whoever has the key file has the
 * key. The environment stands in for what a person does with the device, and for what it counts:
 *
 *     WREN_SK_FLAGS    the flags of a signature; without it, those that the client asks for
 *     WREN_SK_COUNTER  the counter of a signature; without it, 1
 */
#include <errno.h>
#include <sodium.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    API_VERSION = 0x000a0000,
    ALGORITHM_ED25519 = 1,
    TOUCHED = 0x01,
    VERIFIED = 0x04,
    FAILED = -1,
    UNSUPPORTED = -2,
    SEED_SIZE = crypto_sign_SEEDBYTES,
    HASH_SIZE = crypto_hash_sha256_BYTES,
    SIGNED_SIZE = HASH_SIZE + 1 + 4 + HASH_SIZE,
};

struct bytes {
    uint8_t *at;
    size_t length;
};

/* What the client reads: the order of the members is the interface. It gives each piece back to
 * free(). */
struct sk_enroll_response {
    uint8_t flags;
    struct bytes public_key, key_handle, signature, attestation, authenticator_data;
};

struct sk_sign_response {
    uint8_t flags;
    uint32_t counter;
    struct bytes first, second; /* of an Ed25519 signature all is in the first */
};

struct sk_option {
    char *name;
    char *value;
    uint8_t required;
};

struct sk_resident_key;

uint32_t sk_api_version(void);
int sk_enroll(uint32_t algorithm, const uint8_t *challenge, size_t challenge_length,
              const char *application, uint8_t flags, const char *pin, struct sk_option **options,
              struct sk_enroll_response **response);
int sk_sign(uint32_t algorithm, const uint8_t *message, size_t message_length,
            const char *application, const uint8_t *handle, size_t handle_length, uint8_t flags,
            const char *pin, struct sk_option **options, struct sk_sign_response **response);
int sk_load_resident_keys(const char *pin, struct sk_option **options,
                          struct sk_resident_key ***keys, size_t *count);

/* A number from the environment, decimal or 0x…; one that is no number, or too big, is an error. */
static int from_environment(const char *name, uint32_t most, uint32_t *value)
{
    const char *text = getenv(name);
    char *end;
    unsigned long number;

    if (text == NULL) {
        return 0;
    }
    errno = 0;
    number = strtoul(text, &end, 0);
    if (errno != 0 || end == text || *end != '\0' || number > most) {
        return FAILED;
    }
    *value = (uint32_t)number;
    return 0;
}

static int allocate(struct bytes *bytes, size_t length)
{
    bytes->at = calloc(1, length);
    bytes->length = bytes->at != NULL ? length : 0;
    return bytes->at != NULL ? 0 : FAILED;
}

/* An option that must be heeded is one that would do nothing here. */
static int wants_too_much(struct sk_option **options)
{
    for (; options != NULL && *options != NULL; options++) {
        if ((*options)->required != 0) {
            return 1;
        }
    }
    return 0;
}

uint32_t sk_api_version(void)
{
    return API_VERSION;
}

static void forget_enrolled(struct sk_enroll_response *made)
{
    free(made->public_key.at);
    free(made->key_handle.at);
    free(made);
}

/* There is no attestation: what says of itself which device it is, is of no use to the tests. */
int sk_enroll(uint32_t algorithm, const uint8_t *challenge, size_t challenge_length,
              const char *application, uint8_t flags, const char *pin, struct sk_option **options,
              struct sk_enroll_response **response)
{
    uint8_t secret[crypto_sign_SECRETKEYBYTES];
    struct sk_enroll_response *made;

    (void)challenge;
    (void)challenge_length;
    (void)application;
    (void)pin;
    *response = NULL;
    if (algorithm != ALGORITHM_ED25519 || wants_too_much(options)) {
        return UNSUPPORTED;
    }
    made = sodium_init() < 0 ? NULL : calloc(1, sizeof *made);
    if (made == NULL) {
        return FAILED;
    }
    if (allocate(&made->public_key, crypto_sign_PUBLICKEYBYTES) != 0 ||
        allocate(&made->key_handle, SEED_SIZE) != 0) {
        forget_enrolled(made);
        return FAILED;
    }
    randombytes_buf(made->key_handle.at, SEED_SIZE);
    (void)crypto_sign_seed_keypair(made->public_key.at, secret, made->key_handle.at);
    sodium_memzero(secret, sizeof secret);
    made->flags = flags;
    *response = made;
    return 0;
}

/* SHA-256(application) || flags || counter || SHA-256(message): the client gives both unhashed. */
static void lay_out(uint8_t to[SIGNED_SIZE], const char *application, uint8_t flags,
                    uint32_t counter, const uint8_t *message, size_t message_length)
{
    (void)crypto_hash_sha256(to, (const uint8_t *)application, strlen(application));
    to += HASH_SIZE;
    *to++ = flags;
    for (int shift = 24; shift >= 0; shift -= 8) {
        *to++ = (uint8_t)(counter >> shift);
    }
    (void)crypto_hash_sha256(to, message, message_length);
}

int sk_sign(uint32_t algorithm, const uint8_t *message, size_t message_length,
            const char *application, const uint8_t *handle, size_t handle_length, uint8_t flags,
            const char *pin, struct sk_option **options, struct sk_sign_response **response)
{
    uint8_t public_key[crypto_sign_PUBLICKEYBYTES];
    uint8_t secret[crypto_sign_SECRETKEYBYTES];
    uint8_t data[SIGNED_SIZE];
    uint32_t shown = flags & (TOUCHED | VERIFIED);
    uint32_t counter = 1;
    struct sk_sign_response *made;

    (void)pin;
    *response = NULL;
    if (algorithm != ALGORITHM_ED25519 || wants_too_much(options)) {
        return UNSUPPORTED;
    }
    if (handle_length != SEED_SIZE || sodium_init() < 0 ||
        from_environment("WREN_SK_FLAGS", UINT8_MAX, &shown) != 0 ||
        from_environment("WREN_SK_COUNTER", UINT32_MAX, &counter) != 0) {
        return FAILED;
    }
    made = calloc(1, sizeof *made);
    if (made == NULL || allocate(&made->first, crypto_sign_BYTES) != 0) {
        free(made);
        return FAILED;
    }
    made->flags = (uint8_t)shown;
    made->counter = counter;
    lay_out(data, application, made->flags, counter, message, message_length);
    (void)crypto_sign_seed_keypair(public_key, secret, handle);
    (void)crypto_sign_detached(made->first.at, NULL, data, sizeof data, secret);
    sodium_memzero(secret, sizeof secret);
    *response = made;
    return 0;
}

int sk_load_resident_keys(const char *pin, struct sk_option **options,
                          struct sk_resident_key ***keys, size_t *count)
{
    (void)pin;
    (void)options;
    *keys = NULL;
    *count = 0;
    return UNSUPPORTED;
}
