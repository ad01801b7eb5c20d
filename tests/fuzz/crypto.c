/*
 * Every kernel of crypto/ that this processor has, beside the portable one and libsodium: ChaCha20
 * (original and IETF), Poly1305, packets of chacha20-poly1305@openssh.com. Lengths, alignments and
 * keys come from the input; in place and from one buffer to another.
 *
 * Input: a byte that chooses the part, then its fields and the message. 0xff stands for repetitions
 * (support/second.h), as messages of equal bytes bring Poly1305 near its modulus.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "chacha20.h"
#include "chacha20_kernels.h"
#include "chachapoly.h"
#include "levels.h"
#include "poly1305.h"
#include "second.h"

#define MOST_BYTES 8192
#define MOST_ALIGN 64

/* A buffer that begins at an offset from an aligned address and ends where its memory ends. */
struct place {
    uint8_t *memory;
    uint8_t *bytes;
};

static struct place place_for(size_t count, size_t align)
{
    struct place place;
    /* glibc and AddressSanitizer align by 16 at least. */
    align %= MOST_ALIGN;
    place.memory = malloc(count + align + 1);
    place.bytes = place.memory + align;
    memset(place.memory, 0xa5, count + align + 1);
    return place;
}

static void place_end(const struct place *place, size_t count)
{
    FUZZ_CHECK(place->bytes[count] == 0xa5);
    FUZZ_CHECK(place->bytes == place->memory || place->bytes[-1] == 0xa5);
    free(place->memory);
}

/* ---- ChaCha20 -------------------------------------------------------------------------------- */

struct cipher {
    uint8_t key[32], nonce[8];
    uint64_t counter;
};

static void libsodiums(uint8_t *out, const uint8_t *in, size_t count, const struct cipher *cipher)
{
    crypto_stream_chacha20_xor_ic(out, in, count, cipher->nonce, cipher->counter, cipher->key);
}

/* The IETF's form counts in 32 bits: the rest of the counter is part of its nonce. */
static void check_ietf(const uint8_t *expected, const uint8_t *in, size_t count,
                       const struct cipher *cipher)
{
    uint8_t nonce[12], out[MOST_BYTES];
    uint32_t low = (uint32_t)cipher->counter;
    for (int i = 0; i < 4; i++) {
        nonce[i] = (uint8_t)(cipher->counter >> (32 + 8 * i));
    }
    memcpy(nonce + 4, cipher->nonce, 8);
    if (low <= UINT32_MAX - (count + 63) / 64) {
        crypto_stream_chacha20_ietf_xor_ic(out, in, count, nonce, low, cipher->key);
        FUZZ_CHECK(memcmp(out, expected, count) == 0);
    }
}

static void check_chacha20(struct input input, struct input message)
{
    uint8_t expected[MOST_BYTES];
    struct cipher cipher;
    uint8_t align = input_u8(&input), other_align = input_u8(&input);
    second_number(&input, 8, &cipher.counter);
    second_bytes(&input, cipher.nonce, 8);
    second_bytes(&input, cipher.key, 32);
    libsodiums(expected, message.at, message.left, &cipher);
    for (int i = 0; i < LEVELS; i++) {
        if (!level_set(i)) {
            continue;
        }
        struct place out = place_for(message.left, align);
        struct place in = place_for(message.left, other_align);
        memcpy(in.bytes, message.at, message.left);
        chacha20_xor(out.bytes, in.bytes, message.left, cipher.key, cipher.nonce, cipher.counter);
        FUZZ_CHECK(memcmp(out.bytes, expected, message.left) == 0);
        FUZZ_CHECK(memcmp(in.bytes, message.at, message.left) == 0);
        chacha20_xor(in.bytes, in.bytes, message.left, cipher.key, cipher.nonce, cipher.counter);
        FUZZ_CHECK(memcmp(in.bytes, expected, message.left) == 0);
        place_end(&out, message.left);
        place_end(&in, message.left);
    }
    check_ietf(expected, message.at, message.left, &cipher);
}

static const struct {
    chacha20_kernel *run;
    size_t lanes;
    enum cpu_level level;
} kernels[] = {
    {chacha20_portable, 1, CPU_BASELINE},
#if defined(__x86_64__)
    {chacha20_sse2, 4, CPU_BASELINE},     {chacha20_avx2, 8, CPU_AVX2},
    {chacha20_avx2_one, 1, CPU_AVX2},     {chacha20_avx2_four, 4, CPU_AVX2},
    {chacha20_avx512vl, 8, CPU_AVX512},   {chacha20_avx512, 16, CPU_AVX512},
#elif defined(__AARCH64EL__)
    {chacha20_neon, 4, CPU_BASELINE},
#elif defined(__ARMEL__)
    {chacha20_neon, 4, CPU_NEON},
#endif
};

/* The kernels themselves: whole strides, and a first block of another state. */
static void check_kernels(struct input input, struct input message)
{
    uint32_t words[2][CHACHA20_STATE_WORDS];
    uint8_t align = input_u8(&input), lone = input_u8(&input) & 1;
    for (size_t i = 0; i < CHACHA20_STATE_WORDS; i++) {
        words[0][i] = input_u32(&input);
        words[1][i] = words[0][i] ^ 0x01010101U * (uint32_t)i;
    }
    const uint32_t *first = words[lone];
    cpu_limit(CPU_AVX512IFMA);
    for (size_t k = 1; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
        size_t stride = kernels[k].lanes * CHACHA20_BLOCK_BYTES;
        size_t strides = lone != 0 ? 1 : 1 + message.left / stride, count = strides * stride;
        if (kernels[k].level > cpu_level() || count > MOST_BYTES) {
            continue;
        }
        struct place out = place_for(count, align), in = place_for(count, align / 2U);
        uint8_t expected[MOST_BYTES];
        memset(in.bytes, 0, count);
        memcpy(in.bytes, message.at, message.left < count ? message.left : count);
        kernels[k].run(out.bytes, in.bytes, strides, words[0], first);
        kernels[0].run(expected, in.bytes, count / CHACHA20_BLOCK_BYTES, words[0], words[0]);
        kernels[0].run(expected, in.bytes, 1, first, first);
        FUZZ_CHECK(memcmp(out.bytes, expected, count) == 0);
        kernels[k].run(in.bytes, in.bytes, strides, words[0], first);
        FUZZ_CHECK(memcmp(in.bytes, expected, count) == 0);
        place_end(&out, count);
        place_end(&in, count);
    }
}

static void check_pair(struct input input, struct input message)
{
    static const uint8_t zeros[CHACHA20_PAIR_BYTES];
    struct cipher lone = {.counter = 0}, other = {.counter = 0};
    size_t wanted = message.left;
    second_bytes(&input, lone.key, 32);
    second_bytes(&input, other.key, 32);
    second_bytes(&input, other.nonce, 8);
    memcpy(lone.nonce, other.nonce, 8);
    for (int i = 0; i < LEVELS; i++) {
        uint8_t keystream[CHACHA20_PAIR_BYTES], expected[CHACHA20_PAIR_BYTES];
        if (!level_set(i)) {
            continue;
        }
        size_t blocks = chacha20_pair(keystream, wanted, lone.key, other.key, other.nonce);
        FUZZ_CHECK(blocks >= 1 && (blocks + 1) * CHACHA20_BLOCK_BYTES <= CHACHA20_PAIR_BYTES);
        libsodiums(expected, zeros, CHACHA20_BLOCK_BYTES, &lone);
        libsodiums(expected + CHACHA20_BLOCK_BYTES, zeros, blocks * CHACHA20_BLOCK_BYTES, &other);
        FUZZ_CHECK(memcmp(keystream, expected, (blocks + 1) * CHACHA20_BLOCK_BYTES) == 0);
    }
}

/* ---- Poly1305 -------------------------------------------------------------------------------- */

static void check_poly1305(struct input input, struct input message)
{
    uint8_t key[32], expected[16], tag[16];
    uint8_t align = input_u8(&input);
    second_bytes(&input, key, sizeof(key));
    crypto_onetimeauth_poly1305(expected, message.at, message.left, key);
    for (int i = 0; i < LEVELS; i++) {
        if (level_set(i)) {
            struct place in = place_for(message.left, align);
            memcpy(in.bytes, message.at, message.left);
            poly1305(tag, in.bytes, message.left, key);
            FUZZ_CHECK(memcmp(tag, expected, sizeof(tag)) == 0);
            place_end(&in, message.left);
        }
    }
}

/* ---- packets --------------------------------------------------------------------------------- */

static void check_packet(struct input input, struct input message)
{
    uint8_t key[64], expected[4 + MOST_BYTES + 16], changed[4 + MOST_BYTES + 16];
    uint8_t align = input_u8(&input);
    uint32_t sequence = input_u32(&input), bit = input_u32(&input);
    size_t body_bytes = message.left, whole = 4 + body_bytes + 16;
    second_bytes(&input, key, sizeof(key));
    struct fields plain = FIELDS_IN(expected);
    fields_string(&plain, message.at, body_bytes);
    packet_encrypt(expected, body_bytes, key, sequence);
    bit %= 8 * (uint32_t)whole;
    for (int i = 0; i < LEVELS; i++) {
        if (!level_set(i)) {
            continue;
        }
        struct place packet = place_for(whole, align);
        struct fields out = {packet.bytes, 0, whole, false};
        fields_string(&out, message.at, body_bytes);
        chachapoly_seal(packet.bytes, body_bytes, key, sequence);
        FUZZ_CHECK(memcmp(packet.bytes, expected, whole) == 0);
        FUZZ_CHECK(chachapoly_length(packet.bytes, key, sequence) == body_bytes);

        packet.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        memcpy(changed, packet.bytes, whole);
        FUZZ_CHECK(!chachapoly_open(packet.bytes, body_bytes, key, sequence));
        FUZZ_CHECK(memcmp(packet.bytes, changed, whole) == 0);
        packet.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        FUZZ_CHECK(!chachapoly_open(packet.bytes, body_bytes, key, sequence + 1));
        FUZZ_CHECK(chachapoly_open(packet.bytes, body_bytes, key, sequence));
        FUZZ_CHECK(memcmp(packet.bytes + 4, message.at, body_bytes) == 0);
        place_end(&packet, whole);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t message[MOST_BYTES];
    static void (*const parts[])(struct input, struct input) = {
        check_chacha20, check_kernels, check_pair, check_poly1305, check_packet};
    struct input input = {data, size};
    uint8_t part = input_u8(&input) % 5;
    const struct input fields = input_take(&input, 82);
    FUZZ_CHECK(sodium_init() >= 0);
    parts[part](fields,
                (struct input){message, second_expand(message, sizeof(message), input, "")});
    cpu_limit(CPU_AVX512IFMA);
    return 0;
}
