/*
 * writer_mpint() of src/wire/writer.c: any number of up to 32 bytes, as K of curve25519 has them,
 * at any place of a buffer that it may not fit into. What was written before stays as it is.
 */
#include "wire.h"

#include <stdlib.h>

#include "copies.h"

#define NUMBER_BYTES 32
#define ROOM_BYTES   48

int main(void)
{
    struct writer writer;
    uint8_t number[NUMBER_BYTES];
    size_t capacity = nondet_size();
    size_t count = nondet_size();
    ASSUME(capacity <= ROOM_BYTES && count <= NUMBER_BYTES);
    writer_init(&writer, malloc(capacity), capacity);
    writer.used = nondet_size();
    writer.failed = nondet_bool();
    ASSUME(writer.used <= capacity);
    size_t place = nondet_size();
    ASSUME(place < capacity);
    uint8_t byte = writer.bytes[place];
    size_t used = writer.used;
    bool failed = writer.failed;

    writer_mpint(&writer, number + NUMBER_BYTES - count, count);
    PROVE(writer.used >= used && writer.used <= capacity, "used stays inside the buffer");
    PROVE(writer.used - used <= 4 + 1 + count,
          "a number is not longer than its bytes and one more");
    PROVE(writer.failed || writer.used >= used + 4, "a number has a length");
    PROVE(!failed || (writer.failed && writer.used == used), "after a failure nothing is written");
    PROVE(!(failed || place < used) || writer.bytes[place] == byte, "what was written stays");
    return 0;
}
