/*
 * A whole connection: loop_run() of the network process, with its client, its monitor and its
 * programs played from the input. See net/world.h; the operations stand in net/script.c.
 *
 * Input: two bytes of configuration, then operations.
 */
#include "net.h"
#include "transport.h"
#include "world.h"

/* Few enough that scripts reach them, and more than a short one has. */
const uint64_t rekey_after_bytes = LIMIT_REKEY_BYTES;
const uint32_t rekey_after_packets = 120;
const uint64_t rekey_after_ms = 3600000; /* an operation moves the clock by an hour at most */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    world_run((struct input){data, size});
    return 0;
}
