#include "second.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool second_is(struct input text, const char *wanted)
{
    return second_same(text, (struct input){(const uint8_t *)wanted, strlen(wanted)});
}

bool second_same(struct input one, struct input other)
{
    return one.left == other.left && (one.left == 0 || memcmp(one.at, other.at, one.left) == 0);
}

enum second_type second_type(struct input name, bool *certificate)
{
    static const char at[] = "@openssh.com", cert[] = "-cert-v01@openssh.com";
    static const char *const others[] = {"ecdsa-sha2-nistp256",
                                         "ecdsa-sha2-nistp384",
                                         "ecdsa-sha2-nistp521",
                                         "sk-ecdsa-sha2-nistp256",
                                         "ssh-rsa",
                                         "ssh-dss",
                                         "ssh-mldsa44-ed25519"};
    *certificate = name.left >= strlen(cert) &&
                   memcmp(name.at + name.left - strlen(cert), cert, strlen(cert)) == 0;
    if (second_is(name, "ssh-ed25519") || second_is(name, "sk-ssh-ed25519@openssh.com") ||
        second_is(name, "ssh-ed25519-cert-v01@openssh.com") ||
        second_is(name, "sk-ssh-ed25519-cert-v01@openssh.com")) {
        return SECOND_OURS;
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        char ending[2][64];
        snprintf(ending[0], sizeof(ending[0]), "%s%s", others[i], at);
        snprintf(ending[1], sizeof(ending[1]), "%s%s", others[i], cert);
        if (second_is(name, others[i]) || second_is(name, ending[0]) ||
            second_is(name, ending[1])) {
            return SECOND_OTHER;
        }
    }
    return SECOND_NO_TYPE;
}

bool second_has_nul(struct input text)
{
    for (size_t i = 0; i < text.left; i++) {
        if (text.at[i] == 0) {
            return true;
        }
    }
    return false;
}

bool second_number(struct input *from, unsigned bytes, uint64_t *number)
{
    *number = 0;
    if (from->left < bytes) {
        return false;
    }
    while (bytes-- > 0) {
        *number = *number * 256 + input_u8(from);
    }
    return true;
}

void second_bytes(struct input *from, uint8_t *out, size_t count)
{
    const struct input part = input_take(from, count);
    memset(out, 0, count);
    memcpy(out, part.at, part.left);
}

bool second_string(struct input *from, struct input *string)
{
    uint64_t count;
    *string = (struct input){from->at, 0};
    if (!second_number(from, 4, &count) || count > from->left) {
        return false;
    }
    *string = input_take(from, (size_t)count);
    return true;
}

size_t second_base64(uint8_t *out, struct input text)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t used = 0;
    uint32_t bits = 0;
    for (size_t i = 0; i < text.left; i++) {
        const char *letter = text.at[i] != 0 ? strchr(letters, text.at[i]) : NULL;
        bits = bits << 6 | (letter != NULL ? (uint32_t)(letter - letters) : 0);
        if (i % 4 != 0) {
            out[used++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
        }
    }
    for (size_t i = text.left; i > 0 && text.at[i - 1] == '=' && i + 2 > text.left && used > 0;
         i--) {
        used--;
    }
    char *again = malloc(sodium_base64_ENCODED_LEN(used, sodium_base64_VARIANT_ORIGINAL));
    if (again == NULL) {
        abort();
    }
    sodium_bin2base64(again, sodium_base64_ENCODED_LEN(used, sodium_base64_VARIANT_ORIGINAL), out,
                      used, sodium_base64_VARIANT_ORIGINAL);
    bool same = second_is(text, again);
    free(again);
    return same ? used : SIZE_MAX;
}

struct input second_word(struct input *line)
{
    while (line->left > 0 && (*line->at == ' ' || *line->at == '\t')) {
        input_take(line, 1);
    }
    size_t count = 0;
    while (count < line->left && line->at[count] != ' ' && line->at[count] != '\t') {
        count++;
    }
    return input_take(line, count);
}

bool second_line(struct input *file, struct input *line, bool *too_long)
{
    if (file->left == 0) {
        return false;
    }
    *line = input_line(file);
    *too_long = line->left >= 16384;
    if (line->left > 0 && line->at[line->left - 1] == '\r') {
        line->left--;
    }
    return true;
}

void second_mark(struct input *line)
{
    if (line->left >= 3 && memcmp(line->at, "\xef\xbb\xbf", 3) == 0) {
        input_take(line, 3);
    }
}

/* Long runs only near the powers of two, where the limits are: they take most of the time. */
static size_t run_length(struct input *from)
{
    uint64_t count = 0;
    second_number(from, 2, &count);
    uint64_t high = count >> 8;
    bool near = (high & (high - 1)) == 0 || (high & (high + 1)) == 0;
    return (size_t)(near && high <= 0x40 ? count : count & 0xff);
}

size_t second_expand(uint8_t *out, size_t room, struct input from, const char *inserted)
{
    struct fields text = {out, 0, room, false};
    while (from.left > 0) {
        uint8_t byte = input_u8(&from);
        if (byte == 0xfe) {
            fields_bytes(&text, inserted, strlen(inserted));
        } else if (byte == 0xff) {
            size_t count = run_length(&from);
            fields_fill(&text, input_u8(&from), count);
        } else {
            fields_bytes(&text, &byte, 1);
        }
    }
    return text.used;
}

/* Copies the value without the backslashes before quotes. False if it does not fit. */
static bool copy_value(char out[static SECOND_VALUE_BYTES], struct input quoted)
{
    size_t used = 0;
    for (size_t i = 0; i < quoted.left; i++) {
        if (quoted.at[i] == '\\' && i + 1 < quoted.left && quoted.at[i + 1] == '"') {
            continue;
        }
        if (used + 1 == SECOND_VALUE_BYTES || quoted.at[i] == 0) {
            return false;
        }
        out[used++] = (char)quoted.at[i];
    }
    out[used] = '\0';
    return true;
}

void second_option(struct input *text, struct second_option *option)
{
    size_t count = 0;
    while (count < text->left && text->at[count] != ',' && text->at[count] != '=') {
        count++;
    }
    option->name = input_take(text, count);
    option->valued = text->left > 0 && text->at[0] == '=';
    option->readable = false;
    option->value[0] = '\0';
    if (option->valued) {
        input_take(text, 1);
        size_t end = 1;
        while (end < text->left && (text->at[end] != '"' || text->at[end - 1] == '\\')) {
            end++;
        }
        if (text->left > end && text->at[0] == '"') {
            const struct input quoted = {text->at + 1, end - 1};
            option->readable = copy_value(option->value, quoted);
            input_take(text, end + 1);
        }
    }
    option->ends = text->left == 0 || (text->at[0] == ',' && text->left > 1);
    input_take(text, option->ends ? 1 : 0);
}
