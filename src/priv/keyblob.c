#include "keyblob.h"

#include <string.h>

struct keyblob keyblob_over(const uint8_t *bytes, size_t count)
{
    return (struct keyblob){.bytes = bytes, .left = count};
}

const uint8_t *keyblob_bytes(struct keyblob *blob, size_t count)
{
    if (blob->failed || count > blob->left) {
        blob->failed = true;
        blob->left = 0;
        return NULL;
    }
    const uint8_t *bytes = blob->bytes;
    blob->bytes += count;
    blob->left -= count;
    return bytes;
}

uint32_t keyblob_u32(struct keyblob *blob)
{
    const uint8_t *bytes = keyblob_bytes(blob, 4);
    if (bytes == NULL) {
        return 0;
    }
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

struct keyblob keyblob_string(struct keyblob *blob)
{
    size_t count = keyblob_u32(blob);
    const uint8_t *bytes = keyblob_bytes(blob, count);
    return (struct keyblob){.bytes = bytes, .left = bytes != NULL ? count : 0};
}

const uint8_t *keyblob_string_of(struct keyblob *blob, size_t count)
{
    struct keyblob string = keyblob_string(blob);
    if (blob->failed || string.left != count) {
        blob->failed = true;
        blob->left = 0;
        return NULL;
    }
    return string.bytes;
}

bool keyblob_is(const struct keyblob *blob, const char *text)
{
    return blob->bytes != NULL && blob->left == strlen(text) &&
           memcmp(blob->bytes, text, blob->left) == 0;
}

bool keyblob_end(const struct keyblob *blob)
{
    return !blob->failed && blob->left == 0;
}
