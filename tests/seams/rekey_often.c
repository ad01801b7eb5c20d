/* Replaces net/transport/rekey_limits.c in wrensshd-rekey-test: the server starts a key exchange
 * every 64 packets or two seconds. */
#include "kex.h"

const uint32_t rekey_after_packets = 64;
const uint64_t rekey_after_ms = 2000;
