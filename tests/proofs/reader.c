/*
 * The binary fields of src/wire/reader.c: whatever is read next of any bytes, the reader stays
 * inside of them, never goes back, and stays failed once it has failed.
 */
#include "reader.h"

#include <stdlib.h>

#include "libc.h"

static const uint8_t *end;

static void prove_part(const struct reader *part)
{
    PROVE(part->left == 0 || __CPROVER_r_ok(part->bytes, part->left), "a part lies inside");
    PROVE(!part->failed || part->left == 0, "a failed part is empty");
}

static void read_binary(struct reader *reader, unsigned choice)
{
    size_t wanted = nondet_size();
    const uint8_t *found = NULL;
    struct reader part;
    switch (choice) {
    case 0:
        found = reader_bytes(reader, wanted);
        PROVE((found == NULL) == reader->failed, "NULL is the answer of a failure");
        PROVE(found == NULL || __CPROVER_r_ok(found, wanted), "the bytes are there");
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
        break;
    case 3:
        PROVE(reader_u8(reader) == 0 || !reader->failed, "a failed byte is zero");
        break;
    case 4:
        PROVE(reader_u32(reader) == 0 || !reader->failed, "a failed uint32 is zero");
        break;
    case 5:
        PROVE(reader_u64(reader) == 0 || !reader->failed, "a failed uint64 is zero");
        break;
    default:
        PROVE(!reader_bool(reader) || !reader->failed, "a failed boolean is false");
        break;
    }
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
    end = bytes + count;
    read_binary(&reader, STEP);
    PROVE(!failed || reader.failed, "what has failed stays failed");
    PROVE(!reader.failed || reader.left == 0, "what has failed has nothing left");
    PROVE(reader.failed || reader.bytes + reader.left == end, "the end stays where it is");
    PROVE(reader.bytes >= bytes + start && reader.bytes <= end, "a reader goes forwards only");
    return 0;
}
