#include "sort.h"

/* Runs shorter than this are not worth a vectorised loop. */
#define SHORT_RUN 4

/*
 * Orders two words. The borrow of high - low is worked out from bits and not by comparing, so that
 * no compiler sees a condition to branch on, and loops around this vectorise.
 */
static inline void exchange(uint32_t *low, uint32_t *high)
{
    uint32_t a = *low, b = *high;
    uint32_t borrow = ((~b & a) | ((~b | a) & (b - a))) >> 31;
    uint32_t swap = (a ^ b) & (0 - borrow);
    *low = a ^ swap;
    *high = b ^ swap;
}

static void exchange_run(uint32_t *restrict low, uint32_t *restrict high, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        exchange(low + i, high + i);
    }
}

/* Exchanges each word at an index i with (i & p) == r with the one at i + distance: runs of p words
 * with gaps of p. */
static void exchange_runs(uint32_t *words, size_t count, size_t p, size_t r, size_t distance)
{
    size_t end = count > distance ? count - distance : 0;
    if (p < SHORT_RUN) {
        for (size_t i = 0; i < end; i++) {
            if ((i & p) == r) {
                exchange(words + i, words + i + distance);
            }
        }
        return;
    }
    for (size_t i = r; i < end; i += 2 * p) {
        exchange_run(words + i, words + i + distance, end - i < p ? end - i : p);
    }
}

/* t, p, q and r as in Knuth's algorithm M; `top` is 2^(t-1). */
void sort_uint32(uint32_t *words, size_t count)
{
    size_t top = 1;
    while (2 * top < count) {
        top *= 2;
    }
    for (size_t p = top; p > 0; p /= 2) {
        exchange_runs(words, count, p, 0, p);
        for (size_t q = top; q > p; q /= 2) {
            exchange_runs(words, count, p, p, q - p);
        }
    }
}
