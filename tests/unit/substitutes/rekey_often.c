/* Replaces net/transport/rekey_limits.c in wrensshd-rekey-test: the server starts a key exchange
 * every 64 packets, every MiB, or with a packet of the client's after two seconds. */
#include "net.h"
#include "transport.h"

const uint64_t rekey_after_bytes = 1U << 20;
const uint32_t rekey_after_packets = 64;
const uint64_t rekey_after_ms = 2000;
