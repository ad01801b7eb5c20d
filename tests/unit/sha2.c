/* What the daemon relies on in libsodium's SHA-2. That of the static builds is small_sha2.c of
 * subprojects/packagefiles/libsodium. */
#include <sodium.h>
#include <string.h>

#include "unit.h"
#include "vectors/hex.h"

#define BYTES_256 crypto_hash_sha256_BYTES
#define BYTES_512 crypto_hash_sha512_BYTES

static void assert_hex(const uint8_t *found, size_t bytes, const char *hex)
{
    uint8_t expected[BYTES_512];
    ck_assert_uint_eq(unhex(expected, sizeof(expected), hex), bytes);
    ck_assert_mem_eq(found, expected, bytes);
}

/* NIST, "Examples with Intermediate Values" of SHA-256 and SHA-512: one block and two. */
TEST(hashes_as_fips_180)
{
    static const char two_256[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    static const char two_512[] = "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                                  "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";
    uint8_t hash[BYTES_512];
    crypto_hash_sha256(hash, (const uint8_t *)"abc", 3);
    assert_hex(hash, BYTES_256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    crypto_hash_sha256(hash, (const uint8_t *)two_256, strlen(two_256));
    assert_hex(hash, BYTES_256, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    crypto_hash_sha512(hash, (const uint8_t *)"abc", 3);
    assert_hex(hash, BYTES_512,
               "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
               "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
    crypto_hash_sha512(hash, (const uint8_t *)two_512, strlen(two_512));
    assert_hex(hash, BYTES_512,
               "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018"
               "501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909");
}

/* Each length of the last block, and messages in parts of all lengths. The hashes of all hashes are
 * those of Python's hashlib. */
TEST(every_length_and_part)
{
    enum { MOST = 300 };
    uint8_t message[MOST], hash[BYTES_512], parts[BYTES_512];
    crypto_hash_sha256_state all_256, state_256;
    crypto_hash_sha512_state all_512, state_512;
    for (size_t i = 0; i < MOST; i++) {
        message[i] = (uint8_t)(7 * i + 3);
    }
    crypto_hash_sha256_init(&all_256);
    crypto_hash_sha512_init(&all_512);
    for (size_t bytes = 0; bytes <= MOST; bytes++) {
        size_t first = bytes * 5 % 131 % (bytes + 1);
        crypto_hash_sha256(hash, message, bytes);
        crypto_hash_sha256_init(&state_256);
        crypto_hash_sha256_update(&state_256, message, first);
        crypto_hash_sha256_update(&state_256, message + first, bytes - first);
        crypto_hash_sha256_final(&state_256, parts);
        ck_assert_mem_eq(parts, hash, BYTES_256);
        crypto_hash_sha256_update(&all_256, hash, BYTES_256);
        crypto_hash_sha512(hash, message, bytes);
        crypto_hash_sha512_init(&state_512);
        crypto_hash_sha512_update(&state_512, message, first);
        crypto_hash_sha512_update(&state_512, message + first, bytes - first);
        crypto_hash_sha512_final(&state_512, parts);
        ck_assert_mem_eq(parts, hash, BYTES_512);
        crypto_hash_sha512_update(&all_512, hash, BYTES_512);
    }
    crypto_hash_sha256_final(&all_256, hash);
    assert_hex(hash, BYTES_256, "7d917fbd2cf49ddff9ad0a8706bba32d204e92e71d2e369c5a03d6af29278c9f");
    crypto_hash_sha512_final(&all_512, hash);
    assert_hex(hash, BYTES_512,
               "404431b1c0eac12729b20176c61b0e1c561b6b20d2ecbb7ee1126c361943d724"
               "d7c0814a8daf5c3a2a7d3e431a0aaf58c12f96d8c3370582b777fd375c3c972f");
}

/* The state holds what was hashed, and so may a secret's first bytes. */
TEST(the_end_wipes_the_state)
{
    static const uint8_t zeros[sizeof(crypto_hash_sha512_state)];
    crypto_hash_sha256_state state_256;
    crypto_hash_sha512_state state_512;
    uint8_t hash[BYTES_512];
    crypto_hash_sha256_init(&state_256);
    crypto_hash_sha256_update(&state_256, (const uint8_t *)"secret", 6);
    crypto_hash_sha256_final(&state_256, hash);
    ck_assert_mem_eq(&state_256, zeros, sizeof(state_256));
    crypto_hash_sha512_init(&state_512);
    crypto_hash_sha512_update(&state_512, (const uint8_t *)"secret", 6);
    crypto_hash_sha512_final(&state_512, hash);
    ck_assert_mem_eq(&state_512, zeros, sizeof(state_512));
}
