/*
 * When we start a key exchange ourselves. A file of its own, so that a test can link the daemon
 * with smaller numbers.
 */
#ifndef WREN_REKEY_LIMITS_H
#define WREN_REKEY_LIMITS_H

#include <stdint.h>

extern const uint32_t rekey_after_packets;
extern const uint64_t rekey_after_ms;

#endif
