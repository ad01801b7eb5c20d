#include "base.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

bool is_alphanumeric(char byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (byte >= '0' && byte <= '9');
}

bool number_parse(uint64_t *number, const void *digits, size_t count, uint64_t most)
{
    const uint8_t *bytes = digits;
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned digit = bytes[i] - (unsigned)'0';
        if (digit > 9 || digit > most || value > (most - digit) / 10) {
            return false;
        }
        value = 10 * value + digit;
    }
    if (count > 0) {
        *number = value;
    }
    return count > 0;
}

bool number_read(unsigned *number, const char *text)
{
    uint64_t value;
    size_t count = strlen(text);
    if (count > NUMBER_MOST_DIGITS || !number_parse(&value, text, count, UINT32_MAX)) {
        return false;
    }
    *number = (unsigned)value;
    return true;
}

void fingerprint_write(char out[static FINGERPRINT_BYTES], const uint8_t hash[static 32])
{
    static const char label[] = "SHA256:";
    memcpy(out, label, sizeof(label) - 1);
    sodium_bin2base64(out + sizeof(label) - 1, FINGERPRINT_BYTES - (sizeof(label) - 1), hash, 32,
                      sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
}

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

const char *expand_path(char *out, size_t room, const char *pattern, const char *user,
                        const char *home, bool has_d)
{
    size_t used = 0;
    for (const char *at = pattern; *at != '\0'; at++) {
        const char letter[] = {*at, '\0'};
        const char *part = letter;
        if (*at == '%') {
            at++;
            part = *at == 'u'                            ? user
                   : *at == 'h' || (has_d && *at == 'd') ? home
                   : *at == '%'                          ? letter
                                                         : NULL; /* also at the end */
        }
        size_t bytes = part != NULL ? strlen(part) : 0;
        if (part == NULL || bytes >= room - used) {
            out[used] = '\0';
            return part != NULL ? "the path is too long" : "unknown % in the path";
        }
        memcpy(out + used, part, bytes);
        used += bytes;
    }
    out[used] = '\0';
    return NULL;
}

const char *credential_name(const char *text)
{
    static const char label[] = "credential:";
    return strncmp(text, label, strlen(label)) == 0 ? text + strlen(label) : NULL;
}

bool credential_is_valid(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
}

bool credential_path(char *path, size_t room, const char *name)
{
    const char *directory = getenv("CREDENTIALS_DIRECTORY");
    if (!credential_is_valid(name)) {
        errno = EINVAL;
    } else if (directory == NULL || directory[0] != '/') {
        errno = ENOENT;
    } else if ((size_t)snprintf(path, room, "%s/%s", directory, name) >= room) {
        errno = ENAMETOOLONG;
    } else {
        return true;
    }
    return false;
}

const char *texts_at(const char *table, size_t index)
{
    while (index > 0 || table[0] == '\0') {
        table += strlen(table) + 1;
        index -= index > 0 ? 1 : 0;
    }
    return table;
}
