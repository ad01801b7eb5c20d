#include "net.h"

const uint64_t rekey_after_bytes = LIMIT_REKEY_BYTES;
const uint32_t rekey_after_packets = LIMIT_REKEY_PACKETS;
const uint64_t rekey_after_ms = LIMIT_REKEY_SECONDS * 1000ULL;
