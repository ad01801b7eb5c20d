/*
 * src/wire/writer.c: whatever is written next, at any place of any buffer, stays inside, and
 * once something did not fit, nothing is written.
 */
#include "wire.h"

#include <stdlib.h>

#include "copies.h"

static void write_field(struct writer *writer, unsigned choice, const uint8_t *source, size_t count)
{
    size_t before = writer->used;
    bool failed = writer->failed;
    switch (choice) {
    case 0:
        writer_u8(writer, nondet_u8());
        PROVE(writer->failed || writer->used == before + 1, "a byte");
        break;
    case 1:
        writer_bool(writer, nondet_bool());
        PROVE(writer->failed || writer->used == before + 1, "a boolean");
        break;
    case 2:
        writer_u32(writer, nondet_u32());
        PROVE(writer->failed || writer->used == before + 4, "a uint32");
        break;
    case 3:
        writer_bytes(writer, source, count);
        PROVE(failed || writer->failed == (count > writer->capacity - before), "what fits, fits");
        PROVE(writer->failed || writer->used == before + count, "bytes");
        break;
    case 4:
        writer_string(writer, source, count);
        PROVE(writer->failed || writer->used == before + 4 + count, "a string");
        break;
    default:
        writer_text(writer, "ssh-ed25519");
        PROVE(writer->failed || writer->used == before + 4 + 11, "a text");
        break;
    }
}

int main(void)
{
    struct writer writer;
    size_t capacity = nondet_size();
    size_t count = nondet_size();
    ASSUME(capacity <= PROOF_BYTES && count <= PROOF_BYTES);
    const uint8_t *source = malloc(count);
    writer_init(&writer, malloc(capacity), capacity);
    writer.used = nondet_size();
    writer.failed = nondet_bool();
    ASSUME(writer.used <= capacity);

    size_t used = writer.used;
    bool failed = writer.failed;
#if STEP < 6
    write_field(&writer, STEP, source, count);
#else
    size_t mark = writer_string_begin(&writer);
    write_field(&writer, 3, source, count);
    writer_string_end(&writer, mark);
#endif
    PROVE(writer.used >= used && writer.used <= writer.capacity, "used stays inside the buffer");
    PROVE(writer.capacity == capacity, "the buffer stays as large as it is");
    PROVE(!failed || (writer.failed && writer.used == used), "after a failure nothing is written");
    return 0;
}
