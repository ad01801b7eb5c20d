#include "base64.h"

#include <sodium.h>

/* Where `char` is signed, libsodium's decoder takes each byte from 0x80 on for a "/". */
bool base64_decode(uint8_t *out, size_t room, size_t *bytes, const char *text, size_t count,
                   const char *ignored, int variant)
{
    unsigned all = 0;
    for (size_t i = 0; i < count; i++) {
        all |= (unsigned char)text[i];
    }
    return all < 0x80 &&
           sodium_base642bin(out, room, text, count, ignored, bytes, NULL, variant) == 0;
}
