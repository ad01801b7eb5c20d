/*
 * A connection whose client sends the input as it is, from the first byte on. Packets are not
 * encrypted and all have the same tag, so that bytes alone lead through key exchange and login. The
 * input is played three times, in parts of different sizes: the parts must change nothing.
 *
 * Input: two bytes of configuration, then the bytes.
 */
#include <string.h>

#include "net.h"
#include "transport.h"
#include "world.h"

/* The product looks at these once in a turn, and how many packets a turn has depends on the parts.
 */
const uint64_t rekey_after_bytes = UINT64_MAX;
const uint32_t rekey_after_packets = UINT32_MAX;
const uint64_t rekey_after_ms = UINT64_MAX / 2;

struct outcome {
    uint64_t bytes_out;
    uint32_t digest, requests, cause;
    enum ssh_phase phase;
    char reason[LIMIT_NOTE_BYTES + 1];
};

static void play(struct input bytes, uint32_t parts, struct outcome *outcome)
{
    world_run_bytes(bytes, parts);
    const struct connection *connection = world.connection;
    *outcome = (struct outcome){.bytes_out = connection->socket.bytes_out,
                                .digest = world.wire_digest,
                                .requests = world.requests,
                                .cause = connection->end.cause,
                                .phase = connection->phase};
    strcpy(outcome->reason, connection->end.reason);
    /* It shows as much of the client's first line as had arrived. */
    char *line = strstr(outcome->reason, ": its first line");
    if (line != NULL) {
        *line = '\0';
    }
    world_clear();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input bytes = {data, size};
    struct outcome whole, parts;
    play(bytes, 0, &whole);
    goals_print();
    const uint32_t seeds[] = {1, digest_of(data, size) | 1};
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        play(bytes, seeds[i], &parts);
        FUZZ_CHECK(parts.bytes_out == whole.bytes_out && parts.digest == whole.digest);
        FUZZ_CHECK(parts.requests == whole.requests && parts.cause == whole.cause);
        FUZZ_CHECK(parts.phase == whole.phase && strcmp(parts.reason, whole.reason) == 0);
    }
    return 0;
}
