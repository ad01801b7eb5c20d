/*
 * Base64 of key files (RFC 4648 section 4).
 */
#ifndef WREN_BASE64_H
#define WREN_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decodes all of `text`, except bytes in `ignored`, which may be NULL. `variant` is libsodium's.
 * False if anything else than base64 stands there, or there is no room. The time does not depend on
 * the letters.
 */
bool base64_decode(uint8_t *out, size_t room, size_t *bytes, const char *text, size_t count,
                   const char *ignored, int variant);

#endif
