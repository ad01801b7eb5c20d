/* For crypto/chacha20.c, all of its kernels, and crypto/cpu.c. */
#include "chacha20.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "chacha20_kernels.h"
#include "levels.h"
#include "unit.h"
#include "vectors/hex.h"
#include "vectors/rfc8439.h"

#define ROOM       2100
#define LARGE      35000
#define ALIGNMENTS 64

/* The RFC's last four state words are a 32-bit counter and a 96-bit nonce, ours a 64-bit counter
 * and a 64-bit nonce: the nonce's first word is the counter's upper half. */
static void try_vector(const struct chacha20_vector *vector)
{
    uint8_t key[32], nonce[12], in[ROOM], expected[ROOM], out[ROOM];
    ck_assert_uint_eq(unhex(key, sizeof(key), vector->key), sizeof(key));
    ck_assert_uint_eq(unhex(nonce, sizeof(nonce), vector->nonce), sizeof(nonce));
    size_t count = unhex(in, sizeof(in), vector->in);
    ck_assert_uint_eq(unhex(expected, sizeof(expected), vector->out), count);
    uint64_t upper = (uint64_t)nonce[0] | (uint64_t)nonce[1] << 8 | (uint64_t)nonce[2] << 16 |
                     (uint64_t)nonce[3] << 24;
    chacha20_xor(out, in, count, key, nonce + 4, vector->counter | upper << 32);
    ck_assert_msg(memcmp(out, expected, count) == 0, "RFC 8439 %s", vector->section);
}

UNIT_BEFORE(levels_tell());
UNIT_TIMEOUT(60);

TEST_EACH(vectors_of_rfc_8439, LEVELS)
{
    for (size_t i = 0; level_set(_i) && i < sizeof(rfc8439_chacha20) / sizeof(rfc8439_chacha20[0]);
         i++) {
        try_vector(&rfc8439_chacha20[i]);
    }
}

/* Same bytes as libsodium, and not one more, from and to any alignment, in place or not. */
static void compare(size_t count, uint64_t counter)
{
    static uint8_t in[LARGE + ALIGNMENTS], out[LARGE + ALIGNMENTS], expected[LARGE + ALIGNMENTS];
    uint8_t key[32], nonce[8];
    size_t room = count + ALIGNMENTS;
    size_t in_offset = randombytes_uniform(ALIGNMENTS);
    size_t out_offset = randombytes_uniform(ALIGNMENTS);
    randombytes_buf(key, sizeof(key));
    randombytes_buf(nonce, sizeof(nonce));
    randombytes_buf(in, room);
    randombytes_buf(out, room);
    memcpy(expected, out, room);
    crypto_stream_chacha20_xor_ic(expected + out_offset, in + in_offset, count, nonce, counter,
                                  key);
    chacha20_xor(out + out_offset, in + in_offset, count, key, nonce, counter);
    ck_assert_mem_eq(out, expected, room);

    memcpy(out, in, room);
    memcpy(expected, in, room);
    crypto_stream_chacha20_xor_ic(expected + in_offset, expected + in_offset, count, nonce, counter,
                                  key);
    chacha20_xor(out + in_offset, out + in_offset, count, key, nonce, counter);
    ck_assert_mem_eq(out, expected, room);
}

TEST_EACH(all_short_lengths_as_libsodium, LEVELS)
{
    for (size_t count = 0; level_set(_i) && count <= ROOM; count++) {
        compare(count, 1);
    }
}

TEST_EACH(random_lengths_as_libsodium, LEVELS)
{
    for (int i = 0; level_set(_i) && i < 1000; i++) {
        compare(randombytes_uniform(i % 10 == 0 ? LARGE : ROOM), randombytes_random());
    }
}

TEST_EACH(counter_carries_past_32_bits, LEVELS)
{
    for (uint64_t back = 0; level_set(_i) && back < 40; back++) {
        compare(ROOM, ((uint64_t)1 << 32) - back);
        compare(ROOM, ((uint64_t)7 << 32) - back);
    }
}

TEST_EACH(counter_wraps_at_64_bits, LEVELS)
{
    for (size_t back = 0; level_set(_i) && back < 20; back++) {
        uint8_t key[32] = {1}, nonce[8] = {2}, across[ROOM] = {0}, after[256] = {0};
        chacha20_xor(across, across, sizeof(across), key, nonce, 0 - (uint64_t)back);
        chacha20_xor(after, after, sizeof(after), key, nonce, 0);
        ck_assert_mem_eq(across + back * CHACHA20_BLOCK_BYTES, after, sizeof(after));
    }
}

TEST_EACH(a_lone_block_and_those_of_another_key, LEVELS)
{
    uint8_t lone_key[32], key[32], nonce[8];
    uint8_t pair[CHACHA20_PAIR_BYTES + 64], expected[CHACHA20_PAIR_BYTES + 64];
    for (int i = 0; level_set(_i) && i < 200; i++) {
        randombytes_buf(lone_key, sizeof(lone_key));
        randombytes_buf(key, sizeof(key));
        randombytes_buf(nonce, sizeof(nonce));
        randombytes_buf(pair, sizeof(pair));
        memcpy(expected, pair, sizeof(pair));
        size_t count = randombytes_uniform(2 * CHACHA20_PAIR_BYTES);
        size_t blocks = chacha20_pair(pair, count, lone_key, key, nonce);
        ck_assert_uint_ge(blocks, 1);
        ck_assert_uint_lt(blocks, CHACHA20_PAIR_BYTES / CHACHA20_BLOCK_BYTES);
        crypto_stream_chacha20(expected, CHACHA20_BLOCK_BYTES, nonce, lone_key);
        crypto_stream_chacha20(expected + CHACHA20_BLOCK_BYTES, blocks * CHACHA20_BLOCK_BYTES,
                               nonce, key);
        ck_assert_mem_eq(pair, expected, (1 + blocks) * CHACHA20_BLOCK_BYTES);
        ck_assert_mem_eq(pair + CHACHA20_PAIR_BYTES, expected + CHACHA20_PAIR_BYTES, 64);
    }
}

/* Where nothing chooses it, too. */
TEST(portable_as_libsodium)
{
    static const uint32_t counters[] = {0, 1, 0xfffffffe, 0xffffffff};
    uint8_t in[5 * CHACHA20_BLOCK_BYTES], out[sizeof(in)], expected[sizeof(in)];
    uint32_t state[CHACHA20_STATE_WORDS] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
        uint8_t key[32] = {0}, nonce[8] = {0};
        randombytes_buf(in, sizeof(in));
        state[CHACHA20_COUNTER] = counters[i];
        chacha20_portable(out, in, 5, state, state);
        crypto_stream_chacha20_xor_ic(expected, in, sizeof(in), nonce, counters[i], key);
        ck_assert_mem_eq(out, expected, sizeof(in));
    }
}

#ifdef __x86_64__
/* A kernel that was chosen for few strides makes as many as the call says. */
static void makes_strides(chacha20_kernel *kernel, size_t blocks)
{
    uint8_t in[18 * CHACHA20_BLOCK_BYTES], out[sizeof(in)], expected[sizeof(in)];
    uint32_t state[CHACHA20_STATE_WORDS];
    size_t count = 3 * blocks * CHACHA20_BLOCK_BYTES;
    for (uint32_t back = 0; cpu_level() >= CPU_AVX2 && back < 20; back++) {
        randombytes_buf(in, sizeof(in));
        randombytes_buf(state, sizeof(state));
        state[CHACHA20_COUNTER] = 0 - back;
        kernel(out, in, 3, state, state);
        chacha20_portable(expected, in, 3 * blocks, state, state);
        ck_assert_mem_eq(out, expected, count);
    }
}

TEST(one_four_and_six_at_a_time_as_portable)
{
    makes_strides(chacha20_avx2_one, 1);
    makes_strides(chacha20_avx2_four, 4);
    makes_strides(chacha20_avx2_six, 6);
}

TEST(level_is_what_the_compiler_finds)
{
    enum cpu_level expected = CPU_BASELINE;
    if (__builtin_cpu_supports("avx2")) {
        expected = CPU_AVX2;
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        expected = __builtin_cpu_supports("avx512ifma") ? CPU_AVX512IFMA : CPU_AVX512;
    }
    ck_assert_int_eq(cpu_found(), expected);
}
#endif
