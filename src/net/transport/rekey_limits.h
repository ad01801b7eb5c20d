/*
 * When we start a key exchange ourselves: after so many packets in one direction, or so long after
 * the last one. A file of its own, so that a test can link the daemon with smaller numbers
 * (tests/seams/rekey_often.c, tests/system/test_rekey.py).
 */
#ifndef WREN_REKEY_LIMITS_H
#define WREN_REKEY_LIMITS_H

#include <stdint.h>

extern const uint32_t rekey_after_packets;
extern const uint64_t rekey_after_ms;

#endif
