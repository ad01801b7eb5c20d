/*
 * The twenty rounds (RFC 8439 section 2.3). The file that includes this defines `lanes`, one word
 * of a block or a vector with that word of several blocks, and the rotations to the left
 * rotate_16(), rotate_12(), rotate_8() and rotate_7().
 */
#ifndef WREN_CHACHA20_ROUNDS_H
#define WREN_CHACHA20_ROUNDS_H

/* Makes the compiler read the start state from memory again. Otherwise it may keep a copy on the
 * stack, which nobody wipes. */
#define READ_ANEW(start) __asm__("" : "+m"(start))

/* Two independent quarter rounds, one step of each in turn. Two keep a processor busy while it
 * waits for a result; more would not fit into sixteen registers. */
static inline void quarter_rounds(lanes *a, lanes *b, lanes *c, lanes *d, lanes *e, lanes *f,
                                  lanes *g, lanes *h)
{
    *a += *b;
    *e += *f;
    *d = rotate_16(*d ^ *a);
    *h = rotate_16(*h ^ *e);
    *c += *d;
    *g += *h;
    *b = rotate_12(*b ^ *c);
    *f = rotate_12(*f ^ *g);
    *a += *b;
    *e += *f;
    *d = rotate_8(*d ^ *a);
    *h = rotate_8(*h ^ *e);
    *c += *d;
    *g += *h;
    *b = rotate_7(*b ^ *c);
    *f = rotate_7(*f ^ *g);
}

static inline void permute(lanes x[16])
{
    for (int double_round = 0; double_round < 10; double_round++) {
        quarter_rounds(&x[0], &x[4], &x[8], &x[12], &x[1], &x[5], &x[9], &x[13]);
        quarter_rounds(&x[2], &x[6], &x[10], &x[14], &x[3], &x[7], &x[11], &x[15]);
        quarter_rounds(&x[0], &x[5], &x[10], &x[15], &x[1], &x[6], &x[11], &x[12]);
        quarter_rounds(&x[2], &x[7], &x[8], &x[13], &x[3], &x[4], &x[9], &x[14]);
    }
}

#endif
