/*
 * Lines of authorized_keys, by two second opinions. One splits any line: quotes are counted, and a
 * quote counts unless the byte before it is a backslash. The other composes a line from options
 * with any values, and expects to get them back.
 *
 * Input: a byte that chooses the key and the opinion, then the line or the parts to compose. 0xfe
 * in a line stands for the key as ssh-keygen writes it (support/second.h).
 */
#include "authkeys_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fuzz.h"
#include "second.h"

#define LINE_BYTES 32768

static struct reader reader_of(struct input input)
{
    return reader_over(input.at, input.left);
}

static bool is_type(struct input word)
{
    bool certificate;
    return second_type(word, &certificate) != SECOND_NO_TYPE;
}

/* An even number of quotes stands before the blank that ends the options. */
static struct input take_options(struct input *line)
{
    size_t quotes = 0, count = 0;
    for (; count < line->left; count++) {
        uint8_t byte = line->at[count];
        if ((byte == ' ' || byte == '\t') && quotes % 2 == 0) {
            break;
        }
        quotes += byte == '"' && (count == 0 || line->at[count - 1] != '\\') ? 1 : 0;
    }
    return input_take(line, count);
}

/* Options that name the authority before one that can't be read. */
static bool names_authority(struct input options)
{
    while (options.left > 0) {
        struct second_option option;
        second_option(&options, &option);
        if (!option.valued && option.name.left == 14 &&
            strncasecmp((const char *)option.name.at, "cert-authority", 14) == 0) {
            return true;
        }
        if ((option.valued && !option.readable) || !option.ends) {
            return false;
        }
    }
    return false;
}

static void check_any(struct input line, const struct key_text *key)
{
    struct key_line parts;
    bool read = key_line_read(&parts, reader_of(line));
    struct input expected = {NULL, 0}, rest = line;
    const struct input first = second_word(&rest);
    if (first.left == 0 || first.at[0] == '#') {
        FUZZ_CHECK(!read);
        return;
    }
    const struct input from_first = {first.at, first.left + rest.left};
    rest = from_first;
    if (!is_type(first)) {
        expected = take_options(&rest);
    }
    const struct input type = second_word(&rest), base64 = second_word(&rest);
    const struct input text = {(const uint8_t *)key->base64, key->base64_bytes};
    FUZZ_CHECK(read && second_same((struct input){parts.type.bytes, parts.type.left}, type));
    FUZZ_CHECK(key_line_lists(&parts, key) ==
               (second_is(type, key->type) && second_same(base64, text)));
    bool whole = base64.left > 0 && base64.left % 4 == 0 &&
                 (base64.left == 68 || !second_is(type, "ssh-ed25519"));
    FUZZ_CHECK(key_line_fault(&parts) == (!is_type(type) ? AUTHKEYS_LINE_NO_TYPE
                                          : whole        ? AUTHKEYS_NOT_LISTED
                                                         : AUTHKEYS_LINE_DAMAGED));
    FUZZ_CHECK(second_same((struct input){parts.options.bytes, parts.options.left}, expected));
    FUZZ_CHECK(authkeys_options_name_authority(parts.options) == names_authority(expected));
}

/* A value that can be written: no backslash before a quote or at the end. */
static void put_value(struct fields *out, struct input value)
{
    fields_bytes(out, "=\"", 2);
    for (size_t i = 0; i < value.left; i++) {
        bool last = i + 1 == value.left;
        uint8_t byte = value.at[i];
        if (byte == 0 ||
            (byte == '\\' && (last || value.at[i + 1] == '"' || value.at[i + 1] == 0))) {
            byte = '/';
        }
        fields_bytes(out, "\\", byte == '"' ? 1 : 0);
        fields_bytes(out, &byte, 1);
    }
    fields_bytes(out, "\"", 1);
}

/* Appends one option. Returns whether it is cert-authority. */
static bool put_option(struct fields *out, struct input *parts)
{
    static const char *const names[] = {"cert-authority", "CERT-Authority", "command", "from",
                                        "environment",    "restrict",       "pty",     "x"};
    uint8_t kind = input_u8(parts);
    const char *name = names[kind % 8];
    fields_bytes(out, name, strlen(name));
    if ((kind & 8) != 0) {
        put_value(out, input_take(parts, input_u8(parts)));
    }
    return kind % 8 < 2 && (kind & 8) == 0;
}

static void check_composed(struct input parts, const struct key_text *key)
{
    static uint8_t bytes[LINE_BYTES];
    struct fields line = FIELDS_IN(bytes);
    struct key_line made;
    bool authority = false;
    uint8_t shape = input_u8(&parts);
    fields_bytes(&line, " \t \t", shape & 3);
    size_t start = line.used;
    for (unsigned i = 0; i < (shape >> 2 & 7U); i++) {
        fields_bytes(&line, ",", i > 0 ? 1 : 0);
        authority = put_option(&line, &parts) || authority;
    }
    size_t end = line.used;
    fields_bytes(&line, "\t  ", end > start ? 1 + (shape >> 5 & 1U) : 0);
    fields_bytes(&line, key->type, strlen(key->type));
    fields_bytes(&line, " \t", 1 + (shape >> 6 & 1U));
    fields_bytes(&line, key->base64, key->base64_bytes);
    fields_bytes(&line, " ", shape >> 7 & 1U);
    fields_bytes(&line, parts.at, (shape >> 7 & 1U) != 0 ? parts.left : 0);
    FUZZ_CHECK(key_line_read(&made, reader_over(bytes, line.used)));
    FUZZ_CHECK(key_line_lists(&made, key));
    FUZZ_CHECK(made.options.left == end - start);
    FUZZ_CHECK(end == start || made.options.bytes == bytes + start);
    FUZZ_CHECK(authkeys_options_name_authority(made.options) == authority);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[LINE_BYTES];
    struct input input = {data, size};
    uint8_t kind = input_u8(&input);
    struct key key = {.sk = (kind & 1) != 0, .application = reader_over("ssh:", 4)};
    struct key_text text;
    char whole[LIMIT_PLAIN_KEY_BYTES * 2];
    memset(key.public_key, 'k', sizeof(key.public_key));
    key_write_text(&text, &key);
    snprintf(whole, sizeof(whole), "%s %s", text.type, text.base64);
    if ((kind & 2) != 0) {
        check_composed(input, &text);
        return 0;
    }
    size_t count = second_expand(bytes, sizeof(bytes), input, whole);
    uint8_t *copy = input_copy((struct input){bytes, count});
    check_any((struct input){copy, count}, &text);
    free(copy);
    return 0;
}
