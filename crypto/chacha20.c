#include "chacha20.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "chacha20_kernels.h"
#include "cpu.h"
#include "zeros.h"

/* One of the functions of chacha20_kernels.h. */
struct kernel {
    chacha20_kernel *run;
    size_t stride_bytes; /* a stride takes the same time if fewer bytes are needed */
};

#define KERNEL(run, lanes)                                                                         \
    (struct kernel)                                                                                \
    {                                                                                              \
        run, (lanes)*CHACHA20_BLOCK_BYTES                                                          \
    }

#if defined(__x86_64__)
/* Twelve blocks, for example, take two strides of six or of eight, and those of six are shorter. */
static bool six_are_enough(size_t blocks)
{
    size_t strides_of_eight = (blocks + 7) / 8;
    return blocks <= 6 * strides_of_eight;
}
#endif

/* The fastest kernel to begin with, for this number of bytes. */
static struct kernel choose(size_t count)
{
    (void)count; /* on most machines one kernel is the best for all */
#if defined(__x86_64__)
    size_t blocks = count / CHACHA20_BLOCK_BYTES + (count % CHACHA20_BLOCK_BYTES > 0);
    if (cpu_level() >= CPU_AVX2 && blocks <= 4) {
        return blocks > 1 ? KERNEL(chacha20_avx2_four, 4) : KERNEL(chacha20_avx2_one, 1);
    }
    if (cpu_level() >= CPU_AVX512) {
        return blocks > 8 ? KERNEL(chacha20_avx512, 16) : KERNEL(chacha20_avx512vl, 8);
    }
    if (cpu_level() >= CPU_AVX2) {
        return six_are_enough(blocks) ? KERNEL(chacha20_avx2_six, 6) : KERNEL(chacha20_avx2, 8);
    }
    return KERNEL(chacha20_sse2, 4);
#elif defined(__AARCH64EL__)
    return KERNEL(chacha20_neon, 4);
#elif defined(CPU_MAY_HAVE_NEON)
    return cpu_level() >= CPU_NEON ? KERNEL(chacha20_neon, 4) : KERNEL(chacha20_portable, 1);
#else
    return KERNEL(chacha20_portable, 1);
#endif
}

static uint32_t read_word(const uint8_t bytes[static 4])
{
    uint32_t word;
    memcpy(&word, bytes, sizeof(word));
    return le32toh(word);
}

static void set_counter(uint32_t state[static CHACHA20_STATE_WORDS], uint64_t counter)
{
    state[CHACHA20_COUNTER] = (uint32_t)counter;
    state[CHACHA20_COUNTER + 1] = (uint32_t)(counter >> 32);
}

static void write_state(uint32_t state[static CHACHA20_STATE_WORDS], const uint8_t key[static 32],
                        const uint8_t nonce[static 8], uint64_t counter)
{
    static const uint8_t constant[] = "expand 32-byte k";
    for (size_t i = 0; i < 4; i++) {
        state[i] = read_word(constant + 4 * i);
    }
    for (size_t i = 0; i < 8; i++) {
        state[4 + i] = read_word(key + 4 * i);
    }
    set_counter(state, counter);
    state[14] = read_word(nonce);
    state[15] = read_word(nonce + 4);
}

/* Less than a stride. */
static void xor_rest(uint8_t *out, const uint8_t *in, size_t count, struct kernel kernel,
                     const uint32_t state[static CHACHA20_STATE_WORDS])
{
    uint8_t stride[CHACHA20_PAIR_BYTES];
    write_zeros(stride, kernel.stride_bytes);
    kernel.run(stride, stride, 1, state, state);
    if (out != in) {
        memcpy(out, in, count);
    }
    for (size_t i = 0; i < count; i++) {
        out[i] ^= stride[i];
    }
    write_zeros(stride, kernel.stride_bytes);
}

void chacha20_xor(uint8_t *out, const uint8_t *in, size_t count, const uint8_t key[static 32],
                  const uint8_t nonce[static 8], uint64_t counter)
{
    uint32_t state[CHACHA20_STATE_WORDS];
    write_state(state, key, nonce, counter);
    while (count > 0) {
        struct kernel kernel = choose(count);
        size_t strides = count / kernel.stride_bytes, done = strides * kernel.stride_bytes;
        if (strides == 0) {
            xor_rest(out, in, count, kernel, state);
            break;
        }
        kernel.run(out, in, strides, state, state);
        out += done;
        in += done;
        count -= done;
        counter += done / CHACHA20_BLOCK_BYTES;
        set_counter(state, counter);
    }
    write_zeros(state, sizeof(state));
}

size_t chacha20_pair(uint8_t keystream[static CHACHA20_PAIR_BYTES], size_t count,
                     const uint8_t lone_key[static 32], const uint8_t key[static 32],
                     const uint8_t nonce[static 8])
{
    struct kernel kernel = choose(count);
    size_t blocks = kernel.stride_bytes / CHACHA20_BLOCK_BYTES;
    uint32_t lone[CHACHA20_STATE_WORDS], state[CHACHA20_STATE_WORDS];
    write_zeros(keystream, kernel.stride_bytes);
    write_state(lone, lone_key, nonce, 0);
    write_state(state, key, nonce, UINT64_MAX); /* the lone block replaces it; block 0 is next */
    kernel.run(keystream, keystream, 1, state, lone);
    if (blocks == 1) {
        uint8_t *second = keystream + CHACHA20_BLOCK_BYTES;
        write_zeros(second, CHACHA20_BLOCK_BYTES);
        set_counter(state, 0);
        kernel.run(second, second, 1, state, state);
        blocks++;
    }
    write_zeros(lone, sizeof(lone));
    write_zeros(state, sizeof(state));
    return blocks - 1;
}
