/*
 * What every fuzz target has: its entry point, a cursor over the input that the fuzzer made, and a
 * check that stays when assertions are compiled out.
 */
#ifndef WREN_FUZZ_H
#define WREN_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The entry point of libFuzzer, AFL++ and main.c. `data` has exactly `size` readable bytes. Returns
 * 0. Each call starts from the same state: what an input finds must not depend on earlier ones. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The rest of the input. */
struct input {
    const uint8_t *at;
    size_t left;
};

/* Taken from the front; 0 when nothing is left. */
uint8_t input_u8(struct input *input);
uint32_t input_u32(struct input *input);

/* Between 0 and `most`. */
uint32_t input_below_or_equal(struct input *input, uint32_t most);

/* The next `count` bytes, or what is left of them. */
struct input input_take(struct input *input, size_t count);

/* What comes before the next newline, or the rest; the newline is dropped. For targets whose input
 * is text in several parts. */
struct input input_line(struct input *input);

/* Copies as much as fits and ends it with a NUL. `text` ends before the first NUL of the input.
 * Returns the text's length. */
size_t input_text(struct input from, char *text, size_t size);

/* A copy that ends where its memory ends, so that AddressSanitizer sees a read behind it. Free it
 * with free(). */
uint8_t *input_copy(struct input from);

/* Ends the program, with the place, if a promise of the product's does not hold. */
#define FUZZ_CHECK(holds) ((holds) ? (void)0 : fuzz_fail(#holds, __FILE__, __LINE__))
__attribute__((noreturn)) void fuzz_fail(const char *promise, const char *file, int line);

/* Begins the definition of a function in NAME's place (ld's --wrap); __real_NAME is the C
 * library's, or ours. */
#define SIMULATED(type, name, ...)                                                                 \
    type __real_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)

/* The same function, by the name that the C library gives it for files of 64 bits. */
#define SIMULATED_64(type, name, ...)                                                              \
    type __wrap_##name##64(__VA_ARGS__) __attribute__((alias("__wrap_" #name)))

#endif
