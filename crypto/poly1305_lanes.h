/*
 * The kernel with digits of 26 bits, so that sums of their products fit into a lane of 64 bits.
 * poly1305_x86.h and poly1305_neon.c define the following and then include it:
 *
 *     LANES         how many numbers h there are
 *     wide          a vector of that many uint64_t
 *     narrow        a vector of that many digits, each below 2^32
 *     struct factors, set_factors()   a number by which all lanes are multiplied: its DIGITS digits
 *                   and, after them, five times each digit except the first
 *     add_product(sum, a, f, i)   sum + a f[i], for each lane; i is a constant
 *     add_digit(sum, digit)       sum + digit, where digit is narrow
 *     add_excess(sum, digit), add_excess_times_5()   adds the digit's bits above DIGIT_BITS
 *     widened(), narrowed()       from one kind of vector to the other; narrowed() drops the
 *                   upper halves
 *     load(first, last, message)  the digits of a stride's first LANES blocks, and of its last
 *     fresh(f)      f, so that the compiler loads it again
 *     after(sum, message)   message, so that the compiler loads from it only after it has the sums;
 *                   both save registers
 */

/* sum += a f. As 2^130 = 5, digit 5 + i is added five times to digit i. */
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
 * Two independent chains of carries, which processors do at the same time.
 *
 * A digit of h is below 2^26 + 2^10, its last one below 2^27. Those of R, R^2 and the message are
 * at most 2^26. So a sum is below (26 + 21) 2^52.01 + 2^26 < 2^58. The last sum, to which no
 * product is added five times, is below (6 + 5) 2^52.01 + 2^26. It carries less than 2^30, and five
 * times that is below 2^32. The last carries add less than 2^7 to digits 1 and 4.
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
    struct factors powers[2];
    narrow h[DIGITS];
    set_factors(&powers[0], state->power[0]);
    set_factors(&powers[1], state->power[1]);
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
        add_products(sum, h, fresh(&powers[1]));
        message = after(sum, message);
        load(first, last, message);
        add_products(sum, first, fresh(&powers[0]));
        for (int i = 0; i < DIGITS; i++) {
            sum[i] = add_digit(sum[i], last[i]);
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
    write_zeros(powers, sizeof(powers));
}
