/* Builds the client's messages, one at a time. */
#ifndef WREN_FUZZ_PUT_H
#define WREN_FUZZ_PUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void put_begin(uint8_t number);
void put_u8(uint8_t value);
void put_u32(uint32_t value);
void put_bytes(const void *bytes, size_t count);
void put_text(const char *text);
void put_fill(uint8_t byte, size_t count);
size_t put_string_begin(void);
void put_string_end(size_t mark);

/* An ed25519 key whose bytes are all the same. */
void put_host_key(uint8_t byte);

/* Sends it. */
void put_say(void);

#endif
