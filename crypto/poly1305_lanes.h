/*
 * The kernel with digits of 26 bits: their products fit into a lane of 64 bits and leave room for
 * sums. poly1305_x86.h and poly1305_neon.c include it with
 *
 *     LANES         how many numbers h there are
 *     wide          a vector of that many uint64_t
 *     narrow        a vector of that many digits, each below 2^32
 *     struct factors, set_factors()   a number by which all lanes are multiplied: its DIGITS digits
 *                   and, behind them, the fivefold of each of them but the first
 *     add_product(sum, a, f, i)   sum + a f[i], for each lane; i is a constant
 *     add_excess(sum, digit), add_excess_times_5()   adds what the digit has above DIGIT_BITS
 *     widened(), narrowed()       from one kind of vector to the other; upper halves get lost
 *     load(first, last, message)  the digits of a stride's first LANES blocks, and of its last
 *     fresh(f), after(sum, message)   f and message, in a way that makes compilers load it anew
 *                   or not before the sums are there, where they would run out of registers
 */

/* sum += a f. 2^130 = 5: what would be digit 5 + i comes back as digit i. */
static inline void add_products(wide sum[static DIGITS], const narrow a[static DIGITS],
                                const struct factors *f)
{
#pragma GCC unroll 5
    for (int j = 0; j < DIGITS; j++) {
#pragma GCC unroll 5
        for (int i = 0; i < DIGITS; i++) {
            sum[i] = add_product(sum[i], a[j], f, j <= i ? i - j : 2 * DIGITS - 1 + i - j);
        }
    }
}

static inline void carry(wide *from, wide *to)
{
    *to = add_excess(*to, *from);
    *from &= DIGIT_MASK;
}

/*
 * Two chains at a time, for processors that can do both.
 *
 * A digit of h is below 2^26 + 2^10, its last one below 2^27; those of R, R^2 and the message are
 * at most 2^26. So a sum is below (26 + 21) 2^52.01 + 2^26 < 2^58, and the last sum, of which
 * nothing came back, below (6 + 5) 2^52.01 + 2^26. It carries less than 2^30, and five times that
 * is below 2^32. Then digit 1 gets less than 2^7 more in the end, and digit 4, too.
 */
static inline void carry_all(wide sum[static DIGITS])
{
    carry(&sum[3], &sum[4]);
    carry(&sum[0], &sum[1]);
    sum[0] = add_excess_times_5(sum[0], sum[4]);
    sum[4] &= DIGIT_MASK;
    carry(&sum[1], &sum[2]);
    carry(&sum[2], &sum[3]);
    carry(&sum[0], &sum[1]);
    carry(&sum[3], &sum[4]);
}

static void take(struct poly1305_lanes *state, const uint8_t *message, size_t strides)
{
    struct factors one, two;
    narrow h[DIGITS];
    set_factors(&one, state->power[0]);
    set_factors(&two, state->power[1]);
    for (int i = 0; i < DIGITS; i++) {
        wide lanes;
        memcpy(&lanes, state->h[i], sizeof(lanes));
        h[i] = narrowed(lanes);
    }
    do {
        narrow first[DIGITS], last[DIGITS];
        wide sum[DIGITS];
        for (int i = 0; i < DIGITS; i++) {
            sum[i] = (wide){0};
        }
        add_products(sum, h, fresh(&two));
        message = after(sum, message);
        load(first, last, message);
        add_products(sum, first, fresh(&one));
        for (int i = 0; i < DIGITS; i++) {
            sum[i] += widened(last[i]);
        }
        carry_all(sum);
        for (int i = 0; i < DIGITS; i++) {
            h[i] = narrowed(sum[i]);
        }
        message += 2 * LANES * BLOCK_BYTES;
    } while (--strides > 0);
    for (int i = 0; i < DIGITS; i++) {
        wide lanes = widened(h[i]);
        memcpy(state->h[i], &lanes, sizeof(lanes));
    }
    sodium_memzero(&one, sizeof(one));
    sodium_memzero(&two, sizeof(two));
}
