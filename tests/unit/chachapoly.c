#include "chachapoly.h"

#include <pthread.h>
#include <sodium.h>
#include <string.h>

#include "levels.h"
#include "random.h"
#include "ssh_client.h"
#include "unit.h"

#define BODY_SHORT  2048
#define BODY_ROOM   35000
#define ALIGNMENTS  64
#define PACKET_ROOM (CHACHAPOLY_LENGTH_BYTES + BODY_ROOM + CHACHAPOLY_TAG_BYTES)

static size_t packet_bytes(size_t body_bytes)
{
    return CHACHAPOLY_LENGTH_BYTES + body_bytes + CHACHAPOLY_TAG_BYTES;
}

static void fill(uint8_t packet[static PACKET_ROOM], size_t body_bytes)
{
    random_fill(packet, PACKET_ROOM);
    for (unsigned i = 0; i < 4; i++) {
        packet[i] = (uint8_t)(body_bytes >> (24 - 8 * i));
    }
}

/* Beside libsodium, as draft-ietf-sshm-chacha20-poly1305 says, and at any alignment. */
static void try_both(size_t body_bytes)
{
    static uint8_t room[PACKET_ROOM + ALIGNMENTS], expected[PACKET_ROOM], plain[PACKET_ROOM];
    uint8_t *packet = room + randombytes_uniform(ALIGNMENTS);
    uint8_t key[CHACHAPOLY_KEY_BYTES];
    uint32_t sequence = randombytes_random() >> randombytes_uniform(32);
    randombytes_buf(key, sizeof(key));
    fill(packet, body_bytes);
    memcpy(plain, packet, sizeof(plain));
    memcpy(expected, packet, sizeof(expected));
    chachapoly_seal(packet, body_bytes, key, sequence);
    packet_encrypt(expected, body_bytes, key, sequence);
    ck_assert_mem_eq(packet, expected, sizeof(expected));
    ck_assert_uint_eq(chachapoly_length(packet, key, sequence), body_bytes);
    ck_assert(chachapoly_open(packet, body_bytes, key, sequence));
    memcpy(expected + CHACHAPOLY_LENGTH_BYTES, plain + CHACHAPOLY_LENGTH_BYTES, body_bytes);
    ck_assert_mem_eq(packet, expected, sizeof(expected));
}

UNIT_BEFORE(levels_tell());
UNIT_TIMEOUT(60);

TEST_EACH(short_ones_are_as_the_draft_says, LEVELS)
{
    for (size_t body_bytes = 0; level_set(_i) && body_bytes <= BODY_SHORT; body_bytes++) {
        try_both(body_bytes);
    }
}

TEST_EACH(long_ones_are_as_the_draft_says, LEVELS)
{
    for (int i = 0; level_set(_i) && i < 200; i++) {
        try_both(randombytes_uniform(BODY_ROOM));
    }
}

/* Which kernels make the last blocks depends on this. */
TEST_EACH(whole_strides_and_their_neighbours_are_as_the_draft_says, LEVELS)
{
    for (size_t body_bytes = 512; level_set(_i) && body_bytes < BODY_ROOM; body_bytes += 512) {
        try_both(body_bytes - 1);
        try_both(body_bytes);
        try_both(body_bytes + 1);
    }
}

/* `open` leaves the length as it was received. */
TEST(open_leaves_the_length_encrypted)
{
    uint8_t key[CHACHAPOLY_KEY_BYTES], packet[PACKET_ROOM], sealed[4];
    randombytes_buf(key, sizeof(key));
    fill(packet, 64);
    chachapoly_seal(packet, 64, key, 9);
    memcpy(sealed, packet, sizeof(sealed));
    ck_assert(chachapoly_open(packet, 64, key, 9));
    ck_assert_mem_eq(packet, sealed, sizeof(sealed));
}

static void refuses(const uint8_t sealed[static PACKET_ROOM], size_t body_bytes,
                    const uint8_t key[static CHACHAPOLY_KEY_BYTES], uint32_t sequence)
{
    static uint8_t packet[PACKET_ROOM];
    size_t count = packet_bytes(body_bytes);
    memcpy(packet, sealed, count);
    ck_assert(!chachapoly_open(packet, body_bytes, key, sequence));
    ck_assert_mem_eq(packet, sealed, count);
}

TEST_EACH(every_flipped_bit_is_refused, LEVELS)
{
    static const size_t sizes[] = {24, 500, 512, 1500};
    static uint8_t packet[PACKET_ROOM];
    uint8_t key[CHACHAPOLY_KEY_BYTES];
    for (size_t i = 0; level_set(_i) && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        randombytes_buf(key, sizeof(key));
        fill(packet, sizes[i]);
        chachapoly_seal(packet, sizes[i], key, 5);
        for (size_t bit = 0; bit < 8 * packet_bytes(sizes[i]); bit++) {
            packet[bit / 8] ^= (uint8_t)(1 << bit % 8);
            refuses(packet, sizes[i], key, 5);
            packet[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        ck_assert(chachapoly_open(packet, sizes[i], key, 5));
    }
}

TEST(another_key_sequence_or_length_is_refused)
{
    const size_t body_bytes = 24;
    uint8_t key[CHACHAPOLY_KEY_BYTES], swapped[CHACHAPOLY_KEY_BYTES], packet[PACKET_ROOM];
    randombytes_buf(key, sizeof(key));
    memcpy(swapped, key + 32, 32);
    memcpy(swapped + 32, key, 32);
    fill(packet, body_bytes);
    chachapoly_seal(packet, body_bytes, key, 5);
    refuses(packet, body_bytes, swapped, 5);
    refuses(packet, body_bytes, key, 4);
    refuses(packet, body_bytes, key, 0x05000000);
    refuses(packet, body_bytes - 8, key, 5);
    refuses(packet, body_bytes + 8, key, 5);
    key[0] ^= 1;
    refuses(packet, body_bytes, key, 5);
}

/* ---- what a stack is left with --------------------------------------------------------------- */

/* Sealing and opening have a stack of their own, so that it can be read when they are done. */
#define STACK_BYTES ((size_t)256 * 1024)
#define KEY_WORDS   (CHACHAPOLY_KEY_BYTES / sizeof(uint32_t))
static uint32_t stack[STACK_BYTES / sizeof(uint32_t)] __attribute__((aligned(4096)));

struct work {
    uint8_t key[CHACHAPOLY_KEY_BYTES];
    uint8_t packet[PACKET_ROOM];
    size_t body_bytes;
    bool opened;
};

static void *seal_and_open(void *argument)
{
    struct work *work = argument;
    chachapoly_seal(work->packet, work->body_bytes, work->key, 5);
    work->opened = chachapoly_length(work->packet, work->key, 5) == work->body_bytes &&
                   chachapoly_open(work->packet, work->body_bytes, work->key, 5);
    return NULL;
}

static void run_on_stack(struct work *work)
{
    pthread_t thread;
    pthread_attr_t attributes;
    memset(stack, 0, sizeof(stack));
    ck_assert_int_eq(pthread_attr_init(&attributes), 0);
    ck_assert_int_eq(pthread_attr_setstack(&attributes, stack, sizeof(stack)), 0);
    ck_assert_int_eq(pthread_create(&thread, &attributes, seal_and_open, work), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    (void)pthread_attr_destroy(&attributes);
}

/* How many of the key's words stand on the stack, each counted once. */
static size_t words_left(const uint8_t key[static CHACHAPOLY_KEY_BYTES])
{
    uint32_t word[KEY_WORDS];
    size_t left = 0;
    memcpy(word, key, sizeof(word));
    for (size_t i = 0; i < KEY_WORDS; i++) {
        size_t at = 0;
        while (at < STACK_BYTES / sizeof(*stack) && stack[at] != word[i]) {
            at++;
        }
        left += at < STACK_BYTES / sizeof(*stack);
    }
    return left;
}

TEST_EACH(no_key_stays_on_the_stack, LEVELS)
{
    static struct work work;
    for (size_t body_bytes = 24; level_set(_i) && body_bytes <= 1100; body_bytes += 40) {
        randombytes_buf(work.key, sizeof(work.key));
        fill(work.packet, body_bytes);
        work.body_bytes = body_bytes;
        run_on_stack(&work);
        ck_assert(work.opened);
        ck_assert_msg(words_left(work.key) == 0, "%zu words of the key, %zu bytes of body",
                      words_left(work.key), body_bytes);
    }
}
