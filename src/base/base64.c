#include "base64.h"

#include <sodium.h>

/* libsodium's decoder ignores a NUL where it may ignore anything, and where `char` is signed it
 * takes each byte from 0x80 on for a "/". */
bool base64_decode(uint8_t *out, size_t room, size_t *bytes, const char *text, size_t count,
                   const char *ignored, int variant)
{
    bool foreign = false;
    for (size_t i = 0; i < count; i++) {
        foreign |= (unsigned char)(text[i] - 1) >= 0x7f;
    }
    return !foreign &&
           sodium_base642bin(out, room, text, count, ignored, bytes, NULL, variant) == 0;
}
