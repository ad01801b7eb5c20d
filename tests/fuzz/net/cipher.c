/*
 * Stand-ins for crypto/. A packet is not encrypted. Its tag holds the key exchange whose key it
 * has, its sequence number, its length and a digest of its body, so that a wrong key, a wrong
 * sequence number and a changed byte are all seen. The keys themselves are derived a second time,
 * by tests/client, and the product must use just these.
 */
#include "agree.h"
#include "base.h"
#include "chachapoly.h"
#include "sntrup761.h"
#include "world.h"

#include <sodium.h>
#include <string.h>

uint32_t digest_of(const void *bytes, size_t count)
{
    uint64_t digest = 0x9e3779b97f4a7c15U ^ count;
    const uint8_t *at = bytes;
    for (; count >= 8; count -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        digest = (digest ^ word) * 0xff51afd7ed558ccdU;
        digest ^= digest >> 32;
    }
    for (; count > 0; count--) {
        digest = (digest ^ *at++) * 0xff51afd7ed558ccdU;
        digest ^= digest >> 32;
    }
    return (uint32_t)digest;
}

/* ---- packets --------------------------------------------------------------------------------- */

void cipher_tag(uint8_t tag[CHACHAPOLY_TAG_BYTES], const uint8_t *packet, size_t body_bytes,
                uint32_t epoch, uint32_t sequence)
{
    big_endian_write(tag, TAG_MAGIC + (world.plain_tags ? 0 : epoch));
    big_endian_write(tag + 4, world.plain_tags ? 0 : sequence);
    big_endian_write(tag + 8, world.plain_tags ? 0 : (uint32_t)body_bytes);
    big_endian_write(tag + 12, world.plain_tags ? 0 : digest_of(packet, 4 + body_bytes));
}

static void check_key(int direction, uint32_t epoch, const uint8_t *key, uint32_t own_sequence,
                      uint32_t sequence)
{
    FUZZ_CHECK(epoch > 0 && epoch <= world.exchanges);
    FUZZ_CHECK(memcmp(key, world.keys[direction][epoch % EPOCHS], CHACHAPOLY_KEY_BYTES) == 0);
    FUZZ_CHECK(sequence == own_sequence);
}

uint32_t chachapoly_length(const uint8_t sealed[static CHACHAPOLY_LENGTH_BYTES],
                           const uint8_t key[static CHACHAPOLY_KEY_BYTES], uint32_t sequence)
{
    check_key(0, world.in_epoch, key, world.in_sequence, sequence);
    return big_endian_read(sealed);
}

bool chachapoly_open(uint8_t *packet, size_t body_bytes,
                     const uint8_t key[static CHACHAPOLY_KEY_BYTES], uint32_t sequence)
{
    uint8_t tag[CHACHAPOLY_TAG_BYTES];
    check_key(0, world.in_epoch, key, world.in_sequence, sequence);
    cipher_tag(tag, packet, body_bytes, world.in_epoch, sequence);
    return memcmp(packet + CHACHAPOLY_LENGTH_BYTES + body_bytes, tag, sizeof(tag)) == 0;
}

void chachapoly_seal(uint8_t *packet, size_t body_bytes,
                     const uint8_t key[static CHACHAPOLY_KEY_BYTES], uint32_t sequence)
{
    check_key(1, world.out_epoch, key, world.out_sequence, sequence);
    cipher_tag(packet + CHACHAPOLY_LENGTH_BYTES + body_bytes, packet, body_bytes, world.out_epoch,
               sequence);
}

/* ---- key exchange ---------------------------------------------------------------------------- */

void agree_x25519_key(struct agree_key *pair, const uint8_t random[static AGREE_X25519_BYTES])
{
    memcpy(pair->secret, random, sizeof(pair->secret));
    memset(pair->public_key, 0x51, sizeof(pair->public_key));
}

/* A client's point of zeros has low order. The secret depends on all of Q_C, and often starts with
 * bits for which an mpint needs another byte or fewer bytes. */
static bool agreed(uint8_t *secret, size_t secret_bytes, const uint8_t *client, size_t client_bytes,
                   const uint8_t *point)
{
    memset(secret, 0, secret_bytes);
    if (sodium_is_zero(point, AGREE_X25519_BYTES)) {
        return false;
    }
    uint32_t digest = digest_of(client, client_bytes);
    for (size_t i = digest % 3; i < secret_bytes; i++) {
        secret[i] = (uint8_t)(digest >> 8 * (i % 4));
    }
    memcpy(world.secrets.k, secret, secret_bytes);
    return true;
}

bool agree_x25519(uint8_t secret[static AGREE_X25519_BYTES], const struct agree_key *pair,
                  const uint8_t client[static AGREE_X25519_BYTES])
{
    FUZZ_CHECK(pair->public_key[0] == 0x51);
    memset(world.secrets.k, 0, sizeof(world.secrets.k));
    return agreed(secret, AGREE_X25519_BYTES, client, AGREE_X25519_BYTES, client);
}

bool agree_hybrid(uint8_t secret[static AGREE_HYBRID_SECRET_BYTES],
                  uint8_t server[static AGREE_HYBRID_SERVER_BYTES], const struct agree_key *pair,
                  const uint8_t client[static AGREE_HYBRID_CLIENT_BYTES],
                  const uint8_t random[static SNTRUP761_RANDOM_BYTES])
{
    FUZZ_CHECK(pair->public_key[0] == 0x51 && random[0] == 0x52);
    memset(server, 0x53, AGREE_HYBRID_SERVER_BYTES);
    return agreed(secret, AGREE_HYBRID_SECRET_BYTES, client, AGREE_HYBRID_CLIENT_BYTES,
                  client + SNTRUP761_PUBLIC_KEY_BYTES);
}

void sntrup761_random(uint8_t random[static SNTRUP761_RANDOM_BYTES],
                      const uint8_t seed[static SNTRUP761_SEED_BYTES])
{
    (void)seed;
    memset(random, 0x52, SNTRUP761_RANDOM_BYTES);
}

void cipher_exchange(bool hybrid, const uint8_t *h, size_t h_bytes)
{
    world.secrets.hybrid = hybrid;
    secrets_keep_h(&world.secrets, h, h_bytes);
    world.session_id_bytes = world.secrets.session_id_bytes;
    world.exchanges++;
    for (int direction = 0; direction < 2; direction++) {
        secrets_key(&world.secrets, direction == 0 ? 'C' : 'D',
                    world.keys[direction][world.exchanges % EPOCHS]);
    }
}
