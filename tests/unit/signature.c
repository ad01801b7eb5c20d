/* signature_verify() with signatures of libsodium, over data as a FIDO authenticator signs them,
 * too. */
#include "grant.h"

#include <sodium.h>
#include <string.h>

#include "unit.h"

static const uint8_t data[] = "signed data";
static uint8_t secret_key[64];
static struct signature_key key;
static struct signature signature;

static void sign(const uint8_t *bytes, size_t count)
{
    crypto_sign_detached(signature.bytes, NULL, bytes, count, secret_key);
}

static bool verify(void)
{
    return signature_verify(&signature, &key, data, sizeof(data));
}

static void start(void)
{
    const uint8_t seed[32] = {7};
    memset(&key, 0, sizeof(key));
    memset(&signature, 0, sizeof(signature));
    crypto_sign_seed_keypair(key.public_key, secret_key, seed);
    sign(data, sizeof(data));
}

UNIT_FIXTURE(start, NULL);

TEST_EACH(of_a_plain_key, 64)
{
    ck_assert(verify());
    signature.bytes[_i] ^= 1;
    ck_assert(!verify());
}

/* SHA-256(application) || flags || counter || SHA-256(data) */
static void sign_as_authenticator(void)
{
    uint8_t bytes[32 + 1 + 4 + 32] = {0};
    memset(key.application_hash, 0x5a, sizeof(key.application_hash));
    memset(bytes, 0x5a, 32);
    bytes[32] = SIGNATURE_SK_PRESENT;
    memcpy(bytes + 33, "\x01\x02\x03\x04", 4);
    crypto_hash_sha256(bytes + 37, data, sizeof(data));
    key.sk = 1;
    signature.sk_flags = SIGNATURE_SK_PRESENT;
    signature.sk_counter = 0x01020304;
    sign(bytes, sizeof(bytes));
}

TEST(of_an_authenticator)
{
    sign_as_authenticator();
    ck_assert(verify());
    signature.sk_counter++;
    ck_assert(!verify());
    signature.sk_counter--;
    signature.sk_flags |= SIGNATURE_SK_VERIFIED;
    ck_assert(!verify());
    signature.sk_flags = SIGNATURE_SK_PRESENT;
    key.application_hash[31] ^= 1;
    ck_assert(!verify());
}

/* The two kinds never stand for each other. */
TEST(of_the_other_kind)
{
    key.sk = 1;
    ck_assert(!verify());
    sign_as_authenticator();
    key.sk = 0;
    ck_assert(!verify());
}
