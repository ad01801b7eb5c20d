/*
 * src/wire/reader.c, binary fields (steps 0 to 6) and texts (steps 7 to 13): whatever is read next
 * of any bytes, the reader stays inside of them, takes all of a binary field, never goes back, and
 * stays failed once it has failed.
 */
#include "wire.h"

#include <stdlib.h>

/* The step of reader_text() asks what is in the text: CBMC's own memcpy() and memset() know it. */
#if STEP == 12
#include "libc.h"
#else
#include "copies.h"
#endif

/* What reader_span() may have before it: it looks at byte after byte. */
#define SPAN_BYTES 8

/* The first step that reads a text. */
#define TEXT_STEP 7

static void prove_part(const struct reader *part)
{
    PROVE(part->left == 0 || __CPROVER_r_ok(part->bytes, part->left), "a part lies inside");
    PROVE(!part->failed || part->left == 0, "a failed part is empty");
}

static void prove_taken(const struct reader *reader, size_t left, size_t count)
{
    PROVE(reader->failed || left - reader->left == count, "all of a field is taken");
}

static void read_binary(struct reader *reader, unsigned choice)
{
    size_t wanted = nondet_size();
    size_t left = reader->left;
    const uint8_t *found = NULL;
    struct reader part;
    switch (choice) {
    case 0:
        found = reader_bytes(reader, wanted);
        PROVE((found == NULL) == reader->failed, "NULL is the answer of a failure");
        PROVE(found == NULL || __CPROVER_r_ok(found, wanted), "the bytes are there");
        prove_taken(reader, left, wanted);
        break;
    case 1:
        found = reader_string_of(reader, wanted);
        PROVE((found == NULL) == reader->failed, "NULL is the answer of a failure");
        PROVE(found == NULL || __CPROVER_r_ok(found, wanted), "the string's bytes are there");
        break;
    case 2:
        part = reader_string(reader);
        PROVE(part.failed == reader->failed, "a string fails with its reader");
        prove_part(&part);
        prove_taken(reader, left, 4 + part.left);
        break;
    case 3:
        PROVE(reader_u8(reader) == 0 || !reader->failed, "a failed byte is zero");
        prove_taken(reader, left, 1);
        break;
    case 4:
        PROVE(reader_u32(reader) == 0 || !reader->failed, "a failed uint32 is zero");
        prove_taken(reader, left, 4);
        break;
    case 5:
        PROVE(reader_u64(reader) == 0 || !reader->failed, "a failed uint64 is zero");
        prove_taken(reader, left, 8);
        break;
    default:
        PROVE(!reader_bool(reader) || !reader->failed, "a failed boolean is false");
        break;
    }
}

static void read_text(struct reader *reader, unsigned choice)
{
    char text[16];
    size_t capacity = nondet_size();
    struct reader part = reader_over(NULL, 0);
    ASSUME(capacity >= 1 && capacity <= sizeof(text));
    switch (choice) {
    case 0:
        reader_take(reader, "ssh-");
        break;
    case 1:
        ASSUME(reader->left <= SPAN_BYTES);
        part = reader_span(reader, READER_BLANKS);
        break;
    case 2:
        part = reader_until(reader, "\r\n");
        break;
    case 3:
        reader_name(reader, &part);
        break;
    case 4:
        reader_equals(reader, text, capacity);
        break;
    case 5:
        PROVE(!reader_text(reader, text, capacity) || text[reader->left] == '\0',
              "a text ends with a NUL");
        break;
    default:
        PROVE(reader_peek(reader) >= -1 && reader_peek(reader) <= 255, "a byte or the end");
        break;
    }
    prove_part(&part);
}

int main(void)
{
    size_t count = nondet_size();
    size_t start = nondet_size();
    ASSUME(count <= PROOF_BYTES && start <= count);
    const uint8_t *bytes = malloc(count);
    bool failed = nondet_bool();
    struct reader reader = {
        .bytes = bytes + start, .left = failed ? 0 : count - start, .failed = failed};
    const uint8_t *end = bytes + count;
    if (STEP < TEXT_STEP) {
        read_binary(&reader, STEP);
    } else {
        read_text(&reader, STEP - TEXT_STEP);
    }
    PROVE(!failed || reader.failed, "what has failed stays failed");
    PROVE(!reader.failed || reader.left == 0, "what has failed has nothing left");
    PROVE(reader.failed || reader.bytes + reader.left == end, "the end stays where it is");
    PROVE(reader.bytes >= bytes + start && reader.bytes <= end, "a reader goes forwards only");
    return 0;
}
